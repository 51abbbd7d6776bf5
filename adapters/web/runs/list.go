package runs

import (
	"context"
	"net/http"
	"net/url"
	"slices"

	"github.com/a-h/templ"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// counts are the runs that have not ended.
type counts struct{ running, held, pending int }

// listView is what the page shows.
type listView struct {
	Query query
	// Echo is the search in words, Problem why it is bad.
	Echo, Problem string
	Counts        counts
	// States are the counts of the chips that are known.
	States map[string]int
	Views  []view
	// Teams are those of the viewer, with which a view can be shared.
	Teams []shell.Choice
	Days  []day
	Shown int
	List  *runs.List
	// Newer and Older are addresses, empty for none.
	Newer, Older string
	Hidden       []string
	// Tick means that the viewer may cancel runs.
	Tick bool
}

func (h *handlers) list(r *shell.Request) (*shell.Page, error) {
	q := queryOf(r.URL.Query())
	v, err := h.view(r, q)
	if err != nil {
		return nil, err
	}
	page := &shell.Page{Title: title, Nav: shell.Runs, Body: listPage(v)}
	if v.Problem != "" {
		page.Status = http.StatusBadRequest
	}
	page.Parts = map[string]templ.Component{"runs-list": listPart(v)}
	return page, nil
}

func (h *handlers) view(r *shell.Request, q query) (*listView, error) {
	ctx := r.Context()
	v := &listView{Query: q, Tick: r.Viewer.Operator() && r.May("run", "control")}
	f, err := h.filter(ctx, q, r.Viewer.Zone)
	if fault.Is(err, fault.Invalid) {
		v.Problem = err.Error()
		// The last good search stays on the page. Without one, there are no rows.
		kept := query{Q: q.Was, Since: q.Since}
		if f, err = h.filter(ctx, kept, r.Viewer.Zone); fault.Is(err, fault.Invalid) {
			kept = query{}
			f, err = h.filter(ctx, kept, r.Viewer.Zone)
		}
		v.Query.Was, q = kept.Q, kept
	}
	if err != nil {
		return nil, err
	}
	v.Echo = echo(ctx, q, &f)
	if err := h.page(ctx, v, q, f); err != nil {
		return nil, err
	}
	if err := h.count(ctx, r, v, q); err != nil {
		return nil, err
	}
	p, err := r.ReadPreferences()
	if err != nil {
		return nil, err
	}
	p.Read(columnsPreference, &v.Hidden)
	v.Views, v.Teams, err = h.viewsOf(r, p, v.Query)
	return v, err
}

// page reads the rows. A page of newer runs is read backwards; if it is the newest one, it is shown as that.
func (h *handlers) page(ctx context.Context, v *listView, q query, f runs.Filter) error {
	f.Cursor, f.Oldest = q.Older, false
	if q.Newer != "" {
		f.Cursor, f.Oldest = q.Newer, true
	}
	list, err := h.Reader.List(ctx, f)
	if err != nil {
		return err
	}
	if f.Oldest && !list.HasMore {
		return shell.Redirect(q.at())
	}
	shown := slices.Clone(list.Runs)
	first, last := list.FirstCursor, list.NextCursor
	if f.Oldest {
		slices.Reverse(shown)
		first, last = last, first
	}
	v.List, v.Shown = list, len(shown)
	if !q.newest() && len(shown) > 0 {
		v.Newer = q.with("newer", first)
	}
	if last != "" {
		v.Older = q.with("older", last)
	}
	rows, err := h.opened(ctx, h.rowsOf(ctx, shown), q.Open)
	v.Days = daysOf(ctx, rows)
	return err
}

// childrenShown bounds the children that a parent unfolds.
const childrenShown = 50

// opened adds the children of one parent below it.
func (h *handlers) opened(ctx context.Context, rows []row, parent string) ([]row, error) {
	at := slices.IndexFunc(rows, func(x row) bool { return x.Run.ID == parent && x.Run.Kind.Parent() })
	if at < 0 {
		return rows, nil
	}
	kids, _, err := h.childrenOf(ctx, parent)
	if err != nil {
		return nil, err
	}
	rows[at].Open = true
	for i := range kids {
		kids[i].Run = withTime(kids[i].Run, rows[at].Run)
	}
	return slices.Insert(rows, at+1, kids...), nil
}

// withTime returns a child that is grouped with its parent.
func withTime(kid, parent *runs.Run) *runs.Run {
	c := *kid
	if c.StartedAt.IsZero() {
		c.StartedAt = c.CreatedAt
	}
	c.CreatedAt = parent.CreatedAt
	return &c
}

func (h *handlers) childrenOf(ctx context.Context, parent string) (rows []row, more int, err error) {
	list, err := h.Reader.Children(ctx, parent)
	if err != nil {
		return nil, 0, err
	}
	more = max(len(list)-childrenShown, 0)
	for _, kid := range list[:len(list)-more] {
		rows = append(rows, rowOf(kid))
	}
	return rows, more, nil
}

// count reads how many runs are in a state: those that have not ended from counters, and those of the search from the
// API, which leaves out what it cannot count without a scan.
func (h *handlers) count(ctx context.Context, r *shell.Request, v *listView, q query) error {
	v.Counts.held = r.Viewer.Held
	for s, n := range map[runs.Status]*int{runs.Running: &v.Counts.running, runs.Pending: &v.Counts.pending} {
		list, err := h.Reader.List(ctx, runs.Filter{Statuses: []runs.Status{s}, Limit: 1})
		if err != nil {
			return err
		}
		*n = list.Total
	}
	var found struct {
		Facets struct {
			Status map[string]int `json:"status"`
		} `json:"facets"`
	}
	// The chips are shown without numbers if the API has none.
	if r.Get("/v1/runs/facets?"+url.Values{"q": {withoutStates(q.Q)}}.Encode(), &found) == nil {
		v.States = found.Facets.Status
	}
	return nil
}

// chipStates are the states of the chips, those that need attention first.
func chipStates() []runs.Status {
	return []runs.Status{runs.Running, runs.PendingApproval, runs.Pending, runs.Failed, runs.Interrupted, runs.Canceled,
		runs.Rejected, runs.Succeeded}
}
