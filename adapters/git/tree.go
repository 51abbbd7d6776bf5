package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
)

// maxTree is how many files a work tree has at most.
const maxTree = 500_000

// maxHops is how many links lead to one another, as git counts them.
const maxHops = 40

func (k *Checkouts) Tree(ctx context.Context, r catalog.Repository, commit, dir string, install bool) (catalog.Deps, error) {
	if err := k.Check(r.URL, r.Branch); err != nil {
		return catalog.Deps{}, err
	}
	if !isCommit(commit) {
		return catalog.Deps{}, catalog.CommitNotFound.New("%.80q is no commit", commit)
	}
	if !filepath.IsAbs(dir) {
		return catalog.Deps{}, fmt.Errorf("git: the work tree %q is no absolute path", dir)
	}
	p, err := k.project(ctx, r.ProjectID)
	if err != nil {
		return catalog.Deps{}, err
	}
	if err := k.workTree(ctx, p, r, commit, dir); err != nil || !install {
		return catalog.Deps{}, err
	}
	deps, err := k.install(ctx, p, r, dir)
	if err != nil {
		return catalog.Deps{}, errors.Join(err, os.RemoveAll(dir))
	}
	return deps, nil
}

// workTree makes the work tree. Where the mirror turns out to be broken it is made again, once.
func (k *Checkouts) workTree(ctx context.Context, p *project, r catalog.Repository, commit, dir string) error {
	for again := true; ; again = false {
		if err := k.acquireRead(ctx, p, r, commit); err != nil {
			return err
		}
		err := k.checkout(ctx, p, commit, dir)
		p.readGate.unlock()
		if err == nil || !again || !broken(err) {
			return k.treeFailed(err)
		}
		if err := k.renew(ctx, p, r); err != nil {
			return err
		}
	}
}

// acquireRead takes a reader's place at a mirror that has the commit, after a fetch where it has not.
func (k *Checkouts) acquireRead(ctx context.Context, p *project, r catalog.Repository, commit string) error {
	for again := true; ; again = false {
		if err := p.readGate.lock(ctx); err != nil {
			return err
		}
		found := ""
		if isMirror(p.mirror) {
			found, _ = k.commitAt(ctx, p.mirror, commit) // what is broken is fetched anew
		}
		if found == commit {
			return nil
		}
		p.readGate.unlock()
		if !again {
			return catalog.CommitNotFound.New("the repository has no commit %s", commit)
		}
		if _, err := k.Fetch(ctx, r); err != nil {
			return err
		}
	}
}

// renew makes the mirror again.
func (k *Checkouts) renew(ctx context.Context, p *project, r catalog.Repository) error {
	if err := p.fetchGate.lock(ctx); err != nil {
		return err
	}
	defer p.fetchGate.unlock()
	p.suspect = true
	_, err := k.fetch(ctx, p, r)
	return err
}

// treeFailed makes the fault of a work tree that could not be made.
func (k *Checkouts) treeFailed(err error) error {
	var f *fault.Error
	var exit *failed
	switch {
	case err == nil:
		return nil
	case errors.As(err, &f):
		return f
	case errors.As(err, &exit):
		return catalog.SyncFailed.New("git could not read the repository: %s", k.sentence(err, nil))
	default:
		return fmt.Errorf("make a work tree: %w", err)
	}
}

// checkout writes the files of a commit, with an index of its own so that others do the same beside.
func (k *Checkouts) checkout(ctx context.Context, p *project, commit, dir string) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, k.cfg.Timeout, catalog.SyncFailed.New("the work tree was not made within %s", k.cfg.Timeout))
	defer cancel()
	var files, size int64
	sink := &entrySink{each: func(e entry) error {
		files++
		size += e.size
		if files > maxTree || size > k.cfg.MaxRepo {
			return catalog.SyncFailed.New("the commit has more than %d files or %d bytes", maxTree, k.cfg.MaxRepo)
		}
		return checkNames(e.name)
	}}
	if _, err = k.run(ctx, task{gitDir: p.mirror, args: []string{"ls-tree", "-r", "-l", "-z", "--full-tree", commit}, sink: sink}); sink.err != nil {
		return sink.err
	} else if err != nil {
		return err
	}
	private, err := os.MkdirTemp(k.private(), "index-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(private)) }()
	if err = os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	env := append(k.environ(), "GIT_ALLOW_PROTOCOL=", "GIT_INDEX_FILE="+filepath.Join(private, "index"))
	_, err = k.run(ctx, task{gitDir: p.mirror, work: dir, env: env, args: []string{"read-tree", "-m", "-u", commit}})
	if err == nil {
		err = checkTree(dir)
	}
	if err != nil {
		return firstOf(err, os.RemoveAll(dir)) // the error may be one that a new mirror heals, which needs the place
	}
	return nil
}

// checkTree looks at everything that was written: directories become private, links stay inside, nothing can be taken
// for git's own.
func checkTree(root string) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if err := checkNames(rel); err != nil {
			return err
		}
		switch d.Type() {
		case 0:
			return nil
		case fs.ModeDir:
			return os.Chmod(path, 0o700) //nolint:gosec // a directory is searched with x
		case fs.ModeSymlink:
			if leaves(root, rel) {
				return catalog.SyncFailed.New("the repository holds a link that leads out of it: %.120q", rel)
			}
			return nil
		default:
			return catalog.SyncFailed.New("the repository holds what is no file: %.120q", rel)
		}
	})
}

// leaves follows a link the way that the system does, beginning at its own place below root, and reports whether it
// ever steps outside. What does not exist is taken by its name.
func leaves(root, link string) bool {
	at := filepath.Dir(link)
	rest := []string{filepath.Base(link)}
	for hops := 0; len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			if at == "." {
				return true
			}
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, part)
		target, err := os.Readlink(filepath.Join(root, next))
		if err != nil {
			at = next
			continue
		}
		if filepath.IsAbs(target) {
			return true
		}
		if hops++; hops > maxHops {
			return false // the system follows no longer way either
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return false
}

// checkNames refuses names that some file system takes for .git.
func checkNames(path string) error {
	for name := range strings.SplitSeq(path, "/") {
		if isGit(name) {
			return catalog.SyncFailed.New("the repository holds a file that can be taken for git's own: %.120q", path)
		}
	}
	return nil
}

// isGit folds a name as the file systems of Macs and of Windows do: letters of either case, characters that are
// ignored, dots and spaces at the end, streams, short names.
func isGit(name string) bool {
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
			return -1
		case r == '\\':
			return ':'
		default:
			return r
		}
	}, strings.ToLower(name))
	name, _, _ = strings.Cut(name, ":")
	name = strings.TrimRight(name, ". ")
	return name == ".git" || name == "git~1"
}
