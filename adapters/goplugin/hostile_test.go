package goplugin

import (
	"context"
	"errors"
	"net"
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
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/system"
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
func (h *Host) status(name string) system.Extension {
	list := h.Extensions(context.Background())
	return list[slices.IndexFunc(list, func(e system.Extension) bool { return e.Name == name })]
}

// TestSkipped checks that a plugin that does not start, does not describe itself or lies about its address is skipped,
// with a reason, while another one works.
// Keeps T09, F07.
func TestSkipped(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"ends": "", "panics": "", "elsewhere": "another address",
		"docker": "another address", "old": "incompatible", "open": "encrypt", "mayfly": "does not describe itself",
		"empty": "provides nothing", "nowhere": "no such file",
	}
	names := []string{"good"}
	for name := range want {
		names = append(names, name)
	}
	h, dir, log := started(t, quick(), names...)
	for name, reason := range want {
		skipped(t, h, dir, name, reason)
	}
	if !strings.Contains(log.String(), "plugin=docker") {
		t.Errorf("not logged: %s", log)
	}
	got := h.status("good")
	if d := cmp.Diff(system.Extension{Name: "good",
		Kinds: []system.ExtensionKind{system.ToolExtension, system.NotifierExtension, system.EngineExtension,
			system.ProviderExtension},
		State: system.ExtensionRunning, Version: got.Version}, got); d != "" {
		t.Error(d)
	}
	if err := h.Notifiers()["diary"].Notify(t.Context(), extension.EndedRun{ID: "run_1"}); err != nil {
		t.Error(err)
	}
}

// skipped checks that a plugin has ended for a reason.
func skipped(t *testing.T, h *Host, dir, name, reason string) {
	t.Helper()
	e := h.status(name)
	if e.State != system.ExtensionFailed || e.Error == "" || !strings.Contains(e.Error, reason) || len(e.Kinds) > 0 {
		t.Errorf("%s: %+v", name, e)
	}
	for _, pid := range words(t, filepath.Join(dir, ".started-"+name)) {
		if exists("/proc/" + pid) {
			t.Errorf("%s goes on as process %s", name, pid)
		}
	}
}

// TestSlowStarts checks that a plugin which does not say its address in time is ended and skipped.
// Keeps T09.
func TestSlowStarts(t *testing.T) {
	t.Parallel()
	bounds := quick()
	bounds.start = time.Second
	h, dir, _ := started(t, bounds, "sleeps", "babbles")
	skipped(t, h, dir, "sleeps", "timeout")
	skipped(t, h, dir, "babbles", "timeout")
}

// TestLinkedSocket checks that a link in the place of the socket makes Writ connect to no service of the machine.
// Keeps T09.
func TestLinkedSocket(t *testing.T) {
	t.Parallel()
	c, _ := fixture(t, place(t, "linked"))
	service, err := net.Listen("unix", filepath.Join(c.Dir, ".service"))
	if err != nil {
		t.Fatal(err)
	}
	defer service.Close()
	called := make(chan net.Conn, 10)
	go func() {
		for conn, err := service.Accept(); err == nil; conn, err = service.Accept() {
			called <- conn
			_ = conn.Close()
		}
	}()
	h, err := open(t.Context(), c, quick())
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	skipped(t, h, c.Dir, "linked", "no socket")
	if len(called) > 0 {
		t.Error("the service was called")
	}
}

