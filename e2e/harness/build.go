package harness

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// builds caches one binary for each set of build tags, for the life of the test process.
type builds struct {
	mu   sync.Mutex
	dir  string
	done map[build]built
}

// build is what a binary is made of.
type build struct{ main, tags string }

type built struct {
	path string
	err  error
}

var binaries = &builds{done: make(map[build]built)} //nolint:gochecknoglobals // one build for all tests of a process

// Release, as the only tag, asks for the binary as "make build" makes it, never with the race detector: for what must be
// shown at full size.
const Release = "release"

// Binary returns the path of the stock binary built with the given tags.
func Binary(t testing.TB, tags ...string) string {
	t.Helper()
	return BinaryOf(t, "", tags...)
}

// stock is the main of the stock binary.
const stock = "github.com/writ-automation/writ/cmd/writ"

// BinaryOf returns the path of a binary whose main is that of the given import path, empty for the stock one's.
func BinaryOf(t testing.TB, main string, tags ...string) string {
	t.Helper()
	key := build{cmp.Or(main, stock), strings.Join(tags, ",")}
	binaries.mu.Lock()
	defer binaries.mu.Unlock()
	b, ok := binaries.done[key]
	if !ok {
		b.path, b.err = binaries.make(key)
		binaries.done[key] = b
	}
	if b.err != nil {
		t.Fatalf("build writ: %v", b.err)
	}
	return b.path
}

func (b *builds) make(what build) (string, error) {
	if b.dir == "" {
		dir, err := os.MkdirTemp("", "writ-e2e-")
		if err != nil {
			return "", err
		}
		b.dir = dir
	}
	path := filepath.Join(b.dir, strings.ReplaceAll(filepath.Base(what.main)+"-"+what.tags, ",", "-"))
	args := append([]string{"build", "-o", path, "-tags", what.tags}, raceFlags()...)
	if what.tags == Release {
		args = []string{"build", "-o", path, "-trimpath", "-ldflags", "-s -w"}
	}
	cmd := exec.Command("go", append(args, what.main)...)
	if what.tags == Release {
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return path, nil
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
