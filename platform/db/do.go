package db

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/tx"
)

var _ tx.Unit = (*DB)(nil)

// maxAttempts bounds the attempts of a unit after conflicts with other transactions.
const maxAttempts = 8

// outcome is the result of one attempt at a unit.
type outcome struct {
	err   error
	again bool // the unit is known to be rolled back and another attempt may succeed
	alone bool // another unit voided the attempt: the next one gets a transaction of its own
}

// runner makes one attempt at a unit of work.
type runner interface {
	attempt(ctx context.Context, fn func(context.Context) error, hooks *tx.Hooks, alone bool) outcome
}

// Do runs fn in a unit of work, and again, a bounded number of times, after conflicts with other transactions. If the
// conflicts do not end, or if fn takes longer than the unit's limit, the fault is Unavailable. Driver errors that fn
// returns are translated.
func (d *DB) Do(ctx context.Context, fn func(ctx context.Context) error) error {
	if u := d.unitOf(ctx); u != nil {
		return u.join(ctx, fn)
	}
	alone, watch := tx.IsAlone(ctx), clock.Start()
	limit := tx.Limit(ctx, d.cfg.UnitTimeout)
	for n := 1; ; n++ {
		attempt, hooks := tx.WithHooks(ctx)
		out := d.runner.attempt(attempt, fn, hooks, alone)
		if out.err == nil {
			hooks.Run()
			return nil
		}
		if !out.again || n == maxAttempts || watch.Elapsed() > limit {
			return d.verdict(ctx, out)
		}
		d.stats.retries.Add(1)
		alone = alone || out.alone
		if err := pause(ctx, n); err != nil {
			return err
		}
	}
}

func (u *unit) join(ctx context.Context, fn func(context.Context) error) error {
	if !u.isOpen() {
		return u.errClosed()
	}
	err := fn(ctx)
	u.fail(err)
	return err
}

// verdict returns the error for the caller.
func (d *DB) verdict(ctx context.Context, out outcome) error {
	err := out.err
	ended := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
	var f *fault.Error
	if ended && ctx.Err() == nil && !errors.As(err, &f) {
		return fault.Wrap(fault.Unavailable, err, "the unit of work took too long")
	}
	if out.again && fault.KindOf(err) != fault.Unavailable {
		return fault.Wrap(fault.Unavailable, err, "the database is busy")
	}
	return Translate(err)
}

// pause waits before the next attempt, longer each time and never the same for two that met.
func pause(ctx context.Context, n int) error {
	longest := min(time.Millisecond<<n, 200*time.Millisecond)
	if !background.Wait(ctx, rand.N(longest)) {
		return ctx.Err()
	}
	return nil
}

// Read returns the reader of stores: the transaction of the open unit, else the pool. After the end of a unit, every
// statement refuses its context.
func (d *DB) Read(ctx context.Context) bun.IDB {
	if u := d.unitOf(ctx); u != nil {
		return u
	}
	return d.reads
}

// Write returns the transaction of the open unit. Without one, or after its end, it is an Internal fault.
func (d *DB) Write(ctx context.Context) (bun.IDB, error) {
	u := d.unitOrNone(ctx)
	if !u.isOpen() {
		return nil, u.errClosed()
	}
	return u, nil
}

// InUnit returns the transaction of the open unit. If Write would fail, each statement fails.
func (d *DB) InUnit(ctx context.Context) bun.IDB { return d.unitOrNone(ctx) }

func (d *DB) unitOrNone(ctx context.Context) *unit {
	if u := d.unitOf(ctx); u != nil {
		return u
	}
	return &unit{owner: d, none: true}
}
