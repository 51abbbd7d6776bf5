package harness

import (
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
	done map[string]built
}

type built struct {
	path string
	err  error
}

var binaries = &builds{done: make(map[string]built)} //nolint:gochecknoglobals // one build for all tests of a process

// Release, as the only tag, asks for the binary as "make build" makes it, never with the race detector: for what must be
// shown at full size.
const Release = "release"

// Binary returns the path of a writ binary built with the given tags.
func Binary(t testing.TB, tags ...string) string {
	t.Helper()
	key := strings.Join(tags, ",")
	binaries.mu.Lock()
	defer binaries.mu.Unlock()
	b, ok := binaries.done[key]
	if !ok {
		b.path, b.err = binaries.build(key)
		binaries.done[key] = b
	}
	if b.err != nil {
		t.Fatalf("build writ: %v", b.err)
	}
	return b.path
}

func (b *builds) build(tags string) (string, error) {
	if b.dir == "" {
		dir, err := os.MkdirTemp("", "writ-e2e-")
		if err != nil {
			return "", err
		}
		b.dir = dir
	}
	path := filepath.Join(b.dir, "writ-"+strings.ReplaceAll(tags, ",", "-"))
	args := append([]string{"build", "-o", path, "-tags", tags}, raceFlags()...)
	if tags == Release {
		args = []string{"build", "-o", path, "-trimpath", "-ldflags", "-s -w"}
	}
	cmd := exec.Command("go", append(args, "github.com/writ-automation/writ/cmd/writ")...)
	if tags == Release {
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
