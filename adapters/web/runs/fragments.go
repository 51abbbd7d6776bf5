package runs

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// fragment is a page whose only content is a part that scripts ask for.
func fragment(r *shell.Request, c templ.Component) *shell.Page {
	target := r.Header.Get("HX-Target")
	if _, id, ok := strings.Cut(target, "#"); ok {
		target = id
	}
	return &shell.Page{Title: title, Nav: shell.Runs, Body: c, Parts: map[string]templ.Component{target: c}}
}

// rows answers with the rows of some runs as they are now. A run that is gone, or that the viewer may not read any
// more, has none.
func (h *handlers) rows(r *shell.Request) (*shell.Page, error) {
	ids := r.URL.Query()["id"]
	if len(ids) == 0 || len(ids) > rowsShown {
		return nil, fault.BadField("id", "takes 1 to %d runs", rowsShown)
	}
	f, err := h.filter(r.Context(), queryOf(r.URL.Query()), r.Viewer.Zone)
	if err != nil && !fault.Is(err, fault.Invalid) {
		return nil, err
	}
	var list []*runs.Run
	for _, id := range ids {
		run, err := h.Reader.Get(r.Context(), id)
		switch {
		case fault.Is(err, fault.NotFound):
			continue
		case err != nil:
			return nil, err
		}
		list = append(list, run)
	}
	rows := h.rowsOf(r.Context(), list)
	for i := range rows {
		rows[i].Left = !rows[i].Child && len(f.Statuses) > 0 && !slices.Contains(f.Statuses, rows[i].Run.Status)
	}
	return fragment(r, swapRows(rows, r.Viewer.Operator() && r.May("run", "control"))), nil
}

// children answers with the rows of the shards or steps of a run.
func (h *handlers) children(r *shell.Request) (*shell.Page, error) {
	parent, err := h.Reader.Get(r.Context(), r.URL.Query().Get("id"))
	if err != nil {
		return nil, err
	}
	rows, more, err := h.childrenOf(r.Context(), parent.ID)
	if err != nil {
		return nil, err
	}
	return fragment(r, childRows(parent, rows, more)), nil
}

// freshBody says how many runs of a search are newer than the list on the screen.
type freshBody struct {
	Count int  `json:"count"`
	More  bool `json:"more"`
	Held  int  `json:"held"`
}

// fresh counts the runs of a search that were made after the newest one on the screen, up to a page.
func (h *handlers) fresh(r *shell.Request) (*shell.Page, error) {
	f, err := h.filter(r.Context(), queryOf(r.URL.Query()), r.Viewer.Zone)
	if err != nil {
		return nil, err
	}
	body := freshBody{Held: r.Viewer.Held}
	if top := r.URL.Query().Get("after"); top != "" {
		if body.Count, body.More, err = h.newer(r.Context(), f, top); err != nil {
			return nil, err
		}
	}
	return nil, r.JSON(body)
}

func (h *handlers) newer(ctx context.Context, f runs.Filter, top string) (int, bool, error) {
	shown, err := h.Reader.Get(ctx, top)
	if fault.Is(err, fault.NotFound) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	// Runs that were made in the same microsecond as the shown one do not count.
	if after := shown.CreatedAt.Add(time.Microsecond); after.After(f.After) {
		f.After = after
	}
	f.SkipTotal = true
	list, err := h.Reader.List(ctx, f)
	if err != nil {
		return 0, false, err
	}
	return len(list.Runs), list.HasMore, nil
}
