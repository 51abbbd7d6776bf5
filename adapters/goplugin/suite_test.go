package goplugin

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/extension/extensiontest"
	"github.com/writ-automation/writ/ports/system"
	"github.com/writ-automation/writ/ports/waittest"
)

// record is a log that tests read.
type record struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (r *record) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(b)
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

// logger writes to the record.
func (r *record) logger() *slog.Logger { return slog.New(slog.NewTextHandler(r, nil)) }

// place is a directory of plugins, links to this binary by the names of their behaviour.
func place(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if err := os.Link(self, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// quick is the pace of tests.
func quick() pace {
	p := defaultPace()
	p.start, p.pause, p.longest, p.ping = time.Minute, time.Millisecond, 10*time.Millisecond, 50*time.Millisecond
	return p
}

func fixture(t *testing.T, dir string) (Config, *record) {
	t.Helper()
	log := &record{}
	return Config{Dir: dir, State: t.TempDir(), Log: log.logger()}, log
}

// started returns a host of plugins, which ends with the test.
func started(t *testing.T, bounds pace, names ...string) (*Host, string, *record) {
	t.Helper()
	dir := place(t, names...)
	c, log := fixture(t, dir)
	h, err := open(t.Context(), c, bounds)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		h.Close()
		if left, err := os.ReadDir(c.State); err != nil || len(left) > 0 {
			t.Errorf("left in the state directory: %v, %v", left, err)
		}
	})
	return h, dir, log
}

func touched(t *testing.T, path, line string) {
	t.Helper()
	if err := appendTo(path, line); err != nil {
		t.Fatal(err)
	}
}

// words returns the words of a file, none for a missing one.
func words(t *testing.T, path string) []string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Fields(string(b))
}

// TestNotifier runs the suite of notifiers through a process.
func TestNotifier(t *testing.T) {
	t.Parallel()
	extensiontest.Notifier{Open: func(t *testing.T) extensiontest.NotifierUnderTest {
		h, dir, _ := started(t, quick(), "good")
		touch := func(name string) func() {
			return func() { touched(t, filepath.Join(dir, name), "") }
		}
		return extensiontest.NotifierUnderTest{
			Notifier: h.Notifiers()["diary"], Heard: func() []string { return words(t, filepath.Join(dir, ".diary")) },
			Break: touch(".broken"), Hang: touch(".hanging"),
		}
	}}.Run(t)
}

// TestSecretResolver runs the suite of secret engines through a process.
func TestSecretResolver(t *testing.T) {
	t.Parallel()
	h, dir, _ := started(t, quick(), "good")
	touched(t, filepath.Join(dir, ".box-app"), "c4nary of the box")
	extensiontest.SecretResolver{
		Resolver: h.Engines()["box"].Resolver, Want: "c4nary of the box\n",
		Configs: extensiontest.SecretConfigs{
			Good:    map[string]any{"name": "app", "pin": "p1n-of-the-box"},
			Missing: map[string]map[string]any{"no file": {"name": "none"}},
			Hanging: map[string]any{"name": "hang"}, Secrets: []string{"c4nary of the box"},
			Bad: map[string][]map[string]any{
				"name": {{"name": "../app"}, {"name": ""}, {"name": 7.0}}, "pin": {{"name": "app", "pin": 7.0}},
			},
		},
	}.Run(t)
}

// TestSecretMinter runs the suite of dynamic engines through two processes.
func TestSecretMinter(t *testing.T) {
	t.Parallel()
	h, dir, _ := started(t, quick(), "good")
	valid := func(value string) bool { return exists(filepath.Join(dir, ".coin-"+value)) }
	extensiontest.SecretMinter{
		Name: "coins", Minter: h.Engines()["coins"].Minter,
		Another: func(t *testing.T) extension.SecretMinter {
			c, _ := fixture(t, dir)
			other, err := open(t.Context(), c, quick())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(other.Close)
			return other.Engines()["coins"].Minter
		},
		Configs: extensiontest.SecretConfigs{
			Good: map[string]any{"account": "app"}, Hanging: map[string]any{"account": "hang"},
			Missing: map[string]map[string]any{"no account": {"account": "none"}},
		},
		Valid: func(_ *testing.T, value string) bool { return valid(value) },
		Minted: func(t *testing.T) int {
			list, err := filepath.Glob(filepath.Join(dir, ".coin-*"))
			if err != nil {
				t.Fatal(err)
			}
			return len(list)
		},
	}.Run(t)
}

// TestLeases checks the members of leases, and that a lease outlives its process by its handle.
func TestLeases(t *testing.T) {
	t.Parallel()
	h, dir, _ := started(t, quick(), "good")
	engines, ctx := h.Engines(), context.WithoutCancel(t.Context())
	if _, ok := engines["drops"].Minter.(extension.LeaseRevoker); ok {
		t.Error("an engine that revokes nothing of other processes is a revoker")
	}
	for name, survives := range map[string]bool{"coins": true, "drops": false} {
		value, lease, err := engines[name].Minter.Mint(ctx, map[string]any{"account": "app"})
		if err != nil || lease.Engine() != name || lease.Life() != time.Minute || lease.Handle() != value {
			t.Fatalf("%s: %v", name, err)
		}
		if life, err := lease.Renew(ctx); err != nil || life != time.Hour {
			t.Errorf("%s: renewed for %s, %v", name, life, err)
		}
		before := h.status("good").Restarts
		killAll(t, dir, "good")
		waittest.Eventually(t, time.Minute, "it runs again", func() bool {
			s := h.status("good")
			return s.State == system.ExtensionRunning && s.Restarts > before
		})
		if err := lease.Revoke(ctx); (err == nil) != survives {
			t.Errorf("%s: revoked after the process that minted it: %v", name, err)
		}
		if exists(filepath.Join(dir, ".coin-"+value)) == survives {
			t.Errorf("%s: the secret is left as %s", name, value)
		}
	}
}
