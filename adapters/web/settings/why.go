package settings

import (
	"net/url"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
)

// reasons say by which ways an account reaches an object.
type reasons struct {
	Name, Object string
	Level        access.Level // the strongest; empty for none
	Paths        []way
}

// way is one way, and the level that it gives.
type way struct {
	Text, Href string
	Level      access.Level
}

// add adds a way. A viewer gets no more than use, whatever the way gives.
func (x *reasons) add(role identity.Role, w way) {
	if w.Level == access.Manage && role == identity.Viewer {
		w.Level, w.Text = access.Use, w.Text+" "+cappedText
	}
	if w.Level.Covers(x.Level) || x.Level == access.None {
		x.Level = w.Level
	}
	x.Paths = append(x.Paths, w)
}

// why finds the ways as the permission matrix has them: the role, the role in the object's organization, grants to the
// account and to its teams, and the role alone for an object without grants.
func (h *handlers) why(r *shell.Request, user, object string, objects names) (*reasons, error) {
	a, err := h.Accounts.Get(r.Context(), user)
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	out := &reasons{Name: a.Username, Object: objects.of(object)}
	if a.Role == identity.Admin {
		out.add(a.Role, way{Text: adminWay, Level: access.Manage, Href: editOf("users", a.ID)})
	}
	if err := h.byOrg(r, out, a, object); err != nil {
		return nil, err
	}
	grants, total, err := h.Grants.List(r.Context(), identity.GrantFilter{Object: object}, page.Window{Limit: maxRows})
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	for _, g := range grants {
		if err := h.byGrant(r, out, a, g); err != nil {
			return nil, err
		}
	}
	if total == 0 && a.Role != identity.Admin {
		level := access.Read
		if a.Role == identity.Operator {
			level = access.Use
		}
		out.add(a.Role, way{Text: openWay(string(a.Role)), Level: level})
	}
	return out, nil
}

// byOrg adds the role in the organization that owns the object.
func (h *handlers) byOrg(r *shell.Request, out *reasons, a identity.Account, object string) error {
	var o struct {
		Org string `json:"org_id"`
	}
	if _, queue := access.QueueName(object); queue {
		return nil // queues are in no organization
	}
	if err := r.Get("/v1/"+pathOf(identity.KindOf(object))+"/"+url.PathEscape(object), &o); err != nil || o.Org == "" {
		return err //nolint:wrapcheck // a fault
	}
	org, err := h.Orgs.Get(r.Context(), o.Org)
	if err != nil {
		return err //nolint:wrapcheck // a fault
	}
	members, _, err := h.Orgs.Members(r.Context(), o.Org, page.Window{Limit: page.MaxRows})
	for _, m := range members {
		if m.UserID == a.ID && m.Role == identity.OrgAdmin {
			out.add(a.Role, way{Text: orgWay(org.Name), Level: access.Manage, Href: "/ui/settings/orgs/" + org.ID})
		}
	}
	return err //nolint:wrapcheck // a fault
}

// byGrant adds a grant to the account or to one of its teams.
func (h *handlers) byGrant(r *shell.Request, out *reasons, a identity.Account, g identity.Grant) error {
	if g.Subject == identity.UserSubject(a.ID) {
		out.add(a.Role, way{Text: grantWay, Level: g.Level, Href: editOf("grants", g.ID)})
		return nil
	}
	kind, id, ok := identity.SubjectID(g.Subject)
	if !ok || g.Subject != identity.TeamSubject(id) || kind == "" {
		return nil
	}
	team, err := h.Teams.Get(r.Context(), id)
	if err != nil {
		return err //nolint:wrapcheck // a fault
	}
	members, _, err := h.Teams.Members(r.Context(), id, page.Window{Limit: page.MaxRows})
	for _, m := range members {
		if m.UserID == a.ID {
			out.add(a.Role, way{Text: teamWay(team.Name), Level: g.Level, Href: "/ui/settings/teams/" + id})
		}
	}
	return err //nolint:wrapcheck // a fault
}
