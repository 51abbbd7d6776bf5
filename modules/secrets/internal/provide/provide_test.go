package provide_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
)

var owner = secrets.Owner{ID: "run_00000000000000000000000001", Epoch: 1}

// reveal returns the content of an injection: its variables, its login and its files.
func reveal(i secrets.Injection) map[string]string {
	out := map[string]string{}
	for name, value := range i.Env {
		out[name] = value.Reveal()
	}
	for name, value := range map[string]string{
		"user": i.Login.User, "password": i.Login.Password.Reveal(), "become": i.Login.BecomePassword.Reveal(),
	} {
		if value != "" {
			out[name] = value
		}
	}
	for _, f := range i.Files {
		_, name, _ := strings.Cut(f.Name, "/")
		out["file "+name] = f.Content.Reveal()
	}
	for _, v := range i.Login.Vaults {
		out["vault "+v.ID] = v.Password.Reveal()
	}
	for _, k := range i.Keys {
		out["key"] = k.PrivateKey.Reveal()
	}
	for name, value := range i.ExtraVars {
		out["var "+name] = fmt.Sprint(value)
	}
	return out
}

func TestProvideOfStoredSecrets(t *testing.T) {
	eachEngine(t, func(t *testing.T, w *fixture) {
		ty := w.typed([]secrets.Field{{Name: "api_key", Type: secrets.Text, Secret: true, Required: true},
			{Name: "host", Type: secrets.Text}},
			secrets.Injectors{Env: map[string]string{"API": "{{api_key}}@{{host}}"}})
		ids := []string{
			w.add(secrets.Credential{Kind: secrets.SSHKey, Settings: map[string]any{"username": "deploy"}},
				secrets.Values{"private_key": "KEY 1"}, nil),
			w.add(secrets.Credential{Kind: secrets.VaultPassword}, secrets.Values{"password": "vault-1"}, nil),
			w.add(secrets.Credential{Kind: secrets.VaultPassword, Settings: map[string]any{"vault_id": "b"}},
				secrets.Values{"password": "vault-2"}, nil),
			w.add(secrets.Credential{Kind: secrets.Custom, TypeID: ty, Fields: map[string]any{"host": "h"}},
				secrets.Values{"api_key": "api-1"}, nil),
		}
		got, err := w.Provider.Provide(t.Context(), owner, append(ids, ids[0]))
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"key": "KEY 1", "user": "deploy", "vault default": "vault-1", "vault b": "vault-2",
			"API": "api-1@h"}
		if diff := cmp.Diff(want, reveal(got)); diff != "" {
			t.Errorf("injection (-want +got):\n%s", diff)
		}
		if printed := fmt.Sprintf("%v %+v %#v", got.Keys, got.Hide, got.Login); strings.Contains(printed, "-1") ||
			strings.Contains(printed, "KEY") {
			t.Errorf("printed as %s", printed)
		}
	})
}

