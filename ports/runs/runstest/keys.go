package runstest

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

func keyCases() map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
		"a key is remembered":      keyRemembered,
		"an old key":               keyOld,
		"one key at once":          keyRace,
		"a ticket is used once":    ticketOnce,
		"whose a ticket is":        ticketOwners,
		"an expired ticket":        ticketExpired,
		"many take one ticket":     ticketRace,
		"purging keys and tickets": keyPurge,
	}
}

func (e *env) remember(
	t *testing.T, actor string, k runs.Idempotency, run string, when, since time.Time,
) *runs.Remembered {
	t.Helper()
	var got *runs.Remembered
	e.must(t, func(ctx context.Context) error {
		var err error
		got, err = e.Keys.Remember(ctx, actor, k, run, when, since)
		return err
	})
	return got
}

func keyRemembered(t *testing.T, e *env) {
	k := runs.Idempotency{Key: "k'1", Scope: "submit", Digest: [32]byte{0, 255, 3}}
	if got := e.remember(t, "u1", k, "run_1", epoch, at(-time.Hour)); got != nil {
		t.Fatalf("a new key was seen before: %+v", got)
	}
	other := k
	other.Digest[0] = 9
	for range 2 {
		got := e.remember(t, "u1", other, "run_2", at(time.Minute), at(-time.Hour))
		if got == nil || *got != (runs.Remembered{RunID: "run_1", Digest: k.Digest}) {
			t.Fatalf("remembered %+v", got)
		}
	}
	scope := k
	scope.Scope = "pipeline"
	for _, c := range []struct {
		actor string
		k     runs.Idempotency
	}{{"u2", k}, {"u1", scope}, {"", k}} {
		if got := e.remember(t, c.actor, c.k, "run_3", epoch, at(-time.Hour)); got != nil {
			t.Errorf("another actor or scope: %+v", got)
		}
	}
}

func keyOld(t *testing.T, e *env) {
	k := runs.Idempotency{Key: "k", Scope: "s", Digest: [32]byte{1}}
	e.remember(t, "u", k, "run_1", epoch, at(-time.Hour))
	k.Digest[0] = 2
	if got := e.remember(t, "u", k, "run_2", at(48*time.Hour), at(24*time.Hour)); got != nil {
		t.Fatalf("an old key was remembered: %+v", got)
	}
	got := e.remember(t, "u", k, "run_3", at(49*time.Hour), at(25*time.Hour))
	if got == nil || got.RunID != "run_2" || got.Digest != k.Digest {
		t.Errorf("remembered %+v", got)
	}
}

func keyRace(t *testing.T, e *env) {
	var first atomic.Int64
	txtest.Together(16, func(int) {
		err := e.Unit.Do(t.Context(), func(ctx context.Context) error {
			got, err := e.Keys.Remember(ctx, "u", runs.Idempotency{Key: "k", Scope: "s"}, "run", epoch, at(-time.Hour))
			if err == nil && got == nil {
				first.Add(1)
			}
			return err
		})
		if err != nil {
			t.Errorf("remember: %v", err)
		}
	})
	if n := first.Load(); n != 1 {
		t.Errorf("%d were the first", n)
	}
}

func (e *env) ticket(t *testing.T, n byte, d time.Duration) [32]byte {
	t.Helper()
	hash := [32]byte{n, 0, 255}
	e.must(t, func(ctx context.Context) error { return e.Tickets.SaveTicket(ctx, hash, "run_1", ticketOwner, d) })
	return hash
}

var ticketOwner = runs.TicketOwner{Account: "usr_1", Token: "tok_1"}

func (e *env) takeTicket(t *testing.T, hash [32]byte) (run string, h runs.TicketOwner, err error) {
	t.Helper()
	err = e.do(t, func(ctx context.Context) error {
		var err error
		run, h, err = e.Tickets.TakeTicket(ctx, hash)
		return err
	})
	return run, h, err
}

func ticketOnce(t *testing.T, e *env) {
	hash := e.ticket(t, 1, ttl)
	_, _, err := e.takeTicket(t, [32]byte{7})
	wantFault(t, err, runs.BadTicket)
	if run, h, err := e.takeTicket(t, hash); err != nil || run != "run_1" || h != ticketOwner {
		t.Errorf("took %q, %+v, %v", run, h, err)
	}
	_, _, err = e.takeTicket(t, hash)
	wantFault(t, err, runs.BadTicket)
}

// ticketOwners takes tickets with an incomplete owner: one without a token, and an empty one.
func ticketOwners(t *testing.T, e *env) {
	for i, want := range []runs.TicketOwner{{Account: "usr_2"}, {}, {Account: "ä'", Token: "tok_'2"}} {
		hash := [32]byte{byte(i)}
		e.must(t, func(ctx context.Context) error { return e.Tickets.SaveTicket(ctx, hash, "run_2", want, ttl) })
		if run, h, err := e.takeTicket(t, hash); err != nil || run != "run_2" || h != want {
			t.Errorf("took %q, %+v, %v, want %+v", run, h, err, want)
		}
	}
}

func ticketExpired(t *testing.T, e *env) {
	_, _, err := e.takeTicket(t, e.ticket(t, 1, gone))
	wantFault(t, err, runs.BadTicket)
}

func ticketRace(t *testing.T, e *env) {
	hash := e.ticket(t, 1, ttl)
	var won atomic.Int64
	txtest.Together(100, func(int) {
		err := e.Unit.Do(t.Context(), func(ctx context.Context) error {
			_, _, err := e.Tickets.TakeTicket(ctx, hash)
			return err
		})
		if err == nil {
			won.Add(1)
		} else if !runs.BadTicket.Is(err) {
			t.Errorf("the loser gets %v", err)
		}
	})
	if n := won.Load(); n != 1 {
		t.Errorf("%d took one ticket", n)
	}
}

func keyPurge(t *testing.T, e *env) {
	k := func(name string) runs.Idempotency { return runs.Idempotency{Key: name, Scope: "s"} }
	e.remember(t, "u", k("old"), "run_old", epoch, at(-time.Hour))
	e.remember(t, "u", k("new"), "run_new", at(time.Hour), at(-time.Hour))
	live := e.ticket(t, 1, ttl)
	e.ticket(t, 2, gone)
	e.must(t, func(ctx context.Context) error { return e.Purger.PurgeKeys(ctx, at(time.Minute)) })
	if got := e.remember(t, "u", k("old"), "run_2", at(time.Hour), at(-time.Hour)); got != nil {
		t.Errorf("a purged key was remembered: %+v", got)
	}
	if got := e.remember(t, "u", k("new"), "run_2", at(time.Hour), at(-time.Hour)); got == nil || got.RunID != "run_new" {
		t.Errorf("remembered %+v", got)
	}
	if _, _, err := e.takeTicket(t, live); err != nil {
		t.Errorf("a live ticket was purged: %v", err)
	}
}
