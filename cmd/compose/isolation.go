package compose

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.uber.org/fx"
	"golang.org/x/sys/unix"

	"github.com/writ-automation/writ/modules/execution"
	"github.com/writ-automation/writ/platform/boundary"
	"github.com/writ-automation/writ/platform/cgroup"
	"github.com/writ-automation/writ/platform/config"
)

// Isolation are the settings of the boundary around runs.
type Isolation struct {
	Mode      string          // auto, required or none
	Show      []boundary.Path // what runs see although it is hidden
	Hide      []string        // what runs do not see, besides the directories of the process
	Users     string          // NAME, UID or FIRST-LAST; empty: a range that the machine does not use
	Memory    int64           // bytes of a run; 0 is no limit
	Processes int             // of a run; 0 is no limit
	TmpSize   int64           // bytes of /dev/shm of a run

	Profile       string         // of runs for which nobody chose one; empty: standard
	QueueProfiles []string       // QUEUE=NAME, what runs of a queue may have; without a choice they get the first one
	Profiles      config.Section // of the configuration file, by name
}

// users returns the accounts of runs.
func (i *Isolation) users() (boundary.Range, error) {
	if i.Users == "" {
		return boundary.Range{}, nil
	}
	first, last, many := strings.Cut(i.Users, "-")
	a, errFirst := strconv.Atoi(first)
	b, errLast := strconv.Atoi(last)
	switch {
	case !many && errFirst == nil:
		b = a
	case many && errFirst == nil && errLast == nil && a <= b:
	default:
		u, err := user.Lookup(i.Users)
		if err != nil {
			return boundary.Range{}, fmt.Errorf("run-user: expected the name of an account, an id, or a range such as "+
				"65600-66623, not %q", i.Users)
		}
		if a, err = strconv.Atoi(u.Uid); err != nil {
			return boundary.Range{}, fmt.Errorf("run-user: %q has no number", i.Users)
		}
		b = a
	}
	if a <= 0 {
		return boundary.Range{}, errors.New("run-user: runs are not executed as root; use --isolation none if they must be")
	}
	return boundary.Range{First: a, Last: b}, nil
}

// Parse sets what runs see from the texts of a flag, PATH or PATH:rw.
func (i *Isolation) Parse(list []string) error { return show(&i.Show, "isolation-show: ", list) }

// sensitive are the files and directories of a process that no run may see.
type sensitive []string

// sensitive lists what a server has.
func (s *Settings) sensitive() sensitive {
	return append(s.Install.sensitive(), s.TLSKey, s.SigningKeyFile, s.AdminPasswordFile, s.ConfigFile, s.PolicyFile)
}

func (s *WorkerSettings) sensitive() sensitive {
	return append(s.Install.sensitive(), s.SigningKeyFile, s.ConfigFile)
}

func (i *Install) sensitive() sensitive {
	out := sensitive{i.EncryptionKeyFile, i.Secrets.Files}
	if storeOf(i.DB) == SQLite && i.DB != "" {
		for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
			out = append(out, i.DB+suffix)
		}
	}
	return out
}

// engines are the sockets and directories of container engines, which make whoever reaches them root.
func containerEngines() []string {
	return []string{"/run/docker.sock", "/run/containerd", "/run/podman", "/run/crio"}
}

// newBoundary finds the level that works here, says so, and closes this process to runs.
func newBoundary(
	life fx.Lifecycle, x *Executor, g *cgroup.Groups, d *dataDir, c execution.Config, hide sensitive, log *slog.Logger,
) (*boundary.Boundary, error) {
	config, err := x.boundary(d, c.RunsDir, hide)
	if err != nil {
		return nil, err
	}
	config.Groups, config.Memory = g, x.Isolation.Memory
	b, err := boundary.Open(config)
	if err != nil {
		return nil, err
	}
	life.Append(fx.Hook{
		OnStart: func(ctx context.Context) error { return x.enforce(ctx, b, d, c.RunsDir, log) },
		OnStop:  func(context.Context) error { return b.Close() },
	})
	return b, nil
}