func TestProvideOfSources(t *testing.T) {
	t.Parallel()
	w := onSQLite(t)
	one := w.typed([]secrets.Field{{Name: "pin", Type: secrets.Text, Secret: true, Required: true},
		{Name: "site", Type: secrets.Text}},
		secrets.Injectors{Env: map[string]string{"PIN": "{{pin}}@{{site}}"}})
	two := w.typed([]secrets.Field{
		{Name: "a", Type: secrets.Text, Secret: true}, {Name: "b", Type: secrets.Text, Secret: true},
		{Name: "on", Type: secrets.Bool},
		{Name: "level", Type: secrets.Choice, Choices: []string{"low", "high"}},
	}, secrets.Injectors{Env: map[string]string{"AB": "{{a}}{{b}}{{level}}"}, ExtraVars: map[string]any{"on": "{{on}}"}})
	const vault = "key_id"
	for _, tt := range []struct {
		name, value string
		c           secrets.Credential
		want        map[string]string
		refused     string // the end of the message
	}{
		{"a text", "s3cret", secrets.Credential{Kind: secrets.SSHPassword}, map[string]string{"password": "s3cret"}, ""},
		{
			"members, and others", `{"password":"s3cret","username":"dyn","ttl":3600}`,
			secrets.Credential{Kind: secrets.SSHPassword, Settings: map[string]any{"username": "old"}},
			map[string]string{"password": "s3cret", "user": "dyn"}, "",
		},
		{"an object of nothing known", `{"x":"y"}`, secrets.Credential{Kind: secrets.SSHPassword},
			map[string]string{"password": `{"x":"y"}`}, ""},
		{"a number", `{"password":12345}`, secrets.Credential{Kind: secrets.BecomePassword},
			map[string]string{"become": "12345"}, ""},
		{"nothing", "", secrets.Credential{Kind: secrets.SSHPassword}, nil, "gave nothing"},
		{"an empty member", `{"password":""}`, secrets.Credential{Kind: secrets.SSHPassword}, nil, "gave no password"},
		{"a null", `{"password":null,"username":"canary"}`, secrets.Credential{Kind: secrets.SSHPassword}, nil,
			"gave no password"},
		{"a list as a password", `{"password":["canary"]}`, secrets.Credential{Kind: secrets.SSHPassword}, nil,
			"gave no text as password"},
		{"a NUL", `{"password":"canary\u0000"}`, secrets.Credential{Kind: secrets.SSHPassword}, nil,
			"gave a NUL character as password"},
		{"no key", "canary", secrets.Credential{Kind: secrets.SSHKey}, nil,
			"gave nothing that can be used: private_key: is no private key"},
		{"a key", `{"private_key":"KEY 1","username":"u"}`, secrets.Credential{Kind: secrets.SSHKey},
			map[string]string{"key": "KEY 1", "user": "u"}, ""},
		{"variables", `{"A":"1","B":"2"}`, secrets.Credential{Kind: secrets.Env}, map[string]string{"A": "1", "B": "2"}, ""},
		{"variables within", `{"vars":{"A":"1"}}`, secrets.Credential{Kind: secrets.Env}, map[string]string{"A": "1"}, ""},
		{"a variable vars", `{"vars":"x"}`, secrets.Credential{Kind: secrets.Env}, map[string]string{"vars": "x"}, ""},
		{"a text as variables", "canary", secrets.Credential{Kind: secrets.Env}, nil, "gave no object of strings"},
		{"numbers as variables", `{"A":1}`, secrets.Credential{Kind: secrets.Env}, nil, "gave no object of strings"},
		{
			"vault for aws", `{"access_key":"AK","secret_key":"SK","security_token":"ST"}`,
			secrets.Credential{Kind: secrets.AWS},
			map[string]string{"AWS_ACCESS_KEY_ID": "AK", "AWS_SECRET_ACCESS_KEY": "SK", "AWS_SESSION_TOKEN": "ST"}, "",
		},
		{
			"vault for a user of aws", `{"access_key":"AK","secret_key":"SK","security_token":null}`,
			secrets.Credential{Kind: secrets.AWS},
			map[string]string{"AWS_ACCESS_KEY_ID": "AK", "AWS_SECRET_ACCESS_KEY": "SK"}, "",
		},
		{
			"a key file", `{"type":"service_account","private_key":"P"}`, secrets.Credential{Kind: secrets.GCP},
			map[string]string{"file service_account.json": `{"type":"service_account","private_key":"P"}`}, "",
		},
		{
			"a key file within", `{"service_account_json":{"private_key":"P"},"project":"p"}`,
			secrets.Credential{Kind: secrets.GCP},
			map[string]string{"file service_account.json": `{"private_key":"P"}`, "GCP_PROJECT": "p"}, "",
		},
		{"no key file", "canary", secrets.Credential{Kind: secrets.GCP}, nil, "gave no object as service_account_json"},
		{
			"a switch", `{"password":"s3cret","validate_certs":true}`, secrets.Credential{Kind: secrets.VMware},
			map[string]string{"VMWARE_PASSWORD": "s3cret", "VMWARE_VALIDATE_CERTS": "true"}, "",
		},
		{
			"no switch", `{"password":"s3cret","validate_certs":"canary"}`, secrets.Credential{Kind: secrets.VMware}, nil,
			"gave neither true nor false as validate_certs",
		},
		{"one field", "1234", secrets.Credential{Kind: secrets.Custom, TypeID: one}, map[string]string{"PIN": "1234@"}, ""},
		{"fields", `{"pin":"1234","site":"x"}`, secrets.Credential{Kind: secrets.Custom, TypeID: one},
			map[string]string{"PIN": "1234@x"}, ""},
		{"fields without the one", `{"site":"x"}`, secrets.Credential{Kind: secrets.Custom, TypeID: one}, nil, "gave no pin"},
		{
			"several fields", `{"a":"1","b":"2","on":true,"level":"low"}`, secrets.Credential{Kind: secrets.Custom, TypeID: two},
			map[string]string{"AB": "12low", "var on": "true"}, "",
		},
		{
			"a text for several fields", "canary", secrets.Credential{Kind: secrets.Custom, TypeID: two}, nil,
			"gave no object with a field of the credential's type, which has several secret ones",
		},
		{"no choice", `{"a":"1","level":"canary"}`, secrets.Credential{Kind: secrets.Custom, TypeID: two}, nil,
			"gave none of the choices as level"},
		{"too much", strings.Repeat("x", 1<<20+1), secrets.Credential{Kind: secrets.SSHPassword}, nil,
			"gave more than 1048576 bytes"},
	} {
		engine := "engine of " + tt.name
		w.resolve(engine, func(_ context.Context, config map[string]any) (string, error) {
			if config["path"] != "app" || config[vault] != "canary-key" {
				return "", errors.New("no such path")
			}
			clear(config) // the engine may change its copy of the config
			return tt.value, nil
		})
		tt.c.Source = &secrets.Source{Engine: engine, Config: map[string]any{"path": "app"}}
		id := w.add(tt.c, nil, map[string]any{vault: "canary-key"})
		t.Run(tt.name, func(t *testing.T) {
			got, err := w.Provider.Provide(t.Context(), owner, []string{id})
			if tt.refused != "" {
				want := "the credential " + id + ": its engine " + engine + " " + tt.refused
				if !secrets.Unresolved.Is(err) || err.Error() != want || strings.Contains(err.Error(), "canary") {
					t.Errorf("error %v, want %s", err, want)
				}
				return
			}
			all := reveal(got)
			if tt.c.Kind == secrets.GCP { // several variables contain the path of its file
				maps.DeleteFunc(all, func(name, _ string) bool { return tt.want[name] == "" })
			}
			if err != nil || !maps.Equal(all, tt.want) {
				t.Errorf("sets %q, want %q (%v)", all, tt.want, err)
			}
		})
	}
}

