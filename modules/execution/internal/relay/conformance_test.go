package relay_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/writ-automation/writ/modules/execution/internal/relay"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/execution/executiontest"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secret"
)

// over is a control plane as a worker has it by the relay alone.
type over struct {
	relay *relay.Relay
	plane *plane

	mu   sync.Mutex
	caps map[runs.Lease]secret.Text
}

func (o *over) bearer(l runs.Lease) execution.Leaseholder {
	o.mu.Lock()
	defer o.mu.Unlock()
	return execution.Leaseholder{RunID: l.RunID, Capability: o.caps[l]}
}

func (o *over) Claim(ctx context.Context, r runs.ClaimRequest) (*runs.Assignment, error) {
	g, _, err := o.relay.Claim(ctx, asks(r.Worker, r.Queues...))
	if err != nil || g == nil {
		return nil, err
	}
	l := runs.Lease{RunID: g.Run.ID, Worker: strings.TrimPrefix(g.Run.Worker, execution.RelayPrefix), Epoch: g.Run.Epoch}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.caps[l] = g.Capability
	return &runs.Assignment{Run: g.Run.Record(), Lease: l, NextSeq: g.Run.NextSeq}, nil
}

func (o *over) Begin(ctx context.Context, l runs.Lease) error {
	return o.relay.Save(ctx, o.bearer(l), ends(runs.Running))
}

func (o *over) Beat(ctx context.Context, _ string, leases []runs.Lease) (out []runs.Beat, err error) {
	for _, l := range leases {
		b, err := o.relay.Beat(ctx, o.bearer(l))
		if err != nil && !runs.LeaseLost.Is(err) {
			return nil, err
		}
		out = append(out, runs.Beat{RunID: l.RunID, Lost: err != nil, CancelRequested: b.CancelRequested})
	}
	return out, nil
}

func (o *over) Release(ctx context.Context, l runs.Lease) error {
	return o.relay.Save(ctx, o.bearer(l), ends(runs.Pending))
}

func (o *over) Divide(ctx context.Context, l runs.Lease, hosts []string, warnings []runs.Warning) error {
	return o.relay.Divide(ctx, o.bearer(l), execution.RelayDivision{Hosts: hosts, Warnings: warnings})
}

// Finish tells first what rides in an ending.
func (o *over) Finish(ctx context.Context, l runs.Lease, e runs.Ending) error {
	h := o.bearer(l)
	ended := func(err error) bool { return runs.LeaseLost.Is(err) } // the end itself says whether it was told before
	if len(e.Log.Data) > 0 {
		if _, err := o.relay.AppendLog(ctx, h, e.Log); err != nil && !ended(err) {
			return err
		}
	}
	if len(e.Events) > 0 {
		if _, err := o.relay.AppendEvents(ctx, h, e.Events); err != nil && !ended(err) {
			return err
		}
	}
	return o.relay.Save(ctx, h, execution.NewRelaySave(&e))
}

func (o *over) Leased(ctx context.Context, worker string) ([]*runs.Run, error) {
	return o.plane.Leased(ctx, execution.RelayPrefix+worker)
}

func (o *over) AppendLog(ctx context.Context, l runs.Lease, c runs.LogChunk) (int64, error) {
	return o.relay.AppendLog(ctx, o.bearer(l), c)
}

func (o *over) AppendEvents(ctx context.Context, l runs.Lease, e []runs.Event) (int64, error) {
	return o.relay.AppendEvents(ctx, o.bearer(l), e)
}

func (o *over) SaveHosts(ctx context.Context, l runs.Lease, hosts []runs.HostSummary) error {
	for i := range hosts {
		hosts[i].Worst = runs.HostOK // the suite leaves it out
	}
	return o.relay.SaveHosts(ctx, o.bearer(l), hosts)
}

func (o *over) SaveTasks(ctx context.Context, l runs.Lease, tasks []runs.TaskSummary) error {
	return o.relay.SaveTasks(ctx, o.bearer(l), tasks)
}

func (o *over) SaveFacts(ctx context.Context, l runs.Lease, facts []runs.HostFacts) error {
	for i := range facts {
		facts[i].GatheredAt = now() // the suite leaves it out
	}
	return o.relay.SaveFacts(ctx, o.bearer(l), facts)
}

func (o *over) ProposeApply(ctx context.Context, l runs.Lease, p runs.Plan) (string, error) {
	return o.relay.ProposeApply(ctx, o.bearer(l), p)
}

// TestConformance runs the conformance suite of control planes on the relay.
func TestConformance(t *testing.T) {
	t.Parallel()
	executiontest.Run(t, func(t *testing.T) executiontest.Fixture {
		w := one(t)
		return executiontest.Fixture{
			Plane: &over{relay: w.relay, plane: w.plane, caps: map[runs.Lease]secret.Text{}},
			Submit: func(_ *testing.T, kind runs.Kind, queue string) string {
				return w.submit(func(r *runs.Run) { r.Kind, r.Spec.Queue = kind, queue })
			},
			SubmitDry: func(_ *testing.T, queue string) string {
				return w.submit(func(r *runs.Run) { r.Spec.Queue, r.Spec.DryRun = queue, true })
			},
			Run: func(_ *testing.T, id string) *runs.Run { return w.run(id) },
			Log: func(t *testing.T, id string) []byte { return w.output(id) },
			Events: func(_ *testing.T, id string) (out []runs.Event) {
				for _, e := range w.events(id) {
					if e.Type != runs.EventStatus {
						out = append(out, e)
					}
				}
				return out
			},
			Expire: func(_ *testing.T, id string) { w.expire(id) },
		}
	})
}

// output is what is stored of a run's log; a hole reads as zeros.
func (w *fixture) output(id string) (out []byte) {
	w.t.Helper()
	w.must(w.plane.store.ReadLog(w.t.Context(), id, 0, 1<<40, func(c runs.LogChunk) error {
		out = append(out, make([]byte, c.Offset-int64(len(out)))...)
		out = append(out, c.Data...)
		return nil
	}))
	return out
}

func (w *fixture) events(id string) []runs.Event {
	w.t.Helper()
	list, err := w.plane.store.Events(w.t.Context(), id, 0, 5000)
	w.must(err)
	return list
}

// expire applies the consequences of an expired lease.
func (w *fixture) expire(id string) {
	w.t.Helper()
	r := w.run(id)
	to := runs.Pending
	if r.Begun {
		to = runs.Interrupted
	}
	w.must(w.d.Do(w.t.Context(), func(ctx context.Context) error {
		_, err := w.plane.store.Move(ctx, runs.Move{ID: id, From: runs.Running, To: to, At: now(),
			DropLease: to == runs.Pending})
		return err
	}))
}
