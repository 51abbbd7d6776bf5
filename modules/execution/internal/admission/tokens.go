package admission

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/tx"
)

const (
	// MaxQueues is how many queues a worker has at most.
	MaxQueues = 64
	// maxTTL limits the lifetime of a token that expires.
	maxTTL = 100 * 365 * 24 * time.Hour
)

// Deps are the dependencies of tokens.
type Deps struct {
	Store    execution.WorkerTokenStore
	Unit     tx.Unit
	Recorder audit.Recorder
	Signals  events.Signals
	Clock    clock.Clock
	IDs      ids.Generator
	Log      *slog.Logger
}

// Tokens implements execution.WorkerTokens.
type Tokens struct{ Deps }

var _ execution.WorkerTokens = (*Tokens)(nil)

// NewTokens returns tokens over a store.
func NewTokens(d Deps) *Tokens { return &Tokens{d} }

func (k *Tokens) Mint(
	ctx context.Context, name string, queues []string, ttl time.Duration,
) (execution.WorkerToken, secret.Text, error) {
	if err := checkToken(name, queues, ttl); err != nil {
		return execution.WorkerToken{}, "", err
	}
	if len(queues) == 0 {
		queues = []string{runs.DefaultQueue}
	}
	text := execution.WorkerTokenPrefix + rand.Text() + rand.Text()
	t := execution.WorkerToken{ID: k.IDs.New(ids.WorkerToken), Name: name, Queues: queues, CreatedAt: k.Clock.Now(),
		CreatedBy: object.Author(ctx)}
	if ttl > 0 {
		t.ExpiresAt = t.CreatedAt.Add(ttl)
	}
	err := k.Unit.Do(ctx, func(ctx context.Context) error {
		if err := k.Store.InsertWorkerToken(ctx, t, sha256.Sum256([]byte(text))); err != nil {
			return err
		}
		return k.Recorder.Record(ctx, entry(audit.WorkerMint, t))
	})
	if err != nil {
		return execution.WorkerToken{}, "", err
	}
	k.Log.InfoContext(ctx, "worker token minted", "id", t.ID, "worker", name, "by", object.Author(ctx))
	return t, secret.Text(text), nil
}

func checkToken(name string, queues []string, ttl time.Duration) error {
	switch {
	case !WorkerName.MatchString(name):
		return fault.BadField("name", "expected up to 128 letters, digits, dots, _ and -, the first a letter or a digit")
	case len(queues) > MaxQueues:
		return fault.BadField("queues", "has more than %d members", MaxQueues)
	case ttl < 0 || ttl > maxTTL:
		return fault.BadField("expires_in", "expected a number of seconds up to a hundred years")
	}
	for i, q := range queues {
		at := fmt.Sprintf("queues[%d]", i)
		if !QueueName.MatchString(q) {
			return fault.BadField(at, "is not the name of a queue")
		}
		if slices.Contains(queues[:i], q) {
			return fault.BadField(at, "is there twice")
		}
	}
	return nil
}

func entry(a audit.Action, t execution.WorkerToken) audit.Entry {
	queues := make([]any, len(t.Queues))
	for i, q := range t.Queues {
		queues[i] = q
	}
	detail := map[string]any{"queues": queues}
	if !t.ExpiresAt.IsZero() {
		detail["expires_at"] = t.ExpiresAt.UTC().Format(time.RFC3339Nano)
	}
	return audit.Entry{Action: a, Object: audit.Object{Kind: "worker_token", ID: t.ID, Name: t.Name}, Detail: detail}
}

func (k *Tokens) Get(ctx context.Context, id string) (execution.WorkerToken, error) {
	return k.Store.WorkerTokenByID(ctx, id)
}

func (k *Tokens) List(ctx context.Context, w page.Window) ([]execution.WorkerToken, int, error) {
	return k.Store.ListWorkerTokens(ctx, w)
}

func (k *Tokens) Revoke(ctx context.Context, id string) error {
	err := k.Unit.Do(ctx, func(ctx context.Context) error {
		was, err := k.Store.WorkerTokenByID(ctx, id)
		if err != nil {
			return err
		}
		if err := k.Store.DeleteWorkerToken(ctx, id); err != nil {
			return err
		}
		if err := k.Recorder.Record(ctx, entry(audit.WorkerRevoke, was)); err != nil {
			return err
		}
		return k.Signals.Signal(ctx, events.TopicWorker, id)
	})
	if err == nil {
		k.Log.InfoContext(ctx, "worker token revoked", "id", id, "by", object.Author(ctx))
	}
	return err
}
