package inject_test

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/writ-automation/writ/modules/secrets/internal/inject"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
)

const id = "crd_00000000000000000000000001"

// keys is a fake reader that unlocks texts with the prefix of a key and removes their passphrase suffix.
type keys struct{}

func (keys) Unlock(private, passphrase secret.Text) (secrets.Key, error) {
	text, locked := strings.CutSuffix(private.Reveal(), " locked by "+passphrase.Reveal())
	if !strings.HasPrefix(text, "KEY ") || !locked && strings.Contains(text, " locked by ") {
		return secrets.Key{}, fault.BadField("passphrase", "is wrong")
	}
	return secrets.Key{PrivateKey: secret.Text(text), Comment: "of a test"}, nil
}

func opened(kind secrets.Kind, values map[string]string, settings map[string]any) inject.Opened {
	o := inject.Opened{Credential: secrets.Credential{Record: object.Record{ID: id}, Kind: kind, Settings: settings},
		Secret: secrets.Values{}}
	for name, value := range values {
		o.Secret[name] = secret.Text(value)
	}
	return o
}

// plain is a printable form of an injection for comparison.
type plain struct {
	Env   map[string]string
	Vars  map[string]any
	Files map[string]string
	Keys  []string
	Login []string // user, password, method, user and password of become
	Vault map[string]string
	Hide  []string
}

func show(i secrets.Injection) plain {
	out := plain{Env: map[string]string{}, Vars: i.ExtraVars, Files: map[string]string{}, Vault: map[string]string{}}
	for name, value := range i.Env {
		out.Env[name] = value.Reveal()
	}
	for _, f := range i.Files {
		out.Files[f.Name] = f.Content.Reveal()
	}
	for _, k := range i.Keys {
		out.Keys = append(out.Keys, k.PrivateKey.Reveal())
	}
	l := i.Login
	out.Login = []string{l.User, l.Password.Reveal(), l.BecomeMethod, l.BecomeUser, l.BecomePassword.Reveal()}
	if strings.Join(out.Login, "") == "" {
		out.Login = nil
	}
	for _, v := range l.Vaults {
		out.Vault[v.ID] = v.Password.Reveal()
	}
	for _, h := range i.Hide {
		out.Hide = append(out.Hide, h.Reveal())
	}
	slices.Sort(out.Hide)
	for _, m := range []any{&out.Env, &out.Files, &out.Vault} {
		if m := m.(*map[string]string); len(*m) == 0 {
			*m = nil
		}
	}
	if len(out.Vars) == 0 {
		out.Vars = nil
	}
	return out
}

func mark(name string) string { return secret.FileMark(id + "/" + name) }

func TestOfEveryKind(t *testing.T) {
	t.Parallel()
	seen := map[secrets.Kind]int{}
	for _, tt := range mappings() {
		seen[tt.kind]++
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := inject.Of(opened(tt.kind, tt.secret, tt.settings), keys{})
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(tt.want.Hide)
			if diff := cmp.Diff(tt.want, show(got)); diff != "" {
				t.Errorf("injection (-want +got):\n%s", diff)
			}
		})
	}
	for _, k := range secrets.Kinds() {
		if seen[k] == 0 {
			t.Errorf("no case of the kind %s", k)
		}
	}
}

func TestOfRefusesWhatCannotBeUsed(t *testing.T) {
	t.Parallel()
	const canary = "canary-value"
	for _, tt := range []struct {
		name string
		o    inject.Opened
		want string
	}{
		{"a key that is none", opened(secrets.SSHKey, map[string]string{"private_key": canary}, nil), "passphrase: is wrong"},
		{"a list as vars", opened(secrets.Env, map[string]string{"vars": `["` + canary + `"]`}, nil),
			"vars is not an object of strings"},
		{"a number in vars", opened(secrets.Env, map[string]string{"vars": `{"A":1,"B":"` + canary + `"}`}, nil),
			"vars is not an object of strings"},
		{"a null in vars", opened(secrets.Env, map[string]string{"vars": `{"A":null}`}, nil),
			"vars is not an object of strings"},
		{
			"a name that is none", opened(secrets.Env, map[string]string{"vars": `{"A=` + canary + `":"x"}`}, nil),
			"vars: a name in it is not one of an environment variable",
		},
		{
			"a name of the executor", opened(secrets.Env, map[string]string{"vars": `{"WRIT_RUN_ID":"` + canary + `"}`}, nil),
			"vars: a name in it begins with WRIT_, which the executor sets",
		},
		{
			"a NUL in a variable", opened(secrets.Env, map[string]string{"vars": `{"A":"` + canary + `\u0000"}`}, nil),
			"vars: a value in it holds a NUL character",
		},
		{"a NUL", opened(secrets.Token, map[string]string{"token": canary + "\x00"}, nil), "token holds a NUL character"},
		{
			"a name of a variable", opened(secrets.Token, map[string]string{"token": canary}, map[string]any{"env_name": "A B"}),
			"env_name: a name in it is not one of an environment variable",
		},
		{"a kind of another time", opened("tape", map[string]string{"password": canary}, nil), `the kind "tape" is unknown`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := inject.Of(tt.o, keys{})
			if err == nil || err.Error() != tt.want {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
}

// brokenReader fails with an internal error.
type brokenReader struct{}

var errBroken = errors.New("out of order")

func (brokenReader) Unlock(secret.Text, secret.Text) (secrets.Key, error) {
	return secrets.Key{}, errBroken
}

func TestOfPassesFailuresOfTheReader(t *testing.T) {
	t.Parallel()
	if _, err := inject.Of(opened(secrets.SSHKey, map[string]string{"private_key": "KEY"}, nil),
		brokenReader{}); !errors.Is(err, errBroken) {
		t.Errorf("error %v", err)
	}
}

// TestOfHidesEverySecret uses credentials of every kind with random secrets.
func TestOfHidesEverySecret(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[ -~\n]{1,40}`)
		kind := rapid.SampledFrom(secrets.Kinds()).Draw(t, "kind")
		values, inner := map[string]string{}, []string{}
		for _, m := range kind.Members() {
			if !m.Secret || !m.Required && !rapid.Bool().Draw(t, "set "+m.Name) {
				continue
			}
			value := text.Draw(t, m.Name)
			switch {
			case m.Name == "private_key":
				value = "KEY " + value
			case m.Type == secrets.Object:
				doc := map[string]string{"PRIVATE_KEY": value}
				raw, err := json.Marshal(doc)
				if err != nil {
					t.Fatal(err)
				}
				inner = append(inner, value)
				value = string(raw)
			}
			values[m.Name] = value
		}
		got, err := inject.Of(opened(kind, values, nil), keys{})
		if err != nil {
			t.Fatal(err)
		}
		stored := inject.Secrets(opened(kind, values, nil))
		for _, value := range append(slices.Collect(maps.Values(values)), inner...) {
			if !slices.Contains(got.Hide, secret.Text(value)) || !slices.Contains(stored, secret.Text(value)) {
				t.Errorf("%q of the kind %s is not hidden", value, kind)
			}
		}
		if kind != secrets.SSHKey && !slices.Equal(got.Hide, stored) {
			t.Errorf("of the kind %s a run hides %d texts, and its record %d", kind, len(got.Hide), len(stored))
		}
	})
}
