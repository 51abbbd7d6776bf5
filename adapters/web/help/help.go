package help

import (
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/a-h/templ"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
)

type handlers struct {
	Params

	once sync.Once
	list []document
	err  error
}

// New returns the section. Visitors may read it too, since the documents are public.
func New(p Params) shell.Section {
	h := &handlers{Params: p}
	index, page := h.index, h.page
	if p.Pages.FS == nil {
		index, page = noManual, noManual
	}
	return shell.Section{Name: "help", Register: func(s *shell.Shell) {
		s.Get("/ui/help", identity.Need{}, index)
		s.Get("/ui/help/{path...}", identity.Need{}, page)
	}}
}

// noManual answers the links that other pages have to the manual.
func noManual(*shell.Request) (*shell.Page, error) {
	return nil, &fault.Error{Kind: fault.NotFound, Message: "this program was built without the manual"}
}

// document is one page: its path without the ending, its title and its parts.
type document struct {
	Path, Title string
	text        []byte
	sections    []passage
}

// passage is the text below one heading.
type passage struct{ anchor, heading, text string }

// documents reads all pages once, when the first one is asked for.
func (h *handlers) documents() ([]document, error) {
	h.once.Do(func() {
		h.err = fs.WalkDir(h.Pages.FS, ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || path.Ext(name) != ".md" {
				return err
			}
			text, err := fs.ReadFile(h.Pages.FS, name)
			if err != nil {
				return err //nolint:wrapcheck // the name is in it
			}
			h.list = append(h.list, newDocument(strings.TrimSuffix(name, ".md"), text))
			return nil
		})
		slices.SortFunc(h.list, func(a, b document) int { return strings.Compare(a.Title, b.Title) })
	})
	return h.list, h.err
}

// group returns the documents below a folder.
func group(list []document, folder string) (out []document) {
	for _, d := range list {
		if strings.HasPrefix(d.Path, folder+"/") {
			out = append(out, d)
		}
	}
	return out
}

func (h *handlers) index(r *shell.Request) (*shell.Page, error) {
	list, err := h.documents()
	if err != nil {
		return nil, err
	}
	words := strings.TrimSpace(r.URL.Query().Get("q"))
	v := indexView{Words: words, Guides: group(list, "guides"), Reference: group(list, "reference")}
	if words != "" {
		v.Found, v.More = search(list, words)
	}
	return &shell.Page{Title: helpText, Body: indexPage(v), Parts: map[string]templ.Component{"help-found": found(v)}}, nil
}

func (h *handlers) page(r *shell.Request) (*shell.Page, error) {
	list, err := h.documents()
	if err != nil {
		return nil, err
	}
	name := r.PathValue("path")
	i := slices.IndexFunc(list, func(d document) bool { return d.Path == name })
	if i < 0 {
		if plain, ok := strings.CutSuffix(name, ".md"); ok {
			return nil, shell.Redirect("/ui/help/" + plain)
		}
		return nil, &fault.Error{Kind: fault.NotFound, Message: "there is no such page of the manual"}
	}
	markup, contents, err := render(list[i])
	if err != nil {
		return nil, err
	}
	return &shell.Page{
		Title: list[i].Title, Status: http.StatusOK,
		Body: documentPage(documentView{Document: list[i], Markup: markup, Contents: contents}),
	}, nil
}
