package sealer_test

import (
	"encoding/base64"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/writ-automation/writ/adapters/secrets/sealer"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
)

func open(t *testing.T, from sealer.KeySource) *sealer.Sealer {
	t.Helper()
	s, err := sealer.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func write(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// files returns the names in a directory.
func files(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

func TestFirstStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := open(t, sealer.KeySource{Dir: dir})
	sealed := seal(t, first, "crd_1", "text")
	path := filepath.Join(dir, sealer.KeyFile)
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o600 || files(t, dir) != sealer.KeyFile {
		t.Fatalf("%v, %v, %s", info, err, files(t, dir))
	}
	was, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(was), "\n"), "\n")
	k, err := base64.StdEncoding.DecodeString(lines[len(lines)-1])
	if err != nil || len(k) != 32 || !strings.HasPrefix(lines[0], "# ") {
		t.Errorf("%d bytes, %v", len(k), err)
	}
	for _, existing := range []bool{false, true} {
		again := open(t, sealer.KeySource{Dir: dir, Existing: existing})
		opens(t, again, "crd_1", sealed, "text")
		if now, err := os.ReadFile(path); err != nil || string(now) != string(was) {
			t.Errorf("the file changed: %v", err)
		}
	}
	if other := open(t, sealer.KeySource{Dir: t.TempDir()}); other.KeyID() == first.KeyID() {
		t.Error("two installs have one key")
	}
}

// TestLostKey: a missing key is not replaced, and the server starts without it.
func TestLostKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sealed := seal(t, with(t, 1), "crd_1", "text")
	s := open(t, sealer.KeySource{Dir: dir, Existing: true})
	for _, form := range [][]byte{sealed, nil} {
		if _, err := s.Open(t.Context(), "crd_1", form); !secrets.KeyLost.Is(err) {
			t.Errorf("open: %v", err)
		}
		if _, err := s.Rewrap(t.Context(), "crd_1", form); !secrets.KeyLost.Is(err) {
			t.Errorf("rewrap: %v", err)
		}
	}
	if _, err := s.Seal(t.Context(), "crd_1", []byte("text")); !secrets.KeyLost.Is(err) {
		t.Errorf("seal: %v", err)
	}
	if s.KeyID() != "" || s.String() != "sealer without a key" || files(t, dir) != "" {
		t.Errorf("%s, %s, %s", s.KeyID(), s, files(t, dir))
	}
	// It opens again as soon as the key is restored.
	write(t, filepath.Join(dir, sealer.KeyFile), key(1)+"\n", 0o600)
	opens(t, open(t, sealer.KeySource{Dir: dir, Existing: true}), "crd_1", sealed, "text")
}

func TestConfiguredKeys(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "given")
	write(t, file, "# comment\r\n\n  "+key(2)+"  \r\n\t# another\n"+key(1), 0o400)
	sealed := seal(t, with(t, 1), "crd_1", "text")
	s := open(t, sealer.KeySource{Dir: dir, File: file})
	opens(t, s, "crd_1", sealed, "text")
	if s.KeyID() != with(t, 2).KeyID() {
		t.Error("the first key is not the current one")
	}
	s = open(t, sealer.KeySource{Dir: dir, File: file, Text: secret.Text(key(3) + "\n")})
	if s.KeyID() != with(t, 3).KeyID() {
		t.Error("the text does not come first")
	}
	if files(t, dir) != "given" {
		t.Errorf("something was made: %s", files(t, dir))
	}
	if _, err := sealer.Open(sealer.KeySource{}); err == nil {
		t.Error("a key came from nowhere")
	}
	missing := filepath.Join(dir, "missing")
	if _, err := sealer.Open(sealer.KeySource{Dir: dir, File: missing}); err == nil ||
		!strings.Contains(err.Error(), missing) {
		t.Errorf("%v", err)
	}
	if _, err := sealer.Open(sealer.KeySource{Dir: missing}); err == nil || !strings.Contains(err.Error(), missing) {
		t.Errorf("%v", err)
	}
}

