package runstest

import (
	"context"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/runs"
)

func queueCases() map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
		"nothing to claim":        claimNothing,
		"what a claim does":       claimEffects,
		"the order of claims":     claimOrder,
		"queues":                  claimQueues,
		"the last run that waits": claimLast,
		"what is claimable":       claimKinds,
		"a parent starts":         claimParent,
		"a divided parent starts": claimDivided,
		"begin":                   begin,
		"beats":                   beats,
		"expired leases":          expired,
		"runs that wait long":     waiting,
		"runs that are refreshed": refreshing,
		"a beat revives a lease":  revived,
		"held runs":               held,
		"a zombie writes nothing": zombie,
	}
}

func claimNothing(t *testing.T, e *env) {
	e.add(t, func(r *runs.Run) { r.Status = runs.PendingApproval })
	for _, queues := range [][]string{nil, {"default"}, {"default", "gpu"}} {
		if a := e.tryClaim(t, "w", ttl, queues...); a != nil {
			t.Errorf("claimed %s from %v", a.Run.ID, queues)
		}
	}
}

func claimEffects(t *testing.T, e *env) {
	r := e.add(t, func(r *runs.Run) {
		r.Vars, r.Spec.Env, r.Epoch = runs.Vars{"a": raw("1")}, map[string]string{"B": "c"}, 3
		r.Spec.LimitHosts = []string{"h"}
	})
	a := e.claim(t, "w1", ttl)
	want := *r
	want.Status, want.Worker, want.Epoch, want.EventCount, want.Revision = runs.Running, "w1", 4, 1, r.Revision+1
	want.LeaseExpiresAt = a.Run.LeaseExpiresAt
	if d := diff(&want, a.Run); d != "" {
		t.Errorf("the claimed run:\n%s", d)
	}
	if a.Lease != (runs.Lease{RunID: r.ID, Worker: "w1", Epoch: 4}) || a.NextSeq != 2 || a.Run.LeaseExpiresAt.IsZero() {
		t.Errorf("the assignment is %+v, next %d", a.Lease, a.NextSeq)
	}
	if d := diff(a.Run, e.get(t, r.ID)); d != "" {
		t.Errorf("the stored run:\n%s", d)
	}
	if again := e.tryClaim(t, "w2", ttl, "default"); again != nil {
		t.Errorf("claimed twice: %+v", again.Lease)
	}
}

func claimOrder(t *testing.T, e *env) {
	low := e.add(t, func(r *runs.Run) { r.Spec.Priority = -1 })
	first, second := e.add(t), e.add(t)
	high := e.add(t, func(r *runs.Run) { r.Spec.Priority = 9 })
	for _, want := range []*runs.Run{high, first, second, low} {
		if a := e.claim(t, "w", ttl); a.Run.ID != want.ID {
			t.Fatalf("claimed %s, want %s", a.Run.ID, want.ID)
		}
	}
}

func claimQueues(t *testing.T, e *env) {
	in := func(queue string, priority int) func(*runs.Run) {
		return func(r *runs.Run) { r.Spec.Queue, r.Spec.Priority = queue, priority }
	}
	a, b := e.add(t, in("a", 0)), e.add(t, in("b", 5))
	other, c := e.add(t, in("c", 9)), e.add(t, in("b", 0))
	for _, want := range []*runs.Run{b, a, c} {
		got := e.tryClaim(t, "w", ttl, "a", "b", "empty")
		if got == nil || got.Run.ID != want.ID {
			t.Fatalf("claimed %+v, want %s", got, want.ID)
		}
	}
	if got := e.tryClaim(t, "w", ttl, "a", "b"); got != nil {
		t.Errorf("claimed %s", got.Run.ID)
	}
	if got := e.tryClaim(t, "w", ttl, "c"); got == nil || got.Run.ID != other.ID {
		t.Errorf("claimed %+v", got)
	}
}

