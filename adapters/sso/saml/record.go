package saml

import (
	"context"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/identity"
)

// record notes that a sign-in which began here was refused, and returns the refusal. Each of them spent a handshake,
// and how many of those begin is bounded; an answer to no sign-in is refused before it comes here, so that nobody
// fills the trail by making answers up. Unrecorded where there can be no entry.
func (p *Provider) record(ctx context.Context, refusal error) error {
	err := audit.Deny(ctx, p.unit, p.recorder, audit.Entry{
		Action: audit.AuthLogin, Detail: map[string]any{"method": kind, "reason": identity.BadSignIn.Name},
	})
	if err != nil {
		return err
	}
	return refusal
}
