package provide_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
)

const source = "src_00000000000000000000000001"

func TestLoginOfProjects(t *testing.T) {
	eachEngine(t, func(t *testing.T, w *fixture) {
		w.resolve("e", func(context.Context, map[string]any) (string, error) { return "fetched\n", nil })
		user := map[string]any{"username": "bot"}
		for _, tt := range []struct {
			name string
			id   string
			want catalog.Login
		}{
			{
				"token", w.add(secrets.Credential{Kind: secrets.Token, Settings: map[string]any{"env_name": "X"}},
					secrets.Values{"token": "tok"}, nil),
				catalog.Login{Password: "tok"},
			},
			{"fetched token", w.sourced(secrets.Token, "e", nil), catalog.Login{Password: "fetched"}},
			{
				"password", w.add(secrets.Credential{Kind: secrets.SSHPassword, Settings: user},
					secrets.Values{"password": "p"}, nil),
				catalog.Login{Username: "bot", Password: "p"},
			},
			{
				"key", w.add(secrets.Credential{Kind: secrets.SSHKey, Settings: user}, secrets.Values{"private_key": "KEY 1"}, nil),
				catalog.Login{Username: "bot", Key: "KEY 1"},
			},
		} {
			got, err := w.Logins.Login(t.Context(), tt.id)
			if diff := cmp.Diff(tt.want, got, cmp.Comparer(func(a, b secret.Text) bool {
				return a == b
			})); diff != "" || err != nil {
				t.Errorf("%s: %v (-want +got):\n%s", tt.name, err, diff)
			}
		}
	})
}

// TestLoginOfNoProject refuses other kinds before any engine is called.
func TestLoginOfNoProject(t *testing.T) {
	t.Parallel()
	w := onSQLite(t)
	w.resolve("e", func(context.Context, map[string]any) (string, error) {
		t.Error("the engine was asked")
		return "", nil
	})
	for _, kind := range append(secrets.Kinds(), secrets.Custom) {
		switch kind {
		case secrets.Token, secrets.SSHPassword, secrets.SSHKey:
			continue
		}
		id := w.sourced(kind, "e", nil)
		_, err := w.Logins.Login(t.Context(), id)
		if fault.KindOf(err) != fault.Conflict || !strings.Contains(err.Error(), id) ||
			!strings.Contains(err.Error(), string(kind)) {
			t.Errorf("%s: %v", kind, err)
		}
	}
	if _, err := w.Logins.Login(t.Context(), "crd_00000000000000000000000009"); !secrets.CredentialNotFound.Is(err) {
		t.Errorf("an unknown one: %v", err)
	}
}

func TestLoginKeepsWhatIsMintedForAWhile(t *testing.T) {
	eachEngine(t, func(t *testing.T, w *fixture) {
		m := newMint()
		id := minting(w, revoker{m})
		got, err := w.Logins.Login(t.Context(), id)
		if err != nil || got.Password.Reveal() != "minted-1" {
			t.Fatalf("%v, %v", got, err)
		}
		if tracked := w.leases(secrets.Owner{ID: id}); tracked != 1 {
			t.Errorf("%d leases", tracked)
		}
		w.clock.move(29 * time.Minute)
		first := w.another(false) // its start does not take a lease that is still in use
		first.Background.Start()
		if err := first.Background.Stop(t.Context()); err != nil || m.living() != 1 {
			t.Fatalf("%v; %d live", err, m.living())
		}
		w.clock.move(2 * time.Minute)
		w.Background.Start()
		<-m.revoked
		if err := w.Background.Stop(t.Context()); err != nil || w.leases(secrets.Owner{ID: id}) != 0 {
			t.Errorf("%v; %d leases", err, w.leases(secrets.Owner{ID: id}))
		}
	})
}