// TestCollisions checks that a name which exists twice stops the start with a sentence that names it.
// Keeps T09.
func TestCollisions(t *testing.T) {
	t.Parallel()
	for want, names := range map[string][]string{
		`the plugin second provides the notifier "diary", which the plugin good`:        {"good", "second"},
		`the plugin mimic provides the AI provider "parrot", which the plugin good`:     {"good", "mimic"},
		`the plugin teller provides the secret engine "coins", which the plugin good`:   {"good", "teller"},
		`the plugin shadow provides the tool "bash", which is a part of writ`:           {"shadow"},
		`the plugin pager provides the notifier "slack", which is a part of writ`:       {"pager"},
		`the plugin keeper provides the secret engine "vault", which is a part of writ`: {"keeper"},
		`the plugin oracle provides the AI provider "ollama", which is a part of writ`:  {"oracle"},
	} {
		c, _ := fixture(t, place(t, names...))
		c.Taken = Names{Tools: extension.BuiltinTools(), Notifiers: extension.NotificationKinds(),
			Engines: extension.BuiltinEngines(), Providers: extension.BuiltinAIProviders()}
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
// Keeps T09.
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
	if s := h.status("second"); s.State != system.ExtensionFailed || !strings.Contains(s.Error, "chmod go-w "+shared) ||
		len(h.plugins) != 2 {
		t.Errorf("%+v", h.Extensions(t.Context()))
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
// Keeps T09, F07.
func TestHostile(t *testing.T) {
	t.Parallel()
	bounds := quick()
	bounds.call, bounds.describe, bounds.restarts = 3*time.Second, 2*time.Second, 100
	h, _, log := started(t, bounds, "hostile", "good")
	notifiers := h.Notifiers()
	for name, want := range map[string]string{
		"hang": "in time", "panic": "panicked", "die": "ended", "freeze": "", "flood": "xxx...",
	} {
		err := notifiers[name].Notify(t.Context(), extension.EndedRun{ID: "run_" + name})
		if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 2000 {
			t.Errorf("%s: %v", name, err)
		}
		waittest.Eventually(t, time.Minute, name+" is over", func() bool {
			return notifiers["fine"].Notify(t.Context(), extension.EndedRun{ID: "run_1"}) == nil
		})
	}
	if s := h.status("hostile"); s.State != system.ExtensionRunning || s.Restarts < 2 {
		t.Errorf("%+v", s)
	}
	if s := h.status("good"); s.State != system.ExtensionRunning || s.Restarts != 0 {
		t.Errorf("another plugin: %+v", s)
	}
	if n := strings.Count(log.String(), "flood"); n > 4*lineBudget {
		t.Errorf("%d lines of a flood are logged", n)
	}
}

// TestSecretsStay checks that a plugin gets neither the environment of writ nor room for a huge answer, and that
// nothing that a plugin with secrets prints is logged.
// Keeps T09.
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
	waittest.Eventually(t, time.Minute, "the lines are counted", func() bool {
		return strings.Contains(log.String(), "not logged")
	})
	if strings.Contains(log.String(), "c4nary-pin") {
		t.Errorf("logged: %s", log)
	}
}

// TestSettings checks that a plugin gets its own variables, and none of another plugin.
func TestSettings(t *testing.T) {
	t.Parallel()
	c, log := fixture(t, place(t, "good", "hostile"))
	c.Env = map[string]map[string]secret.Text{"hostile": {"TOKEN": "c4nary-token"}, "good": {"OTHER": "c4nary-other"}}
	h, err := open(t.Context(), c, quick())
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	value, err := h.Engines()["leak"].Resolver.Resolve(t.Context(), map[string]any{"pin": "1"})
	if err != nil || !strings.Contains(value, "TOKEN=c4nary-token") || strings.Contains(value, "c4nary-other") {
		t.Errorf("%q, %v", value, err)
	}
	c.State = t.TempDir()
	c.Env = map[string]map[string]secret.Text{"gone": {"TOKEN": "c4nary-token"}}
	if _, err := open(t.Context(), c, quick()); err == nil || !strings.Contains(err.Error(), `has no plugin "gone"`) {
		t.Errorf("a plugin that is not there: %v", err)
	}
	if strings.Contains(log.String(), "c4nary") {
		t.Errorf("logged: %s", log)
	}
}

// TestBudget checks that a plugin which ends again and again stays ended, and that calls then fail at once.
// Keeps F07.
func TestBudget(t *testing.T) {
	t.Parallel()
	bounds := quick()
	bounds.restarts = 3
	h, dir, _ := started(t, bounds, "good")
	waittest.Eventually(t, time.Minute, "given up", func() bool {
		killAll(t, dir, "good")
		return h.status("good").State == system.ExtensionFailed
	})
	err := h.Notifiers()["diary"].Notify(context.WithoutCancel(t.Context()), extension.EndedRun{ID: "run_1"})
	if s := h.status("good"); err == nil || s.Error == "" || s.Restarts != 3 {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestBox starts a plugin in the boxes that this account can have.
func TestBox(t *testing.T) {
	t.Parallel()
	levels := []boundary.Level{boundary.Namespaces, boundary.Users}
	if os.Getuid() != 0 {
		levels = []boundary.Level{boundary.Namespaces, boundary.Landlock}
	}
	for _, level := range levels {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			dir := place(t, "good")
			c, _ := fixture(t, dir)
			//nolint:gosec // the accounts of boxes pass it
			if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o711), os.Chmod(filepath.Dir(c.State), 0o711)); err != nil {
				t.Fatal(err)
			}
			b, err := boundary.Open(boundary.Config{Mode: boundary.Auto, Only: level, Hide: []string{c.State}})
			if err != nil || b.Status().Level != level {
				t.Fatal(b.Status(), err)
			}
			t.Cleanup(func() { _ = b.Close() })
			c.Boundary = b
			h, err := open(t.Context(), c, quick())
			if err != nil {
				t.Fatal(err)
			}
			defer h.Close()
			if e := h.status("good"); e.State != system.ExtensionRunning {
				t.Fatalf("%+v", e)
			}
			value, err := h.Engines()["box"].Resolver.Resolve(t.Context(), map[string]any{"name": "app"})
			if err == nil || !strings.Contains(err.Error(), "nothing of that name") {
				t.Errorf("%q, %v", value, err)
			}
		})
	}
}
