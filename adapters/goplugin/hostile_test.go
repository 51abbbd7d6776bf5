package goplugin

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/platform/boundary"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/waittest"
)

// killAll kills every process of a plugin.
func killAll(t *testing.T, dir, name string) {
	t.Helper()
	for _, text := range words(t, filepath.Join(dir, ".started-"+name)) {
		pid, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Fatal(err)
		}
	}
}

// status returns the state of a plugin.
func (h *Host) status(name string) Status {
	list := h.Status()
	return list[slices.IndexFunc(list, func(s Status) bool { return s.Name == name })]
}

// TestSkipped checks that a plugin that does not start, does not describe itself or lies about its address is skipped,
// with a reason, while another one works.
func TestSkipped(t *testing.T) {
	t.Parallel()
	bounds := quick()
	bounds.start = time.Second
	want := map[string]string{
		"ends": "", "panics": "", "sleeps": "timeout", "babbles": "timeout", "elsewhere": "another address",
		"docker": "another address", "old": "incompatible", "open": "encrypt", "empty": "provides nothing",
	}
	names := []string{"good"}
	for name := range want {
		names = append(names, name)
	}
	h, dir, log := started(t, bounds, names...)
	for name, reason := range want {
		s := h.status(name)
		if s.State != Failed || s.Error == "" || !strings.Contains(s.Error, reason) || len(s.Kinds) > 0 {
			t.Errorf("%s: %+v", name, s)
		}
		for _, pid := range words(t, filepath.Join(dir, ".started-"+name)) {
			if exists("/proc/" + pid) {
				t.Errorf("%s goes on as process %s", name, pid)
			}
		}
	}
	if !strings.Contains(log.String(), "plugin=docker") {
		t.Errorf("not logged: %s", log)
	}
	got := h.status("good")
	if d := cmp.Diff(Status{Name: "good", Kinds: []string{"tool", "notifier", "secret_engine"}, State: Running,
		Version: got.Version}, got); d != "" {
		t.Error(d)
	}
	if err := h.Notifiers()["diary"].Notify(t.Context(), extension.EndedRun{ID: "run_1"}); err != nil {
		t.Error(err)
	}
}

// TestCollisions checks that a name which exists twice stops the start with a sentence that names it.
func TestCollisions(t *testing.T) {
	t.Parallel()
	for want, names := range map[string][]string{
		`the plugin second provides the notifier "diary", which the plugin good`: {"good", "second"},
		`the plugin shadow provides the tool "bash", which is a part of writ`:    {"shadow"},
	} {
		c, _ := fixture(t, place(t, names...))
		c.Taken = Names{Tools: extension.BuiltinTools()}
		h, err := open(t.Context(), c, quick())
		if err == nil {
			h.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", names, err)
		}
	}
}

