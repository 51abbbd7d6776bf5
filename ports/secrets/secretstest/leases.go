package secretstest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secrets"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

func leaseCases() txtest.Cases[*env] {
	return txtest.Cases[*env]{
		"whole leases":                wholeLeases,
		"units of leases":             leaseUnits,
		"leases of runs":              runLeases,
		"leases of a run that ends":   endingRun,
		"leases of a run held anew":   heldAnew,
		"leases of inventory sources": sourceLeases,
		"at most so many":             leaseLimit,
		"booked leases":               bookedLeases,
		"a hold that passes":          visibilityPasses,
		"leases are taken once":       leaseRace,
		"a lease that is dropped":     dropRace,
	}
}

// hour is the duration of claims that must not expire during a test.
const hour = time.Hour

func (e *env) addLease(t *testing.T, o secrets.Owner) secrets.Lease {
	t.Helper()
	l := secrets.Lease{ID: e.ID(ids.Lease), Owner: o, CredentialID: "crd_1", Engine: "vault", Sealed: []byte("sealed")}
	txtest.NoError(t, e.Leases.InsertLease(t.Context(), l))
	return l
}

func (e *env) take(t *testing.T, limit int, visibility time.Duration) []secrets.Lease {
	t.Helper()
	list, err := e.Leases.TakeLeases(t.Context(), limit, visibility)
	txtest.NoError(t, err)
	return list
}

func leaseIDs(list []secrets.Lease) []string {
	out := make([]string, len(list))
	for i, l := range list {
		out[i] = l.ID
	}
	slices.Sort(out)
	return out
}

// takes checks that exactly these leases are taken.
func (e *env) takes(t *testing.T, want ...secrets.Lease) {
	t.Helper()
	txtest.Same(t, "taken", leaseIDs(want), leaseIDs(e.take(t, 100, hour)))
}

func (e *env) age(t *testing.T, l secrets.Lease, by time.Duration) {
	t.Helper()
	txtest.NoError(t, e.Age(t.Context(), l.ID, by))
}

// addRun stores a run in a state and under an epoch.
func (e *env) addRun(t *testing.T, status runs.Status, epoch int64) string {
	t.Helper()
	r := &runs.Run{
		ID: e.ID(ids.Run), Kind: runs.Single, Status: status,
		Spec:  runs.Spec{Tool: "bash", Command: "true", Queue: runs.DefaultQueue},
		Actor: actor.Actor{Type: actor.User, ID: "usr_1"}, CreatedAt: txtest.At(0), QueuedAt: txtest.At(0), Epoch: epoch,
	}
	e.Must(t, func(ctx context.Context) error { return e.Runs.Insert(ctx, r) })
	return r.ID
}

func wholeLeases(t *testing.T, e *env) {
	owner := secrets.Owner{ID: e.addRun(t, runs.Running, 1<<40), Epoch: 1 << 40}
	var want []secrets.Lease
	for i, l := range []secrets.Lease{
		{}, {CredentialID: odd, Engine: odd, Sealed: bytesOf(0, 256), Attempts: 3},
		{Engine: long, Sealed: bytes.Repeat([]byte("x"), 1<<20)},
	} {
		l.ID, l.Owner = fmt.Sprint("lse_", i), owner
		l.CreatedAt = txtest.Epoch() // the store sets its own time
		txtest.NoError(t, e.Leases.InsertLease(t.Context(), l))
		want = append(want, l)
	}
	e.addLease(t, secrets.Owner{ID: owner.ID, Epoch: 1<<40 + 1})
	e.addLease(t, secrets.Owner{ID: "run_other", Epoch: 1 << 40})
	got, err := e.Leases.LeasesOf(t.Context(), owner)
	txtest.NoError(t, err)
	for i := range got {
		if d := time.Since(got[i].CreatedAt); d < -10*time.Minute || d > 10*time.Minute {
			t.Errorf("created %v ago", d)
		}
		got[i].CreatedAt = txtest.Epoch()
	}
	txtest.Same(t, "leases", want, got)
	if err := e.Leases.InsertLease(t.Context(), want[0]); !fault.Is(err, fault.Conflict) {
		t.Errorf("the same id again: %v", err)
	}
	for _, o := range []secrets.Owner{{}, {ID: owner.ID}, {ID: "run_none", Epoch: 1}, {ID: "%", Epoch: 1 << 40},
		{ID: odd}} {
		list, err := e.Leases.LeasesOf(t.Context(), o)
		txtest.NoError(t, err)
		txtest.Same(t, fmt.Sprintf("leases of %+v", o), []secrets.Lease{}, list)
	}
	for _, id := range []string{"lse_1", "lse_1", "lse_none", "", "%", odd} {
		txtest.NoError(t, e.Leases.DropLease(t.Context(), id))
	}
	got, err = e.Leases.LeasesOf(t.Context(), owner)
	txtest.NoError(t, err)
	txtest.Same(t, "what is left", []string{"lse_0", "lse_2"}, leaseIDs(got))
}

