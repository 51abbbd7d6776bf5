package rundir

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
)

func TestStrip(t *testing.T) {
	t.Parallel()
	d := create(t, t.TempDir(), "run_1", runs.Vars{"a": json.RawMessage(`"hunter22"`)})
	if _, err := d.Inject(nil, secrets.Injection{
		Files: []secrets.File{{Name: "a", Content: "hunter22"}, {Name: "b/c", Content: "hunter22"}},
		Login: secrets.Login{Password: "hunter22"},
	}); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(d.Work(), "shut", "in"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(d.Work(), "shut"), 0); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := d.Strip(); err != nil {
			t.Fatal(err)
		}
		entries, err := os.ReadDir(d.Path())
		if err != nil || len(entries) != 1 || entries[0].Name() != stateFile {
			t.Fatalf("left are %v: %v", entries, err)
		}
	}
	if s := d.State(); !s.Secret || s.RunID != "run_1" || s.Worker != "w" {
		t.Errorf("the state is %+v", s)
	}
	if err := d.Remove(); err != nil {
		t.Fatal(err)
	}
	if err := d.Strip(); err != nil {
		t.Errorf("a directory that is gone: %v", err)
	}
}

func TestARunWithoutSecretsSaysSo(t *testing.T) {
	t.Parallel()
	d := create(t, t.TempDir(), "run_1", nil)
	if d.State().Secret {
		t.Error("a new directory has secrets")
	}
	got, err := d.Inject(nil, secrets.Injection{})
	if diff := cmp.Diff(Secrets{Env: map[string]string{}, Vars: runs.Vars{}}, got); diff != "" || err != nil ||
		!d.State().Secret {
		t.Errorf("%v %s", err, diff)
	}
	entries, err := os.ReadDir(d.Files())
	if err != nil || len(entries) != 4 {
		t.Errorf("there are %v: %v", entries, err)
	}
}

func TestLoginEnv(t *testing.T) {
	t.Parallel()
	vaults := func(ids ...string) execution.Login {
		var l execution.Login
		for _, id := range ids {
			l.Vaults = append(l.Vaults, execution.VaultFile{ID: id, Path: "/" + id})
		}
		return l
	}
	for name, c := range map[string]struct {
		login execution.Login
		want  map[string]string
	}{
		"nothing":         {execution.Login{User: "u"}, map[string]string{}},
		"the default one": {vaults("a", "default"), map[string]string{"WRIT_VAULT_PASSWORD_FILE": "/default"}},
		"the first one":   {vaults("b", "a"), map[string]string{"WRIT_VAULT_PASSWORD_FILE": "/b"}},
		"passwords": {execution.Login{PasswordFile: "/p", BecomePasswordFile: "/b"},
			map[string]string{"WRIT_SSH_PASSWORD_FILE": "/p", "WRIT_BECOME_PASSWORD_FILE": "/b"}},
	} {
		if diff := cmp.Diff(c.want, LoginEnv(c.login)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// FuzzInject gives files any names, and expects that nothing is written but below the folder of secrets.
func FuzzInject(f *testing.F) {
	for _, name := range []string{"a", "a/b", "../a", "a/../b", "/etc/x", "", ".", "a/", "a/./b", "a\x00",
		strings.Repeat("x", 300), "a//b", "..\\a"} {
		f.Add(name, name+"2", "VAR")
	}
	f.Fuzz(func(t *testing.T, one, two, variable string) {
		root := t.TempDir()
		d := create(t, root, "run_1", nil)
		in := secrets.Injection{
			Files:     []secrets.File{{Name: one, Content: "hunter22"}, {Name: two, Content: "hunter22"}},
			Env:       map[string]secret.Text{variable: secret.Text("x" + secret.FileMark(one))},
			ExtraVars: map[string]any{variable: []any{secret.FileMark(two)}},
		}
		got, err := d.Inject(nil, in)
		if err != nil && !fault.Is(err, fault.Invalid) {
			t.Fatalf("%q and %q: %v", one, two, err)
		}
		walk := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() || strings.HasPrefix(path, d.file(secretsDir)+"/") {
				return err
			}
			b, err := os.ReadFile(path)
			if strings.Contains(string(b), "hunter22") {
				t.Errorf("%s holds the content of a file", path)
			}
			return err
		})
		if walk != nil {
			t.Fatal(walk)
		}
		if err != nil {
			return
		}
		path, ok := strings.CutPrefix(got.Env[variable], "x")
		if b, err := os.ReadFile(path); !ok || err != nil || string(b) != "hunter22" ||
			!strings.HasPrefix(path, d.file(secretsDir)+"/") {
			t.Errorf("%q is at %q: %v", one, path, err)
		}
		var places []string
		if err := json.Unmarshal(got.Vars[variable], &places); err != nil || len(places) != 1 {
			t.Fatalf("%s: %v", got.Vars[variable], err)
		}
	})
}
