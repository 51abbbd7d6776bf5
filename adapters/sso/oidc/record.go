package oidc

import (
	"context"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/identity"
)

// record records that a sign-in of this server was refused, and returns the refusal. Each of them used up a handshake,
// and the number of handshakes is limited; an answer without a sign-in is refused earlier, so forged answers cannot
// fill the trail. The fault is Unrecorded if the entry cannot be written.
func (p *Provider) record(ctx context.Context, refusal error) error {
	err := audit.Deny(ctx, p.unit, p.recorder, audit.Entry{
		Action: audit.AuthLogin, Detail: map[string]any{"method": kind, "reason": identity.BadSignIn.Name},
	})
	if err != nil {
		return err
	}
	return refusal
}
