package git

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/writ-automation/writ/platform/boundary"
	"github.com/writ-automation/writ/platform/program"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/lazyregexp"
)

const (
	// temporary is the name prefix of unfinished installations.
	temporary = ".making-"
	// maxRequirements is the maximum size of a requirements file in bytes.
	maxRequirements = 1 << 20
	// maxInstalled is the number of installations per project; the most recently used ones are kept.
	maxInstalled = 20
	usedMark     = ".used"
)

// requirement is a requirements file.
type requirement struct {
	path               string // relative to the tree
	text               string
	roles, collections bool
}

var (
	collectionsKey = lazyregexp.New(`(?m)(^|[{,])\s*["']?collections["']?\s*:`)
	onlyComments   = lazyregexp.New(`^(\s*(#[^\n]*|---[ \t]*|\.\.\.[ \t]*)?(\n|$))*$`)
)

// requirements finds the requirements files in the places that Ansible's own controllers use.
func requirements(tree string) ([]requirement, error) {
	var out []requirement
	for _, place := range []requirement{
		{path: "requirements", roles: true, collections: true}, {path: "roles/requirements", roles: true},
		{path: "collections/requirements", collections: true},
	} {
		for _, ext := range []string{".yml", ".yaml"} {
			text, err := readSmall(filepath.Join(tree, place.path+ext))
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, err
			}
			r := requirement{path: place.path + ext, text: text, roles: place.roles, collections: place.collections}
			if r.roles && r.collections {
				r.collections = collectionsKey.MatchString(text)
			}
			if !onlyComments.MatchString(text) {
				out = append(out, r)
			}
			break
		}
	}
	return out, nil
}

// readSmall reads a file of a tree whose links are known to stay inside. Anything but a regular file counts as missing.
func readSmall(path string) (string, error) {
	fi, err := os.Stat(path)
	if err != nil || !fi.Mode().IsRegular() {
		return "", fs.ErrNotExist
	}
	if fi.Size() > maxRequirements {
		return "", catalog.SyncFailed.New("the file %s is larger than %d bytes", filepath.Base(path), maxRequirements)
	}
	b, err := os.ReadFile(path)
	return string(b), err
}

