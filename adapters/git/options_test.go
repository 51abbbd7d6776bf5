package git_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-automation/writ/adapters/git"
	"github.com/writ-automation/writ/ports/depthtest"
)

// TestRequirementsAreNoOptions has requirements that git takes for options, and the real ansible-galaxy, which gives
// them to git as they are. All are refused, and nothing is executed.
// Keeps T51.
func TestRequirementsAreNoOptions(t *testing.T) {
	t.Parallel()
	w := newFixture(t, nil)
	local := w.role("role")
	marks := t.TempDir()
	n := 0
	option := func() string {
		n++
		return fmt.Sprintf("'--upload-pack=touch %s; git-upload-pack'", filepath.Join(marks, fmt.Sprint(n)))
	}
	role := func(src, name string) string { return "- src: " + src + "\n  scm: git\n  name: " + name + "\n" }
	needy := newRepo(t, filepath.Join(w.root, "needy"))
	needy.write("meta/main.yml", "dependencies:\n"+role(option(), local.dir))
	needy.commit("a role that needs another one")
	cases := map[string]string{
		"an address":              role(option(), local.dir),
		"a requirement of a role": role("file://"+needy.dir, "needy"),
	}
	if depthtest.Long {
		cases["a list of roles"] = "roles:\n" + role(option(), local.dir)
		cases["a short form"] = "- 'git+" + strings.Trim(option(), "'") + ",," + local.dir + "'\n"
		cases["a name"] = role("file://"+local.dir, "'-o"+filepath.Join(marks, "name")+"'")
		cases["a version"] = role("file://"+local.dir, "web") + "  version: --output=" + filepath.Join(marks, "version") +
			"\n"
		cases["another protocol"] = role("ext::sh -c 'touch% "+filepath.Join(marks, "ext")+"'", "web")
		cases["a collection"] = "collections:\n  - name: 'git+" + strings.Trim(option(), "'") + "'\n    type: git\n"
		cases["a version of a collection"] = "collections:\n  - name: file://" + local.dir +
			"\n    type: git\n    version: " + option() + "\n"
		cases["an included file"] = "- include: more.yml\n"
	}
	included := role(option(), local.dir)
	for name, text := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := strings.ReplaceAll(name, " ", "-")
			r := w.repo(id)
			r.write("requirements.yml", text)
			r.write("more.yml", included)
			_, err := w.Tree(t.Context(), r.at(id), r.commit("requirements"), w.place(), true)
			syncFailed(t, err)
			if left, err := filepath.Glob(filepath.Join(marks, "*")); err != nil || len(left) > 0 {
				t.Fatalf("executed: %v %v", left, err)
			}
		})
	}
}

// TestMercurialGetsNoOptions has an ansible-galaxy that calls hg as the real one does.
// Keeps T51.
func TestMercurialGetsNoOptions(t *testing.T) {
	dir := t.TempDir()
	calls := filepath.Join(dir, "hg-calls")
	if err := os.WriteFile(filepath.Join(dir, "hg"), []byte("#!/bin/sh\necho \"$@\" >>"+calls+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	program, _ := counting(t, "hg clone https://example.com/x y && hg archive --prefix y/ -r 1 out || exit 1\n"+
		"for bad in --config=a=b --cwd=x -v; do hg clone $bad y && exit 1; hg archive --prefix y/ -r $bad out && exit "+
		"1; done; true")
	w := newFixture(t, func(c *git.Config) { c.Galaxy = program })
	r := w.repo("a")
	r.write("requirements.yml", "- src: x\n")
	if _, err := w.Tree(t.Context(), r.at("a"), r.commit("requirements"), w.place(), true); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(calls)
	if want := "clone https://example.com/x y\narchive --prefix y/ -r 1 out\n"; err != nil ||
		!strings.HasPrefix(string(got), want) ||
		strings.Contains(string(got), "--c") {
		t.Errorf("%q %v", got, err)
	}
}
