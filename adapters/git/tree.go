package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/writ-automation/writ/platform/boundary"
	"github.com/writ-automation/writ/platform/program"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
)

// maxTree is the maximum number of files of a work tree.
const maxTree = 500_000

// maxHops is the maximum length of a chain of links, as git counts them.
const maxHops = 40

func (k *Checkouts) Tree(
	ctx context.Context, r catalog.Repository, commit, dir string, install bool,
) (catalog.Deps, error) {
	if err := k.Check(r.URL, r.Branch); err != nil {
		return catalog.Deps{}, err
	}
	if !isCommit(commit) {
		return catalog.Deps{}, catalog.CommitNotFound.New("%.80q is not a commit", commit)
	}
	if !filepath.IsAbs(dir) {
		return catalog.Deps{}, fmt.Errorf("git: the work tree %q is not an absolute path", dir)
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
		return catalog.Deps{}, errors.Join(err, program.Remove(dir))
	}
	return deps, nil
}

// workTree creates the work tree. If the mirror is broken, it recreates the mirror once and retries.
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

// acquireRead acquires a reader's place at a mirror that contains the commit, and fetches first if the commit is
// missing.
func (k *Checkouts) acquireRead(ctx context.Context, p *project, r catalog.Repository, commit string) error {
	for again := true; ; again = false {
		if err := p.readGate.lock(ctx); err != nil {
			return err
		}
		found := ""
		if isMirror(p.mirror) {
			found, _ = k.commitAt(ctx, p.mirror, commit) // a broken mirror counts as one without the commit
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

// renew creates the mirror again.
func (k *Checkouts) renew(ctx context.Context, p *project, r catalog.Repository) error {
	if err := p.fetchGate.lock(ctx); err != nil {
		return err
	}
	defer p.fetchGate.unlock()
	p.suspect = true
	_, err := k.fetch(ctx, p, r)
	return err
}

// treeFailed returns the fault for a work tree that could not be created.
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

// checkout writes the files of a commit. It uses a separate index, so that checkouts can run concurrently.
func (k *Checkouts) checkout(ctx context.Context, p *project, commit, dir string) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, k.cfg.Timeout,
		catalog.SyncFailed.New("the work tree was not made within %s", k.cfg.Timeout))
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
	if _, err = k.run(ctx, task{gitDir: p.mirror, args: []string{"ls-tree", "-r", "-l", "-z", "--full-tree", commit},
		sink: sink}); sink.err != nil {
		return sink.err
	} else if err != nil {
		return err
	}
	private, err := os.MkdirTemp(k.private(), "index-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, program.Remove(private)) }()
	if err = os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	env := append(k.environ(), "GIT_ALLOW_PROTOCOL=", "GIT_INDEX_FILE="+filepath.Join(private, "index"))
	err = errors.Join(k.box.Give(private), k.box.Give(dir))
	if err == nil {
		_, err = k.run(ctx, task{gitDir: p.mirror, work: dir, env: env, args: []string{"read-tree", "-m", "-u", commit},
			show: []boundary.Path{{Name: private, Write: true}}})
	}
	if err == nil {
		err = k.box.Take(dir)
	}
	if err == nil {
		err = checkTree(dir)
	}
	if err != nil {
		return firstOf(err, program.Remove(dir)) // if a new mirror repairs the error, the retry needs the path free
	}
	return nil
}

// checkTree checks all files after a checkout: directories become private, links that lead out come to lead nowhere,
// and no name may be taken for .git.
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
			return os.Chmod(path, 0o700) //nolint:gosec // a directory needs x to be searched
		case fs.ModeSymlink:
			if leaves(rel, func(name string) (string, bool) {
				target, err := os.Readlink(filepath.Join(root, name))
				return target, err == nil
			}) {
				return errors.Join(os.Remove(path), os.Symlink(catalog.LeftOutLink, path))
			}
			return nil
		default:
			return catalog.SyncFailed.New("the repository has an entry that is not a file: %.120q", rel)
		}
	})
}

// leaves follows a link as the system does, from its location below a root, and reports whether it ever leaves the
// root. What is no link by the function is resolved by name only.
func leaves(link string, readlink func(name string) (target string, ok bool)) bool {
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
		target, ok := readlink(next)
		if !ok {
			at = next
			continue
		}
		if filepath.IsAbs(target) {
			return true
		}
		if hops++; hops > maxHops {
			return false // the system does not follow longer chains
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return false
}

// checkNames refuses names that some file system treats as .git.
func checkNames(path string) error {
	for name := range strings.SplitSeq(path, "/") {
		if isGit(name) {
			return catalog.SyncFailed.New("the repository holds a file that can be taken for git's own: %.120q", path)
		}
	}
	return nil
}

// isGit reports whether the file systems of macOS or Windows treat the name as .git: they ignore case, some characters,
// trailing dots and spaces, and streams, and have short names.
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
