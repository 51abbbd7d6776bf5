package awssm_test

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/secrets/awssm"
	"github.com/writ-automation/writ/platform/egress/egresstest"
	"github.com/writ-automation/writ/ports/extension/extensiontest"
)

func TestEngineKeepsTheContract(t *testing.T) {
	t.Parallel()
	with := func(name string, values ...any) []map[string]any {
		var out []map[string]any
		for _, v := range values {
			out = append(out, config("app", map[string]any{name: v}))
		}
		return out
	}
	missing := map[string]map[string]any{
		"no such field":  config("app", map[string]any{"field": "user"}),
		"no value":       config("app", map[string]any{"field": "nothing"}),
		"no object":      config(arn, map[string]any{"field": "password"}),
		"wrong key":      config("app", map[string]any{"secret_access_key": "c4nary-wrong"}),
		"unknown key":    config("app", map[string]any{"access_key_id": "AKIAOTHER"}),
		"another region": config("app", map[string]any{"region": "us-east-1"}),
	}
	for _, name := range []string{"other", "forbidden", "deleted", "undecrypted", "odd", "binary", "none"} {
		missing[name] = config(name, nil)
	}
	extensiontest.SecretResolver{
		Resolver: awssm.New(conf(serve(t, manager(t, "")))), Want: "c4nary value",
		Configs: extensiontest.SecretConfigs{
			Good: config("app", map[string]any{"field": "password"}), Missing: missing,
			Bad: map[string][]map[string]any{
				"region": with("region", "eu", "EU-CENTRAL-1", "eu-central-1.evil.example", "eu-central-1/", "a b",
					"eu-central-1@x", "-1", "eu-central-", 7.0),
				"secret_id":         with("secret_id", "  ", "a\nb", strings.Repeat("s", 2049)),
				"field":             with("field", "a\nb"),
				"access_key_id":     with("access_key_id", nil, "", "AKIA\n", "AK/IA", strings.Repeat("A", 129)),
				"secret_access_key": with("secret_access_key", nil, "", "c4nary\n", "c4nary\xff"),
			},
			Secrets: []string{"c4nary"},
		},
	}.Run(t)
}

func TestEngineReads(t *testing.T) {
	t.Parallel()
	e := awssm.New(conf(serve(t, manager(t, ""))))
	for _, c := range []struct{ name, field, want string }{
		{"app", "", `{"password":"c4nary value","port":18446744073709551615,"nothing":null,"tags":["a","b"]}`},
		{"app", "port", "18446744073709551615"}, {"app", "tags", `["a","b"]`}, {arn, "", "c4nary by arn\n"},
		{"bytes", "", "c4nary bytes"},
	} {
		if got, err := e.Resolve(t.Context(), config(c.name, map[string]any{"field": c.field})); err != nil || got != c.want {
			t.Errorf("%s %s: %q %v", c.name, c.field, got, err)
		}
	}
	for want, c := range map[string]map[string]any{
		"the secret was not found": config("other", nil),
		"permission denied":        config("forbidden", nil),
		"the secret is marked for deletion, or has no current version": config("deleted", nil),
		"the secret's key does not decrypt it":                         config("undecrypted", nil),
		"the service answered 400":                                     config("odd", nil),
		"the secret is not text":                                       config("binary", nil),
		"the answer holds no secret":                                   config("none", nil),
		`the secret has no field "user"`:                               config("app", map[string]any{"field": "user"}),
		"the access key is not known": config("app",
			map[string]any{"access_key_id": "AKIAOTHER"}),
		"the secret access key is refused, or the server's clock is wrong": config("app",
			map[string]any{"secret_access_key": "c4nary"}),
	} {
		if _, err := e.Resolve(t.Context(), c); err == nil || err.Error() != "aws secrets manager: "+want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// bare removes the AWS settings of this machine from the environment.
func bare(t *testing.T) (home string) {
	t.Helper()
	home = t.TempDir()
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "")
		}
	}
	for name, value := range map[string]string{
		"HOME": home, "AWS_CONFIG_FILE": filepath.Join(home, "config"),
		"AWS_SHARED_CREDENTIALS_FILE": filepath.Join(home, "credentials"),
		"AWS_EC2_METADATA_DISABLED":   "true",
	} {
		t.Setenv(name, value)
	}
	return home
}

