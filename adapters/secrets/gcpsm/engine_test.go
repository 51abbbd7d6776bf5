package gcpsm_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/secrets/gcpsm"
	"github.com/writ-automation/writ/platform/egress/egresstest"
	"github.com/writ-automation/writ/ports/extension/extensiontest"
)

func TestEngineKeepsTheContract(t *testing.T) {
	t.Parallel()
	with := func(name string, values ...any) []map[string]any {
		var out []map[string]any
		for _, v := range values {
			c := config("app", nil)
			c[name] = v
			out = append(out, c)
		}
		return out
	}
	credentials := accountFile(t, exchange(t), key())
	configs := extensiontest.SecretConfigs{
		Good: config("app", 3.0),
		Missing: map[string]map[string]any{
			"no such secret": config("other", nil), "no such version": config("app", "9"),
			"not allowed": config("forbidden", nil),
			"disabled":    config("app", 4), "damaged": config("damaged", nil), "no text": config("binary", nil),
		},
		Bad: map[string][]map[string]any{
			"project": with("project", "a/b", "..", "a?b", "a b", "a%2f", 7.0),
			"secret":  with("secret", "a/b", "..", "a:b", "a b", 7.0),
			"version": with("version", 0.0, -1.0, 1.5, 1e30, "1/2", "..", "-1", "a:b", "a b", 0),
		},
		Secrets: []string{"c4nary", "PRIVATE KEY"},
	}
	extensiontest.SecretResolver{Resolver: gcpsm.New(conf(manager(t)+"/", credentials)), Configs: configs,
		Want: "c4nary third"}.Run(t)
}

