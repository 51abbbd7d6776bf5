package harness

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Binaries names the environment variable with the directory of the binaries under test, which "make test" builds once
// for all packages. If it is not set, a package builds its own binaries, and its result is never cached.
const Binaries = "WRIT_TEST_BINARIES"

// Digest names the environment variable with the digest of these binaries. Go's test cache knows which variables a test
// reads, so another digest ends its cached results.
const Digest = "WRIT_TEST_DIGEST"

// builds finds or builds one binary for each set of build tags, for the life of the test process.
type builds struct {
	mu   sync.Mutex
	dir  string
	done map[build]built
}

// build identifies a binary by its inputs.
type build struct{ main, tags string }

type built struct {
	path string
	err  error
}

var binaries = &builds{done: make(map[build]built)} //nolint:gochecknoglobals // one build for all tests of a process

// Release, as the only tag, selects the binary of "make build", never with the race detector, for measurements.
const Release = "release"

// Binary returns the path of the standard binary built with the given tags.
func Binary(t testing.TB, tags ...string) string {
	t.Helper()
	return BinaryOf(t, "", tags...)
}

// defaultMain is the main of the standard binary.
const defaultMain = "github.com/writ-automation/writ/cmd/writ"

// BinaryOf returns the path of a binary with the main of the given import path, empty for the standard one.
func BinaryOf(t testing.TB, main string, tags ...string) string {
	t.Helper()
	key := build{cmp.Or(main, defaultMain), strings.Join(tags, ",")}
	binaries.mu.Lock()
	defer binaries.mu.Unlock()
	b, ok := binaries.done[key]
	if !ok {
		b.path, b.err = binaries.find(key)
		binaries.done[key] = b
	}
	if b.err != nil {
		t.Fatalf("the binary under test: %v", b.err)
	}
	return b.path
}

// name returns the name of the file: that of the main's folder, followed by the tags.
func (b build) name() string {
	return strings.ReplaceAll(strings.TrimSuffix(filepath.Base(b.main)+"-"+b.tags, "-"), ",", "-")
}

func (b *builds) find(what build) (string, error) {
	dir := os.Getenv(Binaries)
	if dir == "" {
		return b.make(what)
	}
	_ = os.Getenv(Digest) // reading it in a test makes it an input; earlier reads are not tracked
	path := filepath.Join(dir, what.name())
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%s names a directory without it: %w", Binaries, err)
	}
	return path, nil
}

func (b *builds) make(what build) (string, error) {
	if b.dir == "" {
		dir, err := moduleDir()
		if err != nil {
			return "", err
		}
		if b.dir, err = os.MkdirTemp(dir, ".e2e-"); err != nil {
			return "", err
		}
	}
	path := filepath.Join(b.dir, what.name())
	vendor := "-X main.vendorKey=" + strings.TrimSpace(vendorPublic)
	args := append([]string{"build", "-o", path, "-tags", what.tags, "-ldflags", vendor}, raceFlags()...)
	if what.tags == Release {
		args = []string{"build", "-o", path, "-trimpath", "-ldflags", "-s -w " + vendor, "-tags", "shim,grpcnotrace"}
		if err := b.shim(); err != nil {
			return "", err
		}
	}
	cmd := exec.Command("go", append(args, what.main)...)
	if what.tags == Release {
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	// Opening the file makes it an input of the test. The file is removed when the test ends, so the result is not
	// cached: Go's test cache does not otherwise track that the binary depends on the whole product.
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	return path, f.Close()
}

// shim builds what the binary of "make build" embeds.
func (b *builds) shim() error {
	cmd := exec.Command("make", "-s", "-C", filepath.Dir(b.dir), "shim")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("make shim: %w\n%s", err, out)
	}
	return nil
}

// moduleDir is the root of the test's module: the test cache tracks no file outside of it.
func moduleDir() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no go.mod above the test's directory")
		}
		dir = parent
	}
}

// Main runs a package's tests and removes the binaries that they built.
func Main(m *testing.M) int {
	code := m.Run()
	binaries.mu.Lock()
	defer binaries.mu.Unlock()
	if binaries.dir != "" {
		if err := os.RemoveAll(binaries.dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	return code
}
