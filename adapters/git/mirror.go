package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/writ-automation/writ/platform/boundary"
	"github.com/writ-automation/writ/platform/program"
	"github.com/writ-automation/writ/ports/catalog"
)

// headRef is the ref in a mirror for the server's default branch.
const headRef = "refs/writ/head"

// maxPacks is the number of packs of a mirror above which they are repacked into one.
const maxPacks = 40

// task is one git command on a repository.
type task struct {
	gitDir string
	work   string // the work tree and working directory, empty for none
	env    []string
	args   []string
	stdin  []byte
	sink   *entrySink
	bound  int64
	write  bool            // git changes the repository
	show   []boundary.Path // what git sees besides
}

// run runs git. It reports a failure as *failed.
func (k *Checkouts) run(ctx context.Context, t task) ([]byte, error) {
	env := append(k.environ(), "GIT_ALLOW_PROTOCOL=")
	if t.env != nil {
		env = t.env
	}
	c := program.Command{Path: k.git, Dir: "/", Stdin: t.stdin, MaxFile: t.bound, Box: k.box}
	c.Show = append([]boundary.Path{{Name: t.gitDir, Write: t.write}, {Name: t.work, Write: true}}, t.show...)
	c.Args = append(k.options(), "--git-dir="+t.gitDir)
	if t.work != "" {
		c.Dir = t.work
		c.Args = append(c.Args, "--work-tree="+t.work)
	}
	if t.sink != nil {
		c.Stdout = t.sink
	}
	c.Args, c.Env = append(c.Args, t.args...), env
	r, err := execute(ctx, c)
	if err != nil {
		return r.Stdout, err
	}
	if r.Code != 0 {
		return r.Stdout, &failed{code: r.Code, stderr: string(r.Stderr)}
	}
	return r.Stdout, nil
}

// execute runs a program. One that the kernel ended for its limit of memory has failed and says so.
func execute(ctx context.Context, c program.Command) (program.Result, error) {
	r, err := program.Run(ctx, c)
	if over := new(program.MemoryError); errors.As(err, &over) {
		r.Code, r.Stderr, err = -1, []byte(over.Error()), nil
	}
	return r, err
}

// fetch updates the mirror and returns the commit of the branch. The caller holds the fetch gate.
func (k *Checkouts) fetch(ctx context.Context, p *project, r catalog.Repository) (string, error) {
	a, err := parse(r.URL, k.cfg.LocalRoot)
	if err != nil {
		return "", err
	}
	if k.cfg.ReadOnly {
		return "", errReadOnly()
	}
	ctx, cancel := context.WithTimeoutCause(ctx, k.cfg.Timeout,
		catalog.SyncFailed.New("the repository was not fetched within %s", k.cfg.Timeout))
	defer cancel()
	if a.protocol == overFile {
		a, err = k.local(a)
	}
	var pinned []string
	if err == nil && a.protocol != overFile {
		pinned, err = k.pin(ctx, a)
	}
	if err != nil {
		return "", err
	}
	s, err := k.session(r.Login, a, pinned, make(map[string]string))
	if err != nil {
		return "", err
	}
	commit, err := k.fetchWith(ctx, p, s, r.Branch)
	if a.protocol == overSSH {
		err = firstOf(err, k.learn(s, a.alias(), k.knownHosts()))
	}
	return commit, firstOf(err, s.close())
}

func errReadOnly() error {
	return catalog.SyncFailed.New("this server is read-only and fetches nothing")
}

// fetchWith updates an intact mirror, and creates a new one if the mirror is missing or broken.
func (k *Checkouts) fetchWith(ctx context.Context, p *project, s *session, branch string) (string, error) {
	err := errBroken
	if isMirror(p.mirror) && !p.suspect {
		err = k.update(ctx, p.mirror, s, branch)
		if sweeping := sweep(p.mirror); err == nil {
			err = sweeping
		}
	}
	if errors.Is(err, errBroken) || broken(err) {
		if _, statErr := os.Lstat(p.mirror); statErr == nil {
			k.log.Warn("a mirror is broken and is made again", "project", filepath.Base(p.mirror), "error", k.sentence(err, s))
		}
		err = k.replace(ctx, p, s, branch)
		p.suspect = p.suspect && err != nil
	}
	if err == nil {
		err = k.measure(p.mirror)
	}
	if err == nil {
		err = k.repack(ctx, p.mirror)
	}
	if err != nil {
		return "", k.syncFailed(err, s)
	}
	return k.branchCommit(ctx, p.mirror, branch)
}

// update fetches all branches and tags, and the server's default branch if no branch is set.
func (k *Checkouts) update(ctx context.Context, mirror string, s *session, branch string) error {
	args := []string{
		"fetch", "--quiet", "--prune", "--force", "--no-tags", "--no-recurse-submodules", "--no-auto-maintenance",
		"--no-write-fetch-head",
		"--", s.remote, "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*",
	}
	if branch == "" {
		args = append(args, "+HEAD:"+headRef)
	}
	_, err := k.run(ctx, task{gitDir: mirror, env: s.env, args: args, bound: k.cfg.MaxRepo, write: true, show: s.show})
	if err != nil && k.cutOff(mirror) {
		return k.tooLarge()
	}
	return err
}

