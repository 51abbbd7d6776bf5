package catalogtest

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

func executedCases() txtest.Cases[*env] {
	return txtest.Cases[*env]{
		"a refresh from the question to the end": executedOnce,
		"rounds that are joined and replaced":    executedRounds,
		"leases of refreshes":                    executedLeases,
		"claims of refreshes":                    executedClaims,
		"capabilities of refreshes":              executedCapabilities,
		"refreshes are claimed and ended once":   executedRace,
	}
}

// asks asks for a refresh of revision 1.
func (e *env) asks(t *testing.T, source string, revision int64, queue string) (round int64) {
	t.Helper()
	e.Must(t, func(ctx context.Context) (err error) {
		round, err = e.Refreshes.AskRefresh(ctx, source, revision, queue)
		return err
	})
	return round
}

// claims claims a refresh for a minute.
func (e *env) claims(t *testing.T, c catalog.RefreshClaim) (r catalog.ClaimedRefresh, ok bool) {
	t.Helper()
	if c.TTL == 0 {
		c.TTL = time.Minute
	}
	e.Must(t, func(ctx context.Context) (err error) {
		r, ok, err = e.RefreshQueue.ClaimRefresh(ctx, c)
		return err
	})
	return r, ok
}

// claimed requires a refresh of the default queue.
func (e *env) claimed(t *testing.T, source string, ttl time.Duration) catalog.RefreshLease {
	t.Helper()
	r, ok := e.claims(t, catalog.RefreshClaim{Worker: "w1", Queues: []string{"other", "default"}, TTL: ttl})
	if !ok || r.SourceID != source || r.Worker != "w1" || r.Revision != 1 {
		t.Fatalf("%+v %t", r, ok)
	}
	return r.RefreshLease
}

func (e *env) stateOf(t *testing.T, source string, round int64, want catalog.RefreshState) {
	t.Helper()
	got, err := e.Refreshes.RefreshState(t.Context(), source, round)
	txtest.NoError(t, err)
	txtest.Same(t, "the state", want, got)
}

func (e *env) ends(t *testing.T, source string, round int64, done, want bool) {
	t.Helper()
	e.Must(t, func(ctx context.Context) error {
		if got, err := e.Refreshes.EndRefresh(ctx, source, round, done); err != nil || got != want {
			t.Errorf("ended is %t, want %t: %v", got, want, err)
		}
		return nil
	})
}

// leaseLost requires each change by a lease to fail.
func (e *env) leaseLost(t *testing.T, l catalog.RefreshLease) {
	t.Helper()
	for _, change := range []func(ctx context.Context) error{
		func(ctx context.Context) error { return e.RefreshQueue.RenewRefresh(ctx, l, time.Minute) },
		func(ctx context.Context) error { return e.RefreshQueue.KeepRefreshSecrets(ctx, l, []byte("x")) },
		func(ctx context.Context) error {
			return e.RefreshQueue.ReportRefresh(ctx, l, catalog.RefreshResult{Content: []byte("late")})
		},
	} {
		e.Refused(t, runs.LeaseLost, change)
	}
	e.Must(t, func(ctx context.Context) error { return e.RefreshQueue.ReleaseRefresh(ctx, l) })
}

func executedOnce(t *testing.T, e *env) {
	s := e.addSource(t, "inv_1").ID
	if _, ok := e.claims(t, catalog.RefreshClaim{Worker: "w", Queues: []string{"default"}}); ok {
		t.Error("nobody asked")
	}
	round := e.asks(t, s, 1, "default")
	e.stateOf(t, s, round, catalog.RefreshState{})
	l := e.claimed(t, s, 0)
	e.stateOf(t, s, round, catalog.RefreshState{Held: true})
	e.ends(t, s, round, true, false)
	e.ends(t, s, round, false, false)
	want := catalog.RefreshResult{Content: []byte(odd), Format: catalog.INI}
	e.Must(t, func(ctx context.Context) error { return e.RefreshQueue.RenewRefresh(ctx, l, time.Minute) })
	e.Must(t, func(ctx context.Context) error { return e.RefreshQueue.ReportRefresh(ctx, l, want) })
	e.stateOf(t, s, round, catalog.RefreshState{Done: true, Result: want})
	e.leaseLost(t, l)
	e.ends(t, s, round, false, false)
	e.ends(t, s, round, true, true)
	e.ends(t, s, round, true, false)
	e.stateOf(t, s, round, catalog.RefreshState{Over: true})
	next := e.asks(t, s, 1, "default")
	if next <= round {
		t.Errorf("round %d after %d", next, round)
	}
	l = e.claimed(t, s, 0)
	failure := catalog.RefreshResult{Failure: odd}
	e.Must(t, func(ctx context.Context) error { return e.RefreshQueue.ReportRefresh(ctx, l, failure) })
	e.stateOf(t, s, next, catalog.RefreshState{Done: true, Result: failure})
}

func executedRounds(t *testing.T, e *env) {
	s := e.addSource(t, "inv_1").ID
	first := e.asks(t, s, 1, "default")
	if again := e.asks(t, s, 1, "elsewhere"); again != first {
		t.Errorf("a waiting refresh was not joined: %d", again)
	}
	l := e.claimed(t, s, 0)
	if again := e.asks(t, s, 1, "default"); again != first {
		t.Errorf("a refresh that is done now was not joined: %d", again)
	}
	second := e.asks(t, s, 2, "default")
	if second == first {
		t.Error("a refresh of an older revision was joined")
	}
	e.stateOf(t, s, first, catalog.RefreshState{Over: true})
	e.leaseLost(t, l)
	e.ends(t, s, first, false, false)
	e.ends(t, s, second, false, true)
	e.stateOf(t, s, second, catalog.RefreshState{Over: true, Missed: true})
	if third := e.asks(t, s, 2, "default"); third == second {
		t.Error("a refresh that was given up was joined")
	}
	e.Must(t, func(ctx context.Context) error { return e.Sources.DeleteSource(ctx, s, 0) })
	e.stateOf(t, s, second, catalog.RefreshState{Over: true})
	if _, ok := e.claims(t, catalog.RefreshClaim{Worker: "w", Queues: []string{"default"}}); ok {
		t.Error("the refresh of a deleted source is claimed")
	}
}

