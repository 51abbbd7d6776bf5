package policies

import (
	"encoding/json"
	"time"

	"github.com/writ-automation/writ/adapters/web/policyview"
	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/scheduling"
)

type handlers struct{ Params }

// New returns the section.
func New(p Params) shell.Section {
	h := &handlers{Params: p}
	policies := identity.Need{Kind: "policy", Act: "read"}
	windows := identity.Need{Kind: "window", Act: "read"}
	return shell.Section{Name: "policies", Register: func(s *shell.Shell) {
		s.Get("/ui/trust/policies", policies, h.list)
		s.Get("/ui/trust/policies/{id}", policies, h.one)
		s.Get("/ui/trust/windows", windows, h.windows)
		s.Get("/ui/trust/windows/{id}", windows, h.window)
	}}
}

// listView is all policies in the order in which they are evaluated.
type listView struct {
	Deny, Hold, Off []policy.Policy
	Total           int
	File            string
}

func (h *handlers) list(r *shell.Request) (*shell.Page, error) {
	list, total, err := h.Policies.List(r.Context(), policy.Filter{}, page.Window{Limit: policy.Max})
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	v := listView{Total: total, File: h.Source.Path}
	for _, p := range list {
		switch {
		case !p.Enabled:
			v.Off = append(v.Off, p)
		case p.Effect == policy.Deny:
			v.Deny = append(v.Deny, p)
		default:
			v.Hold = append(v.Hold, p)
		}
	}
	return &shell.Page{Title: policiesText, Nav: shell.Trust, Body: listPage(v)}, nil
}

// oneView is one policy, with what it would have done if that was asked for.
type oneView struct {
	Policy policy.Policy
	JSON   string
	Trial  *policyview.Trial
	// File is where the policies are, if a file is the only source of them.
	File string
}

func (h *handlers) one(r *shell.Request) (*shell.Page, error) {
	p, err := h.Policies.Get(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	v := oneView{Policy: p, File: h.Source.Path}
	shown := map[string]any{}
	if err := r.Get("/v1/policies/"+p.ID, &shown); err != nil {
		return nil, err
	}
	b, _ := json.MarshalIndent(shown, "", "  ") // it was JSON
	v.JSON = string(b)
	if r.URL.Query().Has("try") && r.May("policy", "write") {
		for _, name := range []string{"id", "created_at", "created_by", "updated_at"} {
			delete(shown, name)
		}
		if v.Trial, err = policyview.Try(r, shown); err != nil {
			return nil, err //nolint:wrapcheck // a fault
		}
	}
	return &shell.Page{Title: p.Name, Nav: shell.Trust, Body: onePage(v), Parts: parts(v)}, nil
}

// windowsView is all windows.
type windowsView struct {
	Windows []policy.Window
	Total   int
}

func (h *handlers) windows(r *shell.Request) (*shell.Page, error) {
	list, total, err := h.Windows.List(r.Context(), policy.Filter{}, page.Window{Limit: policy.MaxWindows})
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	v := windowsView{Windows: list, Total: total}
	return &shell.Page{Title: windowsText, Nav: shell.Trust, Body: windowsPage(v)}, nil
}

// windowView is one window with its next occurrences.
type windowView struct {
	Window policy.Window
	Next   []time.Time
	Notes  []string
}

func (h *handlers) window(r *shell.Request) (*shell.Page, error) {
	w, err := h.Windows.Get(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	v := windowView{Window: w}
	if w.Cron != "" {
		if next, err := h.Planner.Preview(w.Cron, w.Timezone, scheduling.DefaultPreview); err == nil {
			v.Next, v.Notes = next.Next, next.Notes
		}
	}
	return &shell.Page{Title: w.Name, Nav: shell.Trust, Body: windowPage(v)}, nil
}
