package git_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/adapters/git"
	"github.com/writ-automation/writ/ports/catalog"
)

// contents returns the modes and texts of a tree's files.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			out[rel] = fi.Mode().Perm().String()
		case d.Type() == fs.ModeSymlink:
			target, err := os.Readlink(path)
			out[rel] = "-> " + target
			return err
		default:
			b, err := os.ReadFile(path)
			out[rel] = fmt.Sprintf("%v %s", fi.Mode().Perm()&0o100 != 0, b)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestTree(t *testing.T) {
	t.Parallel()
	w := newFixture(t, nil)
	r := w.repo("a")
	r.write("roles/web/tasks/main.yml", "[]\r\n")
	r.write("run.sh", "#!/bin/sh\n")
	r.write("ünï cöde", "\xff\x00")
	r.write(".gitattributes", "*.secret export-ignore\n*.y filter=evil\nident.txt ident export-subst\n")
	r.write("a.secret", "still here")
	r.write("b.y", "as it is")
	r.link("roles/db", "web")
	r.link("roles/nowhere", "../none")
	if err := os.Chmod(filepath.Join(r.dir, "run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	commit := r.commit("second")
	dir := w.place()
	deps, err := w.Tree(t.Context(), r.at("p1"), commit, dir, true) // Tree fetches first
	if err != nil || deps != (catalog.Deps{}) {
		t.Fatal(deps, err)
	}
	want := map[string]string{
		"site.yml": "false - hosts: all\n", "roles": "-rwx------", "roles/web": "-rwx------", "roles/web/tasks": "-rwx------",
		"roles/web/tasks/main.yml": "false []\r\n", "run.sh": "true #!/bin/sh\n", "ünï cöde": "false \xff\x00",
		"a.secret": "false still here",
		"b.y":      "false as it is", "roles/db": "-> web", "roles/nowhere": "-> ../none",
		".gitattributes": "false *.secret export-ignore\n*.y filter=evil\nident.txt ident export-subst\n",
	}
	if diff := cmp.Diff(want, contents(t, dir)); diff != "" {
		t.Error(diff)
	}
	if fi, err := os.Stat(dir); err != nil || fi.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", fi.Mode(), err)
	}
	if _, err := w.Tree(t.Context(), r.at("p1"), commit, dir, false); err == nil {
		t.Error("a directory that exists is taken")
	}
	if len(contents(t, dir)) != len(want) {
		t.Error("the directory that existed was changed")
	}
	for _, none := range []string{strings.Repeat("0", 40), strings.Repeat("a", 64), "HEAD", "-x", "main", commit[:12],
		strings.ToUpper(commit), ""} {
		place := w.place()
		if _, err := w.Tree(t.Context(), r.at("p1"), none, place, false); !catalog.CommitNotFound.Is(err) {
			t.Errorf("%q: %v", none, err)
		}
		if _, err := os.Lstat(place); err == nil {
			t.Errorf("%q left a directory", none)
		}
	}
}

// TestTreesAtOnce creates trees of two commits concurrently, during a fetch.
func TestTreesAtOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t, nil)
	r := w.repo("a")
	commits := make([]string, 2)
	for n := range commits {
		for i := range 60 {
			r.write(fmt.Sprintf("d%d/f%d", i%7, i), fmt.Sprint(n, i))
		}
		r.write(fmt.Sprintf("only%d", n), "x")
		commits[n] = r.commit("next")
		if err := os.Remove(filepath.Join(r.dir, fmt.Sprintf("only%d", n))); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	for i := range 8 {
		dir := w.place()
		wg.Go(func() {
			n := i % 2
			if _, err := w.Tree(t.Context(), r.at("p1"), commits[n], dir, false); err != nil {
				t.Error(err)
				return
			}
			got := contents(t, dir)
			for f := range 60 {
				if got[fmt.Sprintf("d%d/f%d", f%7, f)] != "false "+fmt.Sprint(n, f) {
					t.Errorf("tree %d: file %d is %q", n, f, got[fmt.Sprintf("d%d/f%d", f%7, f)])
				}
			}
			if len(got) != 60+7+2 || got[fmt.Sprintf("only%d", n)] == "" {
				t.Errorf("tree %d holds %d", n, len(got))
			}
		})
	}
	for range 3 {
		w.fetch(r.at("p1"))
	}
	wg.Wait()
}

// TestHostileTrees uses commits that must be refused. A marker file shows that nothing in them was executed.
// Keeps T14.
func TestHostileTrees(t *testing.T) {
	t.Parallel()
	w := newFixture(t, nil)
	marker := filepath.Join(t.TempDir(), "marker")
	for name, make := range map[string]func(r *repo) string{
		"GIT": func(r *repo) string {
			return r.raw("040000 tree " + r.sub("config", "[core]\n") + "\t.GIT\n")
		},
		"git": func(r *repo) string {
			return r.raw("040000 tree " + r.sub("config", "[core]\n") + "\t.git\n")
		},
		"a short name": func(r *repo) string {
			return r.raw("040000 tree " + r.sub("config", "[core]\n") + "\tGIT~1\n")
		},
		"an ignored character": func(r *repo) string {
			return r.raw("040000 tree " + r.sub("config", "[core]\n") + "\t.g\u200cit\n")
		},
		"below": func(r *repo) string { return r.raw("040000 tree " + r.sub(".Git", "x") + "\ta\n") },
		"dots":  func(r *repo) string { return r.raw("040000 tree " + r.sub("config", "x") + "\t..\n") },
		"a link over a directory": func(r *repo) string {
			return r.raw("120000 blob " + r.blob("/tmp") + "\ta\n040000 tree " + r.sub("x", "x") + "\ta\n")
		},
		"submodules with an option": func(r *repo) string {
			r.write(".gitmodules", "[submodule \"x\"]\n\tpath = x\n\turl = -u./evil\n")
			return r.commit("x")
		},
		"submodules of a program": func(r *repo) string {
			r.write(".gitmodules", "[submodule \"x\"]\n\tpath = -x\n\turl = ext::sh -c 'touch "+marker+"'\n\tupdate = !touch "+
				marker+"\n")
			return r.commit("x")
		},
	} {
		t.Run(name, func(t *testing.T) {
			id := strings.NewReplacer(" ", "-", "/", "", ".", "").Replace(name)
			r, dir := w.repo(id), w.place()
			commit := make(r)
			_, err := w.Tree(t.Context(), r.at(id), commit, dir, true)
			syncFailed(t, err, w.dir)
			if _, err := os.Lstat(dir); err == nil {
				t.Error("a tree was left")
			}
		})
	}
	if _, err := os.Lstat(marker); err == nil {
		t.Error("something was executed")
	}
}

