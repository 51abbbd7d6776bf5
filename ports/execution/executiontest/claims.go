package executiontest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"testing"

	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/tx"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

// ClaimStores is a store of claims with the unit of work that it joins.
type ClaimStores struct {
	Unit  tx.Unit
	Store execution.ClaimStore
	// Runs stores runs with these ids, so that claims can refer to them.
	Runs func(ctx context.Context, ids ...string) error
	// Forget runs a pass of retention that deletes every run.
	Forget func(ctx context.Context) error
}

// RunClaims tests a store of claims against its contract. each gives every case empty stores.
func RunClaims(t *testing.T, each func(t *testing.T, fn func(t *testing.T, s ClaimStores))) {
	t.Helper()
	txtest.RunCases(t, txtest.Cases[ClaimStores]{
		"a capability leads to its lease":     found,
		"a new claim replaces the one before": replaced,
		"a unit that fails keeps no claim":    undone,
		"a claim goes with its run":           forgotten,
		"one of many claims of a run stays":   together,
	}, each, func(s ClaimStores) ClaimStores { return s })
}

func (s ClaimStores) runs(t *testing.T, ids ...string) {
	t.Helper()
	must(t, s.Runs(t.Context(), ids...))
}

func (s ClaimStores) put(t *testing.T, capability string, l runs.Lease) {
	t.Helper()
	must(t, s.Unit.Do(t.Context(), func(ctx context.Context) error { return s.Store.PutClaim(ctx, sum(capability), l) }))
}

// is requires the lease of a capability, none for the zero lease.
func (s ClaimStores) is(t *testing.T, capability string, want runs.Lease) {
	t.Helper()
	l, ok, err := s.Store.ClaimOf(t.Context(), sum(capability))
	if err != nil || l != want || ok != (want.RunID != "") {
		t.Errorf("%s leads to %+v, %t, %v, not to %+v", capability, l, ok, err, want)
	}
}

func sum(capability string) [32]byte { return sha256.Sum256([]byte(capability)) }

func found(t *testing.T, s ClaimStores) {
	s.runs(t, "run_1", "run_2")
	a, b := runs.Lease{RunID: "run_1", Worker: "relay/wkr 'ä'", Epoch: 1},
		runs.Lease{RunID: "run_2", Worker: "relay/b", Epoch: 1 << 40}
	s.put(t, "one", a)
	s.put(t, "two", b)
	s.is(t, "one", a)
	s.is(t, "two", b)
	s.is(t, "", runs.Lease{})
	s.is(t, "three", runs.Lease{})
}

func replaced(t *testing.T, s ClaimStores) {
	s.runs(t, "run_1")
	first, second := runs.Lease{RunID: "run_1", Worker: "relay/a", Epoch: 1},
		runs.Lease{RunID: "run_1", Worker: "relay/b", Epoch: 2}
	s.put(t, "one", first)
	s.put(t, "two", second)
	s.is(t, "one", runs.Lease{})
	s.is(t, "two", second)
	s.put(t, "two", second)
	s.is(t, "two", second)
}

func undone(t *testing.T, s ClaimStores) {
	s.runs(t, "run_1")
	l := runs.Lease{RunID: "run_1", Worker: "relay/a", Epoch: 1}
	stop := errors.New("something else failed")
	err := s.Unit.Do(t.Context(), func(ctx context.Context) error {
		if err := s.Store.PutClaim(ctx, sum("one"), l); err != nil {
			return err
		}
		if got, ok, err := s.Store.ClaimOf(ctx, sum("one")); err != nil || !ok || got != l {
			t.Errorf("within the unit: %+v, %t, %v", got, ok, err)
		}
		return stop
	})
	if !errors.Is(err, stop) {
		t.Fatal(err)
	}
	s.is(t, "one", runs.Lease{})
	if err := s.Store.PutClaim(t.Context(), sum("one"), l); err == nil {
		t.Error("a claim was stored outside of a unit")
	}
	err = s.Unit.Do(t.Context(), func(ctx context.Context) error {
		return s.Store.PutClaim(ctx, sum("one"), runs.Lease{RunID: "run_none", Worker: "relay/a", Epoch: 1})
	})
	if err == nil {
		t.Error("a claim of no run was stored")
	}
	s.is(t, "one", runs.Lease{})
}

func forgotten(t *testing.T, s ClaimStores) {
	s.runs(t, "run_1")
	s.put(t, "one", runs.Lease{RunID: "run_1", Worker: "relay/a", Epoch: 1})
	must(t, s.Forget(t.Context()))
	s.is(t, "one", runs.Lease{})
}

func together(t *testing.T, s ClaimStores) {
	s.runs(t, "run_1")
	const all = 32
	txtest.Together(all, func(i int) {
		err := s.Unit.Do(t.Context(), func(ctx context.Context) error {
			return s.Store.PutClaim(ctx, sum(fmt.Sprint(i)), runs.Lease{RunID: "run_1", Worker: "relay/a", Epoch: int64(i)})
		})
		if err != nil {
			t.Error(err)
		}
	})
	left := 0
	for i := range all {
		l, ok, err := s.Store.ClaimOf(t.Context(), sum(fmt.Sprint(i)))
		must(t, err)
		if ok {
			left++
			if l.Epoch != int64(i) {
				t.Errorf("%d leads to %+v", i, l)
			}
		}
	}
	if left != 1 {
		t.Errorf("%d claims of one run are there", left)
	}
}