// digest identifies an installation by all of its input.
func digest(list []requirement, config string) string {
	h := sha256.New()
	for _, r := range append(slices.Clone(list), requirement{path: "ansible.cfg", text: config}) {
		fmt.Fprintf(h, "%s %d\n%s\n", r.path, len(r.text), r.text)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// maxInstalling is the number of projects whose requirements are kept where it is not known which projects exist.
const maxInstalling = 100

// Install keeps the installations of the projects that were used last.
func (k *Checkouts) Install(ctx context.Context, r catalog.Repository, tree string) (catalog.Deps, error) {
	p, err := k.project(ctx, r.ProjectID)
	if err != nil {
		return catalog.Deps{}, err
	}
	deps, err := k.install(ctx, p, r, tree)
	if err != nil || deps == (catalog.Deps{}) {
		return deps, err
	}
	if err := os.WriteFile(filepath.Join(p.deps, usedMark), nil, 0o600); err != nil {
		return catalog.Deps{}, fmt.Errorf("mark installed requirements: %w", err)
	}
	return deps, k.forgetOldest(ctx)
}

// forgetOldest removes the installations of all but the projects that were used last.
func (k *Checkouts) forgetOldest(ctx context.Context) error {
	list, err := filepath.Glob(filepath.Join(k.cfg.Dir, "*.deps"))
	if err != nil {
		return fmt.Errorf("list installed requirements: %w", err)
	}
	used := make(map[string]int64, len(list))
	for _, dir := range list {
		if fi, err := os.Stat(filepath.Join(dir, usedMark)); err == nil {
			used[dir] = fi.ModTime().UnixNano()
		}
	}
	slices.SortFunc(list, func(a, b string) int { return cmp.Compare(used[b], used[a]) })
	for _, dir := range list[min(len(list), maxInstalling):] {
		if err := k.Forget(ctx, strings.TrimSuffix(filepath.Base(dir), ".deps")); err != nil {
			return err
		}
	}
	return nil
}

// install installs the tree's requirements or finds their existing installation. The tree's ansible.cfg applies, as it
// does to its playbooks.
func (k *Checkouts) install(ctx context.Context, p *project, r catalog.Repository, tree string) (catalog.Deps, error) {
	list, err := requirements(tree)
	if err != nil || len(list) == 0 {
		return catalog.Deps{}, k.installFailed(err, nil)
	}
	config, err := readSmall(filepath.Join(tree, "ansible.cfg"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return catalog.Deps{}, k.installFailed(err, nil)
	}
	if err := p.installGate.lock(ctx); err != nil {
		return catalog.Deps{}, err
	}
	defer p.installGate.unlock()
	done := filepath.Join(p.deps, digest(list, config))
	if _, err := os.Lstat(done); err == nil {
		return installed(done)
	}
	if k.cfg.ReadOnly {
		return catalog.Deps{}, errReadOnly()
	}
	if err := k.make(ctx, p, r, tree, list, done); err != nil {
		return catalog.Deps{}, err
	}
	deps, err := installed(done)
	return deps, firstOf(err, prune(p.deps))
}

// installed marks an installation as used and returns its directories.
func installed(dir string) (catalog.Deps, error) {
	if err := os.WriteFile(filepath.Join(dir, usedMark), nil, 0o600); err != nil {
		return catalog.Deps{}, fmt.Errorf("mark installed requirements: %w", err)
	}
	if err := publish(dir); err != nil {
		return catalog.Deps{}, fmt.Errorf("open installed requirements to runs: %w", err)
	}
	var d catalog.Deps
	for name, into := range map[string]*string{"roles": &d.Roles, "collections": &d.Collections} {
		if fi, err := os.Stat(filepath.Join(dir, name)); err == nil && fi.IsDir() {
			*into = filepath.Join(dir, name)
		}
	}
	return d, nil
}

// publish makes an installation readable to every account that is led to it: runs have accounts of their own, and the
// directory above is closed.
func publish(dir string) error {
	if fi, err := os.Stat(dir); err != nil || fi.Mode().Perm()&0o005 == 0o005 {
		return err // it was done
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir || d.Type() == fs.ModeSymlink {
			return err
		}
		fi, err := d.Info()
		if err != nil || !d.IsDir() && linked(fi) {
			return err
		}
		mode := fi.Mode().Perm() | 0o444
		if d.IsDir() || mode&0o100 != 0 {
			mode |= 0o111
		}
		return os.Chmod(path, mode) //nolint:gosec // requirements are public
	})
	if err != nil {
		return err
	}
	return os.Chmod(dir, 0o755) //nolint:gosec // requirements are public
}

// linked reports whether a file has a name elsewhere, so that a change of its permissions may concern somebody else.
func linked(fi fs.FileInfo) bool {
	st, ok := fi.Sys().(*syscall.Stat_t)
	return !ok || st.Nlink > 1
}

// make installs into a temporary directory and renames it once the installation is complete.
func (k *Checkouts) make(
	ctx context.Context, p *project, r catalog.Repository, tree string, list []requirement, done string,
) error {
	file, err := exec.LookPath(k.cfg.Galaxy)
	if err != nil {
		return catalog.SyncFailed.New("ansible-galaxy is not installed on the server").Because(err)
	}
	err = os.MkdirAll(p.deps, 0o700)
	if err == nil && k.box.Own() {
		err = os.Chmod(p.deps, 0o711) //nolint:gosec // passed and not read, by installations and runs
	}
	if err != nil {
		return fmt.Errorf("make the directory of the requirements: %w", err)
	}
	into, err := os.MkdirTemp(p.deps, temporary)
	if err != nil {
		return fmt.Errorf("make the directory of the requirements: %w", err)
	}
	late := catalog.SyncFailed.New("the requirements were not installed within %s", k.cfg.InstallTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, k.cfg.InstallTimeout, late)
	defer cancel()
	s, err := k.galaxySession(r, tree)
	if err == nil {
		err = k.bringHosts(s, p.hosts())
		if err == nil {
			err = k.galaxy(ctx, s, file, tree, list, into)
		}
		if err == nil {
			err = k.measure(into)
		}
		err = firstOf(err, k.learn(s, "", p.hosts()))
		err = firstOf(k.installFailed(err, s), s.close())
	}
	if err == nil {
		err = os.Rename(into, done)
	}
	if err != nil {
		return firstOf(err, program.Remove(into))
	}
	return nil
}

// enterGalaxy returns where ansible-galaxy runs. It then owns the files of its session, the checkout and the directory
// into which it installs, until leave gives the last two back.
func (k *Checkouts) enterGalaxy(s *session, file, tree, into string) (b *program.Box, leave func() error, err error) {
	if b, err = program.Enter(k.cfg.Boundary, "galaxy", k.private()); err != nil {
		return nil, nil, err
	}
	leave = func() error { return errors.Join(b.Take(tree), b.Take(into), b.Close()) }
	if closed := b.Sees(file); closed != nil {
		err = catalog.SyncFailed.New("%s", closed.Error())
	}
	for _, dir := range []string{s.dir, tree, into} {
		err = firstOf(err, b.Give(dir))
	}
	if err != nil {
		return nil, nil, errors.Join(err, leave())
	}
	return b, leave, nil
}

// galaxySession prepares the project's login for requirements that are repositories on the same server. The addresses
// of requirements are not checked.
func (k *Checkouts) galaxySession(r catalog.Repository, tree string) (*session, error) {
	a := address{} // of a repository on another machine's disk
	if r.URL != "" {
		var err error
		if a, err = parse(r.URL, k.cfg.LocalRoot); err != nil {
			return nil, err
		}
	}
	s, err := k.session(r.Login, a, nil, map[string]string{
		"protocol.ext.allow": "never", "core.hooksPath": "/dev/null", "core.fsmonitor": "false", "credential.helper": "",
		"submodule.recurse": "false",
	})
	if err != nil {
		return nil, err
	}
	if a.protocol != overSSH {
		err = k.overSSH(s, catalog.Login{Key: r.Login.Key}, address{}, nil)
	}
	protocols := "https:ssh:git"
	if k.cfg.LocalRoot != "" {
		protocols += ":file"
		err = firstOf(err, k.trust(s, "*"))
	}
	config, wrappers := filepath.Join(s.dir, "ansible.cfg"), filepath.Join(s.dir, "bin")
	err = firstOf(err, k.wrap(wrappers))
	s.env[0] = "PATH=" + wrappers + ":" + k.path // in place of the one in environ
	err = firstOf(err, firstOf(os.Mkdir(filepath.Join(s.dir, "home"), 0o700), os.WriteFile(config, nil, 0o600)))
	if fi, statErr := os.Stat(filepath.Join(tree, "ansible.cfg")); statErr == nil && fi.Mode().IsRegular() {
		config = filepath.Join(tree, "ansible.cfg")
	}
	s.env = append(s.env,
		"HOME="+filepath.Join(s.dir, "home"), "TMPDIR="+s.dir, "LC_ALL=C.UTF-8", "LANG=C.UTF-8",
		"GIT_ALLOW_PROTOCOL="+protocols,
		"ANSIBLE_NOCOLOR=1", "ANSIBLE_CONFIG="+config, "ANSIBLE_GALAXY_DISPLAY_PROGRESS=0", "PYTHONUNBUFFERED=1")
	s.env = append(s.env, k.cfg.GalaxyEnv...)
	if err != nil {
		return nil, fmt.Errorf("prepare the login: %w", firstOf(err, s.close()))
	}
	return s, nil
}

// galaxy runs ansible-galaxy for each file.
func (k *Checkouts) galaxy(
	ctx context.Context, s *session, file, tree string, list []requirement, into string,
) (err error) {
	box, leave, err := k.enterGalaxy(s, file, tree, into)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, leave()) }()
	show := append([]boundary.Path{{Name: tree}, {Name: into, Write: true}, {Name: k.cfg.LocalRoot}}, s.show...)
	for _, r := range list {
		kinds := map[string]bool{"role": r.roles, "collection": r.collections}
		for _, kind := range []string{"role", "collection"} {
			if !kinds[kind] {
				continue
			}
			args := []string{kind, "install", "-r", filepath.Join(tree, r.path), "-p", filepath.Join(into, kind+"s")}
			got, err := execute(ctx, program.Command{Path: file, Args: args, Dir: tree, Env: s.env,
				MaxFile: k.cfg.MaxRepo, Box: box, Show: show})
			if err != nil {
				return err
			}
			if got.Code != 0 {
				return &failed{code: got.Code, stderr: string(got.Stdout[max(0, len(got.Stdout)-program.MaxStderr):]) +
					string(got.Stderr)}
			}
		}
	}
	return nil
}

