package run

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/runs"
)

// The bounds of a timeline.
const (
	maxLanes    = 200
	maxPicked   = 20
	slowestOnes = 5
)

// lane is a line of the timeline: a task, a child, or a task on a host.
type lane struct {
	Name, Note, Href string
	Hue              string
	From, To         time.Time
}

// timeline is a run over time.
type timeline struct {
	Head   *head
	Lanes  []lane
	Picked []lane
	Hosts  string // the hosts that were picked
	Axis   axis
	Tasks  []runs.TaskSummary
	More   int
	Seen   scanned
}

func (h *handlers) timeline(r *shell.Request, top *head) (templ.Component, error) {
	ctx := r.Context()
	out := timeline{Head: top, Hosts: strings.Join(picked(r), ", ")}
	var err error
	if out.Tasks, err = h.Reader.Tasks(ctx, top.Run.ID); err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	if top.Run.Kind.Parent() {
		out.Lanes = childLanes(top)
	} else if err := h.lanes(ctx, &out, picked(r)); err != nil {
		return nil, err
	}
	if out.More = max(len(out.Lanes)-maxLanes, 0); out.More > 0 {
		out.Lanes = out.Lanes[:maxLanes]
	}
	out.Axis = newAxis(append(waits(top), append(out.Lanes, out.Picked...)...), top.Run.CreatedAt, top.At)
	return timelineView(out), nil
}

// picked returns the hosts whose tasks are to be shown one by one.
func picked(r *shell.Request) []string {
	var out []string
	for _, list := range r.URL.Query()["host"] {
		for _, name := range strings.FieldsFunc(list, func(c rune) bool { return c == ',' || c == ' ' }) {
			if len(out) < maxPicked && !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

// childLanes returns a lane for each child that began.
func childLanes(top *head) []lane {
	var out []lane
	for _, c := range top.Children {
		if c.StartedAt.IsZero() {
			continue
		}
		to := c.EndedAt
		if to.IsZero() {
			to = top.At
		}
		out = append(out, lane{Name: childName(c), Note: results(c), Href: "/ui/runs/" + c.ID, From: c.StartedAt, To: to,
			Hue: shell.Hue(shell.StateOf(c.Status, c.Spec.DryRun).Glyph)})
	}
	return out
}

// lanes reads the lanes of tasks from the events: a task begins with its first event and ends with its last result.
func (h *handlers) lanes(ctx context.Context, out *timeline, hosts []string) (err error) {
	at := map[string]int{}
	bad := map[string]int{}
	out.Seen, err = h.scan(ctx, out.Head.Run, 0, 2*scanLimit, func(e *runs.Event) bool {
		if e.Task == "" {
			return true
		}
		key := e.TaskID + "\x00" + e.Play + "\x00" + e.Task
		i, ok := at[key]
		if !ok {
			i = len(out.Lanes)
			at[key] = i
			out.Lanes = append(out.Lanes, lane{Name: e.Task, Note: e.Play, Hue: "idle", From: e.At, To: e.At})
		}
		l := &out.Lanes[i]
		if e.At.After(l.To) {
			l.To = e.At
		}
		o, ended := result(e)
		if !ended {
			return true
		}
		if o == runs.HostFailed || o == runs.HostUnreachable {
			bad[key]++
			l.Hue, l.Note = "fail", shell.Plural(bad[key], "host")+" failed or out of reach"
		}
		if slices.Contains(hosts, e.Host) && len(out.Picked) < maxLanes {
			out.Picked = append(out.Picked, lane{Name: e.Host, Note: e.Task, Hue: shell.Hue(outcomeOf(o).Glyph), To: e.At,
				From: e.At.Add(-time.Duration(e.DurationMS) * time.Millisecond)})
		}
		return true
	})
	slices.SortStableFunc(out.Picked, func(a, b lane) int { return strings.Compare(a.Name, b.Name) })
	return err
}

// waits returns the time before the start as a lane without a name, if it is known.
func waits(top *head) []lane {
	r := top.Run
	if r.StartedAt.IsZero() {
		return nil
	}
	return []lane{{From: r.StartedAt, To: r.StartedAt}}
}

// slowest names the tasks that took longest.
func slowest(t timeline) string {
	list := slices.Clone(t.Tasks)
	slices.SortStableFunc(list, func(a, b runs.TaskSummary) int { return cmp.Compare(b.Duration, a.Duration) })
	var parts []string
	for _, x := range list[:min(len(list), slowestOnes)] {
		parts = append(parts, x.Task+" "+shell.Duration(x.Duration))
	}
	if len(parts) == 0 {
		return ""
	}
	return "Slowest: " + strings.Join(parts, ", ") + "."
}
