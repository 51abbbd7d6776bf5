package credentials_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/secrets"
)

type config = map[string]any

// from is a token that an engine provides.
func from(engine string, c config) secrets.Change {
	out := change("sourced", secrets.Token, nil)
	out.Source = &secrets.Source{Engine: engine, Config: c}
	return out
}

// TestSource separates the secret members of a config from the public ones.
func TestSource(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		got, warnings, err := b.Credentials.Create(t.Context(), from("kv", config{
			"address": "https://kv.test", "path": "", "version": json.Number("2"), "token": canary, "other": nil,
		}))
		if err != nil || len(warnings) != 0 || !got.HasSecret || got.SecretVersion != 1 {
			t.Fatal(got, warnings, err)
		}
		read := must[secrets.Credential](t)(b.Credentials.Get(t.Context(), got.ID))
		want := `{"Engine":"kv","Config":{"address":"https://kv.test","version":2}}`
		if text, err := json.Marshal(read.Source); err != nil || string(text) != want {
			t.Errorf("%s %v", text, err)
		}
		doc := b.opened(got.ID)
		if d := cmp.Diff(config{"token": canary}, doc.Source); d != "" || len(doc.Secret) != 0 {
			t.Error(d)
		}
		// If an engine does not describe its config, every member is secret.
		odd := b.create(func() secrets.Change {
			c := from("odd", config{"a": canary, "n": 7})
			c.Name, c.SourceSecret = "odd", secrets.Values{"b": canary}
			return c
		}())
		if odd.Source.Config != nil {
			t.Errorf("%v", odd.Source.Config)
		}
		if d := cmp.Diff(config{"a": canary, "n": 7.0, "b": canary}, b.opened(odd.ID).Source); d != "" {
			t.Error(d)
		}
	})
}

func TestSourceRefused(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	secretAlone := change("a", secrets.Token, nil)
	secretAlone.SourceSecret = secrets.Values{"token": canary}
	for _, c := range []struct {
		where  string
		change secrets.Change
	}{
		{"source.engine", from("nope", nil)}, {"source.engine", from("", nil)}, {"source", secretAlone},
		{"source.config.nope", from("kv", config{"address": "a", "token": canary, "nope": canary})},
		{"source.config.address", from("kv", config{"token": canary})},
		{"source.config.token", from("kv", config{"address": "a"})},
		{"source.config.token", from("kv", config{"address": "a", "token": ""})},
		{"source.config.token", from("kv", config{"address": "a", "token": 7})},
		{"source.config.version", from("kv", config{"address": "a", "token": canary, "version": 0})},
		{"source.config.version", from("kv", config{"address": "a", "token": canary, "version": "2"})},
		{"source.config.token", from("kv", config{"address": "a", "token": canary + "\x00"})},
		{"source.config", from("kv", config{"address": "a", "token": canary, "path": "fail"})},
		{"source.config", from("kv", config{"address": "a", "token": canary, "path": "tell"})},
		{"source.config", from("odd", config{"a": strings.Repeat("a", 70000)})},
		{"source.config", from("odd", config{"a": make(chan int)})},
	} {
		_, _, err := b.Credentials.Create(t.Context(), c.change)
		if !fault.Is(err, fault.Invalid) || field(err) != c.where || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: %v", c.where, err)
		}
	}
}

// TestSourceKept: secret members of a source are kept only for the same engine and address.
func TestSourceKept(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		ctx := t.Context()
		first := from("kv", config{"address": "a", "token": canary, "other": "o"})
		first.Secret = secrets.Values{"token": "fallback"}
		id := b.create(first).ID
		sealed := func(want config, values secrets.Values) {
			t.Helper()
			doc := b.opened(id)
			if d := cmp.Diff(want, doc.Source) + cmp.Diff(values, doc.Secret); d != "" {
				t.Error(d)
			}
		}
		fallback := secrets.Values{"token": "fallback"}
		b.update(id, from("kv", config{"address": "a"})) // no change
		if n := b.sealer.opens(); n != 0 {
			t.Errorf("%d times opened for nothing", n)
		}
		b.update(id, from("kv", config{"address": "a", "path": "other"}))
		sealed(config{"token": canary, "other": "o"}, fallback)
		b.update(id, from("kv", config{"address": "a", "other": ""}))
		sealed(config{"token": canary}, fallback)
		if _, _, err := b.Credentials.Update(ctx, id, 0,
			from("kv", config{"address": "a", "token": ""})); field(err) != "source.config.token" {
			t.Error(err)
		}
		// A token is only sent to the server for which it was stored.
		if _, _, err := b.Credentials.Update(ctx, id, 0,
			from("kv", config{"address": "evil"})); field(err) != "source.config.token" ||
			strings.Contains(err.Error(), canary) {
			t.Error(err)
		}
		b.update(id, from("kv", config{"address": "b", "token": "second"}))
		sealed(config{"token": "second"}, fallback)

		b.update(id, from("odd", config{"x": "y"})) // another engine
		sealed(config{"x": "y"}, fallback)
		b.update(id, from("odd", config{"z": "w"}))
		sealed(config{"x": "y", "z": "w"}, fallback)
		b.update(id, from("odd", config{"x": ""}))
		sealed(config{"z": "w"}, fallback)

		got := b.update(id, change("sourced", secrets.Token, nil)) // no engine any more
		if sealed(nil, fallback); got.Source != nil || !got.HasSecret {
			t.Errorf("%+v", got)
		}
		got = b.update(id, change("sourced", secrets.Token, secrets.Values{"token": ""}))
		if got.HasSecret {
			t.Errorf("%+v", got)
		}
	})
}

// TestSourceKeyLost: a source that is supplied completely needs no stored secret.
func TestSourceKeyLost(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	id := b.create(from("kv", config{"address": "a", "token": canary})).ID
	b.sealer.lose(true)
	b.update(id, from("kv", config{"address": "a"}))
	for _, c := range []config{{"address": "a", "path": "x"}, {"address": "a", "token": "new"}, {"address": "b"}} {
		if _, _, err := b.Credentials.Update(t.Context(), id, 0, from("kv", c)); !secrets.KeyLost.Is(err) {
			t.Errorf("%v: %v", c, err)
		}
	}
	whole := from("kv", config{"address": "b", "token": "new", "other": ""})
	whole.Secret = secrets.Values{"token": ""}
	b.update(id, whole)
	b.sealer.lose(false)
	if d := cmp.Diff(config{"token": "new"}, b.opened(id).Source); d != "" {
		t.Error(d)
	}
}