// TestStandardEnvironment finds the server's own identity in the places of the AWS tools, the service by
// AWS_ENDPOINT_URL, and authorities by AWS_CA_BUNDLE.
func TestStandardEnvironment(t *testing.T) {
	home := bare(t)
	ask := func(what, endpoint string, more map[string]any) {
		t.Helper()
		own := map[string]any{"access_key_id": nil, "secret_access_key": nil, "field": "password"}
		for k, v := range more {
			own[k] = v
		}
		if got, err := awssm.New(conf(endpoint)).Resolve(t.Context(), config("app", own)); err != nil ||
			got != "c4nary value" {
			t.Errorf("%s: %q %v", what, got, err)
		}
	}
	plain, temporary := serve(t, manager(t, "")), serve(t, manager(t, session))
	refused := func(what, want string, more map[string]any) {
		t.Helper()
		if _, err := awssm.New(conf(plain)).Resolve(t.Context(), config("app", more)); err == nil ||
			err.Error() != "aws secrets manager: "+want {
			t.Errorf("%s: %v", what, err)
		}
	}
	none := map[string]any{"access_key_id": nil, "secret_access_key": nil}
	refused("no identity", "there is no access key, neither in the config nor in the server's environment", none)
	refused("no region", "there is no region, neither in the config nor in the server's environment",
		map[string]any{"region": nil})

	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", serve(t, func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]any{
			"AccessKeyId": keyID, "SecretAccessKey": key, "Token": session, "Expiration": time.Now().Add(time.Hour).UTC().
					Format(time.RFC3339),
		})
	}))
	ask("the role of a container", temporary, nil)

	if err := os.WriteFile(filepath.Join(home, "credentials"),
		[]byte("[default]\naws_access_key_id="+keyID+"\naws_secret_access_key="+key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ask("a shared file", plain, nil)

	t.Setenv("AWS_ACCESS_KEY_ID", keyID)
	t.Setenv("AWS_SECRET_ACCESS_KEY", key)
	t.Setenv("AWS_SESSION_TOKEN", session)
	ask("variables", temporary, nil)
	t.Setenv("AWS_REGION", region)
	t.Setenv("AWS_ENDPOINT_URL", temporary)
	ask("region and endpoint", "", map[string]any{"region": nil})
	ask("the config first", plain, map[string]any{"access_key_id": keyID, "secret_access_key": key})

	s := httptest.NewTLSServer(manager(t, session))
	t.Cleanup(s.Close)
	refusedBy := awssm.New(conf(s.URL))
	if _, err := refusedBy.Resolve(t.Context(), config("app", none)); err == nil ||
		err.Error() != "aws secrets manager: the server's certificate is not trusted" {
		t.Error(err)
	}
	file := filepath.Join(home, "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}),
		0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_CA_BUNDLE", file)
	ask("authorities of the own", s.URL, nil)
	t.Setenv("AWS_CA_BUNDLE", filepath.Join(home, "none"))
	refused("no authorities", "the server's environment for AWS cannot be used", none)
}

func TestHostileServers(t *testing.T) {
	bare(t)
	elsewhere := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("a redirect was followed with %v", r.Header)
	})
	for want, h := range map[string]func(w http.ResponseWriter, echo string){
		"the service sends elsewhere (307), which is not followed": func(w http.ResponseWriter, _ string) {
			w.Header().Set("Location", elsewhere)
			w.WriteHeader(http.StatusTemporaryRedirect)
		},
		"the answer is too large": func(w http.ResponseWriter, _ string) {
			_, _ = io.WriteString(w, `{"SecretString":"`+strings.Repeat("x", 2<<20)+`"}`)
		},
		"the answer is not one of AWS": func(w http.ResponseWriter, echo string) { _, _ = io.WriteString(w, "<"+echo) },
		"the answer holds no secret":   func(w http.ResponseWriter, _ string) { _, _ = io.WriteString(w, "{}") },
		"the service answered 403": func(w http.ResponseWriter, echo string) {
			answer(w, http.StatusForbidden, map[string]any{"__type": echo, "message": echo})
		},
		"the service answered 404":     func(w http.ResponseWriter, echo string) { http.Error(w, echo, http.StatusNotFound) },
		"the server cannot be reached": func(http.ResponseWriter, string) { panic(http.ErrAbortHandler) },
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			at := serve(t, func(w http.ResponseWriter, r *http.Request) { h(w, fmt.Sprint(r.Header)) })
			_, err := awssm.New(conf(at)).Resolve(t.Context(), config("app", nil))
			if err == nil || err.Error() != "aws secrets manager: "+want {
				t.Error(err)
			}
		})
	}
}

// TestHangingServers checks that a call ends with its context, and with the timeout of the options.
func TestHangingServers(t *testing.T) {
	t.Parallel()
	c := conf(hanging(t))
	ctx, cancel := context.WithCancel(t.Context())
	asked := time.AfterFunc(200*time.Millisecond, cancel)
	defer asked.Stop()
	if _, err := awssm.New(c).Resolve(ctx, config("app", nil)); !errors.Is(err, context.Canceled) ||
		strings.Contains(err.Error(), "c4nary") {
		t.Error(err)
	}
	c.Options.Timeout = 200 * time.Millisecond
	if _, err := awssm.New(c).Resolve(t.Context(), config("app", nil)); !errors.Is(err, context.DeadlineExceeded) ||
		strings.Contains(err.Error(), "c4nary") {
		t.Error(err)
	}
}

// TestRefusedAddresses dials addresses that the policy refuses, by the name of a region and by an endpoint.
func TestRefusedAddresses(t *testing.T) {
	t.Parallel()
	host := "secretsmanager." + region + ".amazonaws.com"
	names := egresstest.NewNames(t, map[string][]string{host: {"169.254.169.254"}})
	for _, endpoint := range []string{"", "http://169.254.169.254"} {
		c := conf(endpoint)
		c.Options.Resolver = names.Resolver()
		if _, err := awssm.New(c).Resolve(t.Context(), config("app", nil)); err == nil ||
			err.Error() != "aws secrets manager: the server may not connect to this address" {
			t.Errorf("%s: %v", endpoint, err)
		}
	}
	if names.Asked(host) == 0 {
		t.Error("the name of the region was not asked for")
	}
}