// leaseUnits checks that a rollback undoes all changes of leases.
func leaseUnits(t *testing.T, e *env) {
	stop := errors.New("stop")
	owner := secrets.Owner{ID: "run_none", Epoch: 1}
	l := e.addLease(t, owner)
	for what, fn := range map[string]func(ctx context.Context) error{
		"insert": func(ctx context.Context) error {
			return e.Leases.InsertLease(ctx, secrets.Lease{ID: "lse_other", Owner: owner, Sealed: []byte{1}})
		},
		"take": func(ctx context.Context) error {
			list, err := e.Leases.TakeLeases(ctx, 5, hour)
			txtest.Same(t, "taken", 1, len(list))
			if again, failed := e.Leases.TakeLeases(ctx, 5, hour); failed != nil || len(again) != 0 {
				t.Errorf("taken again in one unit: %v, %v", again, failed)
			}
			return err
		},
		"drop": func(ctx context.Context) error { return e.Leases.DropLease(ctx, l.ID) },
	} {
		err := e.Do(t, func(ctx context.Context) error { return errors.Join(fn(ctx), stop) })
		if !errors.Is(err, stop) {
			t.Fatalf("%s: %v", what, err)
		}
		list, err := e.Leases.LeasesOf(t.Context(), owner)
		txtest.NoError(t, err)
		txtest.Same(t, "after "+what, [2]any{[]string{l.ID}, 0}, [2]any{leaseIDs(list), list[0].Attempts})
	}
	e.takes(t, l)
}

func runLeases(t *testing.T, e *env) {
	var due []secrets.Lease
	for _, status := range runs.Statuses() {
		id := e.addRun(t, status, 3)
		l := e.addLease(t, secrets.Owner{ID: id, Epoch: 3})
		if status.Terminal() {
			due = append(due, l)
		}
		due = append(due, e.addLease(t, secrets.Owner{ID: id, Epoch: 2}), e.addLease(t, secrets.Owner{ID: id, Epoch: 4}))
	}
	due = append(due, e.addLease(t, secrets.Owner{ID: "run_none", Epoch: 3}),
		e.addLease(t, secrets.Owner{ID: "run_' OR 1 = 1 --", Epoch: 3}))
	e.takes(t, due...)
	e.takes(t)
}

// running stores a run, claims it and returns its assignment.
func (e *env) running(t *testing.T) *runs.Assignment {
	t.Helper()
	id := e.addRun(t, runs.Pending, 0)
	return e.claim(t, id, time.Minute)
}

func (e *env) claim(t *testing.T, id string, ttl time.Duration) (a *runs.Assignment) {
	t.Helper()
	e.Must(t, func(ctx context.Context) (err error) {
		got, err := e.Queue.Claim(ctx, runs.ClaimRequest{Worker: "w", Queues: []string{runs.DefaultQueue}}, ttl,
			txtest.At(time.Hour))
		a = got.Assignment
		return err
	})
	if a == nil || a.Run.ID != id {
		t.Fatalf("claimed %+v, want %s", a, id)
	}
	return a
}

func (e *env) move(t *testing.T, m runs.Move) {
	t.Helper()
	e.Must(t, func(ctx context.Context) error {
		_, err := e.Runs.Move(ctx, m)
		return err
	})
}

func endingRun(t *testing.T, e *env) {
	for _, to := range []runs.Status{runs.Succeeded, runs.Failed, runs.Canceled, runs.Interrupted} {
		a := e.running(t)
		one, two := e.addLease(t, secrets.Owner{ID: a.Run.ID, Epoch: a.Run.Epoch}),
			e.addLease(t, secrets.Owner{ID: a.Run.ID, Epoch: a.Run.Epoch})
		e.takes(t)
		e.age(t, one, 100*hour) // whatever its age
		e.takes(t)
		e.move(t, runs.Move{ID: a.Run.ID, From: runs.Running, To: to, At: txtest.At(2 * time.Hour), Lease: &a.Lease})
		e.takes(t, one, two)
	}
}

func heldAnew(t *testing.T, e *env) {
	a := e.running(t)
	was := e.addLease(t, secrets.Owner{ID: a.Run.ID, Epoch: a.Run.Epoch})
	e.move(t, runs.Move{ID: a.Run.ID, From: runs.Running, To: runs.Pending, At: txtest.At(2 * time.Hour)})
	again := e.claim(t, a.Run.ID, time.Minute)
	is := e.addLease(t, secrets.Owner{ID: a.Run.ID, Epoch: again.Run.Epoch})
	e.takes(t, was)
	e.takes(t)
	e.move(t, runs.Move{ID: a.Run.ID, From: runs.Running, To: runs.Failed, At: txtest.At(3 * time.Hour),
		Lease: &again.Lease})
	e.takes(t, is)
}