// boundary returns what to close. The order does not matter.
func (x *Executor) boundary(d *dataDir, runsDir string, hide sensitive) (boundary.Config, error) {
	users, err := x.Isolation.users()
	if err != nil {
		return boundary.Config{}, err
	}
	out := boundary.Config{
		Mode: boundary.Mode(x.Isolation.Mode), Show: slices.Clone(x.Isolation.Show), Users: users,
		Processes: x.Isolation.Processes, SharedMemory: x.Isolation.TmpSize, Runs: runsDir,
		Hide: append([]string{d.root, runsDir}, x.Isolation.Hide...),
	}
	if out.Mode == "" || out.Mode == boundary.Required && x.Executors == 0 {
		out.Mode = boundary.Auto
	}
	work, err := x.workDir()
	if err != nil {
		return out, err
	}
	if work != d.root {
		out.Show = append(out.Show, boundary.Path{Name: work})
	}
	out.Show = append(out.Show, boundary.Path{Name: d.path(ansibleState)})
	if home, err := os.UserHomeDir(); err == nil {
		for _, name := range []string{"collections", "roles"} {
			out.Show = append(out.Show, boundary.Path{Name: filepath.Join(home, ".ansible", name)})
		}
	}
	for _, path := range hide {
		if path == "" {
			continue
		}
		abs, err := filepath.Abs(path)
		if err != nil {
			return out, fmt.Errorf("isolation: %w", err)
		}
		out.Hide = append(out.Hide, closable(abs, work))
	}
	out.Hide = append(out.Hide, containerEngines()...)
	return out, nil
}

// closable returns the directory of a file if nothing else can need it, else the file. A file that is hidden by itself
// shows again when it is replaced.
func closable(path, work string) string {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		return path
	}
	dir := filepath.Dir(path)
	info, err = os.Stat(dir)
	home, _ := os.UserHomeDir()
	for _, needed := range []string{work, home} {
		if needed == dir || strings.HasPrefix(needed, dir+"/") {
			return path
		}
	}
	if err != nil || info.Mode().Perm()&0o007 != 0 {
		return path
	}
	return dir
}

// workDir returns the absolute path that relative playbooks begin at.
func (x *Executor) workDir() (string, error) {
	if x.WorkDir != "" {
		return x.WorkDir, nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("work-dir: the working directory is unknown: %w", err)
	}
	return dir, nil
}

// enforce closes this process and its directories, and tells what runs get.
func (x *Executor) enforce(
	ctx context.Context, b *boundary.Boundary, d *dataDir, runsDir string, log *slog.Logger,
) error {
	s := b.Status()
	// A user namespace cannot be made from a process that is not dumpable. There runs do not see its /proc.
	if s.Level != boundary.Namespaces || os.Geteuid() == 0 {
		if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
			return fmt.Errorf("isolation: close the memory of this process: %w", err)
		}
	}
	if s.Level == boundary.Users {
		if err := d.letPass(); err != nil {
			return fmt.Errorf("isolation: %w", err)
		}
		if err := errors.Join(os.MkdirAll(runsDir, 0o711), os.Chmod(runsDir,
			0o711)); err != nil { //nolint:gosec // runs pass it
			return fmt.Errorf("isolation: %w", err)
		}
	}
	if x.Executors == 0 {
		return nil
	}
	attrs := []any{"boundary", string(s.Level), "landlock_abi", s.LandlockABI}
	if s.Accounts != (boundary.Range{}) {
		attrs = append(attrs, "accounts", s.Accounts.String())
	}
	if s.Reason != "" {
		attrs = append(attrs, "reason", s.Reason)
	}
	level := slog.LevelInfo
	if s.Level == boundary.None {
		level = slog.LevelWarn
	}
	log.Log(ctx, level, "isolation of runs", attrs...)
	work, err := x.workDir()
	if err != nil {
		return err
	}
	if err := b.Sees(work, boundary.Command{Home: filepath.Join(runsDir, "run")}); err != nil {
		log.WarnContext(ctx, "the work directory is closed to runs", "error", err)
	}
	return nil
}
