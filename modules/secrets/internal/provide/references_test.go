package provide_test

import (
	"context"
	"encoding/base64"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/secrets"
)

func TestReferences(t *testing.T) {
	eachEngine(t, func(t *testing.T, w *fixture) {
		add := func(kind secrets.Kind, settings map[string]any, values secrets.Values) string {
			return w.add(secrets.Credential{Kind: kind, Settings: settings}, values, nil)
		}
		fields := []secrets.Field{{Name: "a", Type: secrets.Text}}
		one, two := w.typed(fields, secrets.Injectors{}), w.typed(fields, secrets.Injectors{})
		typed := func(ty string) string {
			c := secrets.Credential{Kind: secrets.Custom, TypeID: ty}
			return w.add(c, secrets.Values{"b": "x"}, nil)
		}
		pass := secrets.Values{"password": "p"}
		key, other := add(secrets.SSHKey, nil, secrets.Values{"private_key": "KEY"}),
			add(secrets.SSHKey, nil, secrets.Values{"private_key": "KEY"})
		login := add(secrets.SSHPassword, nil, pass)
		plain, named := add(secrets.VaultPassword, nil, pass),
			add(secrets.VaultPassword, map[string]any{"vault_id": "default"}, pass)
		prod := add(secrets.VaultPassword, map[string]any{"vault_id": "prod"}, pass)
		become, password := add(secrets.Become, nil, pass), add(secrets.BecomePassword, nil, pass)
		first, again, second := typed(one), typed(one), typed(two)
		shell := add(secrets.Token, nil, nil)
		asked := w.sourced(secrets.Env, "not installed here", nil)
		const ghost = "crd_00000000000000000000000009"
		none := fault.Code{}
		for _, tt := range []struct {
			name string
			ids  []string
			want fault.Code
		}{
			{"none", nil, none},
			{"one twice", []string{key, key}, none},
			{"one that does not exist", []string{ghost, key, ghost}, none},
			{"different kinds", []string{key, login, plain, prod, become, first, second, asked}, none},
			{"two of a kind", []string{login, key, other}, secrets.Clash},
			{"one vault id", []string{plain, prod, named}, secrets.Clash},
			{"become twice", []string{password, become}, secrets.Clash},
			{"one type", []string{first, second, again}, secrets.Clash},
			{"without a secret", []string{key, shell}, secrets.SecretMissing},
		} {
			err := w.References.Validate(t.Context(), tt.ids)
			if tt.want == none && err != nil || tt.want != none && !tt.want.Is(err) {
				t.Errorf("%s: %v, want %s", tt.name, err, tt.want.Name)
			}
		}
		for id, want := range map[string]bool{key: true, shell: true, ghost: false, "": false, "tpl_1": false} {
			if got, err := w.References.Exists(t.Context(), id); got != want || err != nil {
				t.Errorf("%q exists: %v, %v", id, got, err)
			}
		}
		w.box.lose()
		if err := w.References.Validate(t.Context(), []string{shell}); !secrets.SecretMissing.Is(err) {
			t.Errorf("nothing to open: %v", err)
		}
		if err := w.References.Validate(t.Context(), []string{key}); !secrets.KeyLost.Is(err) {
			t.Errorf("a lost key: %v", err)
		}
	})
}

// TestVersions rise with a credential's custom type, in the answer before a run and in what the run has.
func TestVersions(t *testing.T) {
	eachEngine(t, func(t *testing.T, w *fixture) {
		custom := w.typed([]secrets.Field{{Name: "pin", Type: secrets.Text, Secret: true}},
			secrets.Injectors{Env: map[string]string{"PIN": "{{pin}}"}})
		list := []string{
			w.add(secrets.Credential{Kind: secrets.Custom, TypeID: custom}, secrets.Values{"pin": "p1n"}, nil),
			w.add(secrets.Credential{Kind: secrets.VaultPassword}, secrets.Values{"password": "v"}, nil),
		}
		check := func(want ...int64) {
			t.Helper()
			got, err := w.References.Versions(t.Context(), list)
			if err != nil {
				t.Fatal(err)
			}
			in, err := w.Provider.Provide(t.Context(), owner, list)
			if err != nil {
				t.Fatal(err)
			}
			for i, id := range list {
				if got[id] != want[i] || in.Versions[id] != want[i] {
					t.Errorf("%d and %d, want %d", got[id], in.Versions[id], want[i])
				}
			}
		}
		check(1, 1)
		if err := w.d.Do(t.Context(), func(ctx context.Context) error {
			x, err := w.store.TypeByID(ctx, custom)
			if err != nil {
				return err
			}
			x.Inject.Env = map[string]string{"CODE": "{{pin}}"}
			_, err = w.store.UpdateType(ctx, x, 0)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		check(1<<32+1, 1)
	})
}

// TestStored returns every stored secret in the forms in which a run may have it, without asking an engine.
func TestStored(t *testing.T) {
	eachEngine(t, func(t *testing.T, w *fixture) {
		w.resolve("vault", func(context.Context, map[string]any) (string, error) {
			t.Error("an engine was asked")
			return "", nil
		})
		custom := w.typed([]secrets.Field{{Name: "pin", Type: secrets.Text, Secret: true},
			{Name: "on", Type: secrets.Bool, Secret: true}}, secrets.Injectors{})
		list := []string{
			w.add(secrets.Credential{Kind: secrets.SSHKey}, secrets.Values{"private_key": "KEY one", "passphrase": "open"}, nil),
			w.add(secrets.Credential{Kind: secrets.Env}, secrets.Values{"vars": `{"A":"alpha","B":"beta"}`}, nil),
			w.add(secrets.Credential{Kind: secrets.Custom, TypeID: custom}, secrets.Values{"pin": "p1n", "on": "true"}, nil),
			w.add(secrets.Credential{Kind: secrets.Registry}, secrets.Values{"password": "reg"}, nil),
			w.sourced(secrets.Token, "vault", map[string]any{"token": "of the engine"}),
			"crd_00000000000000000000000009",
		}
		got, err := w.References.Stored(t.Context(), append(list, list...))
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"KEY one", "open", `{"A":"alpha","B":"beta"}`, "alpha", "beta", "p1n", "reg",
			base64.StdEncoding.EncodeToString([]byte("token:reg")), "of the engine"}
		have := make([]string, 0, len(got))
		for _, text := range got {
			have = append(have, text.Reveal())
		}
		slices.Sort(want)
		slices.Sort(have)
		if diff := cmp.Diff(want, have); diff != "" {
			t.Error(diff)
		}
		w.box.lose()
		if _, err := w.References.Stored(t.Context(), list[:1]); !secrets.KeyLost.Is(err) {
			t.Errorf("a lost key: %v", err)
		}
	})
}
