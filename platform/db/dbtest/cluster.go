package dbtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Mode is how a cluster is stopped.
type Mode string

// The modes: Fast ends sessions in order. Immediate is like a crash and needs recovery at the next start.
const (
	Fast      Mode = "fast"
	Immediate Mode = "immediate"
)

// settings trade durability, which a throw-away cluster does not need, for speed.
const settings = `
listen_addresses = ''
fsync = off
full_page_writes = off
wal_level = minimal
max_wal_senders = 0
max_connections = 1000
shared_buffers = 16MB
autovacuum = off
timezone = '` + Zone + `'
`

// guard outlives the test process: the end of its input means that the process has ended, for any reason.
const guard = `cat >/dev/null; "$1/pg_ctl" stop -s -m immediate -D "$2/data" >/dev/null 2>&1; rm -rf "$2"`

// durable takes back what settings trade away, for measurements.
const durable = "fsync = on\nfull_page_writes = on\nshared_buffers = 128MB\n"

// Cluster is a Postgres server of the test's own, for tests that stop it.
type Cluster struct {
	base string // the parent of its directory; empty is that of temporary files
	dir  string
	bin  string
	cred *syscall.Credential
	life *exec.Cmd
	stop func() error
}

// NewCluster makes and starts a cluster. It is removed when the test ends.
func NewCluster(t testing.TB) *Cluster {
	t.Helper()
	return newCluster(t, memory(), settings)
}

// NewDurableCluster is NewCluster on a disk to which each commit is synced, for measurements, with more lines of
// configuration.
func NewDurableCluster(t testing.TB, more ...string) *Cluster {
	t.Helper()
	return newCluster(t, "", settings+durable+strings.Join(more, ""))
}

func newCluster(t testing.TB, base, conf string) *Cluster {
	t.Helper()
	c, err := create(t.Context(), base, conf)
	if err != nil {
		t.Fatalf("make a Postgres cluster: %v", err)
	}
	t.Cleanup(func() {
		if err := c.remove(); err != nil {
			t.Errorf("remove the Postgres cluster: %v", err)
		}
	})
	return c
}

// URL returns the address of the cluster's database postgres for its superuser, over a socket in its directory.
func (c *Cluster) URL() string {
	q := url.Values{"host": {c.dir}}
	return (&url.URL{Scheme: "postgres", User: url.User("postgres"), Path: "/postgres", RawQuery: q.Encode()}).String()
}

// Socket returns the path of the Unix socket at which the cluster listens, and nowhere else.
func (c *Cluster) Socket() string { return filepath.Join(c.dir, ".s.PGSQL.5432") }

// Start starts a stopped cluster and waits until it answers.
func (c *Cluster) Start(ctx context.Context) error {
	return c.run(ctx, "pg_ctl", "start", "-w", "-s", "-D", c.data(), "-l", filepath.Join(c.dir, "log"), "-o",
		"-p 5432 -k "+c.dir)
}

// Stop stops the cluster and waits for its end.
func (c *Cluster) Stop(ctx context.Context, mode Mode) error {
	return c.run(ctx, "pg_ctl", "stop", "-w", "-s", "-m", string(mode), "-D", c.data())
}

// Restart stops and starts the cluster.
func (c *Cluster) Restart(ctx context.Context, mode Mode) error {
	if err := c.Stop(ctx, mode); err != nil {
		return err
	}
	return c.Start(ctx)
}

// Standby makes and starts a cluster that follows this one by streaming. With synchronous, a commit here waits until
// the standby has it. This cluster is restarted.
func (c *Cluster) Standby(t testing.TB, synchronous bool) *Cluster {
	t.Helper()
	more := "wal_level = replica\nmax_wal_senders = 4\n"
	if synchronous {
		more += "synchronous_standby_names = '*'\nsynchronous_commit = local\n" // until there is one
	}
	s := &Cluster{base: c.base, bin: c.bin, cred: c.cred}
	t.Cleanup(func() {
		if err := s.remove(); err != nil {
			t.Errorf("remove the standby: %v", err)
		}
	})
	err := c.configure(more)
	if err == nil {
		err = c.Restart(t.Context(), Fast)
	}
	if err == nil {
		err = s.place()
	}
	if err == nil {
		err = c.run(t.Context(), "pg_basebackup", "-R", "-X", "stream", "-c", "fast", "-h", c.dir, "-U", "postgres", "-D",
			s.data())
	}
	if err == nil {
		err = s.Start(t.Context())
	}
	if err == nil && synchronous {
		if err = c.configure("synchronous_commit = on\n"); err == nil {
			err = c.run(t.Context(), "pg_ctl", "reload", "-s", "-D", c.data())
		}
	}
	if err != nil {
		t.Fatalf("make a standby: %v", err)
	}
	return s
}

