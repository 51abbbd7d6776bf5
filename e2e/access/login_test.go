package access

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// TestSAMLCommandLine signs in with 'writ login' and a browser at a SAML provider, over plain http, where the browser
// keeps no cookie for the provider's form.
func TestSAMLCommandLine(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		f := federate(t, newIDP(t, persistentNames{}), harness.Options{DB: dbURL})
		f.setUser(t, "ada", "engineers")
		home, b := harness.NewHome(t), f.browser(t, "ada")
		login := home.Login(f.URL, "--context", "saml")
		query := strings.TrimPrefix(login.Address, f.URL+"/auth/saml/login")
		a := b.post(b.answer(query), asPage)
		back, err := url.Parse(a.Header.Get("Location"))
		asked, _ := url.ParseQuery(strings.TrimPrefix(query, "?"))
		if a.Status != 303 || err != nil || back.Host != "127.0.0.1:"+asked.Get("cli") || len(cookies(a)) != 0 ||
			back.Query().Get("state") != asked.Get("state") {
			t.Fatalf("the way ends with %d %v", a.Status, a.Header)
		}
		f.secrets(back.Query().Get("code"))
		want(t, harness.NewClient(t, "http://"+back.Host, ""), http.MethodGet, back.RequestURI(), nil, 200)
		if out, code := login.Wait(); code != 0 || !strings.Contains(out, "as ada (operator)") {
			t.Fatalf("exit %d\n%s", code, out)
		}
		if out, code := home.Writ("whoami", "--context", "saml"); code != 0 || !strings.Contains(out, "saml") {
			t.Errorf("exit %d\n%s", code, out)
		}
		entries := string(want(t, f.Client, http.MethodGet, "/v1/audit", nil, 200).Body)
		if !strings.Contains(entries, `"method":"saml"`) {
			t.Errorf("%s", entries)
		}
	})
}
