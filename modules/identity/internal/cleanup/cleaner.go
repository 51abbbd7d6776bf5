// Package cleanup deletes expired rows in the background: ended sessions, sign-ins that were not completed, and old
// changes of rights. It works on the stores only, apart from requests.
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
	first = time.Minute // before the first pass, so that a start is quick
	every = time.Minute // between two passes
	// passTimeout limits one pass. Within it, drain limits the deletion of sign-ins that were not completed.
	passTimeout = 2 * time.Minute
	drain       = time.Minute
	// grace is how long an ended session stays in the list of tokens.
	grace   = 24 * time.Hour
	batch   = 1000   // rows of one statement
	batches = 10     // statements of one pass for sessions
	changes = 10_000 // of rights that stay
)

// Cleaner is the loop.
type Cleaner struct {
	tokens     identity.TokenStore
	handshakes identity.HandshakeStore
	rights     identity.RightsStore
	unit       tx.Unit
	clock      clock.Clock
}

// New makes a Cleaner over the stores.
func New(t identity.TokenStore, h identity.HandshakeStore, r identity.RightsStore, u tx.Unit, c clock.Clock) *Cleaner {
	return &Cleaner{tokens: t, handshakes: h, rights: r, unit: u, clock: c}
}

// Loop repeats Pass.
func (u *Cleaner) Loop() *background.Loop {
	return &background.Loop{Name: "identity upkeep", Pass: u.Pass, First: first, Every: every, Timeout: passTimeout}
}

// Pass does the work once. A failure of one part does not stop the others.
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

// outdated continues until nothing is left. There may be many, because beginning a sign-in costs the caller nothing.
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