func executedLeases(t *testing.T, e *env) {
	s := e.addSource(t, "inv_1").ID
	round := e.asks(t, s, 1, "default")
	dead := e.claimed(t, s, -time.Second)
	e.stateOf(t, s, round, catalog.RefreshState{})
	e.Must(t, func(ctx context.Context) error { return e.RefreshQueue.RenewRefresh(ctx, dead, -time.Second) })
	l := e.claimed(t, s, 0)
	if l.Epoch <= dead.Epoch {
		t.Errorf("epoch %d after %d", l.Epoch, dead.Epoch)
	}
	e.leaseLost(t, dead)
	stranger := l
	stranger.Worker = "w2"
	e.leaseLost(t, stranger)
	e.stateOf(t, s, round, catalog.RefreshState{Held: true})
	e.Must(t, func(ctx context.Context) error { return e.RefreshQueue.ReleaseRefresh(ctx, l) })
	e.leaseLost(t, l)
	e.claimed(t, s, -time.Second)
	e.ends(t, s, round, false, true) // its executor died, and no other one came
}

func executedClaims(t *testing.T, e *env) {
	first, second := e.addSource(t, "inv_1").ID, e.addSource(t, "inv_1").ID
	e.asks(t, second, 1, "b")
	e.asks(t, first, 1, "a")
	for _, queues := range [][]string{nil, {"c"}, {""}} {
		if r, ok := e.claims(t, catalog.RefreshClaim{Worker: "w", Queues: queues}); ok {
			t.Errorf("%v: %+v", queues, r)
		}
	}
	for _, want := range []string{second, first} {
		if r, ok := e.claims(t, catalog.RefreshClaim{Worker: "w", Queues: []string{"a", "b"}}); !ok || r.SourceID != want {
			t.Errorf("%+v %t, want %s", r, ok, want)
		}
	}
}

func executedCapabilities(t *testing.T, e *env) {
	s := e.addSource(t, "inv_1").ID
	e.asks(t, s, 1, "default")
	hash := []byte(strings.Repeat("\x00\xff", 16))
	r, ok := e.claims(t, catalog.RefreshClaim{Worker: "w", Queues: []string{"default"}, Hash: hash})
	if !ok {
		t.Fatal("there is no refresh")
	}
	e.Must(t, func(ctx context.Context) error {
		return e.RefreshQueue.KeepRefreshSecrets(ctx, r.RefreshLease, []byte("sealed"))
	})
	got, sealed, ok, err := e.RefreshQueue.RefreshOf(t.Context(), hash)
	if err != nil || !ok || got != r.RefreshLease || string(sealed) != "sealed" {
		t.Errorf("%+v %q %t %v", got, sealed, ok, err)
	}
	if _, _, ok, err := e.RefreshQueue.RefreshOf(t.Context(), hash[1:]); ok || err != nil {
		t.Error("another capability has it", err)
	}
	e.Must(t, func(ctx context.Context) error {
		return e.RefreshQueue.ReportRefresh(ctx, r.RefreshLease, catalog.RefreshResult{})
	})
	if _, _, ok, err := e.RefreshQueue.RefreshOf(t.Context(), hash); ok || err != nil {
		t.Error("the capability outlives the claim", err)
	}
}

func executedRace(t *testing.T, e *env) {
	s := e.addSource(t, "inv_1").ID
	var mu sync.Mutex
	var work sync.WaitGroup
	var leases []catalog.RefreshLease
	rounds, ended := map[int64]bool{}, 0
	together := func(fn func(ctx context.Context) error) {
		for range 8 {
			work.Go(func() {
				if err := e.Unit.Do(t.Context(), fn); err != nil {
					t.Error(err)
				}
			})
		}
		work.Wait()
	}
	together(func(ctx context.Context) error {
		round, err := e.Refreshes.AskRefresh(ctx, s, 1, "default")
		mu.Lock()
		defer mu.Unlock()
		rounds[round] = true
		return err
	})
	together(func(ctx context.Context) error {
		r, ok, err := e.RefreshQueue.ClaimRefresh(ctx, catalog.RefreshClaim{Worker: "w", Queues: []string{"default"},
			TTL: time.Minute})
		mu.Lock()
		defer mu.Unlock()
		if ok {
			leases = append(leases, r.RefreshLease)
		}
		return err
	})
	if len(rounds) != 1 || len(leases) != 1 {
		t.Fatalf("%d rounds, %d claims", len(rounds), len(leases))
	}
	e.Must(t, func(ctx context.Context) error {
		return e.RefreshQueue.ReportRefresh(ctx, leases[0], catalog.RefreshResult{})
	})
	together(func(ctx context.Context) error {
		ok, err := e.Refreshes.EndRefresh(ctx, s, 1, true)
		mu.Lock()
		defer mu.Unlock()
		if ok {
			ended++
		}
		return err
	})
	if ended != 1 {
		t.Errorf("%d callers got the result", ended)
	}
}
