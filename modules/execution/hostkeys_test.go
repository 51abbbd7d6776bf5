package execution_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/runs"
)

// knownLine and newLine are two keys in known_hosts.
const (
	knownLine = "h1 ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPc6OdGcCcJyJPGz3cGEr4kfAH3kEzUfoC+XrSqfLrXl\n"
	newLine   = "[h2]:22 ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPc6OdGcCcJyJPGz3cGEr4kfAH3kEzUfoC+XrSqfLrXl\n"
)

// learner is a play that notes its host keys and what the file has, and then writes to the file.
type learner struct {
	keys execution.HostKeys
	has  string
	mode os.FileMode
}

func (l *learner) play(write func(path string) error) *player {
	return &player{play: func(_ context.Context, p execution.Play, _ func(runs.Event) error) (execution.PlayResult,
		error) {
		text, err := os.ReadFile(p.HostKeys.File)
		info, err2 := os.Stat(p.HostKeys.File)
		if err = errors.Join(err, err2); err == nil {
			l.keys, l.has, l.mode = p.HostKeys, string(text), info.Mode()
			err = write(p.HostKeys.File)
		}
		return execution.PlayResult{Complete: true, Touched: 1}, err
	}}
}

func add(text string) func(string) error {
	return func(path string) error {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return err
		}
		_, err = f.WriteString(text)
		return errors.Join(err, f.Close())
	}
}

// TestHostKeysOfARun checks which known hosts a play begins with, how they are checked, and that the record has what
// was accepted. No run learns from another one.
func TestHostKeysOfARun(t *testing.T) {
	t.Parallel()
	account := filepath.Join(t.TempDir(), "known_hosts")
	if err := os.WriteFile(account, []byte("# of the account\n"+knownLine), 0o600); err != nil {
		t.Fatal(err)
	}
	accepted := []runs.HostKey{{Host: "[h2]:22", Type: "ssh-ed25519",
		Fingerprint: "SHA256:GhHvPGPzrw+8XyATGqhVpZe6m8rH0qYo7M/2yF3KLgE"}}
	for name, c := range map[string]struct {
		stored, has string
		policy      catalog.HostKeyPolicy
		inventory   string
		want        execution.HostKeys
	}{
		"a path":       {has: "# of the account\n" + knownLine},
		"an inventory": {inventory: "inv_1", has: "# of the account\n" + knownLine, want: execution.HostKeys{Enforced: true}},
		"its known hosts": {inventory: "inv_1", stored: "# stored\n" + knownLine, has: "# stored\n" + knownLine,
			policy: catalog.AcceptNew, want: execution.HostKeys{Enforced: true, Alone: true}},
		"its policy": {inventory: "inv_1", stored: knownLine, has: knownLine, policy: catalog.Strict,
			want: execution.HostKeys{Enforced: true, Alone: true, Strict: true}},
		"a policy from tomorrow": {inventory: "inv_1", stored: knownLine, has: knownLine, policy: "ask",
			want: execution.HostKeys{Enforced: true, Alone: true, Strict: true}},
	} {
		l := &learner{}
		b := setup(t, l.play(add(newLine)))
		b.config.KnownHosts = account
		b.materials = &fakeMaterials{knownHosts: []byte(c.stored), policy: c.policy}
		for _, id := range []string{"run_1", "run_2"} {
			got := b.run(&runs.Run{ID: id, Spec: runs.Spec{Playbook: "site.yml", InventoryID: c.inventory}})
			l.keys.File = ""
			if d := cmp.Diff(c.want, l.keys); d != "" || l.has != c.has || l.mode.Perm() != 0o600 {
				t.Errorf("%s: %s, %s, %s", name, d, l.has, l.mode)
			}
			if len(got.end.AcceptedHostKeys) != 1 || got.end.AcceptedHostKeys[0].Host != accepted[0].Host ||
				got.end.AcceptedHostKeys[0].Type != accepted[0].Type {
				t.Errorf("%s: %+v", name, got.end)
			}
		}
	}
}

// TestKnownHostsThatARunReplaced checks that a run cannot make the executor read another file.
func TestKnownHostsThatARunReplaced(t *testing.T) {
	t.Parallel()
	other := filepath.Join(t.TempDir(), "other")
	if err := os.WriteFile(other, []byte(newLine), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, write := range map[string]func(string) error{
		"gone":        os.Remove,
		"a link":      func(path string) error { return errors.Join(os.Remove(path), os.Symlink(other, path)) },
		"a directory": func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
		"a link above": func(path string) error {
			dir := filepath.Dir(path)
			return errors.Join(os.RemoveAll(dir), os.Symlink(filepath.Dir(other), dir))
		},
	} {
		l := &learner{}
		b := setup(t, l.play(write))
		r := &runs.Run{ID: "run_1", Spec: runs.Spec{Playbook: "site.yml"}}
		if got := b.run(r); got.run.Status != runs.Succeeded || got.end.AcceptedHostKeys != nil {
			t.Errorf("%s: %+v", name, got.end)
		}
	}
}
