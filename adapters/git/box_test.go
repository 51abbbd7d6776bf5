package git_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-automation/writ/adapters/git"
	"github.com/writ-automation/writ/platform/boundary"
	"github.com/writ-automation/writ/platform/cgroup"
	"github.com/writ-automation/writ/platform/cgroup/cgrouptest"
	"github.com/writ-automation/writ/platform/egress"
	"github.com/writ-automation/writ/platform/egress/egresstest"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/secret"
)

// boxed calls a test for each level that works here. The fixture's directory is hidden, with a key in it, and the local
// projects are not.
func boxed(t *testing.T, change func(*git.Config), test func(t *testing.T, w *fixture, key string)) {
	t.Helper()
	boxedIn(t, nil, change, test)
}

// boxedIn is boxed with a limit of memory of 64 MiB as far as the groups have limits.
func boxedIn(
	t *testing.T, g *cgroup.Groups, change func(*git.Config), test func(t *testing.T, w *fixture, key string),
) {
	t.Helper()
	for _, level := range []boundary.Level{boundary.Namespaces, boundary.Users, boundary.Landlock} {
		if root := os.Geteuid() == 0; level == boundary.Users && !root || level == boundary.Landlock && root {
			continue
		}
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			parent := os.TempDir()
			if os.Geteuid() == 0 {
				parent = "/var/lib" // where nothing is mounted, every directory above is passed
			}
			base, err := os.MkdirTemp(parent, "writ-git-")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(base) })
			data, local := filepath.Join(base, "data"), filepath.Join(base, "local")
			key := filepath.Join(data, "key")
			if err := errors.Join(os.Chmod(base, 0o755), os.Mkdir(data, 0o711), os.Mkdir(local, 0o755),
				os.WriteFile(key, []byte("c4nary"), 0o600)); err != nil {
				t.Fatal(err)
			}
			b, err := boundary.Open(boundary.Config{Mode: boundary.Auto, Only: level, Hide: []string{data}, Groups: g,
				Memory: 64 << 20})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = b.Close() })
			if b.Status().Level != level {
				t.Fatal(b.Status().Reason)
			}
			c := git.Config{Dir: filepath.Join(data, "projects"), LocalRoot: local, Boundary: b,
				Egress: egress.Policy{Level: egress.PrivateAllowed}}
			if change != nil {
				change(&c)
			}
			k, err := git.New(c)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := k.Close(); err != nil {
					t.Error(err)
				}
				left, err := filepath.Glob(filepath.Join(c.Dir, ".private", "*"))
				if err != nil || len(left) != 1 {
					t.Errorf("the private directory holds %v %v", left, err)
				}
			})
			test(t, &fixture{k, t, c.Dir, local}, key)
		})
	}
}

// evil returns a program that tells whether it can read a key, and writes its own mark.
func evil(t *testing.T, dir, key string) (program, mark string) {
	t.Helper()
	program, mark = filepath.Join(dir, "evil"), filepath.Join(dir, "mark")
	text := "#!/bin/sh\n{ echo executed; cat " + key + "; } >>" + mark + " 2>/dev/null\ncat " + key + " >&2\nexit 1\n"
	if err := errors.Join(os.WriteFile(program, []byte(text), 0o755), os.Chmod(program, 0o755),
		os.WriteFile(mark, nil, 0o666), os.Chmod(mark, 0o666)); err != nil {
		t.Fatal(err)
	}
	return program, mark
}

