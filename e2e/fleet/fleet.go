package fleet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// MaxHosts is how many hosts a fleet may have: one per address of 127.0.1.0/24.
const MaxHosts = 250

// Fleet is a set of running hosts.
type Fleet struct {
	dir    string
	user   string
	python string
	sshd   string
	hosts  []*Host
}

// New starts a fleet for a test and ends it with the test. It fails the test where sshd is missing, with a sentence
// that says how to install it.
func New(t testing.TB, hosts int) *Fleet {
	t.Helper()
	f, err := Start(t.Context(), t.TempDir(), hosts)
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
		h, err := f.newHost(ctx, i)
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
	return f, os.WriteFile(f.InventoryPath(), []byte(f.Inventory()), 0o600)
}

func prepare(dir string) (*Fleet, error) {
	sshd, err := findSSHD()
	if err != nil {
		return nil, err
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	me, err := user.Current()
	if err != nil {
		return nil, fmt.Errorf("who am I: %w", err)
	}
	if os.Geteuid() == 0 {
		// sshd refuses to start as root without the folder that it confines itself to.
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			return nil, err
		}
	}
	f := &Fleet{dir: dir, user: me.Username, sshd: sshd, python: findPython()}
	return f, writeKey(f.KeyPath(), "fleet-client")
}

func findSSHD() (string, error) {
	for _, c := range []string{"sshd", "/usr/sbin/sshd", "/usr/local/sbin/sshd"} {
		if p, err := exec.LookPath(c); err == nil {
			// sshd starts itself again for each connection and insists on an absolute path for it.
			return filepath.Abs(p)
		}
	}
	return "", errors.New("there is no sshd on this machine; install it with: apt-get install openssh-server")
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

// User is the account that the hosts let in.
func (f *Fleet) User() string { return f.user }

// Close ends every host and waits until it is gone.
func (f *Fleet) Close() error {
	var errs []error
	for _, h := range f.hosts {
		errs = append(errs, h.Stop())
	}
	return errors.Join(errs...)
}

func (f *Fleet) newHost(ctx context.Context, n int) (*Host, error) {
	h := &Host{fleet: f, Name: fmt.Sprintf("node%02d", n), Address: fmt.Sprintf("127.0.1.%d", n)}
	h.Dir = filepath.Join(f.dir, h.Name)
	for _, d := range []string{h.Dir, h.Root(), h.home(), h.tmp()} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, err
		}
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", net.JoinHostPort(h.Address, "0"))
	if err != nil {
		return nil, fmt.Errorf("find a port on %s: %w", h.Address, err)
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	if h.Port, err = strconv.Atoi(port); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return h, errors.Join(l.Close(), writeKey(h.keyPath(), h.Name), h.writeConfig())
}

// pollEvery and patience bound how long a host may take to come or to go.
const (
	pollEvery = 10 * time.Millisecond
	patience  = 20 * time.Second
)

// await polls until done says so, ctx ends or patience is over.
func await(ctx context.Context, done func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}
