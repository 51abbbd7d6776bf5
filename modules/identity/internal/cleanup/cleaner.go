// Package cleanup drops what identity no longer needs: ended sessions, sign-ins that were never completed, and what
// tells of changes of rights that every server has long seen.
package cleanup

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/tx"
)

const (
	// first keeps a start quick, and every is the pause between two passes.
	first = time.Minute
	every = time.Minute
	// passTimeout bounds one pass. Within it, drain is how long one drops sign-ins that were not completed.
	passTimeout = 2 * time.Minute
	drain       = time.Minute
	// grace is how long an ended session is kept, for those who look at the list of tokens.
	grace = 24 * time.Hour
	// batch bounds how many rows one statement drops, and batches how many such statements a pass has for sessions.
	batch   = 1000
	batches = 10
	// changes is how many changes of rights are remembered.
	changes = 10_000
)

// Cleaner is the loop.
type Cleaner struct {
	tokens     identity.TokenStore
	handshakes identity.HandshakeStore
	rights     identity.RightsStore
	unit       tx.Unit
	clock      clock.Clock
}

// New returns the upkeep of the stores.
func New(t identity.TokenStore, h identity.HandshakeStore, r identity.RightsStore, u tx.Unit, c clock.Clock) *Cleaner {
	return &Cleaner{tokens: t, handshakes: h, rights: r, unit: u, clock: c}
}

// Loop repeats Pass.
func (u *Cleaner) Loop() *background.Loop {
	return &background.Loop{Name: "identity upkeep", Pass: u.Pass, First: first, Every: every, Timeout: passTimeout}
}

// Pass does the work once. What fails keeps nothing else from being done.
func (u *Cleaner) Pass(ctx context.Context) error {
	return errors.Join(u.sessions(ctx), u.forget(ctx), u.outdated(ctx))
}

func (u *Cleaner) sessions(ctx context.Context) error {
	before := u.clock.Now().Add(-grace)
	for range batches {
		n := 0
		err := u.unit.Do(ctx, func(ctx context.Context) (err error) {
			n, err = u.tokens.PurgeTokens(ctx, before, batch)
			return err
		})
		if err != nil {
			return fmt.Errorf("drop ended sessions: %w", err)
		}
		if n < batch {
			break
		}
	}
	return nil
}

// outdated goes on until nothing is left: beginning a sign-in costs its caller nothing, so there may be many.
func (u *Cleaner) outdated(ctx context.Context) error {
	for end := u.clock.Now().Add(drain); u.clock.Now().Before(end); {
		n := 0
		err := u.unit.Do(ctx, func(ctx context.Context) (err error) {
			n, err = u.handshakes.PurgeHandshakes(ctx, batch)
			return err
		})
		if err != nil {
			return fmt.Errorf("drop sign-ins that were not completed: %w", err)
		}
		if n < batch {
			break
		}
	}
	return nil
}

func (u *Cleaner) forget(ctx context.Context) error {
	err := u.unit.Do(ctx, func(ctx context.Context) error { return u.rights.ForgetChanges(ctx, changes) })
	if err != nil {
		return fmt.Errorf("forget old changes of rights: %w", err)
	}
	return nil
}