func TestAccessOfSources(t *testing.T) {
	t.Parallel()
	w := onSQLite(t)
	for _, tt := range []struct {
		name    string
		id      string
		env     []string
		headers map[string]secret.Text
		files   []string
	}{
		{
			"token", w.add(secrets.Credential{Kind: secrets.Token}, secrets.Values{"token": "tok\n"}, nil), []string{"TOKEN"},
			map[string]secret.Text{"Authorization": "Bearer tok"}, nil,
		},
		{
			"password", w.add(secrets.Credential{Kind: secrets.SSHPassword, Settings: map[string]any{"username": "bot"}},
				secrets.Values{"password": "p:w"}, nil),
			nil, map[string]secret.Text{"Authorization": "Basic Ym90OnA6dw=="}, nil,
		},
		{
			"aws", w.add(secrets.Credential{Kind: secrets.AWS}, secrets.Values{"secret_access_key": "sak"}, nil),
			[]string{"AWS_SECRET_ACCESS_KEY"}, map[string]secret.Text{}, nil,
		},
		{
			"gcp", w.add(secrets.Credential{Kind: secrets.GCP}, secrets.Values{"service_account_json": "{}"}, nil),
			[]string{"GCP_AUTH_KIND", "GOOGLE_APPLICATION_CREDENTIALS"}, map[string]secret.Text{},
			[]string{"service_account.json"},
		},
	} {
		got, done, err := w.Logins.Access(t.Context(), source, tt.id)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		for _, name := range tt.env {
			if got.Env[name] == "" {
				t.Errorf("%s: no variable %s", tt.name, name)
			}
		}
		for _, name := range tt.files {
			if got.Files[tt.id+"/"+name] == "" ||
				got.Env["GOOGLE_APPLICATION_CREDENTIALS"].Reveal() != secret.FileMark(tt.id+"/"+name) {
				t.Errorf("%s: no file %s", tt.name, name)
			}
		}
		if diff := cmp.Diff(tt.headers, got.Headers, cmp.Comparer(func(a, b secret.Text) bool {
			return a == b
		})); diff != "" {
			t.Errorf("%s: headers (-want +got):\n%s", tt.name, diff)
		}
		done()
	}
}

func TestAccessRefuses(t *testing.T) {
	t.Parallel()
	w := onSQLite(t)
	m := newMint()
	m.value = "canary\r\nX-Evil: yes"
	for name, id := range map[string]string{
		"vault":   w.add(secrets.Credential{Kind: secrets.VaultPassword}, secrets.Values{"password": "canary"}, nil),
		"header":  minting(w, revoker{m}),
		"unknown": "crd_00000000000000000000000009",
		"empty":   w.add(secrets.Credential{Kind: secrets.Token}, nil, nil),
	} {
		got, done, err := w.Logins.Access(t.Context(), source, id)
		if kind := fault.KindOf(err); kind != fault.Conflict && kind != fault.NotFound {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil || !strings.Contains(err.Error(), id) || strings.Contains(err.Error(), "canary") ||
			len(got.Env)+len(got.Headers) > 0 {
			t.Errorf("%s: %v", name, err)
		}
		done()
	}
	if m.living() != 0 {
		t.Errorf("%d live", m.living())
	}
}

func TestAccessIsRevoked(t *testing.T) {
	eachEngine(t, func(t *testing.T, w *fixture) {
		m := newMint()
		id := minting(w, revoker{m})
		_, first, err := w.Logins.Access(t.Context(), source, id)
		if err != nil {
			t.Fatal(err)
		}
		_, second, err := w.Logins.Access(t.Context(), source, id)
		if err != nil {
			t.Fatal(err)
		}
		o := secrets.Owner{ID: source}
		if m.living() != 2 || w.leases(o) != 2 {
			t.Fatalf("%d live, %d leases", m.living(), w.leases(o))
		}
		first()
		first()
		if m.living() != 1 || w.leases(o) != 1 {
			t.Errorf("one takes what is another's: %d live, %d leases", m.living(), w.leases(o))
		}
		second()
		if m.living() != 0 || w.leases(o) != 0 {
			t.Errorf("%d live, %d leases", m.living(), w.leases(o))
		}
	})
}
