package run

import (
	"bytes"
	"context"
	"strings"

	"github.com/a-h/templ"

	"github.com/writ-automation/writ/adapters/web/runview"
	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/runs"
)

// logTail is how many bytes of the output come with the page.
const logTail = 64 << 10

// run shows a run: its matrix and its log, or one of the views that the server makes.
func (h *handlers) run(r *shell.Request) (*shell.Page, error) {
	view := r.URL.Query().Get("view")
	if view != "table" && view != "timeline" && view != "inputs" && view != "plan" {
		view = "matrix"
	}
	top, err := h.head(r, view)
	if err != nil {
		return nil, err
	}
	if r.Header.Get("HX-Request") != "" && r.Header.Get("HX-Target") != "" { // the head alone is asked for
		return page(top, templ.NopComponent), nil
	}
	return h.view(r, top)
}

// view shows a run with one of its views.
func (h *handlers) view(r *shell.Request, top *head) (_ *shell.Page, err error) {
	var body templ.Component
	switch top.View {
	case "table":
		body, err = h.table(r, top)
	case "timeline":
		body, err = h.timeline(r, top)
	case "plan":
		body = proposed(top)
	case "inputs":
		body = inputsView(top)
	default:
		body, err = h.panes(r.Context(), top)
	}
	if err != nil {
		return nil, err
	}
	return page(top, body), nil
}

// page makes a page of a run. The panes of the matrix and the log take the height of the window.
func page(h *head, body templ.Component) *shell.Page {
	class := "runflow"
	if h.View == "matrix" && h.Began() {
		class = "runpage"
	}
	return &shell.Page{Title: title(h.Run), Nav: shell.Runs, Glyph: shell.StateOf(h.Run.Status, h.Run.Spec.DryRun).Glyph,
		Wide: true, Class: class, Body: frame(h, body),
		Parts: map[string]templ.Component{"rhead": top(h), "rwhy": groups(h)}}
}

// panes returns the matrix and the log, or what would run while nothing has.
func (h *handlers) panes(ctx context.Context, top *head) (templ.Component, error) {
	if !top.Began() {
		return h.plan(ctx, top)
	}
	var log *runview.LogView
	if !top.Run.Kind.Parent() || top.Run.LogBytes > 0 {
		v, err := h.log(ctx, top)
		if err != nil {
			return nil, err
		}
		log = &v
	}
	return panesView(top, log), nil
}

// log reads the end of the output. The line that the beginning of that cuts is left out.
func (h *handlers) log(ctx context.Context, top *head) (runview.LogView, error) {
	out := runview.LogView{Run: top.Run, Live: top.Live()}
	view, err := h.Reader.Log(ctx, top.Run.ID, runs.LogRange{Tail: logTail})
	if err != nil {
		return out, err //nolint:wrapcheck // a fault
	}
	var b bytes.Buffer
	if err := view.Copy(ctx, &b); err != nil {
		return out, err //nolint:wrapcheck // a fault
	}
	text := b.Bytes()
	out.Offset = view.From
	if view.From > 0 {
		if i := bytes.IndexByte(text, '\n'); i >= 0 {
			text, out.Offset = text[i+1:], view.From+int64(i)+1
		}
	} else {
		out.First, out.Lines = 1, int64(bytes.Count(text, []byte("\n")))
		if n := len(text); n > 0 && text[n-1] != '\n' {
			out.Lines++
		}
	}
	out.Tail = strings.ToValidUTF8(string(text), "\uFFFD")
	return out, nil
}

// plan is what a run would execute, which is shown while nothing has run.
type plan struct {
	Run     *runs.Run
	Count   int
	Known   bool
	Unknown bool // there may be other hosts
	Groups  []string
	Hosts   []string
	Notes   []string
	Last    *runs.Run
	Inputs  []input
}

// plannedHosts is how many hosts of a plan are named.
const plannedHosts = 40

func (h *handlers) plan(ctx context.Context, top *head) (templ.Component, error) {
	r := top.Run
	out := plan{Run: r, Inputs: inputs(top)}
	switch a := r.Approvals; {
	case a != nil && a.Reach != nil:
		out.Known, out.Count, out.Hosts, out.Unknown = true, len(a.Reach.Hosts), a.Reach.Hosts, a.Reach.Unknown
	case len(r.Spec.LimitHosts) > 0:
		out.Known, out.Count, out.Hosts = true, len(r.Spec.LimitHosts), r.Spec.LimitHosts
	}
	if h.Inventories != nil && r.Spec.InventoryID != "" && len(r.Spec.LimitHosts) == 0 {
		if res, err := h.Inventories.Resolve(ctx, r.Spec.InventoryID, r.Spec.Limit); err == nil {
			out.Groups, out.Notes = res.Groups, res.Warnings
			if !out.Known {
				out.Known, out.Count, out.Hosts = true, res.Count, res.Sample
			}
		}
	}
	if r.Spec.TemplateID != "" {
		list, err := h.Reader.List(ctx, runs.Filter{Templates: []string{r.Spec.TemplateID}, Before: r.CreatedAt, Limit: 1,
			Statuses: []runs.Status{runs.Succeeded, runs.Failed, runs.Canceled, runs.Interrupted}, SkipTotal: true})
		if err != nil {
			return nil, err //nolint:wrapcheck // a fault
		}
		if len(list.Runs) > 0 {
			out.Last = list.Runs[0]
		}
	}
	return planView(out), nil
}