// claimLast sees runs that another claim must not find: held ones, those of other queues, and those that run.
func claimLast(t *testing.T, e *env) {
	in := func(queue string) func(*runs.Run) { return func(r *runs.Run) { r.Spec.Queue = queue } }
	e.add(t, in("c"))
	e.add(t, in("a"), func(r *runs.Run) { r.Status = runs.PendingApproval })
	for range 2 {
		e.add(t, in("a"))
		e.add(t, in("b"))
	}
	for i, want := range []struct {
		queues []string
		last   bool
	}{{[]string{"a"}, false}, {[]string{"a", "b"}, false}, {[]string{"b", "a"}, false}, {[]string{"a", "b"}, true},
		{[]string{"c"}, true}} {
		got := e.tryClaim(t, "w", ttl, want.queues...)
		if got == nil || got.Last && !want.last || !got.Last && want.last {
			t.Fatalf("claim %d from %v: %+v, want the last: %t", i, want.queues, got, want.last)
		}
		if again := e.tryClaim(t, "w", ttl, want.queues...); got.Last && again != nil {
			t.Errorf("after the last claim of %v: %+v", want.queues, again)
		} else if again != nil {
			e.must(t, func(ctx context.Context) error {
				_, err := e.Runs.Move(ctx, runs.Move{ID: again.Run.ID, From: runs.Running, To: runs.Pending,
					Lease: &again.Lease, DropLease: true, At: at(time.Hour)})
				return err
			})
		}
	}
}

func claimKinds(t *testing.T, e *env) {
	pipeline := e.add(t, func(r *runs.Run) { r.Kind, r.Graph = runs.Pipeline, &runs.Graph{} })
	divided := e.add(t, asSplit)
	count := e.add(t, func(r *runs.Run) { r.Kind, r.ShardCount = runs.Split, 3 })
	open := e.add(t, func(r *runs.Run) { r.Kind = runs.Split })
	late := e.add(t, func(r *runs.Run) { r.Kind = runs.Split })
	shard, step := e.add(t, childOf(divided, runs.Shard, 0)), e.add(t, childOf(pipeline, runs.Step, 0))
	e.must(t, func(ctx context.Context) error { return e.Runs.Amend(ctx, late.ID, runs.Amendment{ShardCount: ptr(2)}) })
	for _, want := range []*runs.Run{open, shard, step} {
		if a := e.claim(t, "w", ttl); a.Run.ID != want.ID {
			t.Fatalf("claimed %s, want %s", a.Run.ID, want.ID)
		}
	}
	if a := e.tryClaim(t, "w", ttl, "default"); a != nil {
		t.Errorf("claimed %s of kind %s", a.Run.ID, a.Run.Kind)
	}
	_ = count
}

func claimParent(t *testing.T, e *env) {
	p := e.add(t, asSplit)
	e.add(t, childOf(p, runs.Shard, 0))
	e.add(t, childOf(p, runs.Shard, 1))
	e.claim(t, "w1", ttl)
	started := e.get(t, p.ID)
	if started.Status != runs.Running || !started.StartedAt.Equal(at(time.Hour)) || started.Worker != "" ||
		started.EventCount != 1 {
		t.Errorf("the parent is %+v", started)
	}
	e.claim(t, "w2", ttl)
	if d := diff(started, e.get(t, p.ID)); d != "" {
		t.Errorf("the second child changed the parent:\n%s", d)
	}
	events, err := e.Events.Events(t.Context(), p.ID, 0, 10)
	want := []runs.Event{{Seq: 1, At: at(time.Hour), Type: runs.EventStatus, From: runs.Pending, To: runs.Running}}
	if d := diff(want, events); d != "" || err != nil {
		t.Errorf("the parent's events (%v):\n%s", err, d)
	}
	if list, err := e.Queue.Expired(t.Context(), 10); err != nil || len(list) != 0 {
		t.Errorf("a running parent has no lease that could expire: %v, %v", ids(list), err)
	}
}

func claimDivided(t *testing.T, e *env) {
	p := e.add(t, func(r *runs.Run) { r.Kind = runs.Split })
	a := e.claim(t, "w", ttl)
	e.must(t, func(ctx context.Context) error {
		if err := e.Runs.Amend(ctx, p.ID, runs.Amendment{ShardCount: ptr(1), Lease: &a.Lease, DropLease: true}); err != nil {
			return err
		}
		return e.Runs.Insert(ctx, e.bare(childOf(p, runs.Shard, 0)))
	})
	if got := e.get(t, p.ID); !got.StartedAt.IsZero() {
		t.Fatalf("the parent started at %s", got.StartedAt)
	}
	e.claim(t, "w", ttl)
	if got := e.get(t, p.ID); got.Status != runs.Running || !got.StartedAt.Equal(at(time.Hour)) {
		t.Errorf("the parent is %s and started at %s", got.Status, got.StartedAt)
	}
}

