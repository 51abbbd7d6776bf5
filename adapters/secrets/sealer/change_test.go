package sealer_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/writ-automation/writ/adapters/secrets/sealer"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
)

// TestAnotherKey changes the key while a process seals and opens.
func TestAnotherKey(t *testing.T) {
	t.Parallel()
	from := sealer.KeySource{Dir: t.TempDir()}
	s := open(t, from)
	first, old := s.KeyID(), seal(t, s, "crd_1", "text")

	added, err := sealer.AddKey(from)
	if err != nil || added == first || s.KeyID() != first {
		t.Fatalf("%s, %v, seals under %s", added, err, s.KeyID())
	}
	if now, err := sealer.Promote(from, added); err != nil || now != added || s.KeyID() != added {
		t.Fatalf("%s, %v, seals under %s", now, err, s.KeyID())
	}
	opens(t, s, "crd_1", old, "text")
	wrapped, err := s.Rewrap(t.Context(), "crd_1", old)
	if err != nil || bytes.Equal(wrapped, old) {
		t.Fatalf("not wrapped anew: %v", err)
	}
	opens(t, s, "crd_1", wrapped, "text")
	again, err := s.Rewrap(t.Context(), "crd_1", wrapped)
	if err != nil || !bytes.Equal(again, wrapped) {
		t.Errorf("what the current key sealed was sealed anew: %v", err)
	}
	third, err := sealer.Promote(from, "")
	if err != nil || s.KeyID() != third || third == added {
		t.Fatalf("%s, %v", third, err)
	}
	opens(t, s, "crd_1", old, "text")
	opens(t, s, "crd_1", wrapped, "text")
	opens(t, open(t, from), "crd_1", old, "text")
	info, err := os.Stat(filepath.Join(from.Dir, sealer.KeyFile))
	if err != nil || info.Mode().Perm() != 0o600 || files(t, from.Dir) != sealer.KeyFile {
		t.Errorf("%v %v %s", info, err, files(t, from.Dir))
	}
	if _, err := sealer.Promote(from, "0011223344556677"); err == nil || s.KeyID() != third {
		t.Errorf("a key that is not there: %v", err)
	}
	for _, err := range []error{
		second(sealer.AddKey(sealer.KeySource{Text: secret.Text(key(1))})),
		second(sealer.Promote(sealer.KeySource{Text: secret.Text(key(1))}, "")),
	} {
		if err == nil || !strings.Contains(err.Error(), "environment") || strings.Contains(err.Error(), key(1)) {
			t.Error(err)
		}
	}
	if _, err := sealer.AddKey(sealer.KeySource{Dir: t.TempDir()}); err == nil {
		t.Error("a key was added to a file that is not there")
	}
}

// TestDigests: digests are equal exactly for equal texts, purposes and keys.
func TestDigests(t *testing.T) {
	t.Parallel()
	sum := func(s *sealer.Sealer, purpose, text string) string {
		t.Helper()
		d, err := s.Digest(t.Context(), purpose, []byte(text))
		if err != nil || len(d) != 32 {
			t.Fatalf("%x, %v", d, err)
		}
		return string(d)
	}
	one := sum(with(t, 1), "targets", "text")
	if sum(with(t, 1, 2), "targets", "text") != one {
		t.Error("a retired key changes the digest")
	}
	for what, other := range map[string]string{
		"another key": sum(with(t, 2, 1), "targets", "text"), "another text": sum(with(t, 1), "targets", "texu"),
		"another purpose": sum(with(t, 1), "target", "text"), "the border between both": sum(with(t, 1), "target", "stext"),
	} {
		if other == one {
			t.Errorf("%s has the same digest", what)
		}
	}
	if _, err := open(t, sealer.KeySource{Dir: t.TempDir(), Existing: true}).
		Digest(t.Context(), "targets", nil); !secrets.KeyLost.Is(err) {
		t.Error(err)
	}
}

func second[T any](_ T, err error) error { return err }

// TestSpoiledFile: a process keeps its keys if the key file is damaged while it runs.
func TestSpoiledFile(t *testing.T) {
	t.Parallel()
	from := sealer.KeySource{Dir: t.TempDir()}
	s := open(t, from)
	sealed := seal(t, s, "crd_1", "text")
	path := filepath.Join(from.Dir, sealer.KeyFile)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, "nonsense", 0o600)
	opens(t, s, "crd_1", sealed, "text")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	opens(t, s, "crd_1", sealed, "text")
	write(t, path, string(good), 0o600)
	opens(t, s, "crd_1", sealed, "text")
}

// TestLostKeyComesBack: a key that was missing at the start is found when its file is restored.
func TestLostKeyComesBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sealed := seal(t, with(t, 1), "crd_1", "text")
	s := open(t, sealer.KeySource{Dir: dir, Existing: true})
	if _, err := s.Open(t.Context(), "crd_1", sealed); !secrets.KeyLost.Is(err) {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, sealer.KeyFile), key(1), 0o600)
	opens(t, s, "crd_1", sealed, "text")
}

// TestChangesRace: no concurrent change is lost, and concurrent sealing and opening never fail.
func TestChangesRace(t *testing.T) {
	t.Parallel()
	from := sealer.KeySource{Dir: t.TempDir()}
	s := open(t, from)
	sealed := seal(t, s, "crd_1", "text")
	var changes, uses sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		uses.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				opens(t, s, "crd_1", sealed, "text")
				fresh, err := s.Seal(t.Context(), "crd_2", []byte("more"))
				if err != nil {
					t.Error(err)
					return
				}
				opens(t, s, "crd_2", fresh, "more")
			}
		})
	}
	for range 4 {
		changes.Go(func() {
			for range 5 {
				if _, err := sealer.Promote(from, ""); err != nil {
					t.Error(err)
				}
			}
		})
	}
	changes.Wait()
	close(stop)
	uses.Wait()
	text, err := os.ReadFile(filepath.Join(from.Dir, sealer.KeyFile))
	if n := strings.Count(string(text), "=\n"); err != nil || n != 21 {
		t.Errorf("%d keys, %v", n, err)
	}
}
