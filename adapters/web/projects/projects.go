package projects

import (
	"cmp"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/plaintext"
)

type handlers struct{ Params }

// New returns the section.
func New(p Params) shell.Section {
	h := &handlers{Params: p}
	read := identity.Need{Kind: "catalog", Act: "read"}
	return shell.Section{Name: "projects", Register: func(s *shell.Shell) {
		s.Get("/ui/projects", read, h.list)
		s.Get("/ui/projects/{id}", read, h.project)
		s.Get("/ui/projects/{id}/files/{path...}", read, h.files)
	}}
}

const (
	listed     = page.MaxRows
	maxReadme  = 64 << 10  // bytes of a readme that are shown
	maxColours = 256 << 10 // bytes of a file that gets colours
	lineStep   = 4000      // lines of a page of a file
	maxEntries = 1000      // entries of a directory that are shown
)

type listView struct {
	Query, Sentence string
	Rows            []catalog.Project
	Total           int
}

func (h *handlers) list(r *shell.Request) (*shell.Page, error) {
	v := listView{Query: strings.TrimSpace(r.URL.Query().Get("q"))}
	list, total, err := h.Projects.List(r.Context(), catalog.Filter{}, page.Window{Limit: listed})
	if err != nil {
		return nil, err
	}
	find := strings.ToLower(v.Query)
	for _, p := range list {
		if find == "" || strings.Contains(strings.ToLower(p.Name+" "+p.RepoURL), find) {
			v.Rows = append(v.Rows, p)
		}
	}
	v.Total, v.Sentence = total, listText(list, total)
	return &shell.Page{Title: "Projects", Nav: shell.Launch, Body: listPage(v),
		Parts: map[string]templ.Component{"projects": projectTable(v)}}, nil
}

// projectView is the page of a project with the root of its files.
type projectView struct {
	catalog.Project
	Templates []catalog.Template
	Files     filesView
	Problem   string // why the files cannot be listed
}

func (h *handlers) project(r *shell.Request) (*shell.Page, error) {
	p, err := h.Projects.Get(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	v := projectView{Project: p}
	templates, _, err := h.Templates.List(r.Context(), catalog.Filter{}, page.Window{Limit: listed})
	if err != nil {
		return nil, err
	}
	for _, t := range templates {
		if t.ProjectID == p.ID || slices.ContainsFunc(t.Steps, stepOf(p.ID)) {
			v.Templates = append(v.Templates, t)
		}
	}
	if p.Commit != "" {
		if v.Files, err = h.directory(r, p, ""); err != nil {
			v.Problem = err.Error()
		}
	}
	return &shell.Page{Title: p.Name, Nav: shell.Launch, Body: projectPage(v)}, nil
}

// filesView is a directory or a file of a project at a commit.
type filesView struct {
	Project     catalog.Project
	Path, Ref   string
	Commit      string
	Entries     []catalog.Entry
	More        int // entries that are not shown
	Readme      string
	ReadmeName  string
	ReadmeCut   bool
	File        bool
	Size        int
	Binary      bool
	Language    string
	Lines       [][]span
	From, Total int // the first line that is shown, and the number of all
	Templates   []catalog.Template
}

func (h *handlers) files(r *shell.Request) (*shell.Page, error) {
	p, err := h.Projects.Get(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	name := strings.Trim(r.PathValue("path"), "/")
	v, err := h.directory(r, p, name)
	if catalog.FileNotFound.Is(err) && name != "" {
		v, err = h.file(r, p, name)
	}
	if err != nil {
		return nil, err
	}
	return &shell.Page{Title: cmp.Or(name, "Files") + " in " + p.Name, Nav: shell.Launch, Body: filesPage(v)}, nil
}

// directory lists a directory, with the readme in it.
func (h *handlers) directory(r *shell.Request, p catalog.Project, name string) (filesView, error) {
	v := filesView{Project: p, Path: name, Ref: r.URL.Query().Get("ref")}
	list, commit, err := h.Projects.Files(r.Context(), p.ID, name, v.Ref)
	if err != nil {
		return v, err //nolint:wrapcheck // a fault
	}
	v.Commit, v.More = commit, max(0, len(list)-maxEntries)
	v.Entries = list[:len(list)-v.More]
	for _, e := range list {
		if base := strings.ToLower(path.Base(e.Path)); e.Type == catalog.FileEntry &&
			(base == "readme" || strings.HasPrefix(base, "readme.")) {
			v.readme(h.Projects.File(r.Context(), p.ID, e.Path, v.Ref))
			v.ReadmeName = path.Base(e.Path)
			break
		}
	}
	return v, nil
}

// readme adds the text of a readme. A page without one is complete, so a fault is none of it.
func (v *filesView) readme(text []byte, _ string, err error) {
	if err != nil {
		return
	}
	if v.ReadmeCut = len(text) > maxReadme; v.ReadmeCut {
		text = text[:maxReadme]
	}
	v.Readme = plaintext.Lines(string(text), hiddenSign)
}

func (h *handlers) file(r *shell.Request, p catalog.Project, name string) (filesView, error) {
	v := filesView{Project: p, Path: name, Ref: r.URL.Query().Get("ref"), File: true}
	text, commit, err := h.Projects.File(r.Context(), p.ID, name, v.Ref)
	if err != nil {
		return v, err //nolint:wrapcheck // a fault
	}
	v.Commit, v.Size = commit, len(text)
	if v.Binary = strings.IndexByte(string(text[:min(len(text), 8<<10)]), 0) >= 0; v.Binary {
		return v, nil
	}
	if len(text) <= maxColours {
		v.Language = language(name, string(text))
	}
	lines := highlight(v.Language, string(text))
	v.Total = len(lines)
	from, err := strconv.Atoi(r.URL.Query().Get("from"))
	if err != nil || from < 1 || from > v.Total {
		from = 1
	}
	v.From, v.Lines = from, lines[from-1:min(v.Total, from-1+lineStep)]
	templates, _, err := h.Templates.List(r.Context(), catalog.Filter{}, page.Window{Limit: listed})
	for _, t := range templates {
		if t.ProjectID == p.ID && t.Playbook == name {
			v.Templates = append(v.Templates, t)
		}
	}
	return v, err //nolint:wrapcheck // a fault
}

func projectPath(id string) string { return "/ui/projects/" + url.PathEscape(id) }

// filePath returns the address of a file or a directory at a ref.
func filePath(id, name, ref string) string {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	out := projectPath(id) + "/files/" + strings.Join(parts, "/")
	if ref != "" {
		out += "?ref=" + url.QueryEscape(ref)
	}
	return out
}

// fromLine returns the address of a later part of a file.
func (v filesView) fromLine(n int) string {
	q := url.Values{"from": {strconv.Itoa(n)}}
	if v.Ref != "" {
		q.Set("ref", v.Ref)
	}
	return filePath(v.Project.ID, v.Path, "") + "?" + q.Encode()
}

// crumb is a directory on the way to a path.
type crumb struct{ Name, Path string }

func crumbs(name string) []crumb {
	var out []crumb
	for i, part := range strings.Split(name, "/") {
		if part != "" {
			out = append(out, crumb{part, strings.Join(strings.Split(name, "/")[:i+1], "/")})
		}
	}
	return out
}
