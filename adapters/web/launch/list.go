package launch

import (
	"cmp"
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/scheduling"
)

// The bounds of the list: its rows, the newest runs from which use is counted, the outcomes of a row, the rows whose
// runs are read one by one, and the pins of an account.
const (
	maxRows    = 50
	maxRecent  = 500
	maxOutcome = 12
	maxAlone   = 20
	maxPins    = 50
)

// pinned is the preference with the ids of pinned templates.
const pinned = "pinned_templates"

// row is a template in the list.
type row struct {
	catalog.Template
	pinned bool
	uses   int
	last   []*runs.Run // the newest first
	next   time.Time
}

// listView is a page of the list.
type listView struct {
	rows         []row
	query        string
	from, total  int
	all          int // templates without the search
	pinnable     bool
	newer, older string
}

func (h *handlers) list(r *shell.Request) (*shell.Page, error) {
	v := listView{query: strings.TrimSpace(r.URL.Query().Get("q"))}
	if n, err := strconv.Atoi(r.URL.Query().Get("from")); err == nil && n > 0 {
		v.from = n
	}
	prefer, err := r.ReadPreferences()
	if err != nil {
		return nil, err //nolint:wrapcheck // a problem
	}
	v.pinnable = prefer != nil
	rows, err := h.rows(r.Context(), &v, pinsOf(prefer))
	if err != nil {
		return nil, err
	}
	v.total, v.from = len(rows), min(v.from, len(rows))
	v.rows = rows[v.from:min(v.from+maxRows, len(rows))]
	v.page()
	if err := h.complete(r.Context(), v.rows); err != nil {
		return nil, err
	}
	return &shell.Page{Title: "Launch", Nav: shell.Launch, Body: listPage(v),
		Parts: map[string]templ.Component{"templates": templates(v)}}, nil
}

// rows returns the templates that fit the search: pinned ones, then the most used, then by name.
func (h *handlers) rows(ctx context.Context, v *listView, pins []string) ([]row, error) {
	list, all, err := h.Templates.List(ctx, catalog.Filter{}, page.Window{})
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	v.all = all
	recent, err := h.Runs.List(ctx, runs.Filter{Limit: maxRecent, SkipTotal: true})
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	of := map[string][]*runs.Run{}
	for _, run := range recent.Runs {
		if id := run.Spec.TemplateID; id != "" {
			of[id] = append(of[id], run)
		}
	}
	var out []row
	for _, t := range list {
		if !strings.Contains(strings.ToLower(t.Name+" "+what(&t.TemplateSpec)), strings.ToLower(v.query)) {
			continue
		}
		used := of[t.ID]
		out = append(out, row{Template: t, pinned: slices.Contains(pins, t.ID), uses: len(used),
			last: used[:min(len(used), maxOutcome)]})
	}
	slices.SortStableFunc(out, func(a, b row) int {
		if a.pinned != b.pinned {
			return map[bool]int{true: -1, false: 1}[a.pinned]
		}
		return cmp.Compare(b.uses, a.uses)
	})
	return out, nil
}

// complete reads the next fires of the rows, and the runs of those that have none among the newest.
func (h *handlers) complete(ctx context.Context, rows []row) error {
	schedules, _, err := h.Schedules.List(ctx, scheduling.Filter{}, page.Window{})
	if err != nil {
		return err //nolint:wrapcheck // a fault
	}
	next := map[string]time.Time{}
	for _, s := range schedules {
		at, known := next[s.Target.TemplateID]
		if s.Enabled && !s.NextRunAt.IsZero() && (!known || s.NextRunAt.Before(at)) {
			next[s.Target.TemplateID] = s.NextRunAt
		}
	}
	alone := 0
	for i := range rows {
		x := &rows[i]
		x.next = next[x.ID]
		if len(x.last) == maxOutcome || alone == maxAlone {
			continue
		}
		alone++
		list, err := h.Runs.List(ctx, runs.Filter{Templates: []string{x.ID}, Limit: maxOutcome, SkipTotal: true})
		if err != nil {
			return err //nolint:wrapcheck // a fault
		}
		x.last = list.Runs
	}
	return nil
}

// page sets the addresses of the pages before and after.
func (v *listView) page() {
	at := func(from int) string {
		q := url.Values{}
		if v.query != "" {
			q.Set("q", v.query)
		}
		if from > 0 {
			q.Set("from", strconv.Itoa(from))
		}
		return "/ui/launch?" + q.Encode()
	}
	if v.from > 0 {
		v.newer = at(max(v.from-maxRows, 0))
	}
	if v.from+len(v.rows) < v.total {
		v.older = at(v.from + len(v.rows))
	}
}

func pinsOf(prefer map[string]json.RawMessage) (out []string) {
	if json.Unmarshal(prefer[pinned], &out) != nil {
		return nil // an account without pins, or a member of another form
	}
	return out
}

// pin adds a template to the pins, or removes it.
func (h *handlers) pin(r *shell.Request) (*shell.Page, error) {
	id := r.PathValue("tpl")
	prefer, err := r.ReadPreferences()
	if err != nil {
		return nil, err //nolint:wrapcheck // a problem
	}
	pins := pinsOf(prefer)
	if i := slices.Index(pins, id); i >= 0 {
		pins = slices.Delete(pins, i, i+1)
	} else {
		pins = append([]string{id}, pins...)
	}
	if err := r.SavePreference(pinned, pins[:min(len(pins), maxPins)]); err != nil {
		return nil, err //nolint:wrapcheck // a problem
	}
	return nil, shell.Redirect("/ui/launch")
}

// what says what a template executes, in a few words.
func what(t *catalog.TemplateSpec) string {
	switch {
	case t.Workflow():
		return shell.Plural(len(t.Steps), "step")
	case t.Playbook != "":
		return t.Playbook
	}
	line, _, _ := strings.Cut(strings.TrimSpace(t.Command), "\n")
	return cmp.Or(t.Tool, runs.Ansible) + ": " + line
}
