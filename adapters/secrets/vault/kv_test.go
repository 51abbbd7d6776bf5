package vault_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/adapters/secrets/vault"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/extension/extensiontest"
)

// canaries are in every secret, and in the answers of servers that repeat their requests.
func canaries() []string { return []string{"c4nary", rootToken, secretID} }

func whole() string {
	return `{"data":"inner","nothing":null,"password":"c4nary-password","port":18446744073709551615,"tags":["a","\u003cb\u003e"]}`
}

// bads are configs that both engines refuse.
func bads(s *server) map[string][]map[string]any {
	with := func(name string, values ...any) []map[string]any {
		var out []map[string]any
		for _, v := range values {
			out = append(out, s.config("secret/app", map[string]any{name: v}))
		}
		return out
	}
	return map[string][]map[string]any{
		"address": with("address", "vault.example:8200", "ftp://vault.example", "https://user:c4nary@vault.example",
			"https://vault.example?x=c4nary",
			"https://0x7f.1", "https://169.254.169.254", "http://[fe80::1]:8200", "https://vault.example/#c4nary", "https://",
			"http://a\nb"),
		"path":      with("path", "/", "a//b", "a/../b", "./a", "a\x00b", strings.Repeat("x", 1<<14)),
		"namespace": with("namespace", "a\nb", "\u00fc"),
		"token": append(with("token", nil, "", "c4nary with spaces", "c4nary\u00fc", "c4nary\r\n"),
			s.config("secret/app", map[string]any{"role_id": roleID}),
			s.config("secret/app", map[string]any{"secret_id": secretID})),
		"role_id":   {s.config("secret/app", map[string]any{"token": nil, "secret_id": secretID})},
		"secret_id": {s.config("secret/app", map[string]any{"token": nil, "role_id": roleID})},
	}
}

func TestKVKeepsTheContract(t *testing.T) {
	t.Parallel()
	for name, way := range map[string]map[string]any{"token": nil, "approle": role(nil)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			with := func(path string, more map[string]any) map[string]any {
				config := s.config(path, way)
				for k, v := range more {
					config[k] = v
				}
				return config
			}
			bad := bads(s)
			bad["kv_version"] = []map[string]any{with("secret/app", map[string]any{"kv_version": 3}),
				with("secret/app", map[string]any{"kv_version": 1.5})}
			bad["path"] = append(bad["path"], with("secret", nil))
			t.Run("suite", extensiontest.SecretResolver{
				Resolver: vault.NewKV(conf()),
				Want:     "c4nary-password",
				Configs: extensiontest.SecretConfigs{
					Good: with("secret/app", map[string]any{"field": "password", "kv_version": 2.0, "namespace": ""}),
					Missing: map[string]map[string]any{
						"no such path": with("secret/other", nil), "no such field": with("secret/app", map[string]any{"field": "user"}),
						"no value": with("secret/app", map[string]any{"field": "nothing"}), "not allowed": with("secret/forbidden", nil),
						"another namespace": with("secret/app", map[string]any{"namespace": "team"}),
					},
					Hanging: map[string]any{"address": hanging(t), "path": "secret/app", "token": rootToken},
					Bad:     bad, Secrets: canaries(),
				},
			}.Run)
			if n := s.logins(); n != 0 {
				t.Errorf("%d tokens of logins are left", n)
			}
		})
	}
}

func TestKVReads(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	kv := vault.NewKV(conf())
	for _, c := range []struct {
		path    string
		version any
		field   string
		want    string
		asked   string
	}{
		{"secret/app", nil, "", whole(), "GET /v1/secret/data/app"},
		{"secret/app", 2.0, "password", "c4nary-password", "GET /v1/secret/data/app"},
		{"/secret/data/app/", "2", "data", "inner", "GET /v1/secret/data/app"},
		{"secret/data", nil, "data", "inner", "GET /v1/secret/data/data"},
		{"team/kv/data/app", 2, "port", "18446744073709551615", "GET /v1/team/kv/data/app"},
		{"secret/a b/ü?#", nil, "tags", `["a","\u003cb\u003e"]`, "GET /v1/secret/data/a%20b/%C3%BC%3F%23"},
		{"old/app", 1.0, "password", "c4nary-password", "GET /v1/old/app"},
		{"old/app", "1", "", whole(), "GET /v1/old/app"},
		{"old/data/app", 1, "data", "inner", "GET /v1/old/data/app"},
	} {
		config := s.config(c.path, map[string]any{"kv_version": c.version, "field": c.field})
		got, err := kv.Resolve(t.Context(), config)
		if err != nil || got != c.want {
			t.Errorf("%s: %s %v", c.path, got, err)
		}
		if paths := s.paths(); paths[len(paths)-1] != c.asked {
			t.Errorf("%s: asked as %s", c.path, paths[len(paths)-1])
		}
	}
}

