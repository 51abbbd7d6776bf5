package git

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/writ-automation/writ/platform/boundary"
	"github.com/writ-automation/writ/platform/egress"
	"github.com/writ-automation/writ/platform/program"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/lazyregexp"
)

var (
	_ catalog.Checkouts = (*Checkouts)(nil)
	_ catalog.Installer = (*Checkouts)(nil)
)

// Defaults of Config.
const (
	DefaultMaxRepo        = 2 << 30
	DefaultTimeout        = 15 * time.Minute
	DefaultInstallTimeout = 10 * time.Minute
)

// Config sets the location of mirrors and limits access.
type Config struct {
	// Dir contains everything that is stored, an absolute path that only one process uses at a time. New creates it
	// with mode 0700. The mirror of a project is Dir/<id>.git, its installed requirements are below Dir/<id>.deps, and
	// Dir/.private contains the temporary files of commands.
	Dir string
	// LocalRoot is the directory below which file addresses are allowed; empty allows none. Only repositories that
	// belong to the user of this process are read.
	LocalRoot string
	// Egress defines the addresses that may be dialed. Git and ssh connect to exactly the checked address, for every
	// protocol. The connections of ansible-galaxy are not checked.
	Egress egress.Policy
	// Resolver looks up hosts; nil means the resolver of the machine.
	Resolver *net.Resolver
	// Git, SSH and Galaxy are names to look up in PATH or absolute paths; empty means git, ssh and ansible-galaxy.
	Git, SSH, Galaxy string
	// CAFile contains the certificate authorities for https; empty means those of the machine.
	CAFile string
	// MaxRepo is the maximum size of a mirror, and of a work tree, in bytes; 0 means DefaultMaxRepo.
	MaxRepo int64
	// Timeout limits a fetch, and InstallTimeout the installation of requirements; 0 means the default.
	Timeout, InstallTimeout time.Duration
	// GalaxyEnv is added to the environment of ansible-galaxy as NAME=value, for proxies and the settings of a private
	// Galaxy server.
	GalaxyEnv []string
	// Boundary is where git, ssh and ansible-galaxy run; nil keeps nothing apart. The caller closes it after Checkouts.
	Boundary *boundary.Boundary
	// ReadOnly disables fetches and installations; existing mirrors are still served.
	ReadOnly bool
	// Log receives messages about repairs; nil discards them.
	Log *slog.Logger
}

// Checkouts keeps mirrors with the git program. It is safe for concurrent use and starts no goroutine.
type Checkouts struct {
	cfg  Config
	git  string
	path string // the PATH for programs
	log  *slog.Logger
	box  *program.Box // of git and ssh, which own the mirrors
	home sync.Mutex   // of the file of known hosts

	mu       sync.Mutex
	checked  bool // the version of git is supported
	projects map[string]*project
}

// New creates the directory, ends the commands that a killed process left, and removes their files. It returns an error
// if Dir or LocalRoot is not absolute or Dir cannot be created. Whether git is installed is only checked on first use.
func New(c Config) (*Checkouts, error) {
	if !filepath.IsAbs(c.Dir) || strings.ContainsAny(c.Dir, "\"'\\$%\n\r\x00") {
		return nil, errors.New("git: the directory of the checkouts must be an absolute path without quotes, %, $ and \\")
	}
	if c.LocalRoot != "" && !filepath.IsAbs(c.LocalRoot) {
		return nil, errors.New("git: the folder for local projects must be an absolute path")
	}
	c.Dir = filepath.Clean(c.Dir)
	c.Git, c.SSH, c.Galaxy = or(c.Git, "git"), or(c.SSH, "ssh"), or(c.Galaxy, "ansible-galaxy")
	c.MaxRepo, c.Timeout = or(c.MaxRepo, DefaultMaxRepo), or(c.Timeout, DefaultTimeout)
	c.InstallTimeout, c.Log = or(c.InstallTimeout, DefaultInstallTimeout), or(c.Log, slog.New(slog.DiscardHandler))
	k := &Checkouts{cfg: c, log: c.Log, path: or(os.Getenv("PATH"), "/usr/local/bin:/usr/bin:/bin"),
		projects: make(map[string]*project)}
	program.EndLeftovers(k.private())
	if err := program.Remove(k.private()); err != nil {
		return nil, fmt.Errorf("git: clear %s: %w", k.private(), err)
	}
	if err := os.MkdirAll(filepath.Join(k.private(), "home"), 0o700); err != nil {
		return nil, fmt.Errorf("git: make the directory of the checkouts: %w", err)
	}
	if err := k.enter(); err != nil {
		return nil, errors.Join(fmt.Errorf("git: %w", err), k.Close())
	}
	return k, nil
}

