package git_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/writ-automation/writ/adapters/git"
	"github.com/writ-automation/writ/platform/egress"
	"github.com/writ-automation/writ/ports/catalog"
)

// fetcher is the environment variable that makes this test binary fetch. Its value contains directory, CA file and
// address.
const fetcher = "WRIT_TEST_FETCH"

func TestMain(m *testing.M) {
	if about := strings.Split(os.Getenv(fetcher), "|"); len(about) == 3 {
		k, err := git.New(git.Config{Dir: about[0], CAFile: about[1], Egress: egress.Policy{Level: egress.PrivateAllowed}})
		if err == nil {
			_, err = k.Fetch(context.Background(), catalog.Repository{ProjectID: "p", URL: about[2]})
		}
		fmt.Println(err) // only reached if the process is not killed
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// fixture contains a directory for mirrors and a folder for local projects.
type fixture struct {
	*git.Checkouts
	t    *testing.T
	dir  string
	root string
}

func newFixture(t *testing.T, change func(*git.Config)) *fixture {
	t.Helper()
	base := t.TempDir()
	c := git.Config{Dir: filepath.Join(base, "projects"), LocalRoot: filepath.Join(base, "local"),
		Egress: egress.Policy{Level: egress.PrivateAllowed}}
	if err := os.Mkdir(c.LocalRoot, 0o755); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&c)
	}
	k, err := git.New(c)
	if err != nil {
		t.Fatal(err)
	}
	w := &fixture{k, t, c.Dir, c.LocalRoot}
	t.Cleanup(func() {
		left, err := filepath.Glob(filepath.Join(w.dir, ".private", "*"))
		if err != nil || len(left) != 1 {
			t.Errorf("the private directory holds %v %v", left, err)
		}
	})
	return w
}

// mirror returns the path of a project's mirror.
func (w *fixture) mirror(id string) string { return filepath.Join(w.dir, id+".git") }

// place returns a path that does not exist.
func (w *fixture) place() string { return filepath.Join(w.t.TempDir(), "tree") }

// fetch fetches a repository and fails the test on error.
func (w *fixture) fetch(r catalog.Repository) string {
	w.t.Helper()
	commit, err := w.Fetch(w.t.Context(), r)
	if err != nil {
		w.t.Fatal(err)
	}
	return commit
}

// repo is a test repository.
type repo struct {
	t   *testing.T
	dir string
}

// repo creates a repository with one commit below the folder for local projects.
func (w *fixture) repo(name string) *repo {
	r := newRepo(w.t, filepath.Join(w.root, name))
	r.write("site.yml", "- hosts: all\n")
	r.commit("first")
	return r
}

func newRepo(t *testing.T, dir string, args ...string) *repo {
	t.Helper()
	r := &repo{t, dir}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r.git(append([]string{"init", "-q", "-b", "main"}, args...)...)
	return r
}

// git runs git and returns its output without the line break.
func (r *repo) git(args ...string) string {
	r.t.Helper()
	return r.feed("", args...)
}

func (r *repo) feed(stdin string, args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = r.dir, strings.NewReader(stdin)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + r.dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a",
		"GIT_AUTHOR_EMAIL=a@example.com",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		r.t.Fatalf("git %v: %v %s", args, err, errs.String())
	}
	return strings.TrimSuffix(out.String(), "\n")
}

func (r *repo) write(name, text string) {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func (r *repo) link(name, target string) {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		r.t.Fatal(err)
	}
}

// commit commits all files and returns the commit.
func (r *repo) commit(message string) string {
	r.t.Helper()
	r.git("add", "-A")
	r.git("commit", "-q", "--allow-empty", "-m", message)
	return r.git("rev-parse", "HEAD")
}

// raw commits a tree from literal mktree records, which may be impossible in a work tree.
func (r *repo) raw(records string) string {
	r.t.Helper()
	tree := r.feed(records, "mktree", "--missing")
	commit := r.git("commit-tree", "-m", "raw", tree)
	r.git("update-ref", "refs/heads/main", commit)
	return commit
}

func (r *repo) blob(text string) string { return r.feed(text, "hash-object", "-w", "--stdin") }

// at returns the repository as that of a project.
func (r *repo) at(id string) catalog.Repository {
	return catalog.Repository{ProjectID: id, URL: "file://" + r.dir}
}

func read(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
