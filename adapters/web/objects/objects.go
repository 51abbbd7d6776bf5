package objects

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
)

type handlers struct {
	Params

	mu    sync.Mutex
	doc   *document
	kinds map[string]*kind
}

// New returns the section.
func New(p Params) shell.Section {
	h := &handlers{Params: p}
	return shell.Section{Name: "objects", Register: func(s *shell.Shell) {
		need := identity.Need{Kind: "system", Act: "read"} // each form needs the right of its operation too
		s.Get("/ui/objects", need, h.index)
		s.Get("/ui/objects/cron", need, h.cron)
		s.Post("/ui/objects/steps", need, h.read)
		s.Get("/ui/objects/{kind}/new", need, h.create)
		s.Get("/ui/objects/{kind}/{id}/edit", need, h.edit)
		s.Post("/ui/objects/policies/draft", identity.Need{Kind: "policy", Act: "write"}, h.draft)
	}}
}

// load reads the API's document once.
func (h *handlers) load(r *shell.Request) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.doc != nil {
		return nil
	}
	d := &document{}
	if err := r.Get("/openapi.json", d); err != nil {
		return err //nolint:wrapcheck // a fault
	}
	h.doc, h.kinds = d, kinds(d)
	return nil
}

// find returns the kind that the path names, by its name or by the last part of it.
func (h *handlers) find(r *shell.Request) (*kind, table, error) {
	if err := h.load(r); err != nil {
		return nil, table{}, err
	}
	name := r.PathValue("kind")
	k := h.kinds[name]
	for _, other := range h.kinds {
		if k == nil && path.Base(other.Path) == name {
			k = other
		}
	}
	if k == nil {
		return nil, table{}, &fault.Error{Kind: fault.NotFound, Message: "there are no records of this kind"}
	}
	t := tables()[k.Name]
	if t.Noun == "" {
		t.Noun = "a " + strings.TrimSuffix(strings.ReplaceAll(k.Name, "-", " "), "s")
	}
	if t.Home == "" {
		t.Home = "/ui/objects"
	}
	return k, t, nil
}

// allowed returns an error if the viewer may never call the operation, or if there is none.
func allowed(r *shell.Request, a *action) error {
	switch {
	case a == nil:
		return &fault.Error{Kind: fault.NotFound, Message: "the API has no such operation"}
	case !r.May(a.Kind, a.Act):
		return access.NotAllowed.New("your role does not allow it")
	}
	return nil
}

// index lists the kinds that the viewer may create.
func (h *handlers) index(r *shell.Request) (*shell.Page, error) {
	if err := h.load(r); err != nil {
		return nil, err
	}
	var list []offered
	for _, k := range h.kinds {
		t := tables()[k.Name]
		if t.Noun != "" && allowed(r, k.Create) == nil {
			list = append(list, offered{"/ui/objects/" + k.Name + "/new", newTitle(t), t.About})
		}
	}
	slices.SortFunc(list, func(a, b offered) int { return strings.Compare(a.Name, b.Name) })
	return &shell.Page{Title: recordsTitle, Body: choosePage(recordsTitle, recordsIntro, list)}, nil
}

// cron shows when the expression of a form fires next, for browsers without script.
func (h *handlers) cron(r *shell.Request) (*shell.Page, error) {
	q := r.URL.Query()
	return &shell.Page{Title: firesTitle, Body: cronPage(q.Get("cron"), previewOf(r, q.Get("cron"),
		q.Get("timezone")))}, nil
}

// create shows the form of a new record.
func (h *handlers) create(r *shell.Request) (*shell.Page, error) {
	k, t, err := h.find(r)
	if err == nil {
		err = allowed(r, k.Create)
	}
	if err != nil {
		return nil, err
	}
	b := &builder{r: r, doc: h.doc, kind: k, table: t, fresh: true, lists: map[string]*choiceList{}}
	if b.stored, err = b.begin(r.URL.Query()); err != nil {
		return nil, err
	}
	if b.choosing() {
		return &shell.Page{Title: chooseTitle, Nav: navOf(r, t), Tab: t.Home,
			Body: choosePage(chooseTitle, chooseIntro, b.offers())}, nil
	}
	next := t.Home
	if t.Detail != "" {
		next = t.Detail
	}
	v := view{
		Title: newTitle(t), About: t.About, Home: t.Home, Button: createText, Groups: b.groups(k.Create.Body), Kind: k,
		Secrets: strings.Join(k.Secrets, ","),
		Form:    shell.Form{Operation: k.Create.ID, Page: r.URL.RequestURI(), Next: next, Done: createdText, ID: "record"},
	}
	return h.page(b, v)
}

// page returns the page of a form.
func (h *handlers) page(b *builder, v view) (*shell.Page, error) {
	if b.kind.Name == policyKind {
		return h.policy(b, v)
	}
	return &shell.Page{Title: v.Title, Nav: navOf(b.r, b.table), Tab: b.table.Home, Body: formPage(v)}, nil
}

// begin returns what a new record begins with: the values of the query, and those of the record that is copied.
func (b *builder) begin(q url.Values) (map[string]any, error) {
	out := map[string]any{}
	if id := q.Get("copy"); id != "" {
		record, _, err := b.load(id)
		if err != nil {
			return nil, err
		}
		out = record
		for _, name := range []string{"name", "username"} {
			if text, ok := record[name].(string); ok {
				out[name] = copyName + text
			}
		}
	}
	for name, values := range q {
		switch {
		case name == "copy" || name == "sheet":
		case len(values) > 1:
			list := make([]any, 0, len(values))
			for _, v := range values {
				list = append(list, v)
			}
			out[name] = list
		default:
			out[name] = values[0]
		}
	}
	return out, nil
}

// load reads a record with its ETag.
func (b *builder) load(id string) (map[string]any, string, error) {
	answer := b.r.Call(httpapi.Call{Method: http.MethodGet, Path: b.kind.Path + "/" + url.PathEscape(id)})
	if !answer.OK() {
		p := &httpapi.Problem{}
		if json.Unmarshal(answer.Body, p) != nil || p.Status == 0 {
			p.Status, p.Text = answer.Status, http.StatusText(answer.Status)
		}
		return nil, "", p
	}
	var record map[string]any
	d := json.NewDecoder(bytes.NewReader(answer.Body))
	d.UseNumber()
	if err := d.Decode(&record); err != nil {
		return nil, "", &fault.Error{Kind: fault.Internal, Message: "a record cannot be read", Cause: err}
	}
	return record, answer.Header.Get("ETag"), nil
}

// navOf returns the entry of the navigation that a page of the table belongs to.
func navOf(r *shell.Request, t table) string {
	if t.Home == shell.CredentialsPath && !r.Viewer.Admin() {
		return shell.Launch
	}
	for prefix, nav := range map[string]string{
		"/ui/settings": shell.Settings, "/ui/trust": shell.Trust, "/ui/inventories": shell.Fleet, "/ui/drift": shell.Fleet,
		"/ui/queues": shell.Fleet, "/ui/objects": "",
	} {
		if strings.HasPrefix(t.Home, prefix) {
			return nav
		}
	}
	return shell.Launch
}