func TestProvideFaults(t *testing.T) {
	eachEngine(t, func(t *testing.T, w *fixture) {
		w.resolve("down", func(context.Context, map[string]any) (string, error) {
			return "canary-val", errors.New("connection\nrefused, canary-val")
		})
		w.resolve("mad", func(context.Context, map[string]any) (string, error) { panic("canary") })
		w.engines["empty"] = extension.Engine{}
		password := func(kind secrets.Kind) string {
			return w.add(secrets.Credential{Kind: kind}, secrets.Values{"password": "canary-pass"}, nil)
		}
		a, b := password(secrets.SSHPassword), password(secrets.SSHPassword)
		become, both := password(secrets.Become), password(secrets.BecomePassword)
		shell := w.add(secrets.Credential{Kind: secrets.Token}, nil, nil)
		down, mad, none := w.sourced(secrets.Token, "down", nil), w.sourced(secrets.Token, "mad", nil),
			w.sourced(secrets.Token, "absent", nil)
		empty := w.sourced(secrets.Token, "empty", nil)
		env := w.add(secrets.Credential{Kind: secrets.Env}, secrets.Values{"vars": `{"TOKEN":"canary-1"}`}, nil)
		tok := w.add(secrets.Credential{Kind: secrets.Token}, secrets.Values{"token": "canary-2"}, nil)
		lone := w.add(secrets.Credential{Kind: secrets.Network}, secrets.Values{"authorize_password": "canary"}, nil)
		const ghost = "crd_00000000000000000000000009"
		for _, tt := range []struct {
			name string
			ids  []string
			code fault.Code
			want string
		}{
			{"unknown", []string{a, ghost}, secrets.CredentialNotFound, `no credential "` + ghost + `"`},
			{"without a secret", []string{shell}, secrets.SecretMissing, "the credential " + shell + " has no secret yet"},
			{"without the one that counts", []string{lone}, secrets.SecretMissing,
				"the credential " + lone + " has no secret yet: password is missing"},
			{
				"two of a kind", []string{a, b}, secrets.Clash,
				"the credentials " + a + " and " + b + " cannot be used together: both are of the kind ssh_password",
			},
			{
				"two for become", []string{become, both}, secrets.Clash,
				"the credentials " + become + " and " + both + " cannot be used together: both are for become",
			},
			{
				"one variable", []string{env, tok}, secrets.Clash,
				"the credentials " + env + " and " + tok + " cannot be used together: both set the environment variable TOKEN",
			},
			{
				"an engine that fails", []string{down}, secrets.Unresolved,
				"the credential " + down + ": its engine down did not give the secret: connection refused, ***",
			},
			{
				"an engine that panics", []string{mad}, secrets.Unresolved,
				"the credential " + mad + ": its engine mad did not give the secret: it panicked with a string",
			},
			{"no engine", []string{none}, secrets.Unresolved,
				"the credential " + none + ": its engine absent is not installed here"},
			{"half an engine", []string{empty}, secrets.Unresolved,
				"the credential " + empty + ": its engine empty is not installed here"},
		} {
			_, err := w.Provider.Provide(t.Context(), owner, tt.ids)
			if !tt.code.Is(err) || err.Error() != tt.want {
				t.Errorf("%s: error %v, want %s", tt.name, err, tt.want)
			}
		}
		w.box.lose()
		_, err := w.Provider.Provide(t.Context(), owner, []string{a})
		if want := "the credential " + a + " cannot be opened: the key of this test was lost"; !secrets.KeyLost.Is(err) ||
			err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	})
}

