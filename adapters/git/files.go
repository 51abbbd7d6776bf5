package git

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
)

// maxPath is the maximum length of a path in bytes.
const maxPath = 4096

// errFull ends a listing that has reached its maximum.
var errFull = errors.New("enough entries")

// Links to directories are listed as files; callers can list the target by the path of the link.
func (k *Checkouts) Files(
	ctx context.Context, r catalog.Repository, commit, path, ref string,
) ([]catalog.Entry, string, error) {
	p, at, path, err := k.open(ctx, r, commit, path, ref)
	if err != nil {
		return nil, "", err
	}
	defer p.readGate.unlock()
	found, err := k.follow(ctx, p.mirror, at, []string{path})
	if err != nil {
		return nil, "", err
	}
	if found[0].kind != "tree" {
		return nil, "", catalog.FileNotFound.New("the repository has no directory %q", path)
	}
	list, err := k.list(ctx, p.mirror, at, found[0].id, path)
	return list, at, err
}

func (k *Checkouts) File(ctx context.Context, r catalog.Repository, commit, path, ref string) ([]byte, string, error) {
	p, at, path, err := k.open(ctx, r, commit, path, ref)
	if err != nil {
		return nil, "", err
	}
	defer p.readGate.unlock()
	found, err := k.follow(ctx, p.mirror, at, []string{path})
	if err != nil {
		return nil, "", err
	}
	if found[0].kind != "blob" {
		return nil, "", catalog.FileNotFound.New("the repository has no file %q", path)
	}
	if found[0].size > catalog.MaxFile {
		return nil, "", catalog.FileTooLarge.New("the file has %d bytes, at most %d are shown", found[0].size,
			catalog.MaxFile)
	}
	text, err := k.run(ctx, task{gitDir: p.mirror, args: []string{"cat-file", "blob", found[0].id}})
	if err != nil {
		return nil, "", k.treeFailed(err)
	}
	return text, at, nil
}

// open acquires a reader's place at the mirror, and resolves the commit and the cleaned path.
func (k *Checkouts) open(
	ctx context.Context, r catalog.Repository, commit, path, ref string,
) (*project, string, string, error) {
	path, err := cleanPath(path)
	if err == nil && ref != "" && !isShort(ref) {
		err = checkRef("ref", ref)
	}
	if err == nil {
		err = k.Check(r.URL, r.Branch)
	}
	if err != nil {
		return nil, "", "", err
	}
	p, err := k.project(ctx, r.ProjectID)
	if err != nil {
		return nil, "", "", err
	}
	if commit == "" {
		if commit, err = k.Fetch(ctx, r); err != nil {
			return nil, "", "", err
		}
	}
	if !isCommit(commit) {
		return nil, "", "", catalog.CommitNotFound.New("%.80q is not a commit", commit)
	}
	if err := k.acquireRead(ctx, p, r, commit); err != nil {
		return nil, "", "", err
	}
	if ref == "" {
		return p, commit, path, nil
	}
	at, err := k.resolve(ctx, p.mirror, ref)
	if err != nil {
		p.readGate.unlock()
		return nil, "", "", err
	}
	return p, at, path, nil
}

// resolve returns the commit of a branch, a tag or a commit.
func (k *Checkouts) resolve(ctx context.Context, mirror, ref string) (string, error) {
	for _, name := range candidates(ref) {
		at, err := k.commitAt(ctx, mirror, name)
		if err != nil {
			return "", k.treeFailed(err)
		}
		if at != "" {
			return at, nil
		}
	}
	return "", catalog.FileNotFound.New("the repository has no branch, tag or commit %q", ref)
}

// candidates returns the possible meanings of a ref, the most likely first.
func candidates(ref string) []string {
	if isCommit(ref) {
		return []string{ref}
	}
	out := []string{"refs/heads/" + ref, "refs/tags/" + ref}
	if isShort(ref) {
		return append(out, ref)
	}
	return out
}

// cleanPath removes the redundant elements of a path; the root is empty. A path that leads upwards or outside does not
// exist.
func cleanPath(p string) (string, error) {
	switch {
	case len(p) > maxPath:
		return "", fault.BadField("path", "at most %d bytes", maxPath)
	case !utf8.ValidString(p) || strings.ContainsFunc(p, unicode.IsControl):
		return "", fault.BadField("path", "must be text on one line")
	case strings.HasPrefix(p, "/") || strings.Contains(p, "\\"):
		return "", catalog.FileNotFound.New("paths begin at the root of the repository and have slashes")
	}
	for part := range strings.SplitSeq(p, "/") {
		if part == ".." {
			return "", catalog.FileNotFound.New("a path must not lead upwards")
		}
	}
	if p = path.Clean(p); p == "." {
		return "", nil
	}
	return p, nil
}