// TestLinksThatLeadOut are in the list of a commit, and lead nowhere in its work tree; the rest of the tree is whole.
// Keeps T14.
func TestLinksThatLeadOut(t *testing.T) {
	t.Parallel()
	w := newFixture(t, nil)
	r := w.repo("a")
	r.link("x", "/etc")
	r.link("a/x", "../..")
	r.link("y", "..")
	r.link("d/e/up", "../..")
	r.link("z", "d/e/up/..")
	r.link("b/x", "../../b/x")
	r.link("by", "x/passwd")
	r.link("roles/good", "../d")
	commit, dir := r.commit("links"), w.place()
	if _, err := w.Tree(t.Context(), r.at("p1"), commit, dir, true); err != nil {
		t.Fatal(err)
	}
	files, leaving, err := w.Playbooks(t.Context(), r.at("p1"), commit)
	want := []string{"a/x", "b/x", "by", "x", "y", "z"}
	if diff := cmp.Diff(want, leaving); diff != "" || err != nil || len(files) == 0 {
		t.Error(err, diff)
	}
	got := contents(t, dir)
	for _, name := range want {
		if _, err := os.Stat(filepath.Join(dir, name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s leads somewhere: %v", name, err)
		}
	}
	for _, name := range []string{"a/x", "b/x", "x", "y"} {
		if got[name] != "-> "+catalog.LeftOutLink {
			t.Errorf("%s is %q", name, got[name])
		}
	}
	if got["roles/good"] != "-> ../d" || got["d/e/up"] != "-> ../.." || got["site.yml"] == "" {
		t.Errorf("the others: %v", got)
	}
}

// sub creates a tree with one file.
func (r *repo) sub(name, text string) string {
	return r.feed("100644 blob "+r.blob(text)+"\t"+name+"\n", "mktree")
}

// TestHarmlessTrees uses commits that look hostile and are accepted, without executing anything.
func TestHarmlessTrees(t *testing.T) {
	t.Parallel()
	w := newFixture(t, nil)
	marker := filepath.Join(t.TempDir(), "marker")
	r := w.repo("a")
	for _, hook := range []string{
		"post-checkout", "pre-commit", "post-merge", "reference-transaction", "post-index-change", "pre-auto-gc",
		"fsmonitor-watchman", "upload-pack",
	} {
		r.write(".git/hooks/"+hook, "#!/bin/sh\ntouch "+marker+"\n")
		if err := os.Chmod(filepath.Join(r.dir, ".git/hooks", hook), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	deep := strings.Repeat("d/", 100)
	r.write(deep+"f", "deep")
	r.write("hooks/post-checkout", "#!/bin/sh\ntouch "+marker+"\n")
	r.write(".gitattributes", "* filter=evil diff=evil merge=evil\n")
	r.write("config", "[core]\n\tfsmonitor = touch "+marker+"\n\thooksPath = hooks\n")
	r.git("config", "uploadpack.packObjectsHook", "touch "+marker+";")
	r.git("config", "filter.evil.smudge", "touch "+marker)
	r.git("config", "core.fsmonitor", "touch "+marker)
	r.git("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "filter.evil.smudge=cat", "add", "-A")
	r.git("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "commit", "-q", "-m", "x")
	commit := r.git("-c", "core.fsmonitor=false", "rev-parse", "HEAD")
	if err := os.RemoveAll(marker); err != nil {
		t.Fatal(err)
	}
	dir := w.place()
	if _, err := w.Tree(t.Context(), r.at("p1"), commit, dir, true); err != nil {
		t.Fatal(err)
	}
	if read(t, filepath.Join(dir, deep, "f")) != "deep" {
		t.Error("the deep file is another one")
	}
	if _, err := os.Lstat(marker); err == nil {
		t.Error("something was executed")
	}
}

// TestTreesAreBounded uses a commit of a few objects that expands to a billion files.
func TestTreesAreBounded(t *testing.T) {
	t.Parallel()
	w := newFixture(t, func(c *git.Config) { c.MaxRepo = 10 << 20 })
	r := w.repo("a")
	tree, kind := r.blob(strings.Repeat("x", 1000)), "100644 blob"
	for range 9 {
		var records strings.Builder
		for i := range 10 {
			fmt.Fprintf(&records, "%s %s\td%d\n", kind, tree, i)
		}
		tree, kind = r.feed(records.String(), "mktree"), "040000 tree"
	}
	commit := r.raw("040000 tree " + tree + "\tbomb\n")
	dir := w.place()
	_, err := w.Tree(t.Context(), r.at("p1"), commit, dir, false)
	syncFailed(t, err)
	if _, err := os.Lstat(dir); err == nil {
		t.Error("a tree was left")
	}
}