// TestOwners checks that nothing is started that another account could have replaced.
func TestOwners(t *testing.T) {
	t.Parallel()
	dir := place(t, "good", "second")
	if err := os.Remove(filepath.Join(dir, "second")); err != nil {
		t.Fatal(err)
	}
	shared := t.TempDir()
	if err := os.Chmod(shared, 0o777); err != nil { //nolint:gosec // that is what is refused
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err == nil {
		err = errors.Join(os.Link(self, filepath.Join(shared, "second")),
			os.Symlink(filepath.Join(shared, "second"), filepath.Join(dir, "second")),
			os.WriteFile(filepath.Join(dir, "README"), []byte("x"), 0o600), os.Mkdir(filepath.Join(dir, "sub"), 0o700))
	}
	if err != nil {
		t.Fatal(err)
	}
	c, _ := fixture(t, dir)
	h, err := open(t.Context(), c, quick())
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if s := h.status("second"); s.State != Failed || !strings.Contains(s.Error, "chmod go-w "+shared) ||
		len(h.Status()) != 2 {
		t.Errorf("%+v", h.Status())
	}
	for where, want := range map[string]string{shared: "chmod go-w", filepath.Join(dir, "none"): "no such file"} {
		c, _ := fixture(t, where)
		if _, err := open(t.Context(), c, quick()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", where, err)
		}
	}
}

// TestHostile calls a plugin that hangs, panics, dies, freezes and floods. Each call ends with an error, and the plugin
// works again afterwards.
func TestHostile(t *testing.T) {
	t.Parallel()
	bounds := quick()
	bounds.call, bounds.describe, bounds.restarts = 3*time.Second, time.Second, 100
	h, _, log := started(t, bounds, "hostile", "good")
	notifiers := h.Notifiers()
	for name, want := range map[string]string{
		"hang": "in time", "panic": "panicked", "die": "ended", "freeze": "ended", "flood": "xxx...",
	} {
		err := notifiers[name].Notify(t.Context(), extension.EndedRun{ID: "run_" + name})
		if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 2000 {
			t.Errorf("%s: %v", name, err)
		}
		waittest.Eventually(t, time.Minute, name+" is over", func() bool {
			return notifiers["fine"].Notify(t.Context(), extension.EndedRun{ID: "run_1"}) == nil
		})
	}
	if s := h.status("hostile"); s.State != Running || s.Restarts < 2 {
		t.Errorf("%+v", s)
	}
	if s := h.status("good"); s.State != Running || s.Restarts != 0 {
		t.Errorf("another plugin: %+v", s)
	}
	if n := strings.Count(log.String(), "flood"); n > 4*lineBudget {
		t.Errorf("%d lines of a flood are logged", n)
	}
}

// TestSecretsStay checks that a plugin gets neither the environment of writ nor room for a huge answer, and that
// nothing that a plugin with secrets prints is logged.
func TestSecretsStay(t *testing.T) {
	h, _, log := started(t, quick(), "hostile")
	engines := h.Engines()
	if value, err := engines["huge"].Resolver.Resolve(t.Context(), nil); err == nil || value != "" ||
		!strings.Contains(err.Error(), "too large") {
		t.Errorf("%d bytes, %v", len(value), err)
	}
	t.Setenv("C4NARY", "of-the-server")
	h, _, log = started(t, quick(), "hostile")
	value, err := h.Engines()["leak"].Resolver.Resolve(t.Context(), map[string]any{"pin": "c4nary-pin"})
	if err != nil || !strings.Contains(value, "PATH=") || strings.Contains(value, "of-the-server") ||
		!strings.HasSuffix(value, "c4nary-pin") {
		t.Errorf("%q, %v", value, err)
	}
	waittest.Eventually(t, time.Minute, "the lines are counted", func() bool { return strings.Contains(log.String(), "not logged") })
	if strings.Contains(log.String(), "c4nary-pin") {
		t.Errorf("logged: %s", log)
	}
}

// TestBudget checks that a plugin which ends again and again stays ended, and that calls then fail at once.
func TestBudget(t *testing.T) {
	t.Parallel()
	bounds := quick()
	bounds.restarts = 3
	h, dir, _ := started(t, bounds, "good")
	waittest.Eventually(t, time.Minute, "given up", func() bool {
		killAll(t, dir, "good")
		return h.status("good").State == Failed
	})
	err := h.Notifiers()["diary"].Notify(context.WithoutCancel(t.Context()), extension.EndedRun{ID: "run_1"})
	if s := h.status("good"); err == nil || s.Error == "" || s.Restarts != 3 {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestBox starts a plugin in a box, as writ does where the machine allows it.
func TestBox(t *testing.T) {
	t.Parallel()
	dir := place(t, "good")
	c, _ := fixture(t, dir)
	if err := os.Chmod(c.State, 0o711); err != nil { //nolint:gosec // the accounts of boxes pass it
		t.Fatal(err)
	}
	b, err := boundary.Open(boundary.Config{Mode: boundary.Auto, Hide: []string{c.State}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}()
	c.Boundary = b
	h, err := open(t.Context(), c, quick())
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if s := h.status("good"); s.State != Running {
		t.Fatalf("at the level %s: %+v", b.Status().Level, s)
	}
	value, err := h.Engines()["box"].Resolver.Resolve(t.Context(), map[string]any{"name": "app"})
	if err == nil || !strings.Contains(err.Error(), "nothing of that name") {
		t.Errorf("%q, %v", value, err)
	}
}
