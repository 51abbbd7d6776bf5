package runs_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	module "github.com/writ-automation/writ/modules/runs"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// modelRun is the model's state of one run.
type modelRun struct {
	id     string
	status runs.Status
	begun  bool
	asked  bool // to be cancelled
	lease  *runs.Lease
	events int64
}

// model drives the module with random commands and predicts the result of each.
type model struct {
	b    *bundle
	runs []*modelRun
	old  []runs.Lease // expired leases
}

func (m *model) pick(t *rapid.T) *modelRun {
	if len(m.runs) == 0 {
		m.submit(t)
	}
	return rapid.SampledFrom(m.runs).Draw(t, "run")
}

// want checks that a command was refused exactly if the model predicts it.
func want(t *rapid.T, what string, err error, allowed bool, codes ...fault.Code) {
	switch {
	case allowed && err != nil:
		t.Fatalf("%s: %v", what, err)
	case !allowed && !slices.ContainsFunc(codes, func(c fault.Code) bool { return c.Is(err) }):
		t.Fatalf("%s was not refused as it should be: %v", what, err)
	}
}

func (r *modelRun) move(to runs.Status) {
	r.status = to
	r.events++
}

func (m *model) drop(r *modelRun) {
	if r.lease != nil {
		m.old = append(m.old, *r.lease)
		r.lease = nil
	}
}

func (m *model) submit(t *rapid.T) {
	s := script()
	s.RequireApproval = rapid.Bool().Draw(t, "held")
	r, _, err := m.b.Submitter.Submit(m.b.t.Context(), s)
	want(t, "submit", err, true)
	m.runs = append(m.runs, &modelRun{id: r.ID, status: r.Status})
}

func (m *model) approve(t *rapid.T) {
	r := m.pick(t)
	held := r.status == runs.PendingApproval
	to := runs.Pending
	var err error
	if rapid.Bool().Draw(t, "yes") {
		_, err = m.b.Approver.Approve(admin(m.b.t.Context()), r.id, runs.DecisionInput{})
	} else {
		to = runs.Rejected
		_, err = m.b.Approver.Reject(admin(m.b.t.Context()), r.id, runs.DecisionInput{})
	}
	want(t, "decide", err, held, runs.RunNotHeld)
	if held {
		r.move(to)
	}
}

func (m *model) cancel(t *rapid.T) {
	r := m.pick(t)
	_, err := m.b.Controller.Cancel(m.b.t.Context(), r.id)
	want(t, "cancel", err, !r.status.Terminal(), runs.RunNotCancelable)
	switch {
	case r.status == runs.Running:
		r.asked = true
	case !r.status.Terminal():
		r.move(runs.Canceled)
	}
}

func (m *model) claim(t *rapid.T) {
	a, err := m.b.Worklist.Claim(m.b.t.Context(), runs.ClaimRequest{Worker: "w1"})
	want(t, "claim", err, true)
	i := slices.IndexFunc(m.runs, func(r *modelRun) bool { return r.status == runs.Pending })
	if (a == nil) != (i < 0) {
		t.Fatalf("claimed %v where the model has %d", a, i)
	}
	if a == nil {
		return
	}
	r := m.runs[i] // the oldest waiting run
	if a.Run.ID != r.id {
		t.Fatalf("claimed %s before %s", a.Run.ID, r.id)
	}
	r.move(runs.Running)
	r.lease, r.begun = &a.Lease, false
	if a.NextSeq != r.events+1 {
		t.Fatalf("next event is %d after %d", a.NextSeq, r.events)
	}
}

func (m *model) begin(t *rapid.T) {
	r := m.pick(t)
	l := runs.Lease{RunID: r.id, Worker: "w1"}
	if r.lease != nil {
		l = *r.lease
	}
	want(t, "begin", m.b.Worklist.Begin(m.b.t.Context(), l), r.lease != nil, runs.LeaseLost)
	r.begun = r.begun || r.lease != nil
}

