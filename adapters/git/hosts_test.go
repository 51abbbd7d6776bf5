package git

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHostsOfRequirements lets an installation write into its known hosts: what it adds is for its own project, it
// replaces no key, and other projects do not get it.
func TestHostsOfRequirements(t *testing.T) {
	t.Parallel()
	k := &Checkouts{cfg: Config{Dir: t.TempDir()}}
	own, other := newProject(filepath.Join(k.cfg.Dir, "a")), newProject(filepath.Join(k.cfg.Dir, "b"))
	const shared = "forge ssh-ed25519 AAAA\n"
	put := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(k.knownHosts(), shared)
	session := func(p *project) (*session, string) {
		t.Helper()
		s := &session{dir: t.TempDir()}
		if err := k.bringHosts(s, p.hosts()); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(s.knownHosts())
		if err != nil {
			t.Fatal(err)
		}
		return s, string(text)
	}
	s, begins := session(own)
	put(s.knownHosts(), begins+"forge ssh-ed25519 BBBB\nnew ssh-ed25519 CCCC\n@revoked x ssh-ed25519 DDDD\n")
	put(own.hosts(), "")
	for range 2 {
		if err := k.learn(s, "", own.hosts()); err != nil {
			t.Fatal(err)
		}
	}
	if _, text := session(own); text != shared+"new ssh-ed25519 CCCC\n" {
		t.Errorf("the project has %q", text)
	}
	if _, text := session(other); text != shared {
		t.Errorf("another project has %q", text)
	}
	if text, err := os.ReadFile(k.knownHosts()); err != nil || string(text) != shared {
		t.Errorf("all projects have %q: %v", text, err)
	}
	if err := prune(own.deps); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(own.hosts()); err != nil || strings.Count(string(text), "\n") != 1 {
		t.Errorf("after old requirements were removed: %q, %v", text, err)
	}
}

// TestLinkedFilesStayClosed opens an installation to runs, but no file with a name elsewhere.
func TestLinkedFilesStayClosed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	key, into := filepath.Join(dir, "key"), filepath.Join(dir, "into")
	if err := os.Mkdir(into, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{key, filepath.Join(into, "role")} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(key, filepath.Join(into, "linked")); err != nil {
		t.Fatal(err)
	}
	if err := publish(into); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{key: 0o600, filepath.Join(into, "role"): 0o644} {
		if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, fi.Mode(), err)
		}
	}
}
