package runs

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
)

// The names of the preferences of the list.
const (
	viewsPreference   = "run_views"
	columnsPreference = "run_columns_hidden"
)

// Bounds of saved views.
const (
	maxViews    = 30
	maxViewName = 60
)

// view is a search with a name.
type view struct {
	Name  string `json:"name"`
	Q     string `json:"q,omitempty"`
	Since string `json:"since,omitempty"`
	// stored means that the viewer may change it, team that a team shares it, and current that the page shows it.
	stored, current bool
	team            identity.Team
}

// at returns the address of the view.
func (v view) at() string { return query{Q: v.Q, Since: v.Since}.at() }

// viewsOf returns the views of everybody, those of the viewer and those that a team shares, and the teams.
func (h *handlers) viewsOf(
	r *shell.Request, p shell.Preferences, q query,
) (list []view, teams []shell.Choice, err error) {
	list = []view{{Name: allView}}
	if r.Viewer.SignedIn() {
		list = append(list, view{Name: mineView, Q: term("actor", r.Viewer.Name)})
	}
	list = append(list, view{Name: failedView, Q: "status:failed", Since: "7d"})
	list = append(list, storedViews(p, identity.Team{})...)
	shared, err := h.Shared.Shared(r.Context())
	for _, s := range shared {
		var p shell.Preferences
		_ = json.Unmarshal(s.Document, &p) // another client may store anything
		list = append(list, storedViews(p, s.Team)...)
		teams = append(teams, shell.Choice{Value: s.Team.ID, Label: s.Team.Name})
	}
	for i := range list {
		list[i].current = list[i].Q == q.Q && list[i].Since == q.Since
	}
	return list, teams, err
}

// storedViews returns the views among preferences.
func storedViews(p shell.Preferences, team identity.Team) []view {
	var list []view
	p.Read(viewsPreference, &list)
	list = list[:min(len(list), maxViews)]
	for i := range list {
		list[i].stored, list[i].team = true, team
	}
	return list
}

// saveView stores, renames or deletes a view of the viewer or of a team.
func (h *handlers) saveView(r *shell.Request) (*shell.Page, error) {
	form, err := r.Form()
	if err != nil {
		return nil, err
	}
	var shown view
	err = r.ChangePreference(form.Get("team"), viewsPreference, func(p shell.Preferences) (any, error) {
		var list []view
		p.Read(viewsPreference, &list)
		list, v, err := h.changed(r, form, list)
		shown = v
		return list, err
	})
	if err != nil {
		return nil, err
	}
	return nil, shell.Redirect(shown.at())
}

// changed returns the views after what a form asks for, and the one that it is about.
func (h *handlers) changed(r *shell.Request, form url.Values, list []view) ([]view, view, error) {
	named := func(name string) int {
		return slices.IndexFunc(list, func(v view) bool { return v.Name == name })
	}
	next := view{Name: strings.TrimSpace(form.Get("name")), Q: form.Get("q"), Since: form.Get("since")}
	old := named(form.Get("view"))
	switch action := form.Get("action"); {
	case action == "delete" && old >= 0:
		next, list = list[old], slices.Delete(list, old, old+1)
	case next.Name == "" || len([]rune(next.Name)) > maxViewName:
		return nil, next, fault.BadField("name", "is empty or longer than %d characters", maxViewName)
	case slices.Contains([]string{allView, mineView, failedView}, next.Name):
		return nil, next, fault.BadField("name", "is the name of a view that everybody has")
	case action == "rename" && old >= 0:
		if at := named(next.Name); at >= 0 && at != old {
			return nil, next, fault.BadField("name", "is the name of another view")
		}
		list[old].Name = next.Name
		next = list[old]
	default:
		if _, err := h.filter(r.Context(), query{Q: next.Q, Since: next.Since}, r.Viewer.Zone); err != nil {
			return nil, next, err
		}
		if at := named(next.Name); at >= 0 {
			list[at] = next
		} else if list = append(list, next); len(list) > maxViews {
			return nil, next, fault.BadField("name", "is one view more than the %d that an account or a team can have", maxViews)
		}
	}
	return list, next, nil
}

// column is a column that can be hidden.
type column struct{ ID, Name string }

func columns() []column {
	return []column{{"hosts", "Hosts"}, {"by", "Asked by"}, {"took", "Took"}, {"started", "Started"}}
}

// saveColumns stores which columns are hidden: those without a tick.
func (h *handlers) saveColumns(r *shell.Request) (*shell.Page, error) {
	form, err := r.Form()
	if err != nil {
		return nil, err
	}
	hidden := []string{}
	for _, c := range columns() {
		if !slices.Contains(form["column"], c.ID) {
			hidden = append(hidden, c.ID)
		}
	}
	if err := r.SavePreference(columnsPreference, hidden); err != nil {
		return nil, err
	}
	return nil, shell.Redirect(query{Q: form.Get("q"), Since: form.Get("since")}.at())
}
