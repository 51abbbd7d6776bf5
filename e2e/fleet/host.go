package fleet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// Host is one SSH server.
type Host struct {
	Name    string
	Address string
	Port    int
	Dir     string

	fleet *Fleet
	mu    sync.Mutex
	cmd   *exec.Cmd
	gone  chan struct{} // closed when cmd has been waited for
}

// Root is the directory that plays may write to; inventories call it host_root.
func (h *Host) Root() string { return filepath.Join(h.Dir, "root") }

func (h *Host) home() string    { return filepath.Join(h.Dir, "home") }
func (h *Host) tmp() string     { return filepath.Join(h.Dir, "tmp") }
func (h *Host) keyPath() string { return filepath.Join(h.Dir, "host_key") }
func (h *Host) config() string  { return filepath.Join(h.Dir, "sshd_config") }
func (h *Host) logPath() string { return filepath.Join(h.Dir, "sshd.log") }
func (h *Host) endpoint() string {
	return net.JoinHostPort(h.Address, strconv.Itoa(h.Port))
}

// terminals reports whether sshd can hand over a terminal: as an ordinary user it may not change one's owner.
func terminals() bool { return os.Geteuid() == 0 }

// writeConfig writes the server's configuration.
func (h *Host) writeConfig() error {
	tty := "no"
	if terminals() {
		tty = "yes"
	}
	lines := []string{
		"ListenAddress " + h.endpoint(),
		"HostKey " + h.keyPath(),
		"PidFile none",
		"AuthorizedKeysFile " + h.fleet.KeyPath() + ".pub",
		"AllowUsers " + h.fleet.user,
		"StrictModes no",
		"PasswordAuthentication no",
		"KbdInteractiveAuthentication no",
		"PermitRootLogin prohibit-password",
		"UsePAM no",
		"PermitTTY " + tty,
		"UseDNS no",
		"PrintMotd no",
		"PrintLastLog no",
		"X11Forwarding no",
		"MaxSessions 200",
		"MaxStartups 500",
		"Subsystem sftp internal-sftp",
		fmt.Sprintf("SetEnv HOME=%s HOST_ROOT=%s HOST_NAME=%s", h.home(), h.Root(), h.Name),
	}
	return os.WriteFile(h.config(), []byte(strings.Join(lines, "\n")+"\n"), 0o600)
}

// Start starts a stopped host and returns when it accepts connections; a host that runs is left as it is.
func (h *Host) Start(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cmd != nil {
		return nil
	}
	cmd := exec.Command(h.fleet.sshd, "-D", "-e", "-f", h.config())
	log, err := os.OpenFile(h.logPath(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	cmd.Stderr, cmd.SysProcAttr = log, processAttributes()
	err = errors.Join(cmd.Start(), log.Close())
	if err != nil {
		return fmt.Errorf("start %s: %w", h.Name, err)
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_ = cmd.Wait() // ended by a signal; its log says anything else
	}()
	h.cmd, h.gone = cmd, gone
	if err := h.awaitAnswer(ctx); err != nil {
		return errors.Join(err, h.stop())
	}
	return nil
}

func (h *Host) awaitAnswer(ctx context.Context) error {
	died := false
	err := await(ctx, func() bool {
		select {
		case <-h.gone:
			died = true
			return true
		default:
		}
		var d net.Dialer
		c, err := d.DialContext(ctx, "tcp", h.endpoint())
		if err != nil {
			return false
		}
		_ = c.Close() // only whether it opened matters
		return true
	})
	if err != nil || died {
		log, _ := os.ReadFile(h.logPath()) // best effort: the log is part of a message
		return fmt.Errorf("%s does not answer on %s: %s", h.Name, h.endpoint(), strings.TrimSpace(string(log)))
	}
	return nil
}

// Stop ends the host with its connections and waits until all of it is gone; its directory stays. Stopping a stopped
// host does nothing.
func (h *Host) Stop() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.stop()
}

func (h *Host) stop() error {
	if h.cmd == nil {
		return nil
	}
	pids := descendants(h.cmd.Process.Pid)
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may be gone already
	}
	<-h.gone
	h.cmd = nil
	if err := await(context.Background(), func() bool { return !anyAlive(pids) }); err != nil {
		return fmt.Errorf("%s leaves processes behind: %v", h.Name, pids)
	}
	return nil
}

// Freeze makes the host accept connections and answer nothing, on connections that are open too.
func (h *Host) Freeze() error { return h.signal(syscall.SIGSTOP) }

// Thaw lets a frozen host go on.
func (h *Host) Thaw() error { return h.signal(syscall.SIGCONT) }

func (h *Host) signal(sig syscall.Signal) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cmd == nil {
		return fmt.Errorf("%s is stopped", h.Name)
	}
	var errs []error
	for _, pid := range descendants(h.cmd.Process.Pid) {
		if err := syscall.Kill(pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
