package lease

import (
	"context"
	"fmt"
	"time"

	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/secrets"
)

const (
	// renewTime bounds one call of an engine that renews.
	renewTime = 10 * time.Second
	// leastWait is the least time between two renewals of one lease. If a renewal extends the lease by no more than
	// that, it is the last one.
	leastWait = time.Second
	// mostWait is the longest sleep between two checks of the clock.
	mostWait = time.Minute
)

// renewer returns the loop that renews secrets until their owners are released.
func (b *Ledger) renewer() *background.Loop {
	wait := mostWait
	return &background.Loop{
		Name: "lease renewal", First: mostWait, Next: func() time.Duration { return wait },
		Pass: func(ctx context.Context) error { wait = b.renew(ctx); return nil },
	}
}

// renewal is a minted secret that is to be renewed, with its owner.
type renewal struct {
	owner secrets.Owner
	held  *Entry
}

// renew renews what is due and returns the time to wait.
func (b *Ledger) renew(ctx context.Context) time.Duration {
	due, _ := b.renewals()
	each(due, func(r renewal) { b.renewOne(ctx, r) })
	_, wait := b.renewals()
	return wait
}

// renewals returns what is due, and the time until the next renewal.
func (b *Ledger) renewals() (due []renewal, wait time.Duration) {
	now := b.Clock.Now()
	wait = mostWait
	b.mu.Lock()
	defer b.mu.Unlock()
	for o, list := range b.tracked {
		for _, h := range list {
			switch left := h.renewAt.Sub(now); {
			case h.renewAt.IsZero():
			case left <= 0:
				due = append(due, renewal{o, h})
				wait = 0
			default:
				wait = min(wait, left)
			}
		}
	}
	return due, wait
}

func (b *Ledger) renewOne(ctx context.Context, r renewal) {
	h := r.held
	life, err := Do(ctx, b.Calls, h.Engine, renewTime, h.lease.Renew, func(time.Duration, error) {})
	if ctx.Err() != nil {
		return
	}
	if warning := b.renewed(h, life, Redact(err, h.hidden...), err == nil); warning != "" && b.owns(r) {
		b.Log.WarnContext(ctx, "a minted secret was not renewed", "run", r.owner.ID, "lease", h.ID, "reason", warning)
	}
}

// renewed records the result of a renewal and when the next one is due. It returns why the secret may end before its
// owner.
func (b *Ledger) renewed(h *Entry, life time.Duration, message string, ok bool) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	now, before := b.Clock.Now(), h.expires
	if ok {
		h.expires, h.warning = now.Add(life), ""
	}
	left := h.expires.Sub(now)
	h.renewAt = now.Add(max(left*2/3, leastWait))
	about := fmt.Sprintf("what the engine %s made for the credential %s", h.Engine, h.CredentialID)
	switch {
	case ok && h.expires.Before(before.Add(leastWait)):
		h.renewAt = time.Time{}
		h.warning = about + " cannot be renewed any longer; it ends at " + h.expires.UTC().Format(time.RFC3339)
	case !ok && left <= leastWait:
		h.renewAt = time.Time{}
		h.warning = about + " was not renewed and has ended: " + message
	case !ok:
		h.renewAt = now.Add(max(left/3, leastWait))
		h.warning = about + " could not be renewed: " + message
	}
	return h.warning
}

// owns reports whether a secret still belongs to its owner.
func (b *Ledger) owns(r renewal) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, h := range b.tracked[r.owner] {
		if h == r.held {
			return true
		}
	}
	return false
}

// Warnings returns why secrets of an owner could not be renewed.
func (b *Ledger) Warnings(o secrets.Owner) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []string
	for _, h := range b.tracked[o] {
		if h.warning != "" {
			out = append(out, h.warning)
		}
	}
	return out
}