// TestBoxedProjects fetches, reads, checks out and installs inside of a boundary.
// Keeps T43.
func TestBoxedProjects(t *testing.T) {
	t.Parallel()
	boxed(t, nil, func(t *testing.T, w *fixture, key string) {
		program, mark := evil(t, w.root, key)
		role := w.role("role")
		r := w.repo("a")
		r.write("requirements.yml", "roles:\n  - src: file://"+role.dir+"\n    scm: git\n    name: web\n")
		first := r.commit("requirements")
		// Git starts each of these in a repository of its own, if it trusts it.
		for _, name := range []string{"core.sshCommand", "core.fsmonitor", "uploadpack.packObjectsHook",
			"core.alternateRefsCommand", "core.askPass", "credential.helper", "diff.external", "filter.x.smudge"} {
			r.git("config", name, program)
		}
		for _, hook := range []string{"post-checkout", "pre-push", "reference-transaction", "post-index-change",
			"fsmonitor"} {
			if err := os.Symlink(program, filepath.Join(r.dir, ".git/hooks", hook)); err != nil {
				t.Fatal(err)
			}
		}
		if got := w.fetch(r.at("p")); got != first {
			t.Errorf("%s, not %s", got, first)
		}
		r.git("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "commit", "-q", "--allow-empty", "-m", "second")
		second := r.git("rev-parse", "HEAD")
		if err := os.WriteFile(mark, nil, 0o600); err != nil { // the test's own commands executed it
			t.Fatal(err)
		}
		if got := w.fetch(r.at("p")); got != second {
			t.Errorf("%s, not %s", got, second)
		}
		if text, _, err := w.File(t.Context(), r.at("p"), second, "site.yml", ""); err != nil ||
			string(text) != "- hosts: all\n" {
			t.Errorf("%q %v", text, err)
		}
		tree := filepath.Join(filepath.Dir(w.dir), "tree")
		deps, err := w.Tree(t.Context(), r.at("p"), second, tree, true)
		if err != nil || !exists(deps.Roles, "web", "tasks") {
			t.Errorf("%+v %v", deps, err)
		}
		for _, path := range []string{tree, filepath.Join(tree, "site.yml"), deps.Roles} {
			if out, err := exec.Command("stat", "-c", "%u", path).Output(); err != nil ||
				strings.TrimSpace(string(out)) != fmt.Sprint(os.Geteuid()) {
				t.Errorf("%s belongs to %s %v", path, out, err)
			}
		}
		if got := read(t, mark); got != "" {
			t.Errorf("it was executed: %q", got)
		}
		if left := processes(t, w.dir); len(left) > 0 {
			t.Errorf("%v is left", left)
		}
	})
}

// TestBoxedHelpers lets git start a hostile ssh.
// Keeps T43.
func TestBoxedHelpers(t *testing.T) {
	t.Parallel()
	programs := t.TempDir()
	boxed(t, func(c *git.Config) {
		c.SSH = filepath.Join(c.LocalRoot, "evil")
	}, func(t *testing.T, w *fixture, key string) {
		_, mark := evil(t, w.root, key)
		_, err := w.Fetch(t.Context(), catalog.Repository{ProjectID: "p", URL: "ssh://git@127.0.0.1/a.git",
			Login: catalog.Login{Key: "k"}})
		syncFailed(t, err, "c4nary")
		if got := read(t, mark); strings.Contains(got, "c4nary") || !strings.Contains(got, "executed") {
			t.Errorf("the helper says %q", got)
		}
	})
	// Without a boundary it reads the key.
	w := newFixture(t, func(c *git.Config) { c.SSH = filepath.Join(programs, "evil") })
	key := filepath.Join(filepath.Dir(w.dir), "key")
	if err := os.WriteFile(key, []byte("c4nary"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, mark := evil(t, programs, key)
	_, err := w.Fetch(t.Context(), catalog.Repository{ProjectID: "p", URL: "ssh://git@127.0.0.1/a.git"})
	syncFailed(t, err)
	if got := read(t, mark); !strings.Contains(got, "c4nary") {
		t.Errorf("the helper says %q", got)
	}
}

// TestBoxedMemory lets git start an ssh with more than the limit of memory.
func TestBoxedMemory(t *testing.T) {
	t.Parallel()
	g := cgrouptest.Groups(t)
	boxedIn(t, g, func(c *git.Config) {
		c.SSH = filepath.Join(c.LocalRoot, "greedy")
	}, func(t *testing.T, w *fixture, _ string) {
		const text = "#!/bin/sh\npython3 -c 'b = bytearray(400 << 20)'\nexit 1\n"
		if err := os.WriteFile(filepath.Join(w.root, "greedy"), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		_, err := w.Fetch(t.Context(), catalog.Repository{ProjectID: "p", URL: "ssh://git@127.0.0.1/a.git",
			Login: catalog.Login{Key: "k"}})
		syncFailed(t, err)
		const over = "git could not fetch the repository: memory limit reached: it used more than 64 MiB"
		if limited := g.Unlimited() == nil; limited != strings.Contains(err.Error(), over) {
			t.Errorf("limited %v: %v", limited, err)
		}
	})
}

// TestBoxedSSH fetches over ssh, which stores the key of the server for all projects.
func TestBoxedSSH(t *testing.T) {
	t.Parallel()
	me, err := exec.Command("id", "-un").Output()
	if err != nil {
		t.Fatal(err)
	}
	port, key := sshd(t)
	names := egresstest.NewNames(t, map[string][]string{"forge.example.com": {"127.0.0.1"}}).Resolver()
	r := newRepo(t, filepath.Join(t.TempDir(), "a"))
	want := r.commit("first")
	boxed(t, func(c *git.Config) { c.Resolver = names }, func(t *testing.T, w *fixture, _ string) {
		at := catalog.Repository{ProjectID: "p",
			URL:   "ssh://" + strings.TrimSpace(string(me)) + "@forge.example.com:" + port + r.dir,
			Login: catalog.Login{Key: secret.Text(key)}}
		got, err := w.Fetch(t.Context(), at)
		if strings.Contains(fmt.Sprint(err), "No user exists") {
			return // the level names no accounts, and ssh wants a name
		}
		if err != nil || got != want {
			t.Fatalf("%s, not %s: %v", got, want, err)
		}
		if known := read(t, filepath.Join(w.dir, "known_hosts")); !strings.HasPrefix(known, "[forge.example.com]:"+port+" ") {
			t.Errorf("known hosts: %q", known)
		}
	})
}
