package run

import (
	"context"
	"slices"
	"time"

	"github.com/writ-automation/writ/adapters/web/adviceview"
	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// Bounds of the head of a run.
const (
	maxGroups   = 4      // causes of failure that are shown
	maxChildren = 64     // children that are drawn
	lastRuns    = 5      // runs whose median duration is the estimate
	quickEvents = 20_000 // failures of runs with more events are read after the page is shown
)

// head is what the top of each page of a run shows.
type head struct {
	Run  *runs.Run
	View string // the id of the current view
	// Template and Inventory are names, empty if the viewer may not read the objects.
	Template, Inventory string
	Children            []*runs.Run
	Plan                *shell.Plan // nil for a run without one
	Groups              []runs.FailureGroup
	// Later is set if Groups are to be read after the page is shown.
	Later   bool
	Reasons []runs.Reason
	// Advice is the explanation that was asked for, nil for none.
	Advice *adviceview.Advice
	Task   string // that a running run is at
	// Median is how long the last Ended runs of the same source took.
	Median     time.Duration
	Ended      int
	Seal       seal
	Prev, Next string // ids of runs of the same source
	Bad        int    // children that failed
	At         time.Time
}

// seal is the server's claim about the proof of a run.
type seal struct {
	Known  bool
	Entry  int64
	Sealed bool
}

// Live reports whether the run can still change.
func (h *head) Live() bool { return !h.Run.Status.Terminal() }

// Began reports whether there is something to show besides what would run.
func (h *head) Began() bool {
	r := h.Run
	return !r.StartedAt.IsZero() || r.LogBytes > 0 || r.Status == runs.Running
}

// Grid reports whether the run has hosts and tasks.
func (h *head) Grid() bool {
	r := h.Run
	return len(r.Hosts) > 0 || h.Live() && r.Spec.Tool == runs.Ansible && r.Kind != runs.Pipeline
}

// head reads what the top of the pages of a run shows.
func (h *handlers) head(r *shell.Request, view string) (*head, error) {
	run, err := h.Reader.Get(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	out := &head{Run: run, View: view, At: r.Now}
	ctx := r.Context()
	if run.Kind.Parent() {
		if out.Children, err = h.Reader.Children(ctx, run.ID); err != nil {
			return nil, err //nolint:wrapcheck // a fault
		}
		for _, c := range out.Children {
			if c.Status == runs.Failed || c.Status == runs.Interrupted {
				out.Bad++
			}
		}
	}
	if h.Plans != nil && (run.Spec.PlanDigest != "" || run.Spec.DryRun && run.Spec.Tool != runs.Ansible) {
		if out.Plan, err = shell.PlanOf(h.Plans.Plan(ctx, run.ID)); err != nil {
			return nil, err //nolint:wrapcheck // a fault
		}
	}
	h.names(ctx, out)
	if err := h.why(ctx, out, r.URL.Query().Has("why")); err != nil {
		return nil, err
	}
	if run.Status == runs.Running {
		h.running(ctx, out)
	}
	return out, h.seal(ctx, out)
}

// names reads the names of what the run refers to. An object that was deleted or may not be read is left out.
func (h *handlers) names(ctx context.Context, out *head) {
	spec := &out.Run.Spec
	if spec.TemplateID != "" && h.Templates != nil {
		if t, err := h.Templates.Get(ctx, spec.TemplateID); err == nil {
			out.Template = t.Name
		}
		out.Prev, out.Next = h.neighbours(ctx, out.Run)
	}
	if spec.InventoryID != "" && h.Inventories != nil {
		if i, err := h.Inventories.Get(ctx, spec.InventoryID); err == nil {
			out.Inventory = i.Name
		}
	}
}

// neighbours returns the ids of the runs before and after one of the same template.
func (h *handlers) neighbours(ctx context.Context, r *runs.Run) (prev, next string) {
	f := runs.Filter{Templates: []string{r.Spec.TemplateID}, Limit: 2, SkipTotal: true}
	before, after := f, f
	before.Before = r.CreatedAt
	after.After, after.Oldest = r.CreatedAt, true
	if l, err := h.Reader.List(ctx, before); err == nil && len(l.Runs) > 0 {
		prev = l.Runs[0].ID
	}
	if l, err := h.Reader.List(ctx, after); err == nil {
		for _, x := range l.Runs {
			if x.ID != r.ID {
				return prev, x.ID
			}
		}
	}
	return prev, next
}

// why reads why the run failed, waits or is held.
func (h *handlers) why(ctx context.Context, out *head, now bool) (err error) {
	run := out.Run
	if h.Insight == nil {
		return nil
	}
	switch {
	case !run.Status.Terminal() && run.Status != runs.Running:
		e, err := h.Insight.Why(ctx, run.ID)
		if err != nil {
			return err //nolint:wrapcheck // a fault
		}
		out.Reasons = e.Reasons
	case run.Status.Terminal() && run.Status != runs.Rejected && out.Grid() && broken(run):
		if events(out) > quickEvents && !now {
			out.Later = true
			return nil
		}
		out.Groups, err = h.Insight.Failures(ctx, run.ID)
	}
	return err //nolint:wrapcheck // a fault
}

// broken reports whether the run has failures to explain.
func broken(r *runs.Run) bool {
	return r.Hosts[runs.HostFailed]+r.Hosts[runs.HostUnreachable]+r.Hosts[runs.HostRescued] > 0
}

// events returns the number of events of the run and its children.
func events(h *head) int64 {
	n := h.Run.EventCount
	for _, c := range h.Children {
		n += c.EventCount
	}
	return n
}

// running reads where a run is, and how long the runs before it took. Without these, the page is shown without them.
func (h *handlers) running(ctx context.Context, out *head) {
	r := out.Run
	if p, err := h.Reader.Events(ctx, r.ID, max(r.EventCount-1, 0), 1); err == nil && len(p.Events) > 0 {
		out.Task = p.Events[0].Task
	}
	if r.Spec.TemplateID == "" {
		return
	}
	list, err := h.Reader.List(ctx, runs.Filter{Templates: []string{r.Spec.TemplateID}, Before: r.CreatedAt,
		Statuses: []runs.Status{runs.Succeeded, runs.Failed}, Limit: lastRuns, SkipTotal: true})
	if err != nil {
		return
	}
	var took []time.Duration
	for _, x := range list.Runs {
		if d := x.Duration(out.At); d > 0 && x.Spec.DryRun == r.Spec.DryRun {
			took = append(took, d)
		}
	}
	if slices.Sort(took); len(took) > 0 {
		out.Median, out.Ended = took[len(took)/2], len(took)
	}
}

// seal reads the newest entry of the run that the viewer may see.
func (h *handlers) seal(ctx context.Context, out *head) error {
	id := out.Run.ID
	if out.Run.ParentID != "" {
		id = out.Run.ParentID
	}
	page, err := h.Trail.Page(ctx, audit.Filter{Object: "run/" + id, Limit: 1})
	switch {
	case err == nil && len(page.Lines) > 0:
		out.Seal = seal{Known: true, Entry: page.Lines[0].Seq, Sealed: out.Run.Status.Terminal()}
		return nil
	case err != nil && !fault.Is(err, fault.Forbidden) && !fault.Is(err, fault.NotFound):
		return err //nolint:wrapcheck // a fault
	}
	first, ok, err := h.Trail.ReceiptOf(ctx, id)
	if err == nil && ok {
		out.Seal = seal{Known: true, Entry: first.Seq, Sealed: out.Run.Status.Terminal()}
	}
	return err //nolint:wrapcheck // a fault
}
