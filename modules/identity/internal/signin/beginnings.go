package signin

import (
	"context"
	"log/slog"

	"github.com/writ-automation/writ/modules/identity/internal/throttle"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/identity"
)

// Beginnings bounds how often sign-ins at a provider begin. They are counted apart from failures to sign in, so that an
// office behind one address keeps its passwords.
type Beginnings struct {
	throttle *throttle.Throttle
	log      *slog.Logger
}

var _ identity.SignInLimiter = (*Beginnings)(nil)

// NewBeginnings makes the bound.
func NewBeginnings(t *throttle.Throttle, log *slog.Logger) *Beginnings {
	return &Beginnings{throttle: t, log: log}
}

// The fault says when to try again.
func (b *Beginnings) Begin(ctx context.Context) error {
	address := actor.From(ctx).IP
	first, err := b.throttle.Count(address)
	if first {
		b.log.WarnContext(ctx, refused, "reason", identity.TooManyAttempts.Name, "address", address)
	}
	return err
}
