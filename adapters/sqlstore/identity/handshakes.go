package identity

import (
	"context"
	"fmt"
	"time"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/identity"
)

// The ttl runs on the clock of the leases.
func (s *Store) SaveHandshake(ctx context.Context, hash [32]byte, kind string, data []byte, ttl time.Duration) error {
	row := handshake{Hash: hash[:], Kind: kind, Data: append([]byte{}, data...)}
	_, err := db.Modify(ctx, s.d.InUnit(ctx).NewInsert().Model(&row).
		Value("expires_at", "?", s.dialect.LeaseNow().Add(ttl)).Returning("NULL"))
	return db.Wrap(err, "store a handshake")
}

// It does not delete a handshake of another kind.
func (s *Store) TakeHandshake(ctx context.Context, hash [32]byte, kind string) ([]byte, error) {
	var row handshake
	ok, err := db.First(ctx, s.d.InUnit(ctx).NewDelete().Model(&row).
		Where("h.hash = ? AND h.kind = ? AND h.expires_at > ?", hash[:], kind, s.dialect.LeaseNow()).Returning("data"))
	return row.Data, db.OrMissing(ok, db.Wrap(err, "take a handshake"),
		identity.HandshakeNotFound.New("the sign-in is unknown, used or expired"))
}

// Of two units with the same hash, the second waits for the first.
func (s *Store) MarkSeen(ctx context.Context, hash [32]byte, ttl time.Duration) (fresh bool, err error) {
	now, row := s.dialect.LeaseNow(), seenHash{Hash: hash[:]}
	n, err := db.Modify(ctx, s.d.InUnit(ctx).NewInsert().Model(&row).Value("expires_at", "?", now.Add(ttl)).
		On("CONFLICT (hash) DO UPDATE").Where("w.expires_at <= ?", now).Returning("NULL"))
	return n > 0, db.Wrap(err, "store a hash")
}

// It skips rows that another unit has locked.
func (s *Store) PurgeHandshakes(ctx context.Context, limit int) (int, error) {
	q, now, dropped := s.d.InUnit(ctx), s.dialect.LeaseNow(), 0
	for _, table := range []any{(*handshake)(nil), (*seenHash)(nil)} {
		old := q.NewSelect().Model(table).Column("hash").Where("expires_at <= ?", now).OrderExpr("expires_at").
			Apply(db.AtMost(limit), s.dialect.LockSkip)
		n, err := db.Modify(ctx, q.NewDelete().Model(table).Where("hash IN (?)", old))
		if err != nil {
			return 0, fmt.Errorf("purge handshakes: %w", err)
		}
		dropped += int(n)
	}
	return dropped, nil
}
