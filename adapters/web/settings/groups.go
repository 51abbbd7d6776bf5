package settings

import (
	"slices"
	"strings"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
)

// teams lists the teams.
func (h *handlers) teams(r *shell.Request) (*shell.Page, error) {
	list, total, err := h.Teams.List(r.Context(), page.Window{Limit: maxRows})
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	t := table{Caption: tabTeams, Heads: []string{"Team", "Made", ""}, Empty: "No teams", Why: teamsWhy}
	for _, x := range list {
		t.Rows = append(t.Rows, row{Cells: []cell{{Text: x.Name, Href: "/ui/settings/teams/" + x.ID}, at(x.CreatedAt)},
			Link: deleteOf("teams", x.ID), LinkText: "Delete"})
	}
	return pageOfList(r, head{Title: tabTeams, Sentence: teamsText(total), Add: "New team",
		New: "/ui/objects/teams/new"}, t, search{Cut: cutText(len(list), len(list), total)})
}

// orgs lists the organizations.
func (h *handlers) orgs(r *shell.Request) (*shell.Page, error) {
	list, total, err := h.Orgs.List(r.Context(), page.Window{Limit: maxRows})
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	t := table{Caption: tabOrgs, Heads: []string{"Organization", "Made", ""}, Empty: "No organizations", Why: orgsWhy}
	for _, x := range list {
		t.Rows = append(t.Rows, row{Cells: []cell{{Text: x.Name, Href: "/ui/settings/orgs/" + x.ID}, at(x.CreatedAt)},
			Link: deleteOf("orgs", x.ID), LinkText: "Delete"})
	}
	return pageOfList(r, head{Title: tabOrgs, Sentence: orgsText(total), Add: "New organization",
		New: "/ui/objects/orgs/new"}, t, search{Cut: cutText(len(list), len(list), total)})
}

// groupView is a team or an organization with its members.
type groupView struct {
	Path     string
	Members  table
	Add      shell.Form
	Roles    []shell.Choice // of an organization
	Accounts []shell.Choice
	Others   table // the grants of a team, or the objects of an organization
	Delete   string
}

// team shows a team.
func (h *handlers) team(r *shell.Request) (*shell.Page, error) {
	id := r.PathValue("id")
	t, err := h.Teams.Get(r.Context(), id)
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	members, total, err := h.Teams.Members(r.Context(), id, page.Window{Limit: maxRows})
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	v := groupView{Path: "/ui/settings/teams/" + id, Delete: deleteOf("teams", id), Others: table{Caption: "Grants",
		Heads: []string{"Object", "Level", ""}, Empty: "No grants",
		Why: "The team has the rights of its members' roles alone."}}
	v.Add = shell.Form{Operation: "add-team-member", Path: map[string]string{"id": id}, Page: v.Path, Next: v.Path,
		Done: "Added."}
	v.Members = membersTable(v.Path, "remove-team-member", id, members, false)
	if v.Accounts, err = h.outside(r, members); err != nil {
		return nil, err
	}
	grants, _, err := h.Grants.List(r.Context(), identity.GrantFilter{Subject: identity.TeamSubject(id)},
		page.Window{Limit: maxRows})
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	names := objectNames(r)
	for _, g := range grants {
		v.Others.Rows = append(v.Others.Rows, row{Cells: []cell{names.cell(g.Object), text(string(g.Level))},
			Link: deleteOf("grants", g.ID), LinkText: "Delete"})
	}
	return show(r, head{Title: t.Name, Sentence: teamText(total, len(grants))}, groupPage(v))
}

// org shows an organization.
func (h *handlers) org(r *shell.Request) (*shell.Page, error) {
	id := r.PathValue("id")
	o, err := h.Orgs.Get(r.Context(), id)
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	members, total, err := h.Orgs.Members(r.Context(), id, page.Window{Limit: maxRows})
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	v := groupView{Path: "/ui/settings/orgs/" + id, Delete: deleteOf("orgs", id), Roles: []shell.Choice{
		{Value: string(identity.OrgMember), Label: "Member"}, {Value: string(identity.OrgAdmin), Label: "Administrator"}}}
	v.Add = shell.Form{Operation: "put-org-member", Path: map[string]string{"id": id}, Page: v.Path, Next: v.Path,
		Done: "Saved."}
	v.Members = membersTable(v.Path, "remove-org-member", id, members, true)
	if v.Accounts, err = h.outside(r, nil); err != nil {
		return nil, err
	}
	v.Others = table{Caption: "Objects", Heads: []string{"Kind", "Number"}, Empty: "No objects", Why: orgsWhy}
	for _, kind := range []string{"templates", "inventories", "projects", "credentials"} {
		var n struct{ Total int }
		if err := r.Get("/v1/"+kind+"?limit=1&org_id="+id, &n); err != nil {
			return nil, err //nolint:wrapcheck // a fault
		}
		if n.Total > 0 {
			v.Others.Rows = append(v.Others.Rows, row{Cells: []cell{text(shell.Words(kind)), text(shell.Count(n.Total))}})
		}
	}
	admins := 0
	for _, m := range members {
		if m.Role == identity.OrgAdmin {
			admins++
		}
	}
	return show(r, head{Title: o.Name, Sentence: orgText(total, admins)}, groupPage(v))
}

func membersTable(path, op, id string, list []identity.Member, roles bool) table {
	t := table{Caption: "Members", Heads: []string{"Account", "Added", ""}, Empty: "No members", Why: membersWhy}
	if roles {
		t.Heads = []string{"Account", "Role", "Added", ""}
	}
	for _, m := range list {
		cells := []cell{{Text: m.Username, Href: editOf("users", m.UserID)}}
		if roles {
			cells = append(cells, text(orgRole(m.Role)))
		}
		t.Rows = append(t.Rows, row{Cells: append(cells, at(m.AddedAt)), Button: "Remove", Form: &shell.Form{Operation: op,
			Path: map[string]string{"id": id, "userID": m.UserID}, Page: path, Next: path, Done: "Removed."}})
	}
	return t
}

// outside returns the accounts that are not members.
func (h *handlers) outside(r *shell.Request, members []identity.Member) ([]shell.Choice, error) {
	names, err := h.accountNames(r)
	if err != nil {
		return nil, err
	}
	out := []shell.Choice{{Label: "Choose one"}}
	for id, name := range names {
		if !slices.ContainsFunc(members, func(m identity.Member) bool { return m.UserID == id }) {
			out = append(out, shell.Choice{Value: id, Label: name})
		}
	}
	slices.SortFunc(out[1:], func(a, b shell.Choice) int { return strings.Compare(a.Label, b.Label) })
	return out, nil
}
