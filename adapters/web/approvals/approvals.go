package approvals

import (
	"context"
	"strings"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/runs"
)

// The bounds of the list: its rows, and those of them whose hosts are read.
const (
	maxRows    = 100
	maxReached = 10
)

type handlers struct{ Params }

// New returns the section.
func New(p Params) shell.Section {
	h := &handlers{Params: p}
	return shell.Section{Name: "approvals", Register: func(s *shell.Shell) {
		read := identity.Need{Kind: "run", Act: "read"}
		s.Get("/ui/approvals", read, h.list)
		s.Get("/ui/approvals/{run}", read, h.one)
		s.Post("/ui/approvals/{run}/reject", identity.Need{Kind: "run", Act: "approve"}, h.reject)
	}}
}

// row is a held run in the list.
type row struct {
	run   *runs.Run
	reach *runs.Reach // nil if it was not read
	other bool        // the viewer asked for it, and somebody else must decide
}

// waiting is the list of held runs.
type waiting struct {
	rows  []row
	total int
	at    string // the id of the run that is shown beside the list
}

func (h *handlers) list(r *shell.Request) (*shell.Page, error) {
	w, err := h.waiting(r)
	if err != nil {
		return nil, err
	}
	var v *request
	if len(w.rows) > 0 {
		if v, err = h.request(r, w.rows[0].run.ID); err != nil {
			return nil, err
		}
		w.at = v.run.ID
	}
	return &shell.Page{Title: title, Nav: shell.Approvals, Body: both(w, v, false)}, nil
}

func (h *handlers) one(r *shell.Request) (*shell.Page, error) {
	v, err := h.request(r, r.PathValue("run"))
	if err != nil {
		return nil, err
	}
	w, err := h.waiting(r)
	if err != nil {
		return nil, err
	}
	w.at = v.run.ID
	state := shell.StateOf(v.run.Status, v.run.Spec.DryRun)
	return &shell.Page{Title: state.Word + ": " + shell.RunName(v.run), Nav: shell.Approvals, Glyph: state.Glyph,
		Body: both(w, v, true)}, nil
}

// waiting reads the held runs, the oldest first.
func (h *handlers) waiting(r *shell.Request) (waiting, error) {
	list, err := h.Runs.List(r.Context(), runs.Filter{Statuses: []runs.Status{runs.PendingApproval}, Oldest: true,
		Limit: maxRows})
	if err != nil {
		return waiting{}, err //nolint:wrapcheck // a fault
	}
	w := waiting{total: list.Total}
	for i, run := range list.Runs {
		x := row{run: run, other: distinct(run) && requested(run, r.Viewer.ID)}
		if i < maxReached {
			x.reach = h.reachOf(r.Context(), run.ID)
		}
		w.rows = append(w.rows, x)
	}
	return w, nil
}

// reachOf returns the hosts of a held run, nil if they cannot be read now.
func (h *handlers) reachOf(ctx context.Context, id string) *runs.Reach {
	run, err := h.Runs.Get(ctx, id)
	if err != nil || run.Approvals == nil {
		return nil
	}
	return run.Approvals.Reach
}

// requested reports whether an account asked for a run, by itself or by what acts for it.
func requested(r *runs.Run, account string) bool {
	id := r.Requester().ID
	return id != "" && id == account
}

func distinct(r *runs.Run) bool {
	if r.Approvals == nil {
		return false
	}
	for _, hold := range r.Approvals.Holds {
		if hold.Distinct {
			return true
		}
	}
	return false
}

// reject requires a reason, since the person who asked for the run reads it.
func (h *handlers) reject(r *shell.Request) (*shell.Page, error) {
	form, err := r.Form()
	if err != nil {
		return nil, err //nolint:wrapcheck // a fault
	}
	if !form.Has("_copy") && strings.TrimSpace(form.Get("reason")) == "" {
		return nil, r.Again("reject-run", shell.Invalid("reason", reasonMissing))
	}
	return r.Do("reject-run", map[string]string{"id": r.PathValue("run")}) //nolint:wrapcheck // a fault
}
