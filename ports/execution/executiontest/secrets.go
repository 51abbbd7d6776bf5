package executiontest

import (
	"context"
	"testing"

	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/tx"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

// SecretStores is a store of the secrets of claims with the unit of work that it joins.
type SecretStores struct {
	Unit  tx.Unit
	Store execution.ClaimSecretStore
	// Running stores a run that is held under the epoch of a lease, and Ended one that has ended.
	Running, Ended func(ctx context.Context, l runs.Lease) error
	// Forget runs a pass of retention that deletes every run that has ended.
	Forget func(ctx context.Context) error
}

// RunClaimSecrets tests a store of the secrets of claims against its contract. each gives every case empty stores.
func RunClaimSecrets(t *testing.T, each func(t *testing.T, fn func(t *testing.T, s SecretStores))) {
	t.Helper()
	txtest.RunCases(t, txtest.Cases[SecretStores]{
		"secrets are of one claim":       secretsOfAClaim,
		"the end of the output":          secretTail,
		"what is over is forgotten":      secretsForgotten,
		"secrets go with their run":      secretsPurged,
		"a slow claim replaces no newer": secretsOfASlowClaim,
	}, each, func(s SecretStores) SecretStores { return s })
}

func of(run string, epoch int64) runs.Lease {
	return runs.Lease{RunID: run, Worker: "relay/a", Epoch: epoch}
}

func (s SecretStores) put(t *testing.T, l runs.Lease, sealed string) {
	t.Helper()
	must(t, s.Unit.Do(t.Context(), func(ctx context.Context) error { return s.Store.PutSecrets(ctx, l, []byte(sealed)) }))
}

func (s SecretStores) putTail(t *testing.T, l runs.Lease, sealed []byte) {
	t.Helper()
	must(t, s.Unit.Do(t.Context(), func(ctx context.Context) error { return s.Store.PutTail(ctx, l, sealed) }))
}

func (s SecretStores) running(t *testing.T, list ...runs.Lease) {
	t.Helper()
	for _, l := range list {
		must(t, s.Running(t.Context(), l))
	}
}

// have requires what is stored of a claim, nil for nothing.
func (s SecretStores) have(t *testing.T, l runs.Lease, sealed, tail any) {
	t.Helper()
	is := func(what string, want any, got []byte, err error) {
		t.Helper()
		text, some := want.(string)
		if err != nil || string(got) != text || (got != nil) != some {
			t.Errorf("%s of %s under %d is %q (nil: %t), %v, not %v", what, l.RunID, l.Epoch, got, got == nil, err, want)
		}
	}
	got, err := s.Store.SecretsOf(t.Context(), l)
	is("the secrets", sealed, got, err)
	got, err = s.Store.TailOf(t.Context(), l)
	is("the tail", tail, got, err)
}

func secretsOfAClaim(t *testing.T, s SecretStores) {
	a, b := of("run_1", 1), of("run_2", 1<<40)
	s.running(t, a, b)
	s.have(t, a, nil, nil)
	s.put(t, a, "a\x00\xff")
	s.put(t, b, "b")
	s.have(t, a, "a\x00\xff", nil)
	s.have(t, b, "b", nil)
	s.have(t, of("run_1", 2), nil, nil)
	s.putTail(t, a, []byte("t"))
	s.put(t, of("run_1", 2), "anew")
	s.have(t, a, nil, nil)
	s.have(t, of("run_1", 2), "anew", nil)
	for range 2 {
		must(t, s.Unit.Do(t.Context(), func(ctx context.Context) error { return s.Store.DropSecrets(ctx, b) }))
	}
	s.have(t, b, nil, nil)
	must(t, s.Unit.Do(t.Context(), func(ctx context.Context) error { return s.Store.DropSecrets(ctx, a) }))
	s.have(t, of("run_1", 2), "anew", nil)
	if err := s.Store.PutSecrets(t.Context(), a, []byte("x")); err == nil {
		t.Error("secrets were stored outside of a unit")
	}
}

func secretsOfASlowClaim(t *testing.T, s SecretStores) {
	l := of("run_1", 2)
	s.running(t, l)
	s.put(t, l, "new")
	s.put(t, of("run_1", 1), "slow")
	s.have(t, l, "new", nil)
	s.have(t, of("run_1", 1), nil, nil)
}

func secretTail(t *testing.T, s SecretStores) {
	l := of("run_1", 1)
	s.running(t, l)
	s.putTail(t, l, []byte("nobody's"))
	s.have(t, l, nil, nil)
	s.put(t, l, "a")
	s.putTail(t, l, []byte("one\x00"))
	s.putTail(t, of("run_1", 2), []byte("another's"))
	s.have(t, l, "a", "one\x00")
	s.putTail(t, l, nil)
	s.have(t, l, "a", nil)
}

func secretsForgotten(t *testing.T, s SecretStores) {
	held, taken, ended := of("run_1", 1), of("run_2", 2), of("run_3", 1)
	s.running(t, held, taken)
	must(t, s.Ended(t.Context(), ended))
	old := of("run_2", 1)
	for _, l := range []runs.Lease{held, old, ended} {
		s.put(t, l, "a")
	}
	for range 2 {
		must(t, s.Unit.Do(t.Context(), s.Store.ForgetSecrets))
	}
	s.have(t, held, "a", nil)
	s.have(t, old, nil, nil)
	s.have(t, ended, nil, nil)
}

func secretsPurged(t *testing.T, s SecretStores) {
	l := of("run_1", 1)
	must(t, s.Ended(t.Context(), l))
	s.put(t, l, "a")
	must(t, s.Forget(t.Context()))
	s.have(t, l, nil, nil)
}
