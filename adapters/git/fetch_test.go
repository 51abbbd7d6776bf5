package git_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/writ-automation/writ/adapters/git"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
)

func asFault(err error, f **fault.Error) bool { return errors.As(err, f) }

func run(dir string, argv ...string) error {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = dir
	return cmd.Run()
}

// syncFailed requires a SyncFailed error of one sentence without any of the words.
func syncFailed(t *testing.T, err error, never ...string) {
	t.Helper()
	var f *fault.Error
	if !asFault(err, &f) || !catalog.SyncFailed.Is(err) {
		t.Fatalf("%v", err)
	}
	if len(f.Message) > 500 || strings.ContainsAny(f.Message, "\n\r\x1b") || f.Message == "" {
		t.Errorf("no sentence: %q", f.Message)
	}
	for _, part := range never {
		if strings.Contains(err.Error(), part) {
			t.Errorf("%q holds %q", err, part)
		}
	}
}

func TestFetchFollowsTheServer(t *testing.T) {
	t.Parallel()
	w := newFixture(t, nil)
	r := w.repo("a")
	first := r.git("rev-parse", "HEAD")
	if got := w.fetch(r.at("p1")); got != first {
		t.Fatalf("%s, not %s", got, first)
	}
	r.git("checkout", "-q", "-b", "feature/x")
	r.write("x", "x")
	second := r.commit("second")
	r.git("tag", "v1")
	r.git("checkout", "-q", "main")
	for branch, want := range map[string]string{"": first, "main": first, "feature/x": second, "v1": second} {
		at := r.at("p1")
		at.Branch = branch
		if got := w.fetch(at); got != want {
			t.Errorf("%q is at %s, not %s", branch, got, want)
		}
	}
	r.git("branch", "-q", "-D", "feature/x")
	r.git("branch", "feature") // the branch replaces the directory of refs
	r.git("tag", "-f", "v1", first)
	at := r.at("p1")
	at.Branch = "feature/x"
	_, err := w.Fetch(t.Context(), at)
	syncFailed(t, err)
	if !strings.Contains(err.Error(), `no branch "feature/x"`) {
		t.Error(err)
	}
	if at.Branch = "v1"; w.fetch(at) != first {
		t.Error("the tag stayed")
	}
	r.git("commit", "-q", "--amend", "-m", "rewritten")
	if got := w.fetch(r.at("p1")); got != r.git("rev-parse", "HEAD") {
		t.Error("a branch that was rewritten stayed")
	}
	if _, err := w.Tree(t.Context(), r.at("p1"), second, w.place(), false); err != nil {
		t.Errorf("a commit that was pushed away: %v", err)
	}
	if fi, err := os.Stat(w.mirror("p1")); err != nil || fi.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", fi.Mode(), err)
	}
}

func TestFetchOfOtherFormats(t *testing.T) {
	t.Parallel()
	w := newFixture(t, nil)
	r := newRepo(t, filepath.Join(w.root, "wide"), "--object-format=sha256")
	r.write("site.yml", "x")
	want := r.commit("first")
	if got := w.fetch(r.at("p1")); got != want || len(got) != 64 {
		t.Errorf("%s, not %s", got, want)
	}
	if _, _, err := w.File(t.Context(), r.at("p1"), want, "site.yml", ""); err != nil {
		t.Error(err)
	}
	bare := newRepo(t, filepath.Join(w.root, "bare.git"), "--bare")
	_, err := w.Fetch(t.Context(), bare.at("p2"))
	syncFailed(t, err)
	at := bare.at("p2")
	at.Branch = "main"
	_, err = w.Fetch(t.Context(), at)
	syncFailed(t, err)
}

