package run

import (
	"cmp"
	"context"
	"encoding/binary"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/runs"
)

// tableRows is how many hosts one page of the table has.
const tableRows = 50

// table is a page of the hosts of a run.
type table struct {
	Run   *runs.Run
	Rows  []runs.HostSummary
	Sort  string // a column, with a minus for descending
	Query url.Values
	// Total is how many hosts the filters leave, From the place of the first row.
	Total, From int
	Counts      runs.HostCounts
	Text        string
	Outcome     runs.Outcome
	// Cause is the group of failures whose hosts are shown, nil for all hosts.
	Cause *runs.FailureGroup
	// Live is set if the results are those so far.
	Live bool
}

// column is a column of the table that it can be sorted by.
type column struct {
	id, name string
	num      bool
	by       func(h *runs.HostSummary) int64
}

func columns() []column {
	return []column{
		{"host", "Host", false, nil},
		{"worst", "Outcome", false, func(h *runs.HostSummary) int64 { return rank(h.Worst) }},
		{"ok", "Ok", true, func(h *runs.HostSummary) int64 { return int64(h.OK) }},
		{"changed", "Changed", true, func(h *runs.HostSummary) int64 { return int64(h.Changed) }},
		{"failed", "Failed", true, func(h *runs.HostSummary) int64 { return int64(h.Failed) }},
		{"unreachable", "Out of reach", true, func(h *runs.HostSummary) int64 { return int64(h.Unreachable) }},
		{"skipped", "Skipped", true, func(h *runs.HostSummary) int64 { return int64(h.Skipped) }},
		{"time", "Time", true, func(h *runs.HostSummary) int64 { return int64(h.Duration) }},
	}
}

// rank is the place of an outcome in the order from harmless to worst.
func rank(o runs.Outcome) int64 { return int64(slices.Index(runs.Outcomes(), o)) }

func (h *handlers) table(r *shell.Request, top *head) (templ.Component, error) {
	q := r.URL.Query()
	all, err := h.results(r.Context(), top)
	if err != nil {
		return nil, err
	}
	t := table{Run: top.Run, Query: q, Sort: cmp.Or(q.Get("sort"), "-worst"), Counts: runs.HostCounts{},
		Text: strings.TrimSpace(q.Get("host")), Outcome: runs.Outcome(q.Get("outcome")), Live: top.Live()}
	for i := range all {
		t.Counts[all[i].Worst]++
	}
	if task := q.Get("task"); task != "" && h.Insight != nil {
		if t.Cause, err = h.cause(r.Context(), top.Run.ID, task, t.Outcome); err != nil {
			return nil, err
		}
	}
	all = slices.DeleteFunc(all, func(x runs.HostSummary) bool { return !t.fits(&x) })
	t.order(all)
	t.Total = len(all)
	n, _ := strconv.Atoi(q.Get("page"))
	n = min(max(n-1, 0), max(t.Total-1, 0)/tableRows)
	t.From = n * tableRows
	t.Rows = all[t.From:min(t.From+tableRows, t.Total)]
	return tableView(t), nil
}

// cause returns the group of failures of a task, nil for none.
func (h *handlers) cause(ctx context.Context, id, task string, o runs.Outcome) (*runs.FailureGroup, error) {
	groups, err := h.Insight.Failures(ctx, id)
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	for i := range groups {
		if g := &groups[i]; g.Task == task && (o == "" || g.Outcome == o) {
			return g, nil
		}
	}
	return nil, nil
}

func (t *table) fits(h *runs.HostSummary) bool {
	if t.Cause != nil {
		return slices.Contains(t.Cause.Hosts, h.Host)
	}
	return (t.Outcome == "" || h.Worst == t.Outcome) &&
		strings.Contains(strings.ToLower(h.Host), strings.ToLower(t.Text))
}

func (t *table) order(list []runs.HostSummary) {
	id, down := strings.CutPrefix(t.Sort, "-")
	var by func(h *runs.HostSummary) int64
	for _, c := range columns() {
		if c.id == id {
			by = c.by
		}
	}
	slices.SortFunc(list, func(a, b runs.HostSummary) int {
		c := 0
		if by != nil {
			c = cmp.Compare(by(&a), by(&b))
		} else if id == "host" {
			c = strings.Compare(a.Host, b.Host)
		}
		if down {
			c = -c
		}
		return cmp.Or(c, strings.Compare(a.Host, b.Host))
	})
}

// link returns the address of the table with one member of its query changed.
func (t *table) link(name, value string) string {
	q := url.Values{}
	for _, k := range []string{"sort", "host", "outcome", "task"} {
		if v := t.Query.Get(k); v != "" {
			q.Set(k, v)
		}
	}
	q.Set("view", "table")
	if q.Set(name, value); value == "" {
		q.Del(name)
	}
	return "/ui/runs/" + t.Run.ID + "?" + q.Encode() + "#results"
}

// sorted returns the link and the state of the head of a column.
func (t *table) sorted(c column) (link, aria string) {
	id, down := strings.CutPrefix(t.Sort, "-")
	switch {
	case id != c.id && (c.num || c.id == "worst"):
		return t.link("sort", "-"+c.id), "none"
	case id != c.id:
		return t.link("sort", c.id), "none"
	case down:
		return t.link("sort", c.id), "descending"
	}
	return t.link("sort", "-"+c.id), "ascending"
}

func (t *table) at(page int) string { return t.link("page", strconv.Itoa(page)) }

// results returns the results of a run on its hosts. They are stored when it ends, and are counted from its matrix
// before.
func (h *handlers) results(ctx context.Context, top *head) ([]runs.HostSummary, error) {
	if !top.Live() || h.Insight == nil {
		list, err := h.Reader.Hosts(ctx, top.Run.ID)
		return slices.Clone(list), err //nolint:wrapcheck // a fault
	}
	m, err := h.Insight.Matrix(ctx, top.Run.ID, runs.MatrixQuery{})
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	return counted(m), nil
}

// counted sums up the cells of each host of a whole matrix.
func counted(m *runs.Matrix) []runs.HostSummary {
	out := make([]runs.HostSummary, len(m.Names))
	for i, name := range m.Names {
		out[i] = runs.HostSummary{Host: name, Worst: runs.HostSkipped}
	}
	row := 0
	for cells := m.Cells; len(cells) > 1 && len(out) > 0; {
		n, size := binary.Uvarint(cells[1:])
		if size <= 0 {
			break
		}
		for range n {
			add(&out[row], runs.Cell(cells[0]))
			row = (row + 1) % len(out)
		}
		cells = cells[1+size:]
	}
	return out
}

func add(h *runs.HostSummary, c runs.Cell) {
	worst := runs.HostSkipped
	switch c {
	case runs.CellOK:
		h.OK++
		worst = runs.HostOK
	case runs.CellChanged:
		h.OK, h.Changed = h.OK+1, h.Changed+1 // as in the recap of the tool
		worst = runs.HostChanged
	case runs.CellSkipped:
		h.Skipped++
	case runs.CellFailed:
		h.Failed++
		worst = runs.HostFailed
	case runs.CellUnreachable:
		h.Unreachable++
		worst = runs.HostUnreachable
	case runs.CellRescued:
		h.Rescued++
		worst = runs.HostRescued
	case runs.CellIgnored:
		h.Ignored++
		worst = runs.HostIgnored
	}
	if rank(worst) > rank(h.Worst) {
		h.Worst = worst
	}
}