func TestProvideOfNothing(t *testing.T) {
	t.Parallel()
	got, err := onSQLite(t).Provider.Provide(t.Context(), owner, nil)
	if err != nil || len(reveal(got)) > 0 {
		t.Errorf("%v, %v", reveal(got), err)
	}
}

func TestProvideOfACredentialInAnothersPlace(t *testing.T) {
	t.Parallel()
	w := onSQLite(t)
	id := w.add(secrets.Credential{Kind: secrets.Token}, secrets.Values{"token": "canary"}, nil)
	c, _, err := w.store.SealedByID(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	c.SecretVersion++
	foreign, err := w.box.Seal(t.Context(), secrets.CredentialRecord("crd_other", c.SecretVersion),
		[]byte(`{"secret":{"token":"canary"}}`))
	if err != nil {
		t.Fatal(err)
	}
	err = w.d.Do(t.Context(), func(ctx context.Context) error {
		_, err := w.store.UpdateCredential(ctx, c, foreign, 0)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Provider.Provide(t.Context(), owner, []string{id})
	if !secrets.Unresolved.Is(err) || !strings.Contains(err.Error(), id) || strings.Contains(err.Error(), "canary") {
		t.Errorf("error %v", err)
	}
}

// TestNoFaultTellsASecret uses engines whose errors repeat their whole input in the usual encodings.
func TestNoFaultTellsASecret(t *testing.T) {
	t.Parallel()
	w := onSQLite(t)
	var reply func(map[string]any) string
	w.resolve("loud", func(_ context.Context, config map[string]any) (string, error) {
		return "", errors.New(reply(config))
	})
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringMatching(`[!-~]{8,40}`).Draw(t, "secret")
		form := rapid.SampledFrom([]func(string) string{
			func(s string) string { return s }, url.QueryEscape, url.PathEscape,
			func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
		}).Draw(t, "form")
		reply = func(config map[string]any) string { return "cannot use " + form(config["token"].(string)) + " here" }
		kind := rapid.SampledFrom(secrets.Kinds()).Draw(t, "kind")
		id := w.sourced(kind, "loud", map[string]any{"token": value})
		_, err := w.Provider.Provide(context.Background(), owner, []string{id})
		if !secrets.Unresolved.Is(err) || strings.Contains(err.Error(), value) || strings.Contains(err.Error(), form(value)) {
			t.Errorf("error %v with the secret %q", err, value)
		}
		var f *fault.Error
		if !errors.As(err, &f) || f.Cause != nil {
			t.Errorf("the fault %#v has a cause", f)
		}
	})
}

func TestProvideHidesWhatEnginesGive(t *testing.T) {
	t.Parallel()
	w := onSQLite(t)
	w.resolve("e", func(context.Context, map[string]any) (string, error) {
		return `{"password":"from-engine","username":"u"}`, nil
	})
	id := w.sourced(secrets.SSHPassword, "e", nil)
	got, err := w.Provider.Provide(t.Context(), owner, []string{id})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Hide) != 1 || got.Hide[0] != secret.Text("from-engine") {
		t.Errorf("hides %d texts", len(got.Hide))
	}
}
