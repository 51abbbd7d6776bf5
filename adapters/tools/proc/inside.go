package proc

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/writ-automation/writ/platform/boundary"
	"github.com/writ-automation/writ/platform/cgroup"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/runs"
)

var _, _ execution.Boundary = (*Runner)(nil), (*profiled)(nil)

// Isolation describes what runs get for which nobody chose a profile.
func (r *Runner) Isolation() execution.WorkerIsolation {
	name, _ := r.profiles.choose("", "")
	return r.describe(name, r.limits)
}

func (p *profiled) Isolation() execution.WorkerIsolation { return p.describe(p.name, p.limits()) }

func (r *Runner) describe(profile string, l cgroup.Limits) execution.WorkerIsolation {
	s := r.boundary.Status()
	out := execution.WorkerIsolation{
		Isolation:   runs.Isolation{Level: string(s.Level), Profile: profile},
		LandlockABI: s.LandlockABI, Limits: []string{}, Reason: s.Reason,
	}
	if r.groups.Unlimited() == nil && l.Memory > 0 {
		out.Limits = append(out.Limits, "memory")
	}
	if (r.groups.LimitsProcesses() || s.Accounts != (boundary.Range{})) && l.Processes > 0 {
		out.Limits = append(out.Limits, "processes")
	}
	return out
}

// enclosure is the boundary of one run.
type enclosure struct {
	runner    *profiled
	account   *boundary.Account
	scope     string
	exhausted atomic.Bool // it reached its limit of memory
}

// enclosureOf returns the boundary of a context's run, nil for a context without.
func enclosureOf(ctx context.Context) *enclosure {
	p, _ := ctx.Value(insideKey{}).(*Inside)
	if p == nil {
		return nil
	}
	return p.enclosure
}

// limits returns those of the run, none without a run.
func (e *enclosure) limits() cgroup.Limits {
	if e == nil {
		return cgroup.Limits{}
	}
	return e.runner.limits()
}

func (e *enclosure) Exceeded() string {
	if !e.exhausted.Load() {
		return ""
	}
	return fmt.Sprintf("memory limit reached: the run used more than %d MiB, and the kernel ended it",
		e.limits().Memory>>20)
}

// Enter takes an account for a run for which nobody chose a profile.
func (r *Runner) Enter(scope string) (execution.Enclosure, error) {
	b, err := r.Choose("", "")
	if err != nil {
		return nil, err
	}
	return b.Enter(scope)
}

// Enter takes an account for a run.
func (p *profiled) Enter(scope string) (execution.Enclosure, error) {
	a, err := p.boundary.Lease(scope)
	if err != nil {
		return nil, fmt.Errorf("isolation: %w", err)
	}
	return &enclosure{runner: p, account: a, scope: scope}, nil
}

func (e *enclosure) Isolation() runs.Isolation { return e.runner.Isolation().Isolation }

func (e *enclosure) Owner() (uid, gid int, ok bool) {
	if !e.account.Own() {
		return 0, 0, false
	}
	return e.account.UID, e.account.GID, true
}

func (e *enclosure) Close() error { return e.account.Close() }

type insideKey struct{}

func (e *enclosure) Inside(ctx context.Context, files string, show ...string) context.Context {
	return context.WithValue(ctx, insideKey{}, &Inside{enclosure: e, files: files, show: show})
}

// Inside is where the run of a context executes. Its methods work on nil, for programs without a boundary.
type Inside struct {
	enclosure *enclosure
	files     string
	show      []string
	caches    []string // shown writable
}

// InsideOf returns where the run of a context executes, nil for a context that no enclosure made, or without isolation.
func InsideOf(ctx context.Context) *Inside {
	p, _ := ctx.Value(insideKey{}).(*Inside)
	if p == nil || p.enclosure.runner.boundary.Status().Level == boundary.None {
		return nil
	}
	return p
}

// own reports whether the run has an account of its own.
func (p *Inside) own() bool { return p != nil && p.enclosure.account.Own() }

// Home returns the home directory of the run's account, which is the given one if the run has none of its own and may
// see it.
func (p *Inside) Home(server string) string {
	if p == nil || !p.own() && !p.enclosure.runner.profile.NoHome {
		return server
	}
	return filepath.Join(p.files, "work")
}

