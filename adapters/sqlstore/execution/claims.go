package execution

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/runs"
)

// PutClaim implements execution.ClaimStore.
func (s *Store) PutClaim(ctx context.Context, hash [32]byte, l runs.Lease) error {
	err := s.exec(ctx, "INSERT INTO relay_claims (run_id, epoch, worker, hash, claimed_at) VALUES (?, ?, ?, ?, ?) "+
		"ON CONFLICT (run_id) DO UPDATE SET epoch = excluded.epoch, worker = excluded.worker, hash = excluded.hash, claimed_at = excluded.claimed_at",
		l.RunID, l.Epoch, l.Worker, hash[:], s.d.Dialect().LeaseNow())
	if err != nil {
		return fmt.Errorf("keep the claim of run %s: %w", l.RunID, err)
	}
	return nil
}

// ClaimOf implements execution.ClaimStore.
func (s *Store) ClaimOf(ctx context.Context, hash [32]byte) (l runs.Lease, ok bool, err error) {
	err = s.d.Read(ctx).QueryRowContext(ctx, "SELECT run_id, epoch, worker FROM relay_claims WHERE hash = ?", hash[:]).
		Scan(&l.RunID, &l.Epoch, &l.Worker)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return runs.Lease{}, false, nil
	case err != nil:
		return runs.Lease{}, false, fmt.Errorf("look for a claim: %w", db.Translate(err))
	}
	return l, true, nil
}
