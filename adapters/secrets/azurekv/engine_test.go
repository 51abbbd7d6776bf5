package azurekv_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/writ-automation/writ/adapters/secrets/azurekv"
	"github.com/writ-automation/writ/platform/egress"
	"github.com/writ-automation/writ/platform/egress/egresstest"
	"github.com/writ-automation/writ/ports/extension/extensiontest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	tenant      = "6a2f41a3-c54c-fce8-32d2-0324e1c32e22"
	application = "1f6f7e3e-8a3b-4f0e-9a43-000000000001"
	key         = "c4nary~client+secret&=/"
	token       = "c4nary.access-token_1"
)

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// login is a fake of the documented token endpoint; any other request fails the test.
func login(t *testing.T) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil || r.Method != http.MethodPost ||
			r.Header.Get("Content-Type") != "application/x-www-form-urlencoded" ||
			r.URL.RawQuery != "" || r.Header.Get("Authorization") != "" {
			t.Errorf("%s %s: %v %v", r.Method, r.URL, r.Header, err)
		}
		if d := cmp.Diff([]string{"client_credentials", "https://vault.azure.net/.default"},
			[]string{r.PostForm.Get("grant_type"), r.PostForm.Get("scope")}); d != "" ||
			len(r.PostForm) != 4 {
			t.Errorf("%d members\n%s", len(r.PostForm), d)
		}
		description := "AADSTS: " + r.PostForm.Get("client_secret")
		switch {
		case r.URL.Path != "/"+tenant+"/oauth2/v2.0/token":
			answer(w, http.StatusBadRequest, map[string]any{"error": "invalid_request", "error_description": description,
				"error_uri": description})
		case r.PostForm.Get("client_id") != application || r.PostForm.Get("client_secret") != key:
			answer(w, http.StatusUnauthorized, map[string]any{"error": "invalid_client", "error_description": description})
		default:
			answer(w, http.StatusOK, map[string]any{"token_type": "Bearer", "expires_in": 3599, "ext_expires_in": 3599,
				"access_token": token})
		}
	}
}

// vault is a fake of the documented API of a vault.
func vault(t *testing.T) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		fail := func(status int, code string) {
			answer(w, status, map[string]any{"error": map[string]any{"code": code,
				"message": "about " + r.Header.Get("Authorization")}})
		}
		if r.Method != http.MethodGet || r.URL.RawQuery != "api-version=7.4" {
			t.Errorf("%s %s", r.Method, r.URL)
		}
		name, ok := strings.CutPrefix(r.URL.Path, "/secrets/")
		switch {
		case r.Header.Get("Authorization") != "Bearer "+token:
			w.Header().
				Set("WWW-Authenticate", `Bearer authorization="https://login.example/t", resource="https://vault.azure.net"`)
			fail(http.StatusUnauthorized, "Unauthorized")
		case ok && name == "app":
			answer(w, http.StatusOK, map[string]any{
				"value": "c4nary value\n", "contentType": "text/plain", "id": "https://v.vault.azure.net/secrets/app/1",
				"attributes": map[string]any{"enabled": true},
			})
		case ok && name == "off":
			fail(http.StatusForbidden, "Forbidden")
		default:
			fail(http.StatusNotFound, "SecretNotFound")
		}
	}
}

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func conf(login, vault string) azurekv.Config {
	return azurekv.Config{Policy: egress.Policy{Level: egress.PrivateAllowed}, Login: login, Vault: vault}
}

func config(more map[string]any) map[string]any {
	out := map[string]any{"vault": "writ-vault", "secret": "app", "tenant_id": tenant, "client_id": application,
		"client_secret": key}
	for k, v := range more {
		out[k] = v
	}
	return out
}

func with(name string, values ...any) []map[string]any {
	var out []map[string]any
	for _, v := range values {
		out = append(out, config(map[string]any{name: v}))
	}
	return out
}

func hanging(t *testing.T) string {
	return serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
}

func TestEngineKeepsTheContract(t *testing.T) {
	t.Parallel()
	there := serve(t, vault(t))
	extensiontest.SecretResolver{
		Resolver: azurekv.New(conf(serve(t, login(t))+"/", there)), Want: "c4nary value\n",
		Configs: extensiontest.SecretConfigs{
			Good: config(nil),
			Missing: map[string]map[string]any{
				"no such secret": config(map[string]any{"secret": "other"}), "disabled": config(map[string]any{"secret": "off"}),
				"wrong secret":   config(map[string]any{"client_secret": "c4nary-wrong"}),
				"another tenant": config(map[string]any{"tenant_id": "other.example"}),
			},
			Hanging: config(map[string]any{"vault": hanging(t)}),
			Bad: map[string][]map[string]any{
				"vault": with("vault", "-v", "v", "a.b", "https://169.254.169.254", "https://v.example/path",
					"https://user:c4nary@v.example", "https://v.example?c4nary",
					"ftp://v.example", "https://0x7f.1", "https://v.example#c4nary", "a\nb", "../vault", strings.Repeat("v", 1<<14)),
				"secret":        with("secret", "a/b", "a?b", "..", "a b", "a%2fb", strings.Repeat("s", 128)),
				"tenant_id":     with("tenant_id", "a/b", "..", "a?b", "a\x00"),
				"client_id":     with("client_id", "a\nb"),
				"client_secret": with("client_secret", "c4nary\n", "c4nary\xff"),
			},
			Secrets: []string{"c4nary"},
		},
	}.Run(t)
}