// Show shows the run a file of the executor, which it only reads.
func (p *Inside) Show(path string) {
	if p != nil {
		p.show = append(p.show, path)
	}
}

// Contained reports whether the run sees an image instead of the machine.
func (p *Inside) Contained() bool { return p != nil && p.enclosure.runner.profile.Image != "" }

// Bound returns why a program of the run becomes nobody else, with what can be done, and an empty text if it can.
func (p *Inside) Bound() string {
	if p == nil || p.enclosure.runner.profile.Host {
		return ""
	}
	return "With the isolation profile " + p.enclosure.runner.name + " nothing becomes another user on the executor " +
		"itself: connect to localhost by ssh, or use the profile host."
}

// Give makes the run the owner of a file or directory with everything in it. The caller has just made it, and nothing
// of the run has executed meanwhile.
func (p *Inside) Give(path string) error {
	if !p.own() {
		return nil
	}
	a := p.enclosure.account
	return filepath.WalkDir(path, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, a.UID, a.GID)
	})
}

// TempDir makes a directory with a short path for the run. It returns its path outside, which the caller removes, and
// inside. Base is where it is if the run has no /tmp of its own.
func (p *Inside) TempDir(base, pattern string) (outside, inside string, err error) {
	private := p != nil && p.enclosure.runner.boundary.Status().Level == boundary.Namespaces
	if private {
		base = filepath.Join(p.files, "tmp")
	}
	if outside, err = os.MkdirTemp(base, pattern); err != nil {
		return "", "", err
	}
	if err = p.Give(outside); err != nil {
		return "", "", errors.Join(err, os.RemoveAll(outside))
	}
	if private {
		return outside, filepath.Join("/tmp", filepath.Base(outside)), nil
	}
	return outside, outside, nil
}

// Cache returns a directory below base that only runs of one scope share, and base itself for a program without a
// boundary. If the directory belongs to the account of another run, or cannot be shown, the run gets an empty
// one of its own.
func (p *Inside) Cache(base string) (string, error) {
	if p == nil || base == "" {
		return base, nil
	}
	sum := sha256.Sum256([]byte(p.enclosure.scope))
	dir, err := filepath.Join(base, hex.EncodeToString(sum[:16])), errTaken
	if p.enclosure.runner.boundary.Status().Level != boundary.Users { // where nothing shows the directory
		err = errors.Join(os.MkdirAll(base, 0o700), p.cache(dir))
	}
	if errors.Is(err, errTaken) {
		dir = filepath.Join(p.files, "work", ".cache")
		err = p.cache(dir)
	} else if err == nil {
		p.caches = append(p.caches, dir)
	}
	if err != nil {
		return "", fmt.Errorf("make a cache: %w", err)
	}
	return dir, nil
}

var errTaken = errors.New("the cache belongs to another account")

// cache makes a directory of the run, or finds the one that it owns.
func (p *Inside) cache(dir string) error {
	err := os.Mkdir(dir, 0o700)
	if err == nil {
		return p.Give(dir)
	}
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	var st unix.Stat_t
	if err := unix.Lstat(dir, &st); err != nil {
		return err
	}
	if p.own() && int(st.Uid) != p.enclosure.account.UID || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return errTaken
	}
	return nil
}

// Sees returns an error that names a path and the remedy if the run cannot read it. It looks at directories and
// permissions; the run finds out the rest.
func (p *Inside) Sees(path string) error {
	if p == nil {
		return nil
	}
	return p.enclosure.runner.boundary.Sees(path, p.command(Command{}))
}

// command translates a command to one inside.
func (p *Inside) command(c Command) boundary.Command {
	out := boundary.Command{
		Path: c.Path, Args: c.Args, Env: c.Env, Dir: c.Dir, Account: p.enclosure.account, Home: p.files,
		Profile: p.enclosure.runner.profile.Profile,
	}
	if p.Contained() { // what is not the run's own choice is the image's
		out.Env = slices.DeleteFunc(slices.Clone(c.Env), func(kv string) bool { return kv == "PATH="+os.Getenv("PATH") })
	}
	for _, path := range p.show {
		if path != "" {
			out.Show = append(out.Show, boundary.Path{Name: path})
		}
	}
	for _, path := range p.caches {
		out.Show = append(out.Show, boundary.Path{Name: path, Write: true})
	}
	return out
}
