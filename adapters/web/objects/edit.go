package objects

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/identity"
)

// view is what the page of a form shows.
type view struct {
	Title, About, Home, Button string
	Form                       shell.Form
	Groups                     []group
	Kind                       *kind
	// Secrets are the members of the answer that are shown once, separated by commas.
	Secrets string
	// Sums are those of the members of the record, for a later refusal.
	Sums    string
	Changed []changed
	Stale   bool
	// Fixed are the members of a record that never changes.
	Fixed  []changed
	Delete *deletion
	// Denied says why the viewer may not change the record; empty if they may.
	Denied string
}

// deletion is the dialog that deletes a record.
type deletion struct {
	Title, Ask string
	Form       shell.Form
	UsedBy     []use
	Others     int
}

// use is a record that uses the one that was to be deleted.
type use struct {
	Kind   string `json:"kind"`
	ID     string `json:"id"`
	Name   string `json:"-"`
	Target string `json:"-"`
}

// edit shows the form of a record.
func (h *handlers) edit(r *shell.Request) (*shell.Page, error) {
	k, t, err := h.find(r)
	if err != nil {
		return nil, err
	}
	able := cmp.Or(k.Update, k.Delete)
	if err := allowed(r, able); err != nil {
		return nil, err
	}
	id := r.PathValue("id")
	b := &builder{r: r, doc: h.doc, kind: k, table: t, lists: map[string]*choiceList{}}
	stored, etag, err := b.load(id)
	if err != nil {
		return nil, err
	}
	b.stored = stored
	name := cmp.Or(textOf(stored["name"]), textOf(stored["username"]), id)
	v := view{Title: editTitle(name), About: t.About, Home: t.Home, Button: saveText, Kind: k}
	if identity.KindOf(id) != "" {
		if ok, err := h.Guard.May(r.Context(), access.Manage, id); err != nil || !ok {
			v.Denied = deniedText(t)
		}
	}
	if k.Update != nil {
		v.Groups, v.Sums = b.groups(k.Update.Body), sumsOf(stored)
		v.Form = shell.Form{Operation: k.Update.ID, Path: map[string]string{k.Key: id}, Page: r.URL.Path,
			Next: next(t), Done: savedText, ETag: etag, ID: "record"}
		if s := r.Refused(k.Update.ID); s != nil && s.Problem.Status == http.StatusPreconditionFailed {
			v.Stale, v.Button, v.Changed = true, overText, b.changedSince(s.Values.Get("_base"))
		}
	} else {
		v.Title, v.Fixed = name, b.facts()
	}
	if k.Delete != nil && v.Denied == "" && allowed(r, k.Delete) == nil {
		v.Delete = &deletion{Title: deleteTitle(t, name), Ask: deleteAsk(t, name), Form: shell.Form{
			Operation: k.Delete.ID, Path: map[string]string{k.Key: id}, Page: r.URL.Path + "?sheet=delete", Next: t.Home,
			Done: deletedText, ETag: etag,
		}}
		v.Delete.used(r)
	}
	return h.page(b, v)
}

func next(t table) string { return cmp.Or(t.Detail, t.Home) }

// facts returns the members of a record that never changes.
func (b *builder) facts() (out []changed) {
	for _, f := range b.fields(b.kind.Create.Body, "", b.stored) {
		if v, ok := b.stored[f.Member]; ok {
			out = append(out, changed{Label: f.Label, Now: textOf(v)})
		}
	}
	return out
}

// used lists what uses a record whose deletion was refused.
func (d *deletion) used(r *shell.Request) {
	s := r.Refused(d.Form.Operation)
	if s == nil {
		return
	}
	var answer struct {
		UsedBy []use `json:"used_by"`
		Others int   `json:"others"`
	}
	if json.Unmarshal(s.Raw, &answer) != nil {
		return
	}
	d.UsedBy, d.Others = answer.UsedBy, answer.Others
	for i, u := range d.UsedBy {
		d.UsedBy[i].Target, d.UsedBy[i].Name = "/ui/objects/"+plural(u.Kind)+"/"+url.PathEscape(u.ID)+"/edit", u.ID
		if u.Kind == "run" {
			d.UsedBy[i].Target = "/ui/runs/" + url.PathEscape(u.ID)
		}
		var record struct{ Name string }
		if i < maxNamed && r.Get("/v1/"+plural(u.Kind)+"/"+url.PathEscape(u.ID), &record) == nil && record.Name != "" {
			d.UsedBy[i].Name = record.Name
		}
	}
}

// maxNamed bounds how many records are read for their names.
const maxNamed = 20

// plural returns the path of a kind of records below /v1.
func plural(kind string) string {
	switch kind {
	case "inventory":
		return "inventories"
	case "inventory_source", "inventory source", "source":
		return "inventory-sources"
	case "policy":
		return "policies"
	}
	return kind + "s"
}