func TestRefusedFiles(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		text    string
		mode    fs.FileMode
		message string
	}{
		"group reads":    {key(1), 0o640, "others than its owner"},
		"others read":    {key(1), 0o604, "others than its owner"},
		"others write":   {key(1), 0o602, "others than its owner"},
		"empty":          {"", 0o600, "holds no key"},
		"comments alone": {"# nothing\n\n", 0o600, "holds no key"},
		"short":          {base64.StdEncoding.EncodeToString(raw(1)[:31]), 0o600, "on line 1"},
		"long":           {base64.StdEncoding.EncodeToString(append(raw(1), 1)), 0o600, "on line 1"},
		"no base64":      {"# x\n" + key(1)[:43] + "!", 0o600, "on line 2"},
		"cut":            {key(1)[:40], 0o600, "on line 1"},
		"two on a line":  {key(1) + " " + key(2), 0o600, "on line 1"},
		"loose bits":     {key(1)[:42] + "V=", 0o600, "on line 1"},
		"second bad":     {key(1) + "\n" + key(2)[:20], 0o600, "on line 2"},
		"twice":          {key(1) + "\n" + key(2) + "\n" + key(1), 0o600, "on line 3"},
		"too large":      {key(1) + "\n" + strings.Repeat("#\n", 33<<10), 0o600, "too large"},
	} {
		dir := t.TempDir()
		own, configured := filepath.Join(dir, sealer.KeyFile), filepath.Join(dir, "given")
		write(t, own, c.text, c.mode)
		write(t, configured, c.text, c.mode)
		for path, from := range map[string]sealer.KeySource{own: {Dir: dir},
			configured: {Dir: t.TempDir(), File: configured}} {
			s, err := sealer.Open(from)
			if s != nil || err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), c.message) {
				t.Errorf("%s: %v", what, err)
				continue
			}
			if strings.Contains(err.Error(), key(1)[:8]) || strings.Contains(err.Error(), key(2)[:8]) {
				t.Errorf("%s: the error says what is in the file: %v", what, err)
			}
		}
		if now, err := os.ReadFile(own); err != nil || string(now) != c.text {
			t.Errorf("%s: the file was changed: %v", what, err)
		}
	}
	_, err := sealer.Open(sealer.KeySource{Text: secret.Text(key(1) + " ,")})
	if err == nil || strings.Contains(err.Error(), key(1)[:8]) || !strings.Contains(err.Error(), "environment") {
		t.Errorf("%v", err)
	}
}

func TestNoRegularFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe, folder := filepath.Join(dir, "pipe"), filepath.Join(dir, "folder")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, folder, "/dev/null"} {
		if _, err := sealer.Open(sealer.KeySource{File: path}); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
	// An operator's mounted secret is often a symbolic link.
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	write(t, file, key(1), 0o600)
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	if s := open(t, sealer.KeySource{File: link}); s.KeyID() != with(t, 1).KeyID() {
		t.Error("another key")
	}
}

// TestRacingStarts starts several times at once without a key: all get the same one.
func TestRacingStarts(t *testing.T) {
	t.Parallel()
	for range 20 {
		dir := t.TempDir()
		const racers = 8
		ids, errs := make([]string, racers), make([]error, racers)
		gate := make(chan struct{})
		var done sync.WaitGroup
		for i := range racers {
			done.Go(func() {
				<-gate
				s, err := sealer.Open(sealer.KeySource{Dir: dir})
				if errs[i] = err; err == nil {
					ids[i] = s.KeyID()
				}
			})
		}
		close(gate)
		done.Wait()
		want := open(t, sealer.KeySource{Dir: dir}).KeyID()
		for i := range racers {
			if errs[i] != nil || ids[i] != want {
				t.Errorf("%s, want %s: %v", ids[i], want, errs[i])
			}
		}
		if files(t, dir) != sealer.KeyFile {
			t.Errorf("left over: %s", files(t, dir))
		}
	}
}

// TestLeftovers: a start removes the leftovers of one that was killed while it made the key, and nothing else.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	leftover := func() {
		write(t, filepath.Join(dir, ".new-encryption.key-1"), key(1)[:10], 0o600)
		write(t, filepath.Join(dir, ".new-encryption.key-2"), key(2)+"\n", 0o600)
		write(t, filepath.Join(dir, ".new-123"), "of another", 0o600)
	}
	leftover()
	if s := open(t, sealer.KeySource{Dir: dir, Existing: true}); s.KeyID() != "" {
		t.Error("a leftover became the key")
	}
	s := open(t, sealer.KeySource{Dir: dir})
	if id := s.KeyID(); id == with(t, 1).KeyID() || id == with(t, 2).KeyID() ||
		files(t, dir) != ".new-123 "+sealer.KeyFile {
		t.Errorf("%s, %s", id, files(t, dir))
	}
	// It was killed after the key was in place: the leftover is a second name of the same file.
	leftover()
	if err := os.Link(filepath.Join(dir, sealer.KeyFile), filepath.Join(dir, ".new-encryption.key-3")); err != nil {
		t.Fatal(err)
	}
	if again := open(t, sealer.KeySource{Dir: dir}); again.KeyID() != s.KeyID() ||
		files(t, dir) != ".new-123 "+sealer.KeyFile {
		t.Errorf("%s, want %s: %s", again.KeyID(), s.KeyID(), files(t, dir))
	}
}
