package policies

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
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
}

func (h *handlers) list(r *shell.Request) (*shell.Page, error) {
	list, total, err := h.Policies.List(r.Context(), policy.Filter{}, page.Window{Limit: policy.Max})
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	v := listView{Total: total}
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
	Trial  *trial
}

// trial is what a policy would have done to the runs of the past.
type trial struct {
	policy.Simulation
	Actors, Templates []share
	Runs              []*runs.Run
}

// share is how many of the matched runs are of one account or template.
type share struct {
	ID, Name string
	N        int
}

func (h *handlers) one(r *shell.Request) (*shell.Page, error) {
	p, err := h.Policies.Get(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	v := oneView{Policy: p}
	var shown map[string]any
	if err := r.Get("/v1/policies/"+p.ID, &shown); err != nil {
		return nil, err
	}
	b, _ := json.MarshalIndent(shown, "", "  ") // it was JSON
	v.JSON = string(b)
	if r.URL.Query().Has("try") && r.May("policy", "write") {
		if v.Trial, err = h.try(r.Context(), p); err != nil {
			return nil, err
		}
	}
	return &shell.Page{Title: p.Name, Nav: shell.Trust, Body: onePage(v), Parts: parts(v)}, nil
}

// try compares a policy with the runs of the past days.
func (h *handlers) try(ctx context.Context, p policy.Policy) (*trial, error) {
	s, err := h.Policies.Simulate(ctx, p, time.Time{}, time.Time{})
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	t := &trial{Simulation: s, Actors: ranked(s.ByActor), Templates: ranked(s.ByTemplate)}
	for i, a := range t.Actors {
		if account, err := h.Accounts.Get(ctx, a.ID); err == nil {
			t.Actors[i].Name = account.Username
		}
	}
	for _, id := range s.Sample {
		if run, err := h.Runs.Get(ctx, id); err == nil {
			t.Runs = append(t.Runs, run)
		}
	}
	return t, nil
}

// shownShares bounds the accounts and templates of a trial.
const shownShares = 8

// ranked returns the largest shares first.
func ranked(counts map[string]int) []share {
	out := make([]share, 0, len(counts))
	for _, id := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, share{ID: id, Name: shell.ShortID(id), N: counts[id]})
	}
	slices.SortStableFunc(out, func(a, b share) int { return cmp.Compare(b.N, a.N) })
	return out[:min(len(out), shownShares)]
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
