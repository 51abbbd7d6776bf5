package projects

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/object"
)

const hostile = `<script>alert(1)</script>"><img src=x onerror=alert(1)>` + "\u202e" + `' onclick='x`

// render returns the markup of a component, and checks that no text of another became markup.
func render(t *testing.T, c templ.Component) string {
	t.Helper()
	var b strings.Builder
	now := time.Date(2026, 11, 26, 14, 10, 0, 0, time.UTC)
	ctx := shell.WithViewer(t.Context(), shell.Viewer{ID: "usr_1", Name: "Ada Reyes", Role: identity.Admin}, now)
	if err := c.Render(ctx, &b); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"<script", "<img", ` style=`, `javascript:`} {
		if strings.Contains(b.String(), bad) {
			t.Errorf("the markup has %q", bad)
		}
	}
	bare := regexp.MustCompile(`"[^"]*"`).ReplaceAllString(b.String(), `""`)
	if tag := regexp.MustCompile(`<[a-z][^>]*\son[a-z]+=`).FindString(bare); tag != "" {
		t.Errorf("an element has a handler: %s", tag)
	}
	ids := map[string]bool{}
	for _, m := range regexp.MustCompile(`\sid="([^"]*)"`).FindAllStringSubmatch(b.String(), -1) {
		if ids[m[1]] {
			t.Errorf("the id %s is there twice", m[1])
		}
		ids[m[1]] = true
	}
	return b.String()
}

func project() catalog.Project {
	return catalog.Project{Record: object.Record{ID: "prj_1", Name: hostile}, RepoURL: hostile,
		Branch: strings.Repeat("b", 255),
		Commit: "0123456789abcdef", LastError: hostile, Hints: []catalog.Hint{{Path: hostile, Line: 3, Message: hostile}}}
}

func TestHostileTexts(t *testing.T) {
	t.Parallel()
	p := project()
	files := filesView{Project: p, Path: "a/" + hostile, Ref: hostile, Commit: p.Commit, Readme: hostile,
		ReadmeName: hostile,
		Entries: []catalog.Entry{{Path: hostile, Type: catalog.FileEntry, Size: 7}, {Path: "d/" + hostile,
			Type: catalog.DirEntry}}}
	template := catalog.Template{Record: object.Record{ID: `"><x`, Name: hostile}}
	render(t, listPage(listView{Query: hostile, Rows: []catalog.Project{p}, Total: 1}))
	render(t, listPage(listView{Query: hostile, Total: 1}))
	render(t, projectPage(projectView{Project: p, Templates: []catalog.Template{template}, Files: files}))
	render(t, filesPage(files))
	for _, lang := range languages() {
		file := files
		file.File, file.Language, file.From = true, lang, 1
		file.Lines = highlight(lang, hostile+"\n# "+hostile+"\na: \""+hostile+"\n{{ "+hostile)
		file.Total = len(file.Lines)
		if got := render(t, filesPage(file)); !strings.Contains(got, `id="L4"`) {
			t.Errorf("%s: the lines have no anchors", lang)
		}
	}
}

func TestSentences(t *testing.T) {
	t.Parallel()
	ctx := shell.WithViewer(t.Context(), shell.Viewer{}, time.Date(2026, 11, 26, 14, 10, 0, 0, time.UTC))
	p := catalog.Project{Commit: "0123456789abcdef", SyncedAt: time.Date(2026, 11, 26, 14, 0, 0, 0, time.UTC)}
	if got := projectText(ctx, p); got != "Synced 10 min ago; a launch would use commit 0123456789." {
		t.Error(got)
	}
	p.LastError = "x"
	if got := projectText(ctx, p); !strings.HasPrefix(got, "The last synchronization failed; launches use commit") {
		t.Error(got)
	}
	if got := listText([]catalog.Project{p}, 1); !strings.Contains(got, "the last synchronization of 1 failed") {
		t.Error(got)
	}
	long := filesView{File: true, Size: maxColours + 1, Total: 9, Commit: "0123456789abcdef"}
	if got := filesText(long); !strings.Contains(got, "without colours, which files up to 256 KiB get") {
		t.Error(got)
	}
}
