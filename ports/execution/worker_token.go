package execution

import (
	"context"
	"time"

	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/secret"
)

// WorkerToken lets one worker over the relay act under its name, for the runs of some queues.
type WorkerToken struct {
	ID        string
	Name      string // the worker's, without RelayPrefix
	Queues    []string
	CreatedAt time.Time
	CreatedBy string
	ExpiresAt time.Time // zero: never
}

// Valid reports whether the token has not expired.
func (t *WorkerToken) Valid(now time.Time) bool {
	return t.ExpiresAt.IsZero() || now.Before(t.ExpiresAt)
}

// WorkerTokenPrefix begins the text of a token that is made for one worker.
const WorkerTokenPrefix = "writ_worker_"

// WorkerTokens manages the tokens of workers. It leaves the question who may do so to its caller.
type WorkerTokens interface {
	// Mint makes a token and returns its text, which is stored nowhere. Without queues it is good for the default queue.
	// A ttl of zero is without end. Faults: Invalid names a member; NameTaken of package access where a token that has
	// not expired has the name.
	Mint(ctx context.Context, name string, queues []string, ttl time.Duration) (WorkerToken, secret.Text, error)
	// Get returns one token. WorkerTokenNotFound.
	Get(ctx context.Context, id string) (WorkerToken, error)
	// List returns tokens in the order of their creation, and their total number.
	List(ctx context.Context, w page.Window) ([]WorkerToken, int, error)
	// Revoke ends a token with the next call of its worker; a claim that waits ends at once. WorkerTokenNotFound.
	Revoke(ctx context.Context, id string) error
}

// WorkerTokenStore stores the tokens of workers by the SHA-256 of their text. Writes join the unit of ctx.
type WorkerTokenStore interface {
	// InsertWorkerToken stores a token, in place of one of the same name that has expired at the time of its creation.
	// NameTaken of package access.
	InsertWorkerToken(ctx context.Context, t WorkerToken, hash [32]byte) error
	// WorkerTokenByHash, WorkerTokenByID and WorkerTokenByName return a token, expired or not. WorkerTokenNotFound.
	WorkerTokenByHash(ctx context.Context, hash [32]byte) (WorkerToken, error)
	WorkerTokenByID(ctx context.Context, id string) (WorkerToken, error)
	WorkerTokenByName(ctx context.Context, name string) (WorkerToken, error)
	ListWorkerTokens(ctx context.Context, w page.Window) ([]WorkerToken, int, error)
	// DeleteWorkerToken deletes a token. WorkerTokenNotFound.
	DeleteWorkerToken(ctx context.Context, id string) error
}

// Peer is a worker over the relay as its token introduces it. The zero Peer is one with the token that all workers of
// an install share.
type Peer struct {
	TokenID string // empty: the shared token
	Name    string
	Queues  []string
}

type peerKey struct{}

// WithPeer returns a context in which a worker calls.
func WithPeer(ctx context.Context, p Peer) context.Context {
	return context.WithValue(ctx, peerKey{}, p)
}

// PeerOf returns the worker that calls. ok is false where no worker does.
func PeerOf(ctx context.Context) (p Peer, ok bool) {
	p, ok = ctx.Value(peerKey{}).(Peer)
	return p, ok
}

// WorkerGate recognizes workers by their own tokens.
type WorkerGate interface {
	// Admit returns the worker of a token. Faults: BadWorkerToken for one that is unknown or has expired, RelayDisabled
	// where there are no tokens of workers at all.
	Admit(ctx context.Context, token secret.Text) (Peer, error)
}