func (e *env) begin(ctx context.Context, l runs.Lease, at time.Time) error {
	_, err := e.Queue.Begin(ctx, l, at)
	return err
}

func begin(t *testing.T, e *env) {
	a := e.running(t)
	if got := e.get(t, a.Run.ID); got.Begun || !got.StartedAt.IsZero() {
		t.Fatalf("a claimed run has begun: %+v", got)
	}
	stale := a.Lease
	stale.Epoch--
	wantFault(t, e.do(t, func(ctx context.Context) error { return e.begin(ctx, stale, epoch) }), runs.LeaseLost)
	var first, again *runs.Run
	e.must(t, func(ctx context.Context) (err error) {
		first, err = e.Queue.Begin(ctx, a.Lease, at(2*time.Hour))
		return err
	})
	e.must(t, func(ctx context.Context) (err error) {
		again, err = e.Queue.Begin(ctx, a.Lease, at(3*time.Hour))
		return err
	})
	if first == nil || first.ID != a.Run.ID || first.Kind != a.Run.Kind || again != nil {
		t.Errorf("the first beginning gave %+v, the second %+v", first, again)
	}
	if got := e.get(t, a.Run.ID); !got.Begun || !got.StartedAt.Equal(at(2*time.Hour)) {
		t.Errorf("after the beginning: %+v", got)
	}
	e.finish(t, a, runs.Succeeded, at(3*time.Hour))
	wantFault(t, e.do(t, func(ctx context.Context) error { return e.begin(ctx, a.Lease, epoch) }), runs.LeaseLost)
}

func (e *env) beat(t *testing.T, worker string, d time.Duration, leases ...runs.Lease) []runs.Beat {
	t.Helper()
	var out []runs.Beat
	e.must(t, func(ctx context.Context) error {
		var err error
		out, err = e.Queue.Beat(ctx, worker, leases, d)
		return err
	})
	return out
}

func beats(t *testing.T, e *env) {
	if got := e.beat(t, "w1", ttl); len(got) != 0 {
		t.Errorf("no leases have beats: %v", got)
	}
	a, b, c := e.running(t), e.running(t), e.running(t)
	e.must(t, func(ctx context.Context) error {
		return e.Runs.Amend(ctx, b.Run.ID, runs.Amendment{CancelRequested: ptr(true)})
	})
	e.finish(t, c, runs.Failed, epoch)
	stale := a.Lease
	stale.Epoch--
	got := e.beat(t, "w1", 2*ttl, a.Lease, b.Lease, c.Lease, stale, runs.Lease{RunID: "run_none", Worker: "w1", Epoch: 1})
	want := []runs.Beat{
		{RunID: a.Run.ID}, {RunID: b.Run.ID, CancelRequested: true}, {RunID: c.Run.ID, Lost: true},
		{RunID: a.Run.ID, Lost: true}, {RunID: "run_none", Lost: true},
	}
	if d := diff(want, got); d != "" {
		t.Errorf("beats:\n%s", d)
	}
	if now := e.get(t, a.Run.ID); !now.LeaseExpiresAt.After(a.Run.LeaseExpiresAt) || now.Revision != a.Run.Revision {
		t.Errorf("lease until %s at revision %d, was %s at %d", now.LeaseExpiresAt, now.Revision, a.Run.LeaseExpiresAt,
			a.Run.Revision)
	}
	if got := e.beat(t, "w2", ttl, a.Lease); !got[0].Lost {
		t.Error("another worker renewed the lease")
	}
}

func expired(t *testing.T, e *env) {
	var over []string
	for i := range 5 {
		r := e.add(t, func(r *runs.Run) { r.Vars = runs.Vars{"v": raw("1")} })
		lasts := ttl
		if i < 3 {
			lasts = gone
			over = append(over, r.ID)
		}
		e.claim(t, "w", lasts)
	}
	list, err := e.Queue.Expired(t.Context(), 10)
	if d := diff(over, ids(list)); d != "" || err != nil {
		t.Errorf("expired (%v):\n%s", err, d)
	}
	for _, r := range list {
		if r.Vars != nil {
			t.Errorf("%s has its variables", r.ID)
		}
	}
	if list, err = e.Queue.Expired(t.Context(), 2); err != nil || len(list) != 2 {
		t.Errorf("at most two: %v, %v", ids(list), err)
	}
}

