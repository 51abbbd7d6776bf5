package lease

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/secrets"
	"github.com/writ-automation/writ/ports/tx"
)

const (
	// revokeTime bounds one call of an engine that revokes, storeTime one write of the store.
	revokeTime = 10 * time.Second
	storeTime  = 10 * time.Second
	// maxAttempts is how often the revocation of one lease is tried. After that the lease ends with the engine's own
	// time to live.
	maxAttempts = 10
	// workers is how many leases are revoked concurrently.
	workers = 4
	// maxPending is how many minted secrets wait in this process.
	maxPending = 10_000
)

// Params are the dependencies of a Ledger.
type Params struct {
	Store   secrets.LeaseStore
	Sealer  secrets.Sealer
	Engines map[string]extension.Engine
	Calls   *Calls
	Unit    tx.Unit
	Clock   clock.Clock
	IDs     ids.Generator
	Log     *slog.Logger
}

// Ledger records what was minted. It is safe for concurrent use.
type Ledger struct {
	Params
	renewing *background.Loop

	mu      sync.Mutex
	tracked map[secrets.Owner][]*Entry
	pending []*Entry // to be revoked when they are due
}

// New returns an empty ledger.
func New(p Params) *Ledger {
	b := &Ledger{Params: p, tracked: map[secrets.Owner][]*Entry{}}
	b.renewing = b.renewer()
	return b
}

// Entry is a minted secret that this process can revoke.
type Entry struct {
	ID           string
	CredentialID string
	Engine       string

	stored   bool // in the store, so that other processes can revoke it as well
	revoke   func(ctx context.Context) error
	hidden   []string  // values that errors must not contain
	after    time.Time // time of the revocation, for pending entries
	attempts int

	// The following fields are for a secret that can be renewed. The lock of the ledger protects them.
	lease   *extension.SecretLease
	renewAt time.Time // zero: no more renewals
	expires time.Time
	warning string // why it could not be renewed
}

// handle is the sealed part of a lease.
type handle struct {
	Handle string         `json:"handle"`
	Config map[string]any `json:"config,omitempty"`
}

// Record records a minted secret. It stores the sealed lease if the engine can revoke it by its handle. It returns nil
// if the secret cannot be revoked. Before it returns an error, it tries to revoke the secret.
func (b *Ledger) Record(
	ctx context.Context, o secrets.Owner, credential, engine string, config map[string]any, l *extension.SecretLease,
) (*Entry, error) {
	h := &Entry{ID: b.IDs.New(ids.Lease), CredentialID: credential, Engine: engine, hidden: Texts(config)}
	if l == nil {
		return nil, nil
	}
	if l.Handle() != "" {
		h.hidden = append(h.hidden, l.Handle())
	}
	if life := l.Life(); life > 0 {
		h.lease, h.expires = l, b.Clock.Now().Add(life)
		h.renewAt = h.expires.Add(-life / 3)
	}
	revoker, can := b.Engines[engine].Minter.(extension.LeaseRevoker)
	kept := can && l.Handle() != ""
	switch {
	case l.Revocable():
		h.revoke = l.Revoke
	case kept:
		h.revoke = func(ctx context.Context) error { return revoker.RevokeLease(ctx, config, l.Handle()) }
	default:
		return nil, nil
	}
	if !kept {
		return h, nil
	}
	if err := b.store(ctx, h, o, handle{Handle: l.Handle(), Config: config}); err != nil {
		h.stored = true // a commit that failed without an answer may have happened
		b.Revoke(context.WithoutCancel(ctx), []*Entry{h})
		if f, ok := errors.AsType[*fault.Error](err); ok && secrets.KeyLost.Is(err) {
			return nil, secrets.KeyLost.New("the credential %s: what its engine %s minted cannot be kept: %s", credential,
				engine, f.Message)
		}
		return nil, fmt.Errorf("keep the lease of what the engine %s minted for the credential %s: %w", engine,
			credential, err)
	}
	h.stored = true
	return h, nil
}

func (b *Ledger) store(ctx context.Context, h *Entry, o secrets.Owner, what handle) error {
	plain, err := json.Marshal(what)
	if err != nil {
		return errors.New("the config has no form in JSON") // the cause may contain a part of the secret
	}
	defer clear(plain)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTime)
	defer cancel()
	sealed, err := b.Sealer.Seal(ctx, secrets.LeaseRecord(h.ID), plain)
	if err != nil {
		return err
	}
	l := secrets.Lease{
		ID: h.ID, Owner: o, CredentialID: h.CredentialID, Engine: h.Engine, Sealed: sealed, CreatedAt: b.Clock.Now(),
	}
	return b.Unit.Do(ctx, func(ctx context.Context) error { return b.Store.InsertLease(ctx, l) })
}

