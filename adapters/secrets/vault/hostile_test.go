package vault_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/writ-automation/writ/adapters/secrets/vault"
	"github.com/writ-automation/writ/platform/egress"
	"github.com/writ-automation/writ/platform/egress/egresstest"
)

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// hanging accepts requests and never answers.
func hanging(t *testing.T) string {
	return serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
}

// TestHostileServers uses servers that send invalid answers and repeat the token of the request.
func TestHostileServers(t *testing.T) {
	t.Parallel()
	elsewhere := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("a redirect was followed with %v", r.Header)
	})
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter, echo string)
		want   string
	}{
		"a redirect": {func(w http.ResponseWriter, _ string) {
			w.Header().Set("Location", elsewhere+"/v1/secret/data/app")
			w.WriteHeader(http.StatusTemporaryRedirect)
		}, "the server sends elsewhere (307), which is not followed: give the address of the active one"},
		"too much": {func(w http.ResponseWriter, _ string) {
			_, _ = io.WriteString(w, `{"data":{"data":{"password":"`)
			for range 2 << 10 {
				_, _ = io.WriteString(w, strings.Repeat("x", 1<<10))
			}
		}, "the answer is too large"},
		"no JSON": {func(w http.ResponseWriter, echo string) {
			_, _ = io.WriteString(w, "<html>"+echo)
		}, "the answer is not one of Vault"},
		"another JSON": {func(w http.ResponseWriter, echo string) {
			_, _ = io.WriteString(w, `["`+echo+`"]`)
		}, "the answer is not one of Vault"},
		"errors in a page": {func(w http.ResponseWriter, echo string) {
			http.Error(w, echo, http.StatusBadGateway)
		}, "the server answered 502"},
		"errors with secrets": {func(w http.ResponseWriter, echo string) {
			answer(w, http.StatusInternalServerError, errorsOf("internal error with "+echo))
		}, "the server answered 500"},
		"too often": {func(w http.ResponseWriter, _ string) {
			w.WriteHeader(http.StatusTooManyRequests)
		}, "there are too many requests (429)"},
		"not initialised": {func(w http.ResponseWriter, _ string) {
			w.WriteHeader(http.StatusNotImplemented)
		}, "the server was never initialised (501)"},
		"maintenance": {func(w http.ResponseWriter, _ string) {
			w.WriteHeader(http.StatusServiceUnavailable)
		}, "the server does not serve now (503)"},
		"a hang-up": {func(http.ResponseWriter, string) { panic(http.ErrAbortHandler) }, "the server cannot be reached"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := serve(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				c.answer(w, r.Header.Get("X-Vault-Token")+string(body))
			})
			for step, config := range map[string]map[string]any{
				"read":   {"address": address, "path": "secret/app", "token": rootToken},
				"log in": {"address": address, "path": "secret/app", "role_id": roleID, "secret_id": secretID},
			} {
				if value, err := vault.NewKV(conf()).Resolve(t.Context(), config); value != "" || err == nil ||
					err.Error() != "vault: "+step+": "+c.want {
					t.Errorf("%d bytes, %v", len(value), err)
				}
				if _, lease, err := vault.NewDynamic(conf()).Mint(t.Context(), config); lease != nil || err == nil ||
					err.Error() != "vault: "+step+": "+c.want {
					t.Error(lease, err)
				}
			}
		})
	}
}

func TestEmptyAnswers(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "null", "{}", `{"data":null}`, `{"data":"x"}`,
		`{"data":{"data":null,"metadata":{"version":1}}}`, `{"data":[]}`} {
		address := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
		for _, field := range []string{"", "password"} {
			config := map[string]any{"address": address, "path": "secret/app", "token": rootToken, "field": field}
			if value, err := vault.NewKV(conf()).Resolve(t.Context(), config); err == nil {
				t.Errorf("%q: %q", body, value)
			}
			if value, _, err := vault.NewDynamic(conf()).Mint(t.Context(), config); err == nil && field != "" {
				t.Errorf("%q: %q", body, value)
			}
		}
	}
	for _, token := range []string{"", "a\nb", "a b", strings.Repeat("x", 1<<14)} {
		address := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			answer(w, http.StatusOK, map[string]any{"auth": map[string]any{"client_token": token}})
		})
		config := map[string]any{"address": address, "path": "secret/app", "role_id": roleID, "secret_id": secretID}
		if _, err := vault.NewKV(conf()).Resolve(t.Context(), config); err == nil ||
			err.Error() != "vault: log in: the answer holds no token" {
			t.Error(err)
		}
	}
}

// TestRefusedAddresses dials addresses that the policy refuses: a name that resolves to metadata, and a private network
// under a strict policy.
func TestRefusedAddresses(t *testing.T) {
	t.Parallel()
	names := egresstest.NewNames(t, map[string][]string{"vault.test": {"169.254.169.254"}})
	for address, c := range map[string]vault.Config{
		"http://vault.test": {Policy: egress.Policy{Level: egress.PrivateAllowed},
			Options: egress.Options{Resolver: names.Resolver()}},
		"http://localhost:8200": {},
	} {
		for _, more := range []map[string]any{{"token": rootToken}, {"role_id": roleID, "secret_id": secretID}} {
			more["address"], more["path"] = address, "secret/app"
			if err := vault.NewKV(c).ValidateConfig(more); err != nil {
				t.Errorf("a name is judged when it is dialled: %v", err)
			}
			if _, err := vault.NewKV(c).Resolve(t.Context(), more); err == nil ||
				!strings.HasSuffix(err.Error(), ": the server may not connect to this address") {
				t.Errorf("%s: %v", address, err)
			}
		}
	}
}

// TestServerCertificates checks that TLS servers are trusted only by configuration.
func TestServerCertificates(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	tls := httptest.NewTLSServer(s)
	t.Cleanup(tls.Close)
	config := s.config("secret/app", map[string]any{"address": tls.URL, "field": "password"})
	c := conf()
	if _, err := vault.NewKV(c).Resolve(t.Context(), config); err == nil ||
		err.Error() != "vault: read: the server's certificate is not trusted" {
		t.Error(err)
	}
	c.Options.TLS = tls.Client().Transport.(*http.Transport).TLSClientConfig
	if value, err := vault.NewKV(c).Resolve(t.Context(), config); err != nil || value != "c4nary-password" {
		t.Error(value, err)
	}
}
