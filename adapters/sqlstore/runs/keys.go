package runs

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/runs"
)

type idempotencyKey struct {
	bun.BaseModel `bun:"table:idempotency_keys,alias:k"`
	ActorID       string `bun:",pk"`
	Scope         string `bun:",pk"`
	Key           string `bun:",pk"`
	Digest        [32]byte
	RunID         string
	CreatedAt     time.Time
}

type ticket struct {
	bun.BaseModel `bun:"table:stream_tickets,alias:t"`
	Hash          []byte `bun:",pk"`
	RunID         string
	Account       string
	TokenID       string
	ExpiresAt     time.Time // by the clock of the leases
}

func (s *Store) Remember(
	ctx context.Context, actorID string, k runs.Idempotency, runID string, at, since time.Time,
) (*runs.Remembered, error) {
	q := s.d.InUnit(ctx)
	row := idempotencyKey{ActorID: actorID, Scope: k.Scope, Key: k.Key, Digest: k.Digest, RunID: runID, CreatedAt: at}
	n, err := db.Modify(ctx, q.NewInsert().Model(&row).On("CONFLICT (actor_id, scope, key) DO UPDATE").
		Where("k.created_at <= ?", db.At(since)))
	if err != nil {
		return nil, fmt.Errorf("remember a key: %w", err)
	}
	if n > 0 {
		return nil, nil
	}
	if err := q.NewSelect().Model(&row).WherePK().Scan(ctx); err != nil {
		return nil, db.Wrap(err, "read a key")
	}
	return &runs.Remembered{RunID: row.RunID, Digest: row.Digest}, nil
}

// SaveTicket uses the clock of the leases.
func (s *Store) SaveTicket(
	ctx context.Context, hash [32]byte, runID string, h runs.TicketOwner, ttl time.Duration,
) error {
	row := ticket{Hash: hash[:], RunID: runID, Account: h.Account, TokenID: h.Token}
	_, err := db.Modify(ctx, s.d.InUnit(ctx).NewInsert().Model(&row).
		Value("expires_at", "?", s.dialect.LeaseNow().Add(ttl)).Returning("NULL"))
	return err
}

func (s *Store) TakeTicket(ctx context.Context, hash [32]byte) (runID string, h runs.TicketOwner, err error) {
	var row ticket
	ok, err := db.First(ctx, s.d.InUnit(ctx).NewDelete().Model(&row).
		Where("t.hash = ? AND t.expires_at > ?", hash[:], s.dialect.LeaseNow()).
		Returning("run_id, account, token_id"))
	if err == nil && !ok {
		err = runs.BadTicket.New("the ticket is unknown, used or expired")
	}
	return row.RunID, runs.TicketOwner{Account: row.Account, Token: row.TokenID}, err
}
