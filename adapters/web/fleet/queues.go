package fleet

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
)

// The operations of the forms.
const (
	limitQueue  = "update-queue"
	moveRun     = "move-run"
	revokeToken = "revoke-worker-token"
)

const (
	shownQueues  = 200
	shownWorkers = 200
	shownPending = 25 // waiting runs with their reasons
	shownRunning = 200
	shownTokens  = 200
)

// queuesView is the page of queues and workers.
type queuesView struct {
	Queues               []queueRow
	Names                []string
	QueueTotal           int
	Workers              []workerRow
	WorkerTotal          int
	Executors, Busy      int // of fresh workers
	Pending              []waiting
	PendingTotal         int
	PendingMore, Limited bool
	Tokens               []execution.WorkerToken
	ShowTokens           bool
	Minted               *mintedView
	Now                  time.Time
}

type queueRow struct {
	execution.Queue
	Oldest *runs.Run // the run that waits longest
}

type workerRow struct {
	execution.Worker
	Runs []*runs.Run // that it executes, of those that the reader may read
}

// waiting is a pending run and why it waits.
type waiting struct {
	*runs.Run
	Reasons []runs.Reason
}

// mintedView is the answer to the form of a new token.
type mintedView struct {
	Name, Queues, Days string
	Token              string
	Problem            *httpapi.Problem
}

func (h *handlers) queues(r *shell.Request) (*shell.Page, error) { return h.queuesPage(r, nil) }

func (h *handlers) queuesPage(r *shell.Request, minted *mintedView) (*shell.Page, error) {
	v := queuesView{Minted: minted, Now: r.Now, Limited: r.May("queue", "write"), ShowTokens: r.May("worker_token",
		"read")}
	list, total, err := h.Queues.Queues(r.Context(), page.Window{Limit: shownQueues})
	if err != nil {
		return nil, err
	}
	v.QueueTotal = total
	for _, q := range list {
		row := queueRow{Queue: q}
		if q.Pending > 0 {
			f := runs.Filter{Statuses: []runs.Status{runs.Pending}, Queue: q.Name, Oldest: true, Limit: 1, SkipTotal: true}
			if first, err := h.Runs.List(r.Context(), f); err == nil && len(first.Runs) > 0 {
				row.Oldest = first.Runs[0]
			}
		}
		v.Queues, v.Names = append(v.Queues, row), append(v.Names, q.Name)
	}
	if err := h.workers(r, &v); err != nil {
		return nil, err
	}
	if err := h.pending(r, &v); err != nil {
		return nil, err
	}
	if v.ShowTokens {
		if v.Tokens, _, err = h.Tokens.List(r.Context(), page.Window{Limit: shownTokens}); err != nil {
			return nil, err
		}
	}
	out := &shell.Page{Title: "Queues", Nav: shell.Fleet, Body: queuesPage(v)}
	if minted != nil && minted.Problem != nil {
		out.Status = minted.Problem.Status
	}
	return out, nil
}

// workers adds the executors and what each of them runs.
func (h *handlers) workers(r *shell.Request, v *queuesView) error {
	list, total, err := h.Workers.Workers(r.Context(), page.Window{Limit: shownWorkers})
	if err != nil {
		return err
	}
	running, err := h.Runs.List(r.Context(), runs.Filter{Statuses: []runs.Status{runs.Running}, Limit: shownRunning,
		SkipTotal: true})
	if err != nil {
		return err
	}
	v.WorkerTotal = total
	for _, w := range list {
		row := workerRow{Worker: w}
		for _, x := range running.Runs {
			if x.Worker == w.Name {
				row.Runs = append(row.Runs, x)
			}
		}
		if w.Fresh {
			v.Executors, v.Busy = v.Executors+w.Executors, v.Busy+w.Running
		}
		v.Workers = append(v.Workers, row)
	}
	slices.SortStableFunc(v.Workers, func(a, b workerRow) int { // stale ones first
		switch {
		case a.Fresh == b.Fresh:
			return 0
		case b.Fresh:
			return -1
		}
		return 1
	})
	return nil
}

// pending adds the runs that wait longest, with their reasons.
func (h *handlers) pending(r *shell.Request, v *queuesView) error {
	list, err := h.Runs.List(r.Context(), runs.Filter{Statuses: []runs.Status{runs.Pending}, Oldest: true,
		Limit: shownPending})
	if err != nil {
		return err
	}
	v.PendingTotal, v.PendingMore = list.Total, list.HasMore
	for _, x := range list.Runs {
		w := waiting{Run: x}
		if h.Insight != nil {
			if why, err := h.Insight.Why(r.Context(), x.ID); err == nil { // it may have started meanwhile
				w.Reasons = why.Reasons
			}
		}
		v.Pending = append(v.Pending, w)
	}
	return nil
}

// others returns the queues that a run can be moved to.
func others(names []string, from string) []shell.Choice {
	var out []shell.Choice
	for _, n := range names {
		if n != from && !(from == "" && n == runs.DefaultQueue) {
			out = append(out, shell.Choice{Value: n, Label: n})
		}
	}
	return out
}

const day = 24 * 60 * 60

// mint makes a token for a worker. Its text is on this page alone, so that no address and no cookie has it.
func (h *handlers) mint(r *shell.Request) (*shell.Page, error) {
	form, err := r.Form()
	if err != nil {
		return nil, err
	}
	m := &mintedView{Name: form.Get("name"), Queues: form.Get("queues"), Days: form.Get("days")}
	body := map[string]any{"name": m.Name}
	if queues := strings.FieldsFunc(m.Queues, func(c rune) bool {
		return c == ',' || c == ' ' ||
			c == '\n'
	}); len(queues) > 0 {
		body["queues"] = queues
	}
	if m.Days != "" {
		if n := number(m.Days); n > 0 {
			body["expires_in"] = n * day
		} else {
			m.Problem = &httpapi.Problem{Status: http.StatusBadRequest, Text: "The number of days must be 1 or more."}
			return h.queuesPage(r, m)
		}
	}
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err //nolint:wrapcheck // texts and numbers always encode
	}
	answer := r.Call(httpapi.Call{Method: http.MethodPost, Path: "/v1/worker-tokens", Body: text})
	if !answer.OK() {
		m.Problem = &httpapi.Problem{Status: answer.Status}
		if json.Unmarshal(answer.Body, m.Problem) != nil || m.Problem.Text == "" {
			m.Problem.Text = http.StatusText(answer.Status)
		}
		return h.queuesPage(r, m)
	}
	var made struct {
		Token string `json:"token"`
	}
	if err := json.Unmarshal(answer.Body, &made); err != nil {
		return nil, err //nolint:wrapcheck // a body of this process
	}
	m.Token = made.Token
	r.Writer.Header().Set("Cache-Control", "no-store")
	return h.queuesPage(r, m)
}