// Close gives back the account of git. No method runs any more.
func (k *Checkouts) Close() error { return k.box.Close() }

// enter takes the account of git, and makes it the owner of the mirrors.
func (k *Checkouts) enter() (err error) {
	if k.box, err = program.Enter(k.cfg.Boundary, "git", k.private()); err != nil || !k.box.Own() {
		return err
	}
	for _, dir := range []string{k.cfg.Dir, k.private()} { // the programs pass them
		if err := os.Chmod(dir, 0o711); err != nil { //nolint:gosec // passed and not read
			return err
		}
	}
	mirrors, err := filepath.Glob(filepath.Join(k.cfg.Dir, "*.git"))
	for _, dir := range mirrors {
		if err == nil && !k.box.Owns(dir) {
			err = k.box.Give(dir)
		}
	}
	return err
}

func or[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

func (k *Checkouts) private() string    { return filepath.Join(k.cfg.Dir, ".private") }
func (k *Checkouts) knownHosts() string { return filepath.Join(k.cfg.Dir, hostsFile) }

func (k *Checkouts) Check(url, branch string) error {
	if _, err := parse(url, k.cfg.LocalRoot); err != nil {
		return err
	}
	if branch == "" {
		return nil
	}
	return checkRef("branch", branch)
}

func (k *Checkouts) Fetch(ctx context.Context, r catalog.Repository) (string, error) {
	if err := k.Check(r.URL, r.Branch); err != nil {
		return "", err
	}
	p, err := k.project(ctx, r.ProjectID)
	if err != nil {
		return "", err
	}
	if err := p.fetchGate.lock(ctx); err != nil {
		return "", err
	}
	defer p.fetchGate.unlock()
	return k.fetch(ctx, p, r)
}

func (k *Checkouts) Mirrored(context.Context) ([]string, error) {
	entries, err := os.ReadDir(k.cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("git: list the mirrors: %w", err)
	}
	var out []string
	for _, e := range entries {
		id, suffix, _ := strings.Cut(e.Name(), ".")
		if (suffix == "git" || suffix == "deps") && idForm.MatchString(id) && !slices.Contains(out[max(0, len(out)-1):], id) {
			out = append(out, id)
		}
	}
	return out, nil
}

// Forget waits for the users of the mirror.
func (k *Checkouts) Forget(ctx context.Context, projectID string) error {
	p, err := k.project(ctx, projectID)
	if err != nil {
		return err
	}
	if err := p.lockAll(ctx); err != nil {
		return err
	}
	defer p.unlockAll()
	return errors.Join(os.RemoveAll(p.mirror), os.RemoveAll(p.deps))
}

var idForm = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$`)

// project returns the state of a project. On the first call for a project in this process, it repairs the mirror.
func (k *Checkouts) project(ctx context.Context, id string) (*project, error) {
	if !idForm.MatchString(id) {
		return nil, fmt.Errorf("git: %q is not the id of a project", id)
	}
	if err := k.checkVersion(ctx); err != nil {
		return nil, err
	}
	k.mu.Lock()
	p := k.projects[id]
	if p == nil {
		p = newProject(filepath.Join(k.cfg.Dir, id))
		k.projects[id] = p
	}
	k.mu.Unlock()
	return p, p.openOnce(func() error { return k.tidy(p) })
}

// checkVersion requires a version of git that supports pinned addresses, since older ones silently ignore them.
func (k *Checkouts) checkVersion(ctx context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.checked {
		return nil
	}
	file, err := exec.LookPath(k.cfg.Git)
	if err != nil {
		return catalog.SyncFailed.New("git is not installed on the server").Because(err)
	}
	if err := k.box.Sees(file); err != nil {
		return catalog.SyncFailed.New("%s", err.Error())
	}
	r, err := program.Run(ctx, program.Command{Path: file, Args: []string{"version"}, Dir: "/", Env: k.environ(),
		Box: k.box})
	if err != nil {
		return fmt.Errorf("ask for the version of git: %w", err)
	}
	var major, minor int
	if _, err := fmt.Sscanf(string(r.Stdout), "git version %d.%d", &major, &minor); err != nil || major < 2 ||
		major == 2 && minor < 37 {
		return catalog.SyncFailed.New("git 2.37 or a newer one is needed on the server")
	}
	k.git, k.checked = file, true
	return nil
}
