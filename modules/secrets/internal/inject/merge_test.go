package inject_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/modules/secrets/internal/inject"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
)

func TestMergeKeepsWhatAgrees(t *testing.T) {
	t.Parallel()
	got, err := inject.Merge([]inject.Part{
		{"crd_1", secrets.Injection{
			Env: map[string]secret.Text{"A": "1", "B": "2"}, ExtraVars: map[string]any{"v": []any{"x"}},
			Files: []secrets.File{{Name: "crd_1/f"}},
			Keys:  []secrets.Key{{PrivateKey: "K"}}, Hide: []secret.Text{"1", "2"},
			Login: secrets.Login{User: "u", Vaults: []secrets.Vault{{ID: "a", Password: "p"}}},
		}},
		{"crd_2", secrets.Injection{
			Env: map[string]secret.Text{"B": "2", "C": "3"}, ExtraVars: map[string]any{"v": []any{"x"}, "w": true},
			Files: []secrets.File{{Name: "crd_2/f"}}, Keys: []secrets.Key{{PrivateKey: "K"}, {PrivateKey: "L"}},
			Hide: []secret.Text{"2", "3"},
			Login: secrets.Login{
				User: "u", Password: "s", BecomeUser: "root",
				Vaults: []secrets.Vault{{ID: "a", Password: "p"}, {ID: "b", Password: "p"}},
			},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := plain{
		Env: map[string]string{"A": "1", "B": "2", "C": "3"}, Vars: map[string]any{"v": []any{"x"}, "w": true},
		Files: map[string]string{"crd_1/f": "", "crd_2/f": ""}, Keys: []string{"K", "L"},
		Login: []string{"u", "s", "", "root", ""},
		Vault: map[string]string{"a": "p", "b": "p"}, Hide: []string{"1", "2", "3"},
	}
	if diff := cmp.Diff(want, show(got)); diff != "" {
		t.Errorf("injection (-want +got):\n%s", diff)
	}
}

func TestMergeOfNothingIsEmpty(t *testing.T) {
	t.Parallel()
	got, err := inject.Merge(nil)
	if diff := cmp.Diff(plain{}, show(got)); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
}

func TestMergeRefusesWhatDiffers(t *testing.T) {
	t.Parallel()
	env := func(v secret.Text) secrets.Injection { return secrets.Injection{Env: map[string]secret.Text{"A_B": v}} }
	extra := func(v any) secrets.Injection { return secrets.Injection{ExtraVars: map[string]any{"v_w": v}} }
	login := func(l secrets.Login) secrets.Injection { return secrets.Injection{Login: l} }
	vault := func(p secret.Text) secrets.Injection {
		return login(secrets.Login{Vaults: []secrets.Vault{{ID: "prod", Password: p}}})
	}
	for _, tt := range []struct {
		name string
		a, b secrets.Injection
	}{
		{"the environment variable A_B", env("canary-1"), env("canary-2")},
		{"the environment variable A_B", env(""), env("canary-2")},
		{"the variable v_w", extra("canary-1"), extra("canary-2")},
		{"the variable v_w", extra(true), extra("true")},
		{"the user", login(secrets.Login{User: "canary-1"}), login(secrets.Login{User: "canary-2"})},
		{"the password of the connection", login(secrets.Login{Password: "canary-1"}),
			login(secrets.Login{Password: "canary-2"})},
		{"the method of become", login(secrets.Login{BecomeMethod: "canary-1"}),
			login(secrets.Login{BecomeMethod: "canary-2"})},
		{"the user of become", login(secrets.Login{BecomeUser: "canary-1"}), login(secrets.Login{BecomeUser: "canary-2"})},
		{"the password of become", login(secrets.Login{BecomePassword: "canary-1"}),
			login(secrets.Login{BecomePassword: "canary-2"})},
		{"the vault id prod", vault("canary-1"), vault("canary-2")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := inject.Merge([]inject.Part{{"crd_1", tt.a}, {"crd_2", secrets.Injection{}}, {"crd_3", tt.b}})
			want := "the credentials crd_1 and crd_3 cannot be used together: both set " + tt.name
			if !secrets.Clash.Is(err) || err.Error() != want {
				t.Errorf("error %v, want %s", err, want)
			}
			if err != nil && strings.Contains(err.Error(), "canary") {
				t.Error("the fault tells a value")
			}
		})
	}
}