func (m *model) release(t *rapid.T) {
	r := m.pick(t)
	if r.lease == nil {
		return
	}
	err := m.b.Worklist.Release(m.b.t.Context(), *r.lease)
	want(t, "release", err, !r.begun, runs.RunStateChanged)
	if r.begun {
		return
	}
	m.drop(r)
	if r.asked {
		r.move(runs.Canceled)
	} else {
		r.move(runs.Pending)
	}
}

func (m *model) finish(t *rapid.T) {
	r := m.pick(t)
	if r.lease == nil {
		return
	}
	s := rapid.SampledFrom([]runs.Status{runs.Succeeded, runs.Failed, runs.Canceled, runs.Interrupted}).Draw(t, "end")
	for range rapid.IntRange(1, 2).Draw(t, "times") {
		want(t, "finish", m.b.Worklist.Finish(m.b.t.Context(), *r.lease, runs.Ending{Status: s}), true)
	}
	m.drop(r)
	r.move(s)
}

// zombie writes as a holder whose lease has expired.
func (m *model) zombie(t *rapid.T) {
	if len(m.old) == 0 {
		return
	}
	l := rapid.SampledFrom(m.old).Draw(t, "lease")
	ctx := m.b.t.Context()
	_, log := m.b.Journal.AppendLog(ctx, l, runs.LogChunk{Data: []byte("x")})
	_, event := m.b.Journal.AppendEvents(ctx, l, []runs.Event{{Seq: 1}})
	for _, err := range []error{log, event, m.b.Worklist.Begin(ctx, l), m.b.Journal.SaveTasks(ctx, l, nil)} {
		want(t, "a write under an old lease", err, false, runs.LeaseLost)
	}
	beats, err := m.b.Worklist.Beat(ctx, l.Worker, []runs.Lease{l})
	if err != nil || len(beats) != 1 || !beats[0].Lost {
		t.Fatalf("beat: %+v, %v", beats, err)
	}
}

func (m *model) check(t *rapid.T) {
	for _, r := range m.runs {
		got, err := m.b.Reader.Get(m.b.t.Context(), r.id)
		if err != nil {
			t.Fatal(err)
		}
		if got.Status != r.status || got.EventCount != r.events || got.CancelRequested != r.asked {
			t.Fatalf("%s is %s with %d events, the model has %s with %d", r.id, got.Status, got.EventCount, r.status, r.events)
		}
		wanted := 0
		if r.status.Terminal() {
			wanted = 1
		}
		if n := len(m.b.heard.finished(r.id)); n != wanted {
			t.Fatalf("%s ended %d times, the model has %d", r.id, n, wanted)
		}
	}
}

// Keeps T61.
func TestTheStateMachineDoesWhatTheModelSays(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, db.SQLite, migrations.FS)
	b := setup(t, d, module.Config{})
	rapid.Check(t, func(rt *rapid.T) {
		if err := drain(b); err != nil {
			rt.Fatal(err)
		}
		m := &model{b: b}
		rt.Repeat(map[string]func(*rapid.T){
			"submit": m.submit, "approve": m.approve, "cancel": m.cancel, "claim": m.claim, "begin": m.begin,
			"release": m.release, "finish": m.finish, "zombie": m.zombie, "": m.check,
		})
	})
}

// drain ends the waiting runs of an earlier case, so that each case starts with an empty queue.
func drain(b *bundle) error {
	for range 1000 {
		a, err := b.Worklist.Claim(b.t.Context(), runs.ClaimRequest{Worker: "drain"})
		if err != nil || a == nil {
			return err
		}
		if err := b.Worklist.Finish(b.t.Context(), a.Lease, runs.Ending{Status: runs.Succeeded}); err != nil {
			return fmt.Errorf("drain: %w", err)
		}
	}
	return errors.New("the queue does not drain")
}