// open returns the sealed part of a lease.
func (b *Ledger) open(ctx context.Context, l secrets.Lease) (handle, error) {
	plain, err := b.Sealer.Open(ctx, secrets.LeaseRecord(l.ID), l.Sealed)
	if err != nil {
		return handle{}, err
	}
	defer clear(plain)
	var out handle
	if json.Unmarshal(plain, &out) != nil {
		return handle{}, errors.New("a lease is not in its form") // the cause may contain a part of the secret
	}
	return out, nil
}

// Track records a minted secret for an owner until Release.
func (b *Ledger) Track(o secrets.Owner, list []*Entry) {
	if len(list) == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tracked[o] = append(b.tracked[o], list...)
	b.renewing.Wake()
}

// Release revokes what was minted for an owner, by this process or by one that has ended.
func (b *Ledger) Release(ctx context.Context, o secrets.Owner) {
	b.mu.Lock()
	list := b.tracked[o]
	delete(b.tracked, o)
	b.mu.Unlock()
	b.Revoke(ctx, list)
	bound, cancel := context.WithTimeout(ctx, storeTime)
	rows, err := b.Store.LeasesOf(bound, o)
	cancel()
	if err != nil {
		b.Log.WarnContext(ctx, "the leases of an owner cannot be read; they are revoked later", "owner", o.ID, "epoch",
			o.Epoch, "err", err)
		return
	}
	tried := make(map[string]bool, len(list))
	for _, h := range list {
		tried[h.ID] = true
	}
	each(rows, func(l secrets.Lease) {
		if !tried[l.ID] {
			b.revokeStored(ctx, l)
		}
	})
}

// Revoke revokes at once. A stored lease that fails is left to the sweep; an entry that only this process has is tried
// again by its own passes.
func (b *Ledger) Revoke(ctx context.Context, list []*Entry) {
	each(list, func(h *Entry) { b.revoke(ctx, h) })
}

func (b *Ledger) revoke(ctx context.Context, h *Entry) {
	done := func(err error) bool {
		if err == nil && h.stored {
			b.drop(ctx, h.ID)
		}
		return err == nil
	}
	err := b.call(ctx, h.Engine, h.revoke, func(err error) { done(err) })
	if done(err) {
		return
	}
	h.attempts++
	attrs := []any{"lease", h.ID, "engine", h.Engine, "credential", h.CredentialID, "err", Redact(err, h.hidden...)}
	switch {
	case h.stored:
		b.Log.WarnContext(ctx, "a minted secret was not revoked; it is tried again", attrs...)
	case h.attempts >= maxAttempts:
		b.Log.ErrorContext(ctx, "a minted secret was not revoked; it ends by itself", attrs...)
	default:
		b.Log.WarnContext(ctx, "a minted secret was not revoked; it is tried again", attrs...)
		b.wait([]*Entry{h}, b.Clock.Now())
	}
}

// call calls an engine to revoke a lease. late is called when a call returns after its time.
func (b *Ledger) call(
	ctx context.Context, engine string, revoke func(ctx context.Context) error, late func(error),
) error {
	type nothing struct{}
	_, err := Do(ctx, b.Calls, engine, revokeTime,
		func(ctx context.Context) (nothing, error) { return nothing{}, revoke(ctx) }, func(_ nothing, err error) {
			late(err)
		})
	return err
}

// RevokeAfter revokes after a time, for owners that do not call Release.
func (b *Ledger) RevokeAfter(list []*Entry, after time.Duration) {
	b.wait(list, b.Clock.Now().Add(after))
}

func (b *Ledger) wait(list []*Entry, until time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, h := range list {
		h.after = until
		b.pending = append(b.pending, h)
	}
	for len(b.pending) > maxPending {
		if h := b.pending[0]; !h.stored {
			b.Log.Error("too many minted secrets wait to be revoked; this one ends by itself",
				"lease", h.ID, "engine", h.Engine, "credential", h.CredentialID)
		}
		b.pending = b.pending[1:]
	}
}

// due removes and returns the pending entries that are due, or all.
func (b *Ledger) due(all bool) []*Entry {
	now := b.Clock.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	var due, rest []*Entry
	for _, h := range b.pending {
		if all || !h.after.After(now) {
			due = append(due, h)
		} else {
			rest = append(rest, h)
		}
	}
	b.pending = rest
	return due
}

// drop deletes a stored lease. If that fails, the lease is revoked once more, which is no error.
func (b *Ledger) drop(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTime)
	defer cancel()
	err := b.Unit.Do(ctx, func(ctx context.Context) error { return b.Store.DropLease(ctx, id) })
	if err != nil {
		b.Log.WarnContext(ctx, "a lease that is over cannot be forgotten; it is tried again", "lease", id, "err", err)
	}
}

// each calls fn for every element, a few concurrently, and returns when all are done.
func each[T any](list []T, fn func(T)) {
	var work sync.WaitGroup
	slots := make(chan struct{}, workers)
	for _, e := range list {
		slots <- struct{}{}
		work.Go(func() {
			defer func() { <-slots }()
			fn(e)
		})
	}
	work.Wait()
}
