package run

import (
	"context"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// taskResult is what a task did on a host.
type taskResult struct {
	Run       *runs.Run
	Host      string
	Play      string
	Task      string
	TaskID    string
	Outcome   runs.Outcome // empty while there is none
	At        time.Time
	Took      time.Duration
	Message   string
	Stdout    string
	Stderr    string
	RC        *int
	Changes   []change
	Truncated bool
	Attempts  []runs.Event
	Items     []runs.Event
	MoreItems int
	Line      int64 // of the log, 0 if it is not known
}

// maxItems is how many items and attempts of a task are shown.
const maxItems = 50

// take adds an event of the task on the host. It reports whether the task has ended there.
func (t *taskResult) take(e *runs.Event) bool {
	switch e.Type {
	case runs.EventHostRetry:
		if len(t.Attempts) < maxItems {
			t.Attempts = append(t.Attempts, *e)
		}
		return false
	case runs.EventItemOK, runs.EventItemFailed, runs.EventItemSkipped:
		if len(t.Items) < maxItems {
			t.Items = append(t.Items, *e)
		} else {
			t.MoreItems++
		}
		t.Changes = append(t.Changes, changesOf(e.Diff)...)
		return false
	}
	o, ok := result(e)
	if !ok {
		return false
	}
	t.Play, t.Task, t.TaskID, t.Outcome, t.At = e.Play, e.Task, e.TaskID, o, e.At
	t.Took = time.Duration(e.DurationMS) * time.Millisecond
	t.Message, t.Stdout, t.Stderr, t.RC, t.Truncated = e.Message, e.Stdout, e.Stderr, e.RC, e.Truncated
	t.Changes = append(t.Changes, changesOf(e.Diff)...)
	return true
}

// cellView is the content of the drawer of a cell.
type cellView struct {
	Head *head
	taskResult
	Found   bool
	Seen    scanned
	History []past
}

// past is the outcome of the task on the host in an earlier run.
type past struct {
	Run     *runs.Run
	Outcome runs.Outcome
	// Known is false if the events of the run were not looked through to the task.
	Known bool
}

// cell shows a task on a host. The script of the matrix shows it beside the matrix.
func (h *handlers) cell(r *shell.Request) (*shell.Page, error) {
	q := r.URL.Query()
	host, task := q.Get("host"), q.Get("task")
	if host == "" {
		return nil, fault.BadField("host", "is required")
	}
	ctx := r.Context()
	run, err := h.Reader.Get(ctx, r.PathValue("id"))
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	top := &head{Run: run, View: "cell", At: r.Now}
	if run.Kind.Parent() {
		if top.Children, err = h.Reader.Children(ctx, run.ID); err != nil {
			return nil, err //nolint:wrapcheck // a fault
		}
	}
	if task == "" { // the row of a host is chosen
		row := hostView{Head: top, Host: host}
		if err := h.tasksOf(ctx, &row, 0); err != nil {
			return nil, err
		}
		return &shell.Page{Title: host, Nav: shell.Runs, Body: rowPage(row),
			Parts: drawer(rowPart(row))}, nil
	}
	out := cellView{Head: top}
	for _, part := range parts(top, host) {
		out.taskResult = taskResult{Run: part, Host: host, Task: task}
		if out.Found, out.Seen, err = h.find(ctx, part, &out.taskResult, scanLimit); err != nil {
			return nil, err
		}
		if out.Found {
			break
		}
	}
	if out.Run == nil {
		out.taskResult = taskResult{Run: run, Host: host, Task: task}
	}
	if out.Found {
		if out.Line, err = h.line(ctx, &out.taskResult); err != nil {
			return nil, err
		}
		if out.History, err = h.history(ctx, out.Run, &out.taskResult); err != nil {
			return nil, err
		}
	}
	return &shell.Page{Title: host + ": " + taskName(out.Task), Nav: shell.Runs, Body: cellPage(out),
		Parts: drawer(cellPart(out))}, nil
}

// drawer makes a part for the drawer, however the script names its target: a request that a script of htmx makes itself
// has no element of its own.
func drawer(c templ.Component) map[string]templ.Component {
	return map[string]templ.Component{"cell": c, "body": c, "": c}
}

// find reads the result of a task on a host. The task is named by its id or its name. It begins where the task can be
// at the earliest if the run has the tasks one after the other, and looks before that place last.
func (h *handlers) find(ctx context.Context, r *runs.Run, t *taskResult, limit int) (ok bool, s scanned, err error) {
	want := t.Task
	id := want
	if i := strings.LastIndexByte(want, 0); i >= 0 {
		id = want[i+1:]
	}
	from, err := h.earliest(ctx, r, id)
	if err != nil {
		return false, s, err
	}
	look := func(e *runs.Event) bool {
		if e.Host == t.Host && (e.TaskID == id || e.Task == want) {
			ok = t.take(e)
		}
		return !ok
	}
	if s, err = h.scan(ctx, r, from, limit, look); err != nil || ok || from == 0 {
		return ok, s, err
	}
	t.Attempts, t.Items, t.MoreItems, t.Changes = nil, nil, 0, nil
	s, err = h.scan(ctx, r, 0, min(limit, int(from)), look)
	return ok, s, err
}

// earliest returns the number of results of the tasks before one: at least as many events precede it. It is 0 for a
// run whose tasks are not stored yet.
func (h *handlers) earliest(ctx context.Context, r *runs.Run, task string) (int64, error) {
	if r.EventCount <= scanPage {
		return 0, nil
	}
	list, err := h.Reader.Tasks(ctx, r.ID)
	if err != nil {
		return 0, err //nolint:wrapcheck // a fault
	}
	var before int64
	for i := range list {
		if list[i].TaskID == task || list[i].Task == task {
			return before, nil
		}
		before += int64(list[i].Hosts)
	}
	return 0, nil
}

// The bounds of a search for a line and of the runs before.
const (
	maxSearched = 16 << 20
	maxHits     = 1000
	maxHistory  = 12
)

// line returns the number of the line in which the log has the result, 0 if that is not found quickly.
func (h *handlers) line(ctx context.Context, t *taskResult) (int64, error) {
	if h.Insight == nil || t.Run.LogBytes > maxSearched || t.Run.LogBytes == 0 {
		return 0, nil
	}
	at, err := h.Insight.Find(ctx, t.Run.ID, runs.LogQuery{Text: "TASK [" + t.Task + "]", Case: true, Limit: 1})
	if err != nil || len(at.Hits) == 0 {
		return 0, err //nolint:wrapcheck // a fault
	}
	lines, err := h.Insight.Find(ctx, t.Run.ID, runs.LogQuery{Text: "[" + t.Host + "]", Case: true, Limit: maxHits})
	if err != nil {
		return 0, err //nolint:wrapcheck // a fault
	}
	for _, hit := range lines.Hits {
		if hit.Line > at.Hits[0].Line {
			return hit.Line, nil
		}
	}
	return 0, nil
}

// history returns the outcomes of the task on the host in the last runs of the same template, the newest first.
func (h *handlers) history(ctx context.Context, r *runs.Run, t *taskResult) ([]past, error) {
	if r.Spec.TemplateID == "" {
		return nil, nil
	}
	list, err := h.Reader.List(ctx, runs.Filter{Templates: []string{r.Spec.TemplateID}, Host: t.Host, Before: r.CreatedAt,
		Limit: maxHistory, SkipTotal: true})
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	var out []past
	for _, x := range list.Runs {
		p := past{Run: x}
		if !x.Kind.Parent() {
			found := taskResult{Run: x, Host: t.Host, Task: t.Task}
			ok, seen, err := h.find(ctx, x, &found, scanPage)
			if err != nil {
				return nil, err
			}
			p.Outcome, p.Known = found.Outcome, ok || seen.Next == 0 && seen.After == 0
		}
		out = append(out, p)
	}
	return out, nil
}
