package git_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/catalog"
)

func (w *fixture) reader(
	r *repo,
) (files func(path, ref string) ([]catalog.Entry, error), file func(path, ref string) (string, error)) {
	commit := w.fetch(r.at("p1"))
	files = func(path, ref string) ([]catalog.Entry, error) {
		list, _, err := w.Files(w.t.Context(), r.at("p1"), commit, path, ref)
		return list, err
	}
	file = func(path, ref string) (string, error) {
		text, _, err := w.File(w.t.Context(), r.at("p1"), commit, path, ref)
		return string(text), err
	}
	return files, file
}

// Keeps T15.
func TestFiles(t *testing.T) {
	t.Parallel()
	w := newFixture(t, nil)
	r := w.repo("a")
	r.write("b/c/d.yml", "deep")
	r.write("b/x", "12345")
	r.write("noise", "\xff\xfe\x00")
	r.link("near", "b/x")
	r.link("b/up", "../site.yml")
	r.link("dir", "b")
	r.link("nowhere", "none")
	r.link("loop", "loop")
	r.link("out", "../secret")
	r.link("etc", "/etc/passwd")
	r.link("way", "dir/c/../../../x")
	r.commit("second")
	files, file := w.reader(r)
	got, err := files("", "")
	want := []catalog.Entry{
		{Path: "b", Type: "dir"}, {Path: "dir", Type: "file", Size: 1}, {Path: "loop", Type: "file", Size: 4},
		{Path: "near", Type: "file", Size: 5},
		{Path: "noise", Type: "file", Size: 3}, {Path: "nowhere", Type: "file", Size: 4},
		{Path: "site.yml", Type: "file", Size: 13},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	want = []catalog.Entry{{Path: "b/c", Type: "dir"}, {Path: "b/up", Type: "file", Size: 13},
		{Path: "b/x", Type: "file", Size: 5}}
	for _, path := range []string{"b", "b/", "./b", "b/c/../"} {
		got, err := files(path, "")
		if strings.Contains(path, "..") {
			if !catalog.FileNotFound.Is(err) {
				t.Errorf("%q: %v", path, err)
			}
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Error(path, diff, err)
		}
	}
	if got, err := files("dir", ""); err != nil || len(got) != 3 || got[0].Path != "dir/c" {
		t.Errorf("by a link: %v %v", got, err)
	}
	for path, want := range map[string]string{
		"site.yml": "- hosts: all\n", "b/c/d.yml": "deep", "noise": "\xff\xfe\x00", "near": "12345", "b/up": "- hosts: all\n",
		"dir/c/d.yml": "deep",
		"./b//x":      "12345",
	} {
		if got, err := file(path, ""); got != want || err != nil {
			t.Errorf("%q: %q %v", path, got, err)
		}
	}
	for _, path := range []string{
		"", ".", "b", "dir", "none", "nowhere", "loop", "out", "etc", "way", "../site.yml", "b/../../x", "/etc/passwd",
		"/site.yml", "b\\x", "..\\x", "site.yml/x",
		".git/config", "HEAD", "%2e%2e/x", "b/c/..", "site.yml:x", "-x", ":site.yml", ":(glob)*", "*", "~",
	} {
		if got, err := file(path, ""); !catalog.FileNotFound.Is(err) {
			t.Errorf("%q: %q %v", path, got, err)
		}
	}
	for _, path := range []string{"site.yml\x00", "a\nb", "\xff", strings.Repeat("x", 5000)} {
		if _, err := file(path, ""); field(err) != "path" {
			t.Errorf("%q: %v", path, err)
		}
		if _, err := files(path, ""); field(err) != "path" {
			t.Errorf("%q: %v", path, err)
		}
	}
	for _, path := range []string{"site.yml", "none", "..", "/", "out", "near"} {
		if got, err := files(path, ""); !catalog.FileNotFound.Is(err) {
			t.Errorf("%q: %v %v", path, got, err)
		}
	}
}

func TestFilesAtRefs(t *testing.T) {
	t.Parallel()
	w := newFixture(t, nil)
	r := w.repo("a")
	first := r.git("rev-parse", "HEAD")
	r.git("tag", "-a", "-m", "x", "v1")
	r.git("checkout", "-q", "-b", "feature/x")
	r.write("site.yml", "feature")
	feature := r.commit("second")
	r.git("checkout", "-q", "main")
	r.write("site.yml", "main")
	main := r.commit("third")
	at := r.at("p1")
	w.fetch(at)
	for ref, want := range map[string][2]string{
		"": {"main", main}, "main": {"main", main}, "feature/x": {"feature", feature}, "v1": {"- hosts: all\n", first},
		first:      {"- hosts: all\n", first},
		first[:12]: {"- hosts: all\n", first}, feature: {"feature", feature},
	} {
		text, commit, err := w.File(t.Context(), at, main, "site.yml", ref)
		if string(text) != want[0] || commit != want[1] || err != nil {
			t.Errorf("%q: %q %s %v", ref, text, commit, err)
		}
	}
	if text, commit, err := w.File(t.Context(), at, "", "site.yml", ""); string(text) != "main" || commit != main ||
		err != nil {
		t.Errorf("without a commit: %q %s %v", text, commit, err)
	}
	for _, ref := range []string{"-x", "--all", "main^", "main:x", "main~1", "@{1}", "a..b", "..", "a\x00", "main^{tree}",
		strings.Repeat("x", 300)} {
		if _, _, err := w.File(t.Context(), at, main, "site.yml", ref); field(err) != "ref" {
			t.Errorf("%q: %v", ref, err)
		}
	}
	blob := r.git("rev-parse", "main:site.yml")
	for _, ref := range []string{"none", strings.Repeat("0", 40), "HEAD", "refs/heads/main", "heads/main", blob,
		blob[:10]} {
		if _, _, err := w.File(t.Context(), at, main, "site.yml", ref); !catalog.FileNotFound.Is(err) {
			t.Errorf("%q: %v", ref, err)
		}
	}
	if _, _, err := w.Files(t.Context(), at, strings.Repeat("0", 40), "", ""); !catalog.CommitNotFound.Is(err) {
		t.Error(err)
	}
}

func TestFilesAreBounded(t *testing.T) {
	t.Parallel()
	w := newFixture(t, nil)
	r := w.repo("a")
	r.write("fits", strings.Repeat("x", catalog.MaxFile))
	r.write("too-large", strings.Repeat("x", catalog.MaxFile+1))
	r.commit("second")
	var records strings.Builder
	blob := r.blob("x")
	for i := range catalog.MaxEntries + 5 {
		fmt.Fprintf(&records, "100644 blob %s\tf%06d\n", blob, i)
	}
	many := r.feed(records.String(), "mktree")
	head := r.git("ls-tree", "HEAD")
	r.raw(head + "\n040000 tree " + many + "\tmany\n")
	files, file := w.reader(r)
	if text, err := file("fits", ""); err != nil || len(text) != catalog.MaxFile {
		t.Error(len(text), err)
	}
	if _, err := file("too-large", ""); !catalog.FileTooLarge.Is(err) {
		t.Error(err)
	}
	list, err := files("many", "")
	if err != nil || len(list) != catalog.MaxEntries || list[0].Path != "many/f000000" {
		t.Error(len(list), err)
	}
	if len(list) > 0 && list[0].Size != 1 {
		t.Error(list[0])
	}
}