func TestEngineReads(t *testing.T) {
	t.Parallel()
	e := gcpsm.New(conf(manager(t), accountFile(t, exchange(t), key())))
	for _, c := range []struct {
		name    string
		version any
		want    string
	}{
		{"app", nil, "c4nary latest\n"}, {"app", "", "c4nary latest\n"}, {"app", "latest", "c4nary latest\n"},
		{"app", 3, "c4nary third"},
		{"app", 3.0, "c4nary third"}, {"app", "3", "c4nary third"}, {"unchecked", nil, "a"},
	} {
		if got, err := e.Resolve(t.Context(), config(c.name, c.version)); err != nil || got != c.want {
			t.Errorf("%s %v: %q %v", c.name, c.version, got, err)
		}
	}
	for name, want := range map[string]string{
		"other": "the secret or its version was not found", "forbidden": "permission denied",
		"binary":  "the secret is not text",
		"damaged": "the secret was damaged on its way: its checksum is another one",
	} {
		if _, err := e.Resolve(t.Context(), config(name, nil)); err == nil || !strings.HasSuffix(err.Error(), ": "+want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestServerCredentials finds the server's credentials in the places of the Google tools.
func TestServerCredentials(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", "")
	metadata := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Metadata-Flavor", "Google")
		if r.Header.Get("Metadata-Flavor") != "Google" || r.Method != http.MethodGet ||
			r.URL.Query().Get("scopes") != scope ||
			r.URL.Path != "/computeMetadata/v1/instance/service-accounts/default/token" {
			t.Errorf("%s %s %v", r.Method, r.URL, r.Header)
		}
		answer(w, http.StatusOK, map[string]any{"access_token": token, "expires_in": 3599, "token_type": "Bearer"})
	})
	t.Setenv("GCE_METADATA_HOST", strings.TrimPrefix(metadata, "http://"))
	e := gcpsm.New(conf(manager(t), ""))
	ask := func(what string) {
		t.Helper()
		if got, err := e.Resolve(t.Context(), config("app", 3)); err != nil || got != "c4nary third" {
			t.Errorf("%s: %q %v", what, got, err)
		}
	}
	ask("the metadata server")

	t.Setenv("GCE_METADATA_HOST", "127.0.0.1:1")
	if _, err := e.Resolve(t.Context(), config("app", 3)); err == nil ||
		!strings.Contains(err.Error(), "the server has no credentials of Google") {
		t.Error(err)
	}
	text := accountFile(t, exchange(t), key())
	known := filepath.Join(home, ".config", "gcloud", "application_default_credentials.json")
	if err := os.MkdirAll(filepath.Dir(known), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(known, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ask("the file of gcloud")

	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", filepath.Join(home, "none"))
	if _, err := e.Resolve(t.Context(), config("app", 3)); err == nil || strings.Contains(err.Error(), home) {
		t.Error(err)
	}
	if err := os.Rename(known, filepath.Join(home, "named")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", filepath.Join(home, "named"))
	ask("the file that is named")
}

// TestMetadataIsNoService uses a metadata server that is not Google's.
func TestMetadataIsNoService(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", "")
	e := gcpsm.New(conf(manager(t), ""))
	for name, h := range map[string]http.HandlerFunc{
		"another server": func(w http.ResponseWriter, _ *http.Request) {
			answer(w, http.StatusOK, map[string]any{"access_token": token})
		},
		"no account": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Metadata-Flavor", "Google")
			http.Error(w, "c4nary", http.StatusNotFound)
		},
	} {
		t.Setenv("GCE_METADATA_HOST", strings.TrimPrefix(serve(t, h), "http://"))
		if _, err := e.Resolve(t.Context(), config("app", 3)); err == nil ||
			err.Error() != "google secret manager: log in: the metadata server has no token" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUnusableCredentials(t *testing.T) {
	t.Parallel()
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	at := exchange(t)
	odd := map[string]string{}
	if err := json.Unmarshal([]byte(accountFile(t, at, key())), &odd); err != nil {
		t.Fatal(err)
	}
	odd["private_key"] = "c4nary no key"
	broken, _ := json.Marshal(odd)
	for want, files := range map[string][]string{
		"the server's credentials cannot be used": {"c4nary", "{}", `{"type":"c4nary"}`,
			`{"type":"gdch_service_account"}`, `{"installed":{"client_id":"c4nary"}}`},
		"there is no token for the server's credentials":         {string(broken)},
		"the token endpoint answered 400":                        {accountFile(t, at, other)},
		"the server cannot be reached":                           {accountFile(t, "http://127.0.0.1:1", key())},
		"the server may not connect to this address":             {accountFile(t, "http://169.254.0.1", key())},
		"there was no answer in time: context deadline exceeded": {accountFile(t, hanging(t), key())},
	} {
		for _, text := range files {
			c := conf(manager(t), text)
			c.Options.Timeout = time.Minute
			if strings.Contains(want, "no answer in time") {
				c.Options.Timeout = time.Second
			}
			if _, err := gcpsm.New(c).Resolve(t.Context(), config("app", 3)); err == nil ||
				err.Error() != "google secret manager: log in: "+want {
				t.Errorf("%v, want %s", err, want)
			}
		}
	}
}

func TestHostileServers(t *testing.T) {
	t.Parallel()
	credentials := accountFile(t, exchange(t), key())
	elsewhere := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("a redirect was followed with %v", r.Header)
	})
	for want, h := range map[string]func(w http.ResponseWriter, echo string){
		"the service sends elsewhere (302), which is not followed": func(w http.ResponseWriter, _ string) {
			w.Header().Set("Location", elsewhere)
			w.WriteHeader(http.StatusFound)
		},
		"the answer is too large": func(w http.ResponseWriter, _ string) {
			_, _ = io.WriteString(w, `{"payload":{"data":"`+strings.Repeat("x", 2<<20)+`"}}`)
		},
		"the answer holds no secret": func(w http.ResponseWriter, echo string) {
			_, _ = io.WriteString(w, "{"+echo)
		},
		"the service answered 500": func(w http.ResponseWriter, echo string) {
			http.Error(w, echo, http.StatusInternalServerError)
		},
		"the server's account is not known (401)": func(w http.ResponseWriter, echo string) {
			http.Error(w, echo, http.StatusUnauthorized)
		},
		"there are too many requests (429)": func(w http.ResponseWriter, echo string) {
			http.Error(w, echo, http.StatusTooManyRequests)
		},
		"the server cannot be reached": func(http.ResponseWriter, string) {
			panic(http.ErrAbortHandler)
		},
		"the version is disabled or destroyed, or the name is not valid (400)": func(w http.ResponseWriter, echo string) {
			http.Error(w, echo, 400)
		},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			at := serve(t, func(w http.ResponseWriter, r *http.Request) { h(w, fmt.Sprint(r.Header)) })
			if _, err := gcpsm.New(conf(at, credentials)).Resolve(t.Context(), config("app", nil)); err == nil ||
				err.Error() != "google secret manager: read: "+want {
				t.Error(err)
			}
		})
	}
	for _, body := range []string{"", "null", "{}", `{"payload":{}}`, `{"payload":{"data":"%%%"}}`,
		`{"payload":{"data":"YQ==","dataCrc32c":"x"}}`} {
		at := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
		if value, err := gcpsm.New(conf(at, credentials)).Resolve(t.Context(), config("app", nil)); err == nil {
			t.Errorf("%q: %q", body, value)
		}
	}
}

// TestHangingServers checks that a call ends with its context, wherever the server hangs.
func TestHangingServers(t *testing.T) {
	t.Parallel()
	still := hanging(t)
	good := accountFile(t, exchange(t), key())
	for name, c := range map[string]gcpsm.Config{"the service": conf(still, good),
		"the token endpoint": conf(manager(t), accountFile(t, still, key()))} {
		e := gcpsm.New(c)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			asked, began := time.AfterFunc(200*time.Millisecond, cancel), time.Now()
			defer asked.Stop()
			if _, err := e.Resolve(ctx, config("app", 3)); !errors.Is(err, context.Canceled) ||
				strings.Contains(err.Error(), "c4nary") {
				t.Error(err)
			}
			if took := time.Since(began); took > 15*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
}

// TestPrivateEndpoints resolves Google's name to a refused address.
func TestPrivateEndpoints(t *testing.T) {
	t.Parallel()
	names := egresstest.NewNames(t, map[string][]string{"secretmanager.googleapis.com": {"169.254.169.254"}})
	c := conf("", accountFile(t, exchange(t), key()))
	c.Options.Resolver = names.Resolver()
	if _, err := gcpsm.New(c).Resolve(t.Context(), config("app", 3)); err == nil ||
		err.Error() != "google secret manager: read: the server may not connect to this address" {
		t.Error(err)
	}
	if names.Asked("secretmanager.googleapis.com") == 0 {
		t.Error("the name was not asked for")
	}
}