// Promote makes a standby a server of its own.
func (c *Cluster) Promote(ctx context.Context) error {
	return c.run(ctx, "pg_ctl", "promote", "-w", "-s", "-D", c.data())
}

func (c *Cluster) data() string { return filepath.Join(c.dir, "data") }

func create(ctx context.Context, base, conf string) (*Cluster, error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	cred, err := unprivileged()
	if err != nil {
		return nil, err
	}
	c := &Cluster{base: base, bin: bin, cred: cred}
	if err := c.prepare(ctx, conf); err != nil {
		return nil, errors.Join(err, c.remove())
	}
	return c, nil
}

// memory returns a directory in memory, where copying a template is quick; empty if there is none.
func memory() string {
	var fs unix.Statfs_t
	if err := unix.Statfs("/dev/shm", &fs); err != nil || fs.Bavail*uint64(fs.Bsize) < 1<<30 {
		return ""
	}
	return "/dev/shm"
}

// place makes the directory of a cluster. The path of a socket must be short, so it is not a test's own directory.
func (c *Cluster) place() (err error) {
	if c.dir, err = os.MkdirTemp(c.base, "writ-pg-"); err != nil {
		return err
	}
	if c.cred != nil {
		if err := os.Chown(c.dir, int(c.cred.Uid), int(c.cred.Gid)); err != nil {
			return err
		}
	}
	return c.watch()
}

// configure appends to the configuration, which the next start or reload reads.
func (c *Cluster) configure(text string) error {
	conf, err := os.OpenFile(filepath.Join(c.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = conf.WriteString(text)
	return errors.Join(err, conf.Close())
}

func (c *Cluster) prepare(ctx context.Context, conf string) error {
	if err := c.place(); err != nil {
		return err
	}
	err := c.run(ctx, "initdb", "--no-sync", "-D", c.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C")
	if err != nil {
		return err
	}
	if err := c.configure(conf); err != nil {
		return err
	}
	if err := c.Start(ctx); err != nil {
		log, _ := os.ReadFile(filepath.Join(c.dir, "log")) // part of a message
		return fmt.Errorf("%w\n%s", err, log)
	}
	return nil
}

// watch starts the guard, which stops and removes the cluster at the end of this process.
func (c *Cluster) watch() error {
	c.life = exec.Command("/bin/sh", "-c", guard, "guard", c.bin, c.dir)
	c.life.Dir = "/"
	c.life.SysProcAttr = &syscall.SysProcAttr{Credential: c.cred, Setpgid: true}
	in, err := c.life.StdinPipe()
	if err != nil {
		return err
	}
	c.stop = in.Close
	return c.life.Start()
}

func (c *Cluster) remove() error {
	if c.life != nil && c.life.Process != nil {
		if err := errors.Join(c.stop(), c.life.Wait()); err != nil {
			return err
		}
	}
	return os.RemoveAll(c.dir)
}

func (c *Cluster) run(ctx context.Context, name string, args ...string) error {
	out, err := os.CreateTemp("", "writ-pg-out-")
	if err != nil {
		return err
	}
	defer func() { _ = errors.Join(out.Close(), os.Remove(out.Name())) }()
	cmd := exec.CommandContext(ctx, filepath.Join(c.bin, name), args...)
	cmd.Dir = c.dir
	// A file and not a pipe: the server inherits it and would keep a pipe open.
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Env = append(os.Environ(), "LC_ALL=C", "TZ=UTC")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.cred, Setpgid: true}
	if err := cmd.Run(); err != nil {
		output, _ := os.ReadFile(out.Name())
		return fmt.Errorf("%s: %w: %s", name, err, bytes.TrimSpace(output))
	}
	return nil
}

func binaries() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil && exists(filepath.Join(filepath.Dir(path), "pg_ctl")) {
			return filepath.Dir(path), nil
		}
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		return "", fmt.Errorf("the Postgres binaries are not installed: apt-get install postgresql, "+
			"put initdb and pg_ctl into the PATH, or set %s to the postgres:// URL of a superuser", Variable)
	}
	return filepath.Dir(slices.Max(found)), nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// unprivileged returns the user for the server, since it refuses root. It is nil unless the process is root.
func unprivileged() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return nil, err
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			return nil, err
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("root cannot run Postgres, and there is neither a user postgres nor nobody")
}
