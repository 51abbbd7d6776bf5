package fleet_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/writ-automation/writ/e2e/fleet"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func ssh(ctx context.Context, f *fleet.Fleet, h *fleet.Host, command ...string) (string, error) {
	args := append([]string{"-o", "ConnectTimeout=5"}, f.Client(h, command...)...)
	out, err := exec.CommandContext(ctx, "ssh", args...).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func TestEachHostIsItself(t *testing.T) {
	t.Parallel()
	f := fleet.New(t, 3)
	for _, h := range f.Hosts() {
		out, err := ssh(t.Context(), f, h, `echo "$HOST_NAME" >"$HOST_ROOT/name" && echo "$HOST_NAME $HOME"`)
		if err != nil {
			t.Fatalf("%s: %v: %s", h.Name, err, out)
		}
		if want := h.Name + " " + filepath.Join(h.Dir, "home"); out != want {
			t.Errorf("%s says %q, want %q", h.Name, out, want)
		}
		if b, err := os.ReadFile(filepath.Join(h.Root(), "name")); err != nil || strings.TrimSpace(string(b)) != h.Name {
			t.Errorf("%s wrote %q: %v", h.Name, b, err)
		}
	}
}

func TestStopAndStartOne(t *testing.T) {
	t.Parallel()
	f := fleet.New(t, 2)
	h := f.Host(2)
	busy := exec.CommandContext(t.Context(), "ssh", f.Client(h, "echo up; exec cat")...)
	stdin, err := busy.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stdin.Close() }()
	stdout, err := busy.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := busy.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := stdout.Read(make([]byte, 3)); err != nil {
		t.Fatalf("the session does not come up: %v", err)
	}
	if err := h.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := busy.Wait(); err == nil {
		t.Error("an open session outlived its host")
	}
	if out, err := ssh(t.Context(), f, h, "true"); err == nil {
		t.Errorf("a stopped host answered: %s", out)
	}
	if out, err := ssh(t.Context(), f, f.Host(1), "true"); err != nil {
		t.Errorf("its neighbour does not answer: %v: %s", err, out)
	}
	if err := h.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if out, err := ssh(t.Context(), f, h, "true"); err != nil {
		t.Errorf("the host did not come back with its key: %v: %s", err, out)
	}
}

func TestFreezeAndThaw(t *testing.T) {
	t.Parallel()
	f := fleet.New(t, 1)
	h := f.Host(1)
	if err := h.Freeze(); err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", net.JoinHostPort(h.Address, strconv.Itoa(h.Port)))
	if err != nil {
		t.Fatalf("a frozen host refuses connections: %v", err)
	}
	defer func() { _ = c.Close() }()
	if err := c.SetReadDeadline(time.Now().Add(200 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(make([]byte, 1)); err == nil {
		t.Errorf("a frozen host said %d bytes", n)
	}
	if err := h.Thaw(); err != nil {
		t.Fatal(err)
	}
	if out, err := ssh(t.Context(), f, h, "true"); err != nil {
		t.Errorf("a thawed host does not answer: %v: %s", err, out)
	}
}

func TestAnsibleReachesTheFleet(t *testing.T) {
	t.Parallel()
	f := fleet.New(t, 3)
	cmd := exec.CommandContext(t.Context(), "ansible", "-i", f.InventoryPath(), "site", "-m", "command", "-a",
		"touch {{ host_root }}/here")
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "ANSIBLE_SSH_CONTROL_PATH_DIR="+t.TempDir(),
		"ANSIBLE_SSH_ARGS=-o ControlMaster=no")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("ansible: %v\n%s", err, out)
	}
	for _, h := range f.Hosts() {
		if _, err := os.Stat(filepath.Join(h.Root(), "here")); err != nil {
			t.Error(err)
		}
	}
}

func TestStartRefusesSillySizes(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, -1, fleet.MaxHosts + 1} {
		if f, err := fleet.Start(t.Context(), t.TempDir(), n); err == nil {
			t.Errorf("%d hosts started", n)
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