// TestVaultAddresses reads by the full address of a vault, which requires TLS.
func TestVaultAddresses(t *testing.T) {
	t.Parallel()
	s := httptest.NewTLSServer(vault(t))
	t.Cleanup(s.Close)
	c := conf(serve(t, login(t)), "")
	for _, trusted := range []bool{false, true} {
		if trusted {
			c.Options.TLS = s.Client().Transport.(*http.Transport).TLSClientConfig
		}
		value, err := azurekv.New(c).Resolve(t.Context(), config(map[string]any{"vault": s.URL + "/"}))
		if trusted && (err != nil || value != "c4nary value\n") {
			t.Error(err)
		}
		if !trusted && (err == nil || err.Error() != "azure key vault: read: the server's certificate is not trusted") {
			t.Error(err)
		}
	}
	if err := azurekv.New(c).ValidateConfig(config(map[string]any{"vault": "http://v.example"})); err == nil {
		t.Error("a vault without TLS")
	}
}

// TestPublicCloud resolves the names of the public cloud to a refused address.
func TestPublicCloud(t *testing.T) {
	t.Parallel()
	names := egresstest.NewNames(t, map[string][]string{
		"login.microsoftonline.com": {"169.254.169.254"}, "writ-vault.vault.azure.net": {"169.254.169.254"},
	})
	c := conf("", "")
	c.Options.Resolver = names.Resolver()
	if _, err := azurekv.New(c).Resolve(t.Context(), config(nil)); err == nil ||
		err.Error() != "azure key vault: log in: the server may not connect to this address" {
		t.Error(err)
	}
	c.Login = serve(t, login(t))
	if _, err := azurekv.New(c).Resolve(t.Context(), config(nil)); err == nil ||
		err.Error() != "azure key vault: read: the server may not connect to this address" {
		t.Error(err)
	}
	if names.Asked("login.microsoftonline.com") == 0 || names.Asked("writ-vault.vault.azure.net") == 0 {
		t.Error("the names were not asked for")
	}
}

func TestHostileServers(t *testing.T) {
	t.Parallel()
	elsewhere := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("a redirect was followed with %v", r.Header)
	})
	for name, c := range map[string]struct {
		answer     func(w http.ResponseWriter, echo string)
		login, get string
	}{
		"a redirect": {func(w http.ResponseWriter, _ string) {
			w.Header().Set("Location", elsewhere)
			w.WriteHeader(http.StatusTemporaryRedirect)
		}, "the token endpoint answered 307", "the vault sends elsewhere (307), which is not followed"},
		"too much": {func(w http.ResponseWriter, _ string) {
			_, _ = io.WriteString(w, `{"value":"`+strings.Repeat("x", 2<<20)+`"}`)
		}, "the answer holds no token", "the answer is too large"},
		"no JSON": {func(w http.ResponseWriter, echo string) { _, _ = io.WriteString(w, "<"+echo) },
			"the answer holds no token", "the answer holds no secret"},
		"nothing": {func(w http.ResponseWriter, _ string) { _, _ = io.WriteString(w, "{}") }, "the answer holds no token",
			"the answer holds no secret"},
		"an error": {func(w http.ResponseWriter, echo string) {
			http.Error(w, echo, http.StatusBadGateway)
		}, "the token endpoint answered 502", "the vault answered 502"},
		"odd codes": {func(w http.ResponseWriter, echo string) {
			answer(w, 400, map[string]any{"error": echo})
		}, "the token endpoint answered 400", "the vault answered 400"},
		"too often": {func(w http.ResponseWriter, _ string) { w.WriteHeader(429) }, "the token endpoint answered 429",
			"there are too many requests to the vault (429)"},
		"a hang-up": {func(http.ResponseWriter, string) { panic(http.ErrAbortHandler) }, "the server cannot be reached",
			"the server cannot be reached"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hostile := serve(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				c.answer(w, fmt.Sprint(r.Header, string(body)))
			})
			_, err := azurekv.New(conf(hostile, hostile)).Resolve(t.Context(), config(nil))
			if err == nil || err.Error() != "azure key vault: log in: "+c.login {
				t.Error(err)
			}
			_, err = azurekv.New(conf(serve(t, login(t)), hostile)).Resolve(t.Context(), config(nil))
			if err == nil || err.Error() != "azure key vault: read: "+c.get {
				t.Error(err)
			}
		})
	}
	odd := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 200, map[string]any{"access_token": "c4nary\nx"})
	})
	if _, err := azurekv.New(conf(odd, odd)).Resolve(t.Context(), config(nil)); err == nil ||
		err.Error() != "azure key vault: log in: the answer holds no token" {
		t.Error(err)
	}
}
