package runs

import (
	"slices"
	"strings"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/fault"
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
	// own means that the viewer saved it, current that the page shows it.
	own, current bool
}

// at returns the address of the view.
func (v view) at() string { return query{Q: v.Q, Since: v.Since}.at() }

// viewsOf returns the views of everybody and those of the viewer.
func viewsOf(r *shell.Request, p shell.Preferences, q query) []view {
	list := []view{{Name: allView}}
	if r.Viewer.SignedIn() {
		list = append(list, view{Name: mineView, Q: term("actor", r.Viewer.Name)})
	}
	list = append(list, view{Name: failedView, Q: "status:failed", Since: "7d"})
	var own []view
	p.Read(viewsPreference, &own)
	for _, v := range own[:min(len(own), maxViews)] {
		v.own = true
		list = append(list, v)
	}
	for i := range list {
		list[i].current = list[i].Q == q.Q && list[i].Since == q.Since
	}
	return list
}

// saveView stores, renames or deletes a view of the viewer.
func (h *handlers) saveView(r *shell.Request) (*shell.Page, error) {
	form, err := r.Form()
	if err != nil {
		return nil, err
	}
	p, err := r.ReadPreferences()
	if err != nil {
		return nil, err
	}
	var own []view
	p.Read(viewsPreference, &own)
	named := func(name string) int {
		return slices.IndexFunc(own, func(v view) bool { return v.Name == name })
	}
	next := view{Name: strings.TrimSpace(form.Get("name")), Q: form.Get("q"), Since: form.Get("since")}
	old := named(form.Get("view"))
	switch action := form.Get("action"); {
	case action == "delete" && old >= 0:
		next, own = own[old], slices.Delete(own, old, old+1)
	case next.Name == "" || len([]rune(next.Name)) > maxViewName:
		return nil, fault.BadField("name", "is empty or longer than %d characters", maxViewName)
	case slices.Contains([]string{allView, mineView, failedView}, next.Name):
		return nil, fault.BadField("name", "is the name of a view that everybody has")
	case action == "rename" && old >= 0:
		if at := named(next.Name); at >= 0 && at != old {
			return nil, fault.BadField("name", "is the name of another view")
		}
		own[old].Name = next.Name
		next = own[old]
	default:
		if _, err := h.filter(r.Context(), query{Q: next.Q, Since: next.Since}, r.Viewer.Zone); err != nil {
			return nil, err
		}
		if at := named(next.Name); at >= 0 {
			own[at] = next
		} else if own = append(own, next); len(own) > maxViews {
			return nil, fault.BadField("name", "is one view more than the %d that an account can have", maxViews)
		}
	}
	if err := r.SavePreference(viewsPreference, own); err != nil {
		return nil, err
	}
	return nil, shell.Redirect(next.at())
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