func waiting(t *testing.T, e *env) {
	start := time.Now().UTC().Truncate(time.Microsecond)
	at := func(ago time.Duration, edit ...func(*runs.Run)) string {
		return e.add(t, append(edit, func(r *runs.Run) {
			r.Status, r.QueuedAt, r.CreatedAt = runs.PendingApproval, time.Time{}, start.Add(-ago)
			r.Vars = runs.Vars{"v": raw("1")}
		})...).ID
	}
	p := e.add(t, func(r *runs.Run) { r.Kind, r.Graph = runs.Pipeline, &runs.Graph{} })
	second := at(2 * time.Hour)
	first := at(3*time.Hour, func(r *runs.Run) {
		r.Kind, r.ParentID, r.StepName, r.Attempt = runs.Step, p.ID, "a", 1
	})
	at(time.Minute)
	before := start.Add(-time.Hour)
	list, err := e.Queue.Held(t.Context(), before, 10)
	if d := diff([]string{first, second}, ids(list)); d != "" || err != nil {
		t.Fatalf("held (%v):\n%s", err, d)
	}
	if list[0].Vars != nil || list[0].ParentID != p.ID {
		t.Errorf("%+v", list[0])
	}
	if list, err = e.Queue.Held(t.Context(), before, 1); err != nil || len(list) != 1 {
		t.Errorf("at most one: %v, %v", ids(list), err)
	}
}

func revived(t *testing.T, e *env) {
	e.add(t)
	a := e.claim(t, "w", gone)
	if got := e.beat(t, "w", ttl, a.Lease); got[0].Lost {
		t.Fatal("an expired lease that nobody took is lost")
	}
	if list, err := e.Queue.Expired(t.Context(), 10); err != nil || len(list) != 0 {
		t.Errorf("expired after a beat: %v, %v", ids(list), err)
	}
}

func held(t *testing.T, e *env) {
	a, b := e.running(t), e.running(t)
	e.add(t)
	e.claim(t, "w2", ttl)
	e.finish(t, b, runs.Succeeded, epoch)
	list, err := e.Queue.Leased(t.Context(), "w1")
	if d := diff([]string{a.Run.ID}, ids(list)); d != "" || err != nil {
		t.Errorf("held (%v):\n%s", err, d)
	}
}

// zombie writes as a holder whose run was given to another one. Every write is refused and changes nothing.
func zombie(t *testing.T, e *env) {
	a := e.running(t)
	if _, err := e.move(t, runs.Move{ID: a.Run.ID, From: runs.Running, To: runs.Pending, At: epoch,
		Lease: &a.Lease}); err != nil {
		t.Fatal(err)
	}
	b := e.claim(t, "w1", ttl) // the same worker under a new epoch
	before := e.get(t, a.Run.ID)
	writes := map[string]func(ctx context.Context) error{
		"begin": func(ctx context.Context) error { return e.begin(ctx, a.Lease, epoch) },
		"log": func(ctx context.Context) error {
			_, err := e.Logs.AppendLog(ctx, a.Lease, runs.LogChunk{Data: []byte("x")})
			return err
		},
		"trim": func(ctx context.Context) error { _, err := e.Logs.TrimLog(ctx, a.Lease, 0, 10); return err },
		"events": func(ctx context.Context) error {
			_, err := e.Events.AppendEvents(ctx, a.Lease, []runs.Event{{Seq: b.NextSeq, At: epoch, Type: runs.EventWarning}})
			return err
		},
		"ask":   func(ctx context.Context) error { _, err := e.Events.AppendEvents(ctx, a.Lease, nil); return err },
		"amend": func(ctx context.Context) error { return e.Runs.Amend(ctx, a.Run.ID, runs.Amendment{Lease: &a.Lease}) },
		"move": func(ctx context.Context) error {
			_, err := e.Runs.Move(ctx, runs.Move{ID: a.Run.ID, From: runs.Running, To: runs.Failed, At: epoch, Lease: &a.Lease})
			return err
		},
	}
	for name, write := range writes {
		if err := e.do(t, write); !runs.LeaseLost.Is(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if d := diff(before, e.get(t, a.Run.ID)); d != "" {
		t.Errorf("a zombie changed the run:\n%s", d)
	}
}