func TestFetchFails(t *testing.T) {
	t.Parallel()
	w := newFixture(t, nil)
	r := w.repo("a")
	if err := os.Mkdir(filepath.Join(w.root, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	outside := newRepo(t, t.TempDir())
	outside.commit("secret")
	r.git("worktree", "add", "-q", filepath.Join(w.root, "linked"))
	borrower := newRepo(t, filepath.Join(w.root, "borrower"))
	borrower.write(".git/objects/info/alternates", filepath.Join(outside.dir, ".git/objects")+"\n")
	for name, url := range map[string]string{
		"nothing there": w.root + "/none", "no repository": w.root + "/empty", "a linked work tree": w.root + "/linked",
		"borrowed objects":      w.root + "/borrower",
		"a host without a name": "https://none.invalid/b.git",
	} {
		_, err := w.Fetch(t.Context(), catalog.Repository{ProjectID: "p1", URL: url})
		syncFailed(t, err, w.dir)
		if _, err := os.Stat(w.mirror("p1")); err == nil {
			t.Errorf("%s: a mirror was made", name)
		}
	}
	if err := os.Symlink(outside.dir, filepath.Join(w.root, "way-out")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(w.root, "indirect"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(outside.dir, ".git"), filepath.Join(w.root, "indirect", ".git")); err != nil {
		t.Fatal(err)
	}
	for _, url := range []string{w.root + "/way-out", w.root + "/indirect", "ext::sh -c x", "--upload-pack=x"} {
		if _, err := w.Fetch(t.Context(), catalog.Repository{ProjectID: "p1", URL: url}); field(err) != "repo_url" &&
			!catalog.SyncFailed.Is(err) {
			t.Errorf("%s: %v", url, err)
		}
	}
	if _, err := w.Fetch(t.Context(), catalog.Repository{ProjectID: "../p", URL: "file://" + r.dir}); err == nil {
		t.Error("an id with a path is taken")
	}
	at := r.at("p1")
	if at.Branch = "-x"; field(second(w.Fetch(t.Context(), at))) != "branch" {
		t.Error("a branch that is an option")
	}
}

func second[T any](_ T, err error) error { return err }

func TestFetchIsBoundedInSize(t *testing.T) {
	t.Parallel()
	w := newFixture(t, func(c *git.Config) { c.MaxRepo = 300 << 10 })
	r := w.repo("a")
	good := w.fetch(r.at("p1"))
	noise := make([]byte, 1<<20)
	for i, x := 0, uint32(1); i < len(noise); i++ {
		x = x*1664525 + 1013904223
		noise[i] = byte(x >> 24)
	}
	r.write("noise", string(noise))
	r.commit("too much")
	for _, id := range []string{"p1", "p2"} {
		_, err := w.Fetch(t.Context(), r.at(id))
		syncFailed(t, err)
		if !strings.Contains(err.Error(), "larger than") {
			t.Error(err)
		}
	}
	if _, _, err := w.File(t.Context(), r.at("p1"), good, "site.yml", ""); err != nil {
		t.Errorf("what was there before: %v", err)
	}
	if _, err := os.Stat(w.mirror("p2")); err == nil {
		t.Error("a mirror was made")
	}
}

// TestMirrorsHeal damages mirrors as a power failure does.
func TestMirrorsHeal(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(mirror string) error{
		"an empty HEAD": func(m string) error { return os.Truncate(filepath.Join(m, "HEAD"), 0) },
		"no objects":    func(m string) error { return os.RemoveAll(filepath.Join(m, "objects")) },
		"lost packs":    func(m string) error { return os.RemoveAll(filepath.Join(m, "objects", "pack")) },
		"an empty ref": func(m string) error {
			return os.WriteFile(filepath.Join(m, "refs", "heads", "main"), nil, 0o600)
		},
		"a config of noise": func(m string) error { return os.WriteFile(filepath.Join(m, "config"), []byte("[[[\n"), 0o600) },
		"a file":            func(m string) error { return errors.Join(os.RemoveAll(m), os.WriteFile(m, nil, 0o600)) },
		"damaged packs": func(m string) error {
			packs, err := filepath.Glob(filepath.Join(m, "objects", "pack", "*.pack"))
			for _, p := range packs {
				err = errors.Join(err, os.Chmod(p, 0o600), os.WriteFile(p, []byte("PACK"), 0o600))
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, nil)
			r := w.repo("a")
			commit := w.fetch(r.at("p1"))
			if err := harm(w.mirror("p1")); err != nil {
				t.Fatal(err)
			}
			dir := w.place()
			if _, err := w.Tree(t.Context(), r.at("p1"), commit, dir, false); err != nil {
				t.Fatal(err)
			}
			if read(t, filepath.Join(dir, "site.yml")) != "- hosts: all\n" {
				t.Error("the tree holds something else")
			}
			r.commit("next")
			if got := w.fetch(r.at("p1")); got != r.git("rev-parse", "HEAD") {
				t.Error("the mirror stays behind")
			}
		})
	}
}

// TestLeftoversOfAKilledProcess puts locks and unfinished packs into the mirror before the next process opens it.
func TestLeftoversOfAKilledProcess(t *testing.T) {
	t.Parallel()
	w := newFixture(t, nil)
	r := w.repo("a")
	w.fetch(r.at("p1"))
	m := w.mirror("p1")
	litter := []string{"HEAD.lock", "config.lock", "packed-refs.lock", "refs/heads/main.lock", "refs/writ/head.lock",
		"shallow.lock", "objects/pack/tmp_pack_x"}
	for _, name := range litter {
		if err := os.WriteFile(filepath.Join(m, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	half := filepath.Join(w.dir, "p1.deps", ".making-1")
	private := filepath.Join(w.dir, ".private", "session-1")
	for _, dir := range []string{half, private} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	next, err := git.New(git.Config{Dir: w.dir, LocalRoot: w.root})
	if err != nil {
		t.Fatal(err)
	}
	want := r.commit("next")
	if got, err := next.Fetch(t.Context(), r.at("p1")); err != nil || got != want {
		t.Errorf("%s %v", got, err)
	}
	for _, path := range append([]string{half, private}, litter...) {
		if !filepath.IsAbs(path) {
			path = filepath.Join(m, path)
		}
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s is left", path)
		}
	}
}

func TestManyPacksBecomeOne(t *testing.T) {
	t.Parallel()
	w := newFixture(t, nil)
	r := w.repo("a")
	gone := w.fetch(r.at("p1"))
	r.git("checkout", "-q", "--orphan", "other")
	for range 42 {
		r.commit("more")
		w.fetch(catalog.Repository{ProjectID: "p1", URL: r.dir, Branch: "other"})
	}
	packs, err := filepath.Glob(filepath.Join(w.mirror("p1"), "objects", "pack", "*.pack"))
	if err != nil || len(packs) > 5 {
		t.Errorf("%d packs, %v", len(packs), err)
	}
	r.git("branch", "-D", "main")
	w.fetch(catalog.Repository{ProjectID: "p1", URL: r.dir, Branch: "other"})
	if _, err := w.Tree(t.Context(), r.at("p1"), gone, w.place(), false); err != nil {
		t.Errorf("a commit without a branch: %v", err)
	}
}

func TestForget(t *testing.T) {
	t.Parallel()
	w := newFixture(t, nil)
	r := w.repo("a")
	w.fetch(r.at("p1"))
	if err := w.Forget(t.Context(), "p1"); err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(filepath.Join(w.dir, "p1*")); err != nil || len(left) > 0 {
		t.Errorf("%v %v", left, err)
	}
	if err := w.Forget(t.Context(), "p1"); err != nil {
		t.Errorf("twice: %v", err)
	}
	w.fetch(r.at("p1"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Forget(ctx, "p1"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestMirrored lists each project with local files once.
func TestMirrored(t *testing.T) {
	t.Parallel()
	w := newFixture(t, nil)
	r := w.repo("a")
	w.fetch(r.at("p1"))
	w.fetch(r.at("p2"))
	for _, dir := range []string{"p1.deps", "p3.deps", "p4.other", "lost+found"} {
		if err := os.Mkdir(filepath.Join(w.dir, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := w.Mirrored(t.Context()); err != nil || !slices.Equal(list, []string{"p1", "p2", "p3"}) {
		t.Errorf("%q %v", list, err)
	}
}

// TestReadOnly serves existing mirrors and neither fetches nor installs.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	w := newFixture(t, nil)
	r := w.repo("a")
	first := w.fetch(r.at("p1"))
	r.write("requirements.yml", "roles: [a.b]\n")
	r.commit("second")
	second := w.fetch(r.at("p1"))
	r.write("later", "")
	r.commit("third")
	third := r.git("rev-parse", "HEAD")
	k, err := git.New(git.Config{Dir: w.dir, LocalRoot: w.root, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Fetch(t.Context(), r.at("p1")); !catalog.SyncFailed.Is(err) {
		t.Errorf("fetch: %v", err)
	}
	for _, c := range []struct {
		commit  string
		install bool
		works   bool
	}{{first, true, true}, {second, false, true}, {second, true, false}, {third, false, false}} {
		_, err := k.Tree(t.Context(), r.at("p1"), c.commit, w.place(), c.install)
		if c.works && err != nil || !c.works && !catalog.SyncFailed.Is(err) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