// cutOff reports whether git was ended at the maximum file size while it wrote a pack. Then an error about the pack
// does not mean that the mirror is broken.
func (k *Checkouts) cutOff(mirror string) bool {
	half, err := filepath.Glob(filepath.Join(mirror, "objects", "pack", "tmp_*"))
	return err == nil && slices.ContainsFunc(half, func(path string) bool {
		fi, err := os.Lstat(path)
		return err == nil && fi.Size() >= k.cfg.MaxRepo
	})
}

// replace creates a new mirror in a temporary directory and, when it is complete, replaces the old mirror with it.
func (k *Checkouts) replace(ctx context.Context, p *project, s *session, branch string) error {
	fresh := filepath.Join(s.dir, "mirror")
	var err error
	for _, format := range []string{"sha1", "sha256"} {
		err = firstOf(os.RemoveAll(fresh), os.Mkdir(fresh, 0o700))
		err = firstOf(err, k.box.Give(fresh))
		if err == nil {
			_, err = k.run(ctx, task{gitDir: fresh, write: true, show: s.show,
				args: []string{"init", "--quiet", "--bare", "--template=", "--object-format=" + format}})
		}
		if err == nil {
			err = k.update(ctx, fresh, s, branch)
		}
		var f *failed
		if !errors.As(err, &f) || !strings.Contains(f.stderr, "mismatched algorithms") {
			break
		}
	}
	if err == nil {
		err = k.measure(fresh)
	}
	if err != nil {
		return err
	}
	if err := p.lockReaders(ctx); err != nil {
		return err
	}
	defer p.unlockReaders()
	if err := os.Rename(p.mirror, filepath.Join(s.dir, "old")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(fresh, p.mirror)
}

// isMirror reports whether git accepts the directory as a repository.
func isMirror(dir string) bool {
	for _, name := range []string{"HEAD", "config"} {
		if fi, err := os.Lstat(filepath.Join(dir, name)); err != nil || !fi.Mode().IsRegular() || fi.Size() == 0 {
			return false
		}
	}
	for _, name := range []string{"objects", "refs"} {
		if fi, err := os.Lstat(filepath.Join(dir, name)); err != nil || !fi.IsDir() {
			return false
		}
	}
	return true
}

// measure returns an error if the mirror is too large.
func (k *Checkouts) measure(mirror string) error {
	size := int64(0)
	err := filepath.WalkDir(mirror, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		fi, err := d.Info()
		if err == nil {
			size += fi.Size()
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("measure a mirror: %w", err)
	}
	if size > k.cfg.MaxRepo {
		return k.tooLarge()
	}
	return nil
}

func (k *Checkouts) tooLarge() error {
	return catalog.SyncFailed.New("the repository is larger than %d bytes", k.cfg.MaxRepo)
}

// repack combines many packs into one. It keeps unreachable commits, since a run may use a commit from before a forced
// push.
func (k *Checkouts) repack(ctx context.Context, mirror string) error {
	packs, err := filepath.Glob(filepath.Join(mirror, "objects", "pack", "*.pack"))
	if err != nil || len(packs) <= maxPacks {
		return err
	}
	_, err = k.run(ctx, task{gitDir: mirror, write: true, args: []string{"repack", "-a", "-d", "-k", "-q"}})
	return firstOf(err, sweep(mirror))
}

// branchCommit returns the commit of a branch or, if there is no such branch, of the tag of that name.
func (k *Checkouts) branchCommit(ctx context.Context, mirror, branch string) (string, error) {
	names := []string{headRef}
	if branch != "" {
		names = []string{"refs/heads/" + branch, "refs/tags/" + branch}
	}
	for _, name := range names {
		commit, err := k.commitAt(ctx, mirror, name)
		if err != nil || commit != "" {
			return commit, err
		}
	}
	if branch == "" {
		return "", catalog.SyncFailed.New("the repository has no branch of its own that has a commit")
	}
	return "", catalog.SyncFailed.New("the repository has no branch %q", branch)
}

// commitAt returns the commit of a revision name, empty if there is none.
func (k *Checkouts) commitAt(ctx context.Context, mirror, name string) (string, error) {
	out, err := k.run(ctx, task{gitDir: mirror,
		args: []string{"rev-parse", "--verify", "--quiet", "--end-of-options", name + "^{commit}"}})
	var f *failed
	switch {
	case errors.As(err, &f) && !broken(err):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("look for a commit: %w", err)
	}
	commit := strings.TrimSpace(string(out))
	if !isCommit(commit) {
		return "", nil
	}
	return commit, nil
}
