package plugin

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/extension/plugin/wire"
)

// lateTime bounds the revocation of a secret that nobody received.
const lateTime = 10 * time.Second

// leases are those of the secrets that this process minted and nobody has revoked.
type leases struct {
	mu   sync.Mutex
	byID map[string]*extension.SecretLease
}

func newLeases() *leases { return &leases{byID: make(map[string]*extension.SecretLease)} }

// keep returns the message of a lease, nil for none. It keeps a lease that can be revoked or renewed.
func (l *leases) keep(lease *extension.SecretLease) *wire.Lease {
	if lease == nil {
		return nil
	}
	out := &wire.Lease{Handle: lease.Handle(), Revocable: lease.Revocable(), LifeMs: lease.Life().Milliseconds()}
	if !out.GetRevocable() && out.GetLifeMs() == 0 {
		return out
	}
	out.Id = rand.Text()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.byID[out.GetId()] = lease
	return out
}

func (l *leases) find(id string) *extension.SecretLease {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.byID[id]
}

func (l *leases) forget(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.byID, id)
}

// revokeLate ends a secret whose caller is gone. Without a lease it ends by itself.
func revokeLate(ctx context.Context, lease *extension.SecretLease) {
	bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), lateTime)
	defer cancel()
	_ = lease.Revoke(bound) // nobody is left to hear of the error
}
