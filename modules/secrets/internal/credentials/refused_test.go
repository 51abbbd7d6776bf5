package credentials_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/depthtest"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
)

func settings(kind secrets.Kind, name string, v any) secrets.Change {
	c := change("a", kind, nil)
	c.Settings = map[string]any{name: v}
	return c
}

func changeWith(kind secrets.Kind, name, v string) secrets.Change {
	return change("a", kind, secrets.Values{name: secret.Text(v)})
}

func TestRefused(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	both := func(c secrets.Change, change func(c *secrets.Change)) secrets.Change { change(&c); return c }
	for _, c := range []struct {
		where  string
		change secrets.Change
	}{
		{"name", change("", secrets.AWS, nil)}, {"name", change(strings.Repeat("é", 201), secrets.AWS, nil)},
		{"name", change("a\nb", secrets.AWS, nil)},
		{"kind", change("a", "", nil)}, {"kind", change("a", "nope", nil)}, {"type_id", change("a", secrets.Custom, nil)},
		{"type_id", both(change("a", secrets.AWS, nil), func(c *secrets.Change) { c.TypeID = b.ids.New("cty_") })},
		{"type_id", ofType("a", "cty_1", nil)}, {"type_id", ofType("a", b.ids.New("crd_"), nil)},
		{"fields", both(change("a", secrets.AWS, nil), func(c *secrets.Change) { c.Fields = map[string]any{"a": "b"} })},
		{"settings", both(ofType("a", b.ids.New("cty_"), nil), func(c *secrets.Change) {
			c.Settings = map[string]any{"a": "b"}
		})},
		{"settings.nope", settings(secrets.AWS, "nope", "x")},
		{"settings.secret_access_key", settings(secrets.AWS, "secret_access_key", "x")},
		{"settings.region", settings(secrets.AWS, "region", 7)}, {"settings.region", settings(secrets.AWS, "region", true)},
		{"settings.validate_certs", settings(secrets.VMware, "validate_certs", "yes")},
		{"settings.region", settings(secrets.AWS, "region", "a\nb")},
		{"settings.region", settings(secrets.AWS, "region", strings.Repeat("a", 1001))},
		{"settings.region", settings(secrets.AWS, "region", " a")},
		{"settings.username", settings(secrets.SSHKey, "username", "-oProxyCommand=x")},
		{"settings.username", settings(secrets.SSHPassword, "username", "a\x00")},
		{"settings.method", settings(secrets.Become, "method", "Sudo")},
		{"settings.method", settings(secrets.Become, "method", "su do")},
		{"settings.vault_id", settings(secrets.VaultPassword, "vault_id", "a@b")},
		{"settings.vault_id", settings(secrets.VaultPassword, "vault_id", "a/b")},
		{"settings.network_os", settings(secrets.Network, "network_os", "cisco ios")},
		{"settings.server", settings(secrets.Registry, "server", "https://x")},
		{"settings.env_name", settings(secrets.Token, "env_name", "1A")},
		{"settings.env_name", settings(secrets.Token, "env_name", "WRIT_X")},
		{"settings.env_name", settings(secrets.Token, "env_name", "LD_PRELOAD")},
		{"settings.auth_url", settings(secrets.OpenStack, "auth_url", "ftp://x")},
		{"settings.auth_url", settings(secrets.OpenStack, "auth_url", "https://u:"+canary+"@x")},
		{"secret.nope", changeWith(secrets.AWS, "nope", canary)},
		{"secret.region", changeWith(secrets.AWS, "region", canary)},
		{"secret.secret_access_key", changeWith(secrets.AWS, "secret_access_key", canary+"\n")},
		{"secret.secret_access_key", changeWith(secrets.AWS, "secret_access_key", canary+"\x00")},
		{"secret.secret_access_key", changeWith(secrets.AWS, "secret_access_key", canary+"\xff")},
		{"secret.secret_access_key", changeWith(secrets.AWS, "secret_access_key", strings.Repeat(canary, 10000))},
		{"secret.vars", changeWith(secrets.Env, "vars", canary)},
		{"secret.vars", changeWith(secrets.Env, "vars", `["`+canary+`"]`)},
		{"secret.vars", changeWith(secrets.Env, "vars", `null`)}, {"secret.vars", changeWith(secrets.Env, "vars", `{} {}`)},
		{"secret.vars.A", changeWith(secrets.Env, "vars", `{"A":7,"B":"`+canary+`"}`)},
		{"secret.vars", changeWith(secrets.Env, "vars", `{"`+canary+`":"x"}`)},
		{"secret.vars.WRIT_RUN_ID", changeWith(secrets.Env, "vars", `{"WRIT_RUN_ID":"`+canary+`"}`)},
		{"secret.vars.PATH", changeWith(secrets.Env, "vars", `{"PATH":"x"}`)},
		{"secret.vars.LD_AUDIT", changeWith(secrets.Env, "vars", `{"LD_AUDIT":"x"}`)},
		{"secret.vars.A", changeWith(secrets.Env, "vars", `{"A":"`+canary+`\u0000"}`)},
		{"secret.service_account_json", changeWith(secrets.GCP, "service_account_json", canary)},
		{"secret.service_account_json", changeWith(secrets.GCP, "service_account_json", `["`+canary+`"]`)},
	} {
		_, _, err := b.Credentials.Create(t.Context(), c.change)
		if !fault.Is(err, fault.Invalid) || field(err) != c.where || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: %v", c.where, err)
		}
	}
	if _, _, err := b.Credentials.Create(t.Context(), changeWith(secrets.Env, "API_TOKEN", canary)); err == nil ||
		!strings.Contains(err.Error(), "is no secret of the kind env, which has vars") {
		t.Errorf("no choice is named: %v", err)
	}
	if list := b.all(); len(list) != 0 {
		t.Errorf("%d are stored", len(list))
	}
	for name, ok := range map[string]bool{"PYTHONPATH": true, "BASH_ENV": true, "ENV": true, "LD_LIBRARY_PATH": false,
		"LD_BIND_NOW": true} {
		_, _, err := b.Credentials.Create(t.Context(),
			change(name, secrets.Env, secrets.Values{"vars": secret.Text(`{"` + name + `":"v"}`)}))
		if (err == nil) != ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestNoSecretIsPrinted puts a secret into every member of every kind, valid or not, makes every dependency fail, and
// checks that no message contains the secret.
// Keeps T54.
func TestNoSecretIsPrinted(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	ctx := t.Context()
	custom := b.custom("pager")
	var changes []secrets.Change
	forms := []string{
		canary, canary + "\n", canary + "\x00", canary + "\xff", `{"A":"` + canary + `"}`, `{"` + canary + `":"x"}`,
		`{"A":["` + canary + `"]}`, `["` + canary + `"]`,
		`{"A":"` + canary, strings.Repeat(canary, 5000), "LOCKED " + canary, "KEY " + canary,
	}
	for f, form := range forms {
		var all []secrets.Change
		for _, kind := range secrets.Kinds() {
			for _, m := range kind.Members() {
				all = append(all, changeWith(kind, m.Name, form))
				if !m.Secret {
					all = append(all, settings(kind, m.Name, form), settings(kind, m.Name, []any{form}))
				}
			}
		}
		for _, f := range custom.Fields {
			c := ofType("a", custom.ID, map[string]any{f.Name: form})
			beside := ofType("a", custom.ID, nil)
			beside.Secret = secrets.Values{f.Name: secret.Text(form)}
			all = append(all, c, beside, ofType("a", custom.ID, map[string]any{f.Name: []any{form}}))
		}
		for _, name := range []string{"address", "path", "version", "token", "nope"} {
			c := change("a", secrets.Token, nil)
			c.Source = &secrets.Source{Engine: "kv", Config: map[string]any{"address": "x", "token": canary, name: form}}
			odd := change("a", secrets.Token, nil)
			odd.Source = &secrets.Source{Engine: "odd", Config: map[string]any{name: []any{form}}}
			all = append(all, c, odd)
		}
		// A quick run uses every third value for each member.
		for i, c := range all {
			if depthtest.Long || (i+f)%3 == 0 {
				changes = append(changes, c)
			}
		}
	}
	stored := b.create(change("stored", secrets.AWS, secrets.Values{"secret_access_key": canary}))
	failures := 0
	for _, lost := range []bool{false, true} {
		b.sealer.lose(lost)
		for i, c := range changes {
			c.Name = fmt.Sprintf("c%t%d", lost, i)
			_, warned, err := b.Credentials.Create(ctx, c)
			c.Name = "stored"
			_, again, changed := b.Credentials.Update(ctx, stored.ID, 0, c)
			for _, err := range []error{err, changed} {
				if err != nil {
					failures++
				}
				if text := fmt.Sprintf("%v %+v %+v", err, warned, again); strings.Contains(text, canary) {
					t.Errorf("%s %v: %s", c.Kind, c.Settings, text)
				}
			}
		}
	}
	if failures < 300 {
		t.Errorf("only %d failed", failures)
	}
	if log := b.log.String(); strings.Contains(log, canary) {
		t.Error("a secret is in the log")
	}
	for _, e := range b.trail.Take() {
		if text := fmt.Sprintf("%+v", e); strings.Contains(text, canary) {
			t.Errorf("a secret is in the trail: %s", text)
		}
	}
}