func sourceLeases(t *testing.T, e *env) {
	var list []secrets.Lease
	for _, id := range []string{"src_1", "src_run_1", "xrun_1", "RUN_1", "runs"} {
		list = append(list, e.addLease(t, secrets.Owner{ID: id}))
	}
	e.takes(t)
	for _, l := range list {
		e.age(t, l, 58*time.Minute)
	}
	e.takes(t)
	for _, l := range list[1:] {
		e.age(t, l, 2*time.Minute)
	}
	e.takes(t, list[1:]...)
	e.takes(t)
	e.age(t, list[0], 2*time.Minute)
	e.takes(t, list[0])
}

// leaseLimit checks that leases which are taken repeatedly do not block others forever.
func leaseLimit(t *testing.T, e *env) {
	live := secrets.Owner{ID: e.addRun(t, runs.Running, 1), Epoch: 1}
	var want []secrets.Lease
	for range 7 {
		e.addLease(t, live)
		want = append(want, e.addLease(t, secrets.Owner{ID: "run_none", Epoch: 1}))
	}
	for _, none := range []int{0, -1} {
		txtest.Same(t, "taken", []secrets.Lease{}, e.take(t, none, hour))
	}
	var got []secrets.Lease
	for range want {
		list := e.take(t, 1, 0) // due again at once, after the others
		txtest.Same(t, "taken", 1, len(list))
		got = append(got, list...)
	}
	txtest.Same(t, "taken one by one", leaseIDs(want), leaseIDs(got))
	got = nil
	for _, n := range []int{3, 3, 1, 0} {
		list := e.take(t, 3, hour)
		txtest.Same(t, "taken, at most three at a time", n, len(list))
		got = append(got, list...)
	}
	txtest.Same(t, "taken by three", leaseIDs(want), leaseIDs(got))
}

// bookedLeases checks that taking a lease counts an attempt, and that no other caller gets the lease until the hold
// is over.
func bookedLeases(t *testing.T, e *env) {
	owner := secrets.Owner{ID: "run_none", Epoch: 1}
	first := e.addLease(t, owner)
	for attempt := 1; attempt < 4; attempt++ {
		list := e.take(t, 10, 10*time.Minute)
		kept, err := e.Leases.LeasesOf(t.Context(), owner)
		txtest.NoError(t, err)
		txtest.Same(t, "as it is kept", kept, list)
		want := first
		want.Attempts, want.CreatedAt = attempt, list[0].CreatedAt
		txtest.Same(t, "taken", []secrets.Lease{want}, list)
		e.takes(t)
		e.age(t, first, 9*time.Minute)
		e.takes(t)
		e.age(t, first, 2*time.Minute)
	}
	txtest.NoError(t, e.Leases.DropLease(t.Context(), first.ID))
	e.takes(t)
}

// visibilityPasses waits for the store's clock: a lease is returned again when its hold is over, and no earlier.
func visibilityPasses(t *testing.T, e *env) {
	l := e.addLease(t, secrets.Owner{ID: "run_none", Epoch: 1})
	const visibility = 1500 * time.Millisecond
	before := time.Now()
	txtest.Same(t, "taken", []string{l.ID}, leaseIDs(e.take(t, 10, visibility)))
	for end := before.Add(time.Minute); len(e.take(t, 10, hour)) == 0; {
		if time.Now().After(end) {
			t.Fatalf("it did not come again within %v", time.Since(before))
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		}
	}
	if passed := time.Since(before); passed < visibility-100*time.Millisecond {
		t.Errorf("it came again after %v", passed)
	}
}

// leaseRace checks that only one of several servers takes each lease.
func leaseRace(t *testing.T, e *env) {
	var want, got []string
	for range 60 {
		want = append(want, e.addLease(t, secrets.Owner{ID: "run_none", Epoch: 1}).ID)
	}
	var mu sync.Mutex
	left := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(want) - len(got)
	}
	txtest.Together(txtest.Crowd, func(int) {
		for end := time.Now().Add(time.Minute); left() > 0 && time.Now().Before(end); {
			list, err := e.Leases.TakeLeases(t.Context(), 4, hour)
			if err != nil || len(list) > 4 {
				t.Errorf("take: %d, %v", len(list), err)
				return
			}
			mu.Lock()
			for _, l := range list {
				got = append(got, l.ID)
			}
			mu.Unlock()
		}
	})
	slices.Sort(got)
	txtest.Same(t, "taken", want, got)
	e.takes(t)
}

// dropRace deletes a lease while it is taken: it is taken before the deletion or never.
func dropRace(t *testing.T, e *env) {
	for range 15 {
		l := e.addLease(t, secrets.Owner{ID: "run_none", Epoch: 1})
		txtest.Together(3, func(i int) {
			if i == 0 {
				if err := e.Leases.DropLease(t.Context(), l.ID); err != nil {
					t.Errorf("drop: %v", err)
				}
				return
			}
			if list, err := e.Leases.TakeLeases(t.Context(), 5, 0); err != nil || len(list) > 1 {
				t.Errorf("take: %v, %v", list, err)
			}
		})
		e.takes(t)
	}
}