func TestKVSaysWhatFailed(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	for _, c := range []struct {
		path string
		more map[string]any
		want string
	}{
		{"secret/other", nil, "vault: read: the path was not found"},
		{"secret/forbidden", nil, "vault: read: permission denied"},
		{"secret/gone", nil, "vault: read: the newest version of the secret is deleted"},
		{"secret/app", map[string]any{"kv_version": 1}, "vault: read: the path is one of a KV engine of version 2"},
		{"old/data/app", nil, "vault: the path is not in a KV engine of version 2"},
		{"secret/app", map[string]any{"field": "user"}, `vault: the secret has no field "user"`},
		{"secret/app", map[string]any{"token": "hvs.c4naryWrong"}, "vault: read: permission denied"},
		{"secret/app", role(map[string]any{"secret_id": "c4nary-wrong"}),
			"vault: log in: the role id or the secret id is refused"},
		{"secret/app", role(map[string]any{"namespace": "none"}), "vault: log in: the path was not found"},
	} {
		_, err := vault.NewKV(conf()).Resolve(t.Context(), s.config(c.path, c.more))
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", c.path, err, c.want)
		}
	}
	s.set(func() { s.sealed = true })
	for _, c := range []struct {
		more map[string]any
		want string
	}{{nil, "vault: read: the server is sealed"}, {role(nil), "vault: log in: the server is sealed"}} {
		if _, err := vault.NewKV(conf()).Resolve(t.Context(), s.config("secret/app", c.more)); err == nil ||
			err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// TestKVTakesItsTokenBack logs in by AppRole in a namespace, also where the token cannot be revoked.
func TestKVTakesItsTokenBack(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.set(func() { s.namespace = "team/a" })
	config := s.config("secret/app", role(map[string]any{"namespace": "/team/a/", "field": "password"}))
	if got, err := vault.NewKV(conf()).Resolve(t.Context(), config); err != nil || got != "c4nary-password" {
		t.Fatal(got, err)
	}
	want := []string{"POST /v1/auth/approle/login", "GET /v1/secret/data/app", "POST /v1/auth/token/revoke-self"}
	if d := cmp.Diff(want, s.paths()); d != "" || s.logins() != 0 {
		t.Errorf("%d logins are left\n%s", s.logins(), d)
	}
	s.set(func() { s.batch = true })
	if got, err := vault.NewKV(conf()).Resolve(t.Context(), config); err != nil || got != "c4nary-password" {
		t.Error(got, err)
	}
}

func TestKVDescribesItself(t *testing.T) {
	t.Parallel()
	secret := map[string]bool{}
	for _, f := range vault.NewKV(conf()).ConfigFields() {
		secret[f.Name] = f.Secret
	}
	if d := cmp.Diff(map[string]bool{
		"address": false, "path": false, "field": false, "kv_version": false, "namespace": false, "token": true,
		"role_id": false, "secret_id": true,
	}, secret); d != "" {
		t.Error(d)
	}
	err := vault.NewKV(conf()).ValidateConfig(map[string]any{"address": "https://vault.example/proxied",
		"path": "secret/app", "token": "x"})
	if err != nil {
		t.Error(err)
	}
	var configErr *extension.ConfigError
	if err := vault.NewKV(conf()).ValidateConfig(map[string]any{"address": "https://vault.example",
		"path": "a/b"}); !errors.As(err, &configErr) || configErr.Field != "token" {
		t.Error(err)
	}
}
