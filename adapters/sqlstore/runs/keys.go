package runs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/runs"
)

// Remember implements runs.KeyStore.
func (s *Store) Remember(ctx context.Context, actorID string, k runs.Idempotency, runID string, at, since time.Time) (*runs.Remembered, error) {
	q, err := s.d.Write(ctx)
	if err != nil {
		return nil, err
	}
	n, err := exec(ctx, q, "INSERT INTO idempotency_keys (actor_id, scope, key, digest, run_id, created_at) VALUES (?, ?, ?, ?, ?, ?) "+
		"ON CONFLICT (actor_id, scope, key) DO UPDATE SET digest = excluded.digest, run_id = excluded.run_id, created_at = excluded.created_at "+
		"WHERE idempotency_keys.created_at <= ?", actorID, k.Scope, k.Key, k.Digest[:], runID, db.At(at), db.At(since))
	if err != nil {
		return nil, fmt.Errorf("remember a key: %w", err)
	}
	if n > 0 {
		return nil, nil
	}
	var seen runs.Remembered
	var digest []byte
	err = q.QueryRowContext(ctx, "SELECT run_id, digest FROM idempotency_keys WHERE actor_id = ? AND scope = ? AND key = ?",
		actorID, k.Scope, k.Key).Scan(&seen.RunID, &digest)
	if err != nil {
		return nil, db.Translate(fmt.Errorf("read a key: %w", err))
	}
	copy(seen.Digest[:], digest)
	return &seen, nil
}

// SaveTicket implements runs.TicketStore. Its time runs on the clock of the leases.
func (s *Store) SaveTicket(ctx context.Context, hash [32]byte, runID string, h runs.Holder, ttl time.Duration) error {
	q, err := s.d.Write(ctx)
	if err != nil {
		return err
	}
	_, err = exec(ctx, q, "INSERT INTO stream_tickets (hash, run_id, account, token_id, expires_at) VALUES (?, ?, ?, ?, ?)",
		hash[:], runID, h.Account, h.Token, s.say.LeaseNow().Add(ttl))
	return err
}

// TakeTicket implements runs.TicketStore.
func (s *Store) TakeTicket(ctx context.Context, hash [32]byte) (runID string, h runs.Holder, err error) {
	q, err := s.d.Write(ctx)
	if err != nil {
		return "", runs.Holder{}, err
	}
	err = q.QueryRowContext(ctx, "DELETE FROM stream_tickets WHERE hash = ? AND expires_at > ? RETURNING run_id, account, coalesce(token_id, '')",
		hash[:], s.say.LeaseNow()).Scan(&runID, &h.Account, &h.Token)
	if errors.Is(err, sql.ErrNoRows) {
		return "", runs.Holder{}, runs.BadTicket.New("the ticket is unknown, used or expired")
	}
	return runID, h, db.Translate(err)
}