// installFailed returns the fault of a failed installation, with the reason.
func (k *Checkouts) installFailed(err error, s *session) error {
	var f *fault.Error
	var exit *failed
	switch {
	case err == nil:
		return nil
	case errors.As(err, &f):
		return f
	case errors.As(err, &exit):
		return catalog.SyncFailed.New("ansible-galaxy could not install the requirements: %s",
			k.clean(galaxyReason(exit.stderr), s))
	default:
		return fmt.Errorf("install requirements: %w", err)
	}
}

// prune removes the least recently used installations. Those of active runs are among the most recently used.
func prune(deps string) error {
	list, err := os.ReadDir(deps)
	if err != nil {
		return fmt.Errorf("list installed requirements: %w", err)
	}
	used := func(e fs.DirEntry) int64 {
		fi, err := os.Stat(filepath.Join(deps, e.Name(), usedMark))
		if err != nil {
			return 0
		}
		return fi.ModTime().UnixNano()
	}
	list = slices.DeleteFunc(list, func(e fs.DirEntry) bool { return !e.IsDir() }) // the known hosts stay
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return int(max(-1, min(1, used(b)-used(a)))) })
	for _, old := range list[min(len(list), maxInstalled):] {
		if err := os.RemoveAll(filepath.Join(deps, old.Name())); err != nil {
			return fmt.Errorf("remove old requirements: %w", err)
		}
	}
	return nil
}
