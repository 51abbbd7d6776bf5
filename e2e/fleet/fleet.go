package fleet

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/platform/sshtest"
)

// MaxHosts is how many hosts a fleet may have: one per address of 127.0.1.0/24.
const MaxHosts = 250

// Fleet is a set of running hosts.
type Fleet struct {
	dir    string
	user   string
	python string
	hosts  []*Host
}

// New starts a fleet for a test and ends it with the test. If sshd is missing, it fails the test with a sentence
// about how to install it.
func New(t testing.TB, hosts int) *Fleet {
	t.Helper()
	f, err := Start(t.Context(), harness.Shared(t), hosts)
	if err != nil {
		t.Fatalf("start a fleet: %v", err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Errorf("end the fleet: %v", err)
		}
	})
	return f
}

// Start starts a fleet in a directory, which must exist and stays when the fleet is closed. It returns when every
// host accepts connections; on an error nothing is left running.
func Start(ctx context.Context, dir string, hosts int) (*Fleet, error) {
	if hosts < 1 || hosts > MaxHosts {
		return nil, fmt.Errorf("a fleet has 1 to %d hosts, not %d", MaxHosts, hosts)
	}
	f, err := prepare(dir)
	if err != nil {
		return nil, err
	}
	for i := 1; i <= hosts; i++ {
		h, err := f.newHost(i)
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		f.hosts = append(f.hosts, h)
		if err := h.Start(ctx); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	if err := f.writeKnownHosts(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if err := os.WriteFile(f.InventoryPath(), []byte(f.Inventory()), 0o600); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if err := f.publish(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// nobody is an account that owns nothing else.
const nobody = 65534

// publish lets every account use the client's files: runs of a server that is root have accounts of their own. Of a
// private key ssh wants that others cannot read it, but only if it belongs to whoever uses it.
func (f *Fleet) publish() error {
	if os.Getuid() != 0 {
		return nil
	}
	return errors.Join(os.Chmod(f.InventoryPath(), 0o644), os.Chmod(f.KnownHostsPath(), 0o644), //nolint:gosec // for tests
		os.Chmod(f.KeyPath(), 0o644), os.Chown(f.KeyPath(), nobody, nobody)) //nolint:gosec // for tests
}

func prepare(dir string) (*Fleet, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	me, err := user.Current()
	if err != nil {
		return nil, fmt.Errorf("who am I: %w", err)
	}
	f := &Fleet{dir: dir, user: me.Username, python: findPython()}
	return f, sshtest.WriteKey(f.KeyPath(), "fleet-client")
}

func findPython() string {
	for _, c := range []string{"/usr/bin/python3", "python3"} {
		if p, err := exec.LookPath(c); err == nil {
			return p
		}
	}
	return "python3"
}

// Hosts returns the hosts in the order of their numbers.
func (f *Fleet) Hosts() []*Host { return f.hosts }

// Host returns one host by its number, from 1. It panics for a number that the fleet does not have.
func (f *Fleet) Host(n int) *Host { return f.hosts[n-1] }

// KeyPath is the client's private key; its public half is beside it with ".pub".
func (f *Fleet) KeyPath() string { return filepath.Join(f.dir, "client") }

// KnownHostsPath is the file with every host's key.
func (f *Fleet) KnownHostsPath() string { return filepath.Join(f.dir, "known_hosts") }

// InventoryPath is the file that holds Inventory.
func (f *Fleet) InventoryPath() string { return filepath.Join(f.dir, "inventory.ini") }

// User is the account that the hosts accept.
func (f *Fleet) User() string { return f.user }

// Close ends every host and waits for its end.
func (f *Fleet) Close() error {
	var errs []error
	for _, h := range f.hosts {
		errs = append(errs, h.Stop())
	}
	return errors.Join(errs...)
}

func (f *Fleet) newHost(n int) (*Host, error) {
	ip := netip.AddrFrom4([4]byte{127, 0, 1, byte(n)})
	h := &Host{fleet: f, Name: fmt.Sprintf("node%02d", n), Address: ip.String()}
	h.Dir = filepath.Join(f.dir, h.Name)
	for _, d := range []string{h.Dir, h.Root(), h.home(), h.tmp()} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, err
		}
	}
	return h, nil
}
