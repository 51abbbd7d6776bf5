package fleet

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"sync"

	"github.com/writ-automation/writ/platform/sshtest"
)

// Host is one SSH server.
type Host struct {
	Name    string
	Address string
	Port    int // the same for the host's whole life
	Dir     string

	fleet  *Fleet
	mu     sync.Mutex
	server *sshtest.Server // nil while the host is stopped
}

// Root is the directory that plays may write to; inventories call it host_root.
func (h *Host) Root() string { return filepath.Join(h.Dir, "root") }

func (h *Host) home() string { return filepath.Join(h.Dir, "home") }
func (h *Host) tmp() string  { return filepath.Join(h.Dir, "tmp") }

// terminals reports whether sshd can provide a terminal: an ordinary user may not change the owner of one.
func terminals() bool { return os.Geteuid() == 0 }

// config returns the settings that sshtest does not set.
func (h *Host) config() []string {
	tty := "no"
	if terminals() {
		tty = "yes"
	}
	return []string{
		"AuthorizedKeysFile " + h.fleet.KeyPath() + ".pub",
		"AllowUsers " + h.fleet.user,
		"PermitTTY " + tty,
		fmt.Sprintf("SetEnv HOME=%s HOST_ROOT=%s HOST_NAME=%s", h.home(), h.Root(), h.Name),
	}
}

// Start starts a stopped host, which accepts connections when Start returns. It does nothing for a running host. A
// restarted host has the same port, which no other program may have taken.
func (h *Host) Start(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.server != nil {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	ip, err := netip.ParseAddr(h.Address)
	if err != nil {
		return err
	}
	s, err := sshtest.Start(sshtest.Config{Dir: h.Dir, IP: ip, Port: uint16(h.Port), Comment: h.Name, Lines: h.config()})
	if err != nil {
		return fmt.Errorf("start %s: %w", h.Name, err)
	}
	h.server, h.Port = s, s.Port()
	return nil
}

// Stop ends the host with its connections and waits until all its processes have ended. Its directory stays. Stopping
// a stopped host does nothing.
func (h *Host) Stop() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.server == nil {
		return nil
	}
	s := h.server
	h.server = nil
	return s.Close()
}

// Freeze makes the host accept connections and answer nothing, on connections that are open too.
func (h *Host) Freeze() error { return h.with((*sshtest.Server).Freeze) }

// Thaw resumes a frozen host.
func (h *Host) Thaw() error { return h.with((*sshtest.Server).Thaw) }

func (h *Host) with(do func(*sshtest.Server)) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.server == nil {
		return fmt.Errorf("%s is stopped", h.Name)
	}
	do(h.server)
	return nil
}
