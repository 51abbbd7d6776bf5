package settings

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/secrets"
)

// credentials lists the credentials that the viewer may read.
func (h *handlers) credentials(r *shell.Request) (*shell.Page, error) {
	p := pageOf(r)
	list, total, err := h.Credentials.List(r.Context(), secrets.Filter{}, page.Window{Offset: p.From, Limit: pageRows})
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	t := table{Caption: tabCredentials, Heads: []string{"Credential", "Secret", "Kept in", "Changed"},
		Empty: "No credentials",
		Why:   credentialsWhy}
	missing := 0
	for _, c := range list {
		if !c.HasSecret {
			missing++
		}
		t.Rows = append(t.Rows, row{Cells: []cell{{Text: c.Name, Sub: shell.CredentialKind(string(c.Kind)),
			Href: "/ui/settings/credentials/" + c.ID}, secretCell(c), text(sourceText(c)), at(c.UpdatedAt)}})
	}
	p.Total, p.Shown = total, len(list)
	return pageOfList(r, head{Title: tabCredentials, Sentence: credentialsText(total, missing),
		Add: "New credential", New: "/ui/objects/credentials/new"}, t, search{Pages: &p})
}

func secretCell(c secrets.Credential) cell {
	switch {
	case c.Source != nil:
		return state("done", "Fetched when needed")
	case c.HasSecret:
		return state("done", "Stored")
	}
	return state("chg", "Missing")
}

// fact is a line of a page of a record.
type fact struct {
	Name string
	Cell cell
}

// recordView is the page of a record: facts, and what uses it.
type recordView struct {
	Facts []fact
	Used  table
	Edit  string
	Drop  string
	Note  string
}

// credential shows a credential, and what names it.
func (h *handlers) credential(r *shell.Request) (*shell.Page, error) {
	c, err := h.Credentials.Get(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	v := recordView{Note: neverShown, Edit: editOf("credentials", c.ID), Drop: deleteOf("credentials", c.ID),
		Facts: []fact{{"Kind", text(shell.CredentialKind(string(c.Kind)))}, {"Secret", secretCell(c)},
			{"Changed", at(c.UpdatedAt)}, {"Kept in", text(sourceText(c))}}}
	if c.TypeID != "" {
		v.Facts[0].Cell = text(c.TypeID)
		if r.May("credential_type", "read") {
			if t, err := h.Types.Get(r.Context(), c.TypeID); err == nil {
				v.Facts[0].Cell = cell{Text: t.Name, Href: "/ui/settings/credential-types/" + t.ID}
			}
		}
	}
	for _, set := range []map[string]any{c.Settings, c.Fields} {
		for name, value := range set {
			v.Facts = append(v.Facts, fact{shell.Words(name), text(fmt.Sprint(value))})
		}
	}
	slices.SortStableFunc(v.Facts[4:], func(a, b fact) int { return strings.Compare(a.Name, b.Name) })
	v.Used = usersOf(r, c.ID)
	return show(r, head{Title: c.Name, Sentence: usedText(len(v.Used.Rows))}, recordPage(v))
}

// usersOf lists the records that name a credential, as far as the viewer may read them.
func usersOf(r *shell.Request, id string) table {
	t := table{Caption: "Used by", Heads: []string{"Record", "Kind"}, Empty: "Nothing uses it",
		Why: "No template, inventory, source or project that you may read names it."}
	for _, kind := range []string{"templates", "inventories", "inventory-sources", "projects"} {
		var answer map[string]json.RawMessage
		var rows []struct {
			ID, Name    string
			Credential  string   `json:"credential_id"`
			Credentials []string `json:"credential_ids"`
			Selectable  []string `json:"selectable_credential_ids"`
		}
		if r.Get("/v1/"+kind+"?limit=1000", &answer) != nil ||
			json.Unmarshal(answer[strings.ReplaceAll(kind, "-", "_")], &rows) != nil {
			continue
		}
		for _, x := range rows {
			if x.Credential == id || slices.Contains(x.Credentials, id) || slices.Contains(x.Selectable, id) {
				t.Rows = append(t.Rows, row{Cells: []cell{{Text: x.Name, Href: editOf(kind, x.ID)},
					text(shell.Words(singular(kind)))}})
			}
		}
	}
	return t
}

// singular is the kind of a record by its path below /v1.
func singular(kind string) string {
	if stem, ok := strings.CutSuffix(kind, "ies"); ok {
		return stem + "y"
	}
	return strings.TrimSuffix(kind, "s")
}

// types lists the credential types.
func (h *handlers) types(r *shell.Request) (*shell.Page, error) {
	list, total, err := h.Types.List(r.Context(), "", page.Window{Limit: maxRows})
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	t := table{Caption: tabTypes, Heads: []string{"Type", "Fields", "Changed"}, Empty: "No types of your own",
		Why: typesWhy}
	for _, x := range list {
		t.Rows = append(t.Rows, row{Cells: []cell{{Text: x.Name, Href: "/ui/settings/credential-types/" + x.ID},
			text(fieldsText(x.Fields)), at(x.UpdatedAt)}})
	}
	return pageOfList(r, head{Title: "Credential types", Sentence: typesText(total), Add: "New type",
		New: "/ui/objects/credential-types/new"}, t, search{Cut: cutText(len(list), len(list), total)})
}

// oneType shows a credential type with the credentials of it.
func (h *handlers) oneType(r *shell.Request) (*shell.Page, error) {
	t, err := h.Types.Get(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	v := recordView{Edit: editOf("credential-types", t.ID), Drop: deleteOf("credential-types", t.ID)}
	for _, f := range t.Fields {
		v.Facts = append(v.Facts, fact{f.Name, text(fieldText(f))})
	}
	for name, template := range t.Inject.Env {
		v.Facts = append(v.Facts, fact{name, mono(template)})
	}
	list, _, err := h.Credentials.List(r.Context(), secrets.Filter{TypeID: t.ID}, page.Window{Limit: pageRows})
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	v.Used = table{Caption: "Credentials", Heads: []string{"Credential", "Secret"}, Empty: "No credential is of it",
		Why: "Make one to give it to runs."}
	for _, c := range list {
		v.Used.Rows = append(v.Used.Rows, row{Cells: []cell{{Text: c.Name, Href: "/ui/settings/credentials/" + c.ID},
			secretCell(c)}})
	}
	return show(r, head{Title: t.Name, Sentence: typesOfText(len(list)), Add: "New credential of it",
		New: "/ui/objects/credentials/new?type_id=" + t.ID}, recordPage(v))
}
