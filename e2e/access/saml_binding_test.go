package access

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

// TestSAMLBinding posts an answer in a browser that did not begin the sign-in: with an attacker's answer, a victim's
// browser would work in the attacker's account.
func TestSAMLBinding(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		const site = "https://writ.example:9"
		f := federate(t, newIDP(t, persistentNames{}), harness.Options{DB: dbURL, Flags: []string{"--public-url", site}})
		f.setUser(t, "ada", "engineers")
		f.setUser(t, "eve", "engineers")
		const unbound, foreign = "the browser brought no binding", "the binding is not that of the browser that began"
		for _, accept := range []string{asPage, asJSON} {
			thief, victim := f.browser(t, "eve"), f.browser(t, "ada")
			planted := thief.answer()
			f.refused(t, "in a browser that began nothing", victim.post(planted, accept), 401, "bad_sign_in", unbound)
			want(t, victim.Client, http.MethodGet, "/v1/auth/me", nil, 401)
			f.refused(t, "at home after that", f.browser(t, "eve").post(planted, accept), 401, "bad_sign_in", spent)

			// The victim's own sign-in has begun.
			planted = f.browser(t, "eve").answer()
			victim.answer()
			if a := victim.post(planted, accept); a.Status != 401 ||
				strings.Contains(strings.Join(a.Header.Values("Set-Cookie"), ""), "writ_session") {
				t.Errorf("another's answer: %d %v %s", a.Status, a.Header, a.Body)
			}
			harness.Eventually(t, 10*time.Second, "the cause is logged", func() bool {
				return strings.Contains(f.Output(), foreign)
			})
			want(t, victim.Client, http.MethodGet, "/v1/auth/me", nil, 401)
		}

		b := f.browser(t, "ada")
		begun := want(t, b.Client, http.MethodGet, "/auth/saml/login", nil, 302, "Accept", asPage)
		if c := cookies(begun); len(c) != 1 || c[0].Name != "__Host-writ_saml" || len(c[0].Value) != 43 || !c[0].Secure ||
			!c[0].HttpOnly ||
			c[0].SameSite != http.SameSiteNoneMode || c[0].Path != "/" || c[0].Domain != "" || c[0].MaxAge != 600 {
			t.Errorf("the binding is %q", begun.Header.Values("Set-Cookie"))
		}
		a := b.post(b.answer(), asPage)
		set := cookies(a)
		if a.Status != 303 || len(set) != 2 || set[0].Name != "__Host-writ_saml" || set[0].MaxAge >= 0 ||
			set[1].Name != "__Host-writ_session" ||
			!set[1].Secure || set[1].SameSite != http.SameSiteLaxMode {
			t.Fatalf("%d %q", a.Status, a.Header.Values("Set-Cookie"))
		}
		f.secrets(set[1].Value)
		var me struct{ User struct{ Username string } }
		if want(t, b.Client, http.MethodGet, "/v1/auth/me", nil, 200).JSON(t, &me); me.User.Username != "ada" {
			t.Errorf("%+v", me)
		}
		here, err := url.Parse(site)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range b.Via.Jar.Cookies(here) {
			if c.Name == "__Host-writ_saml" {
				t.Error("the binding outlives the sign-in")
			}
		}
	})
}