// object is the target of a path. Its kind is blob, tree, commit for a submodule, outside, or empty if the path does
// not exist.
type object struct {
	id   string
	kind string
	size int64
}

// follow resolves paths of a commit through the links of the repository. It never accesses the file system.
func (k *Checkouts) follow(ctx context.Context, mirror, commit string, paths []string) ([]object, error) {
	var in bytes.Buffer
	for _, p := range paths {
		if p == "" {
			in.WriteString(commit + "^{tree}\n")
			continue
		}
		in.WriteString(commit + ":" + p + "\n")
	}
	out, err := k.run(ctx, task{
		gitDir: mirror, args: []string{"cat-file", "--batch-check=%(objectname) %(objecttype) %(objectsize)",
			"--follow-symlinks"}, stdin: in.Bytes(),
	})
	if err != nil {
		return nil, k.treeFailed(err)
	}
	list := make([]object, 0, len(paths))
	for rest := out; len(list) < len(paths); {
		line, after, ok := bytes.Cut(rest, []byte("\n"))
		if !ok {
			return nil, fmt.Errorf("read the result of git: %w", errEntry)
		}
		o, skip := parseObject(string(line))
		if skip > len(after) {
			return nil, fmt.Errorf("read the result of git: %w", errEntry)
		}
		list, rest = append(list, o), after[skip:]
	}
	return list, nil
}

// parseObject parses one answer of cat-file. Answers about links have a second line; skip is its length with the line
// break.
func parseObject(line string) (o object, skip int) {
	f := strings.Fields(line)
	if len(f) == 2 && slices.Contains([]string{"symlink", "dangling", "loop", "notdir"}, f[0]) {
		n, err := strconv.Atoi(f[1])
		if err != nil || n < 0 {
			return object{}, 0
		}
		if f[0] == "symlink" {
			o.kind = "outside"
		}
		return o, n + 1
	}
	if len(f) != 3 || f[1] == "missing" || !isCommit(f[0]) {
		return object{}, 0
	}
	size, err := strconv.ParseInt(f[2], 10, 64)
	if err != nil {
		return object{}, 0
	}
	return object{id: f[0], kind: f[1], size: size}, 0
}

// list returns the entries of a tree, directories first. It omits links that leave the repository.
func (k *Checkouts) list(ctx context.Context, mirror, commit, tree, dir string) ([]catalog.Entry, error) {
	var all []entry
	sink := &entrySink{each: func(e entry) error {
		if len(all) == 2*catalog.MaxEntries {
			return errFull
		}
		all = append(all, e)
		return nil
	}}
	_, err := k.run(ctx, task{gitDir: mirror, args: []string{"ls-tree", "-l", "-z", tree}, sink: sink})
	if sink.err != nil && !errors.Is(sink.err, errFull) {
		return nil, fmt.Errorf("list a directory: %w", sink.err)
	}
	if err != nil && sink.err == nil {
		return nil, k.treeFailed(err)
	}
	if err := k.targets(ctx, mirror, commit, dir, all); err != nil {
		return nil, err
	}
	out := make([]catalog.Entry, 0, len(all))
	for _, e := range all {
		switch {
		case e.mode == modeDir || e.mode == modeSub:
			out = append(out, catalog.Entry{Path: path.Join(dir, e.name), Type: catalog.DirEntry})
		case e.size >= 0:
			out = append(out, catalog.Entry{Path: path.Join(dir, e.name), Type: catalog.FileEntry, Size: e.size})
		}
	}
	slices.SortFunc(out, func(a, b catalog.Entry) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Path, b.Path))
	})
	return out[:min(len(out), catalog.MaxEntries)], nil
}

// targets sets the size of each link to that of its target file, and to -1 for links that leave the repository.
func (k *Checkouts) targets(ctx context.Context, mirror, commit, dir string, all []entry) error {
	var links []int
	var paths []string
	for i, e := range all {
		if e.mode != modeLink {
			continue
		}
		if strings.ContainsFunc(e.name, unicode.IsControl) {
			all[i].size = -1 // its name cannot be part of a query
			continue
		}
		links, paths = append(links, i), append(paths, path.Join(dir, e.name))
	}
	if len(links) == 0 {
		return nil
	}
	found, err := k.follow(ctx, mirror, commit, paths)
	if err != nil {
		return err
	}
	for n, i := range links {
		switch found[n].kind {
		case "outside":
			all[i].size = -1
		case "blob":
			all[i].size = found[n].size
		}
	}
	return nil
}
