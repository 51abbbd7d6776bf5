package identity

import (
	"context"
	"fmt"
	"time"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/identity"
)

// SaveHandshake implements identity.HandshakeStore. Its time runs on the clock of the leases.
func (s *Store) SaveHandshake(ctx context.Context, hash [32]byte, kind string, data []byte, ttl time.Duration) error {
	if data == nil {
		data = []byte{}
	}
	_, err := s.exec(ctx, "INSERT INTO handshakes (hash, kind, data, expires_at) VALUES (?, ?, ?, ?)",
		hash[:], kind, data, s.say.LeaseNow().Add(ttl))
	if err != nil {
		return fmt.Errorf("store a handshake: %w", err)
	}
	return nil
}

// TakeHandshake implements identity.HandshakeStore. One of another kind is left alone.
func (s *Store) TakeHandshake(ctx context.Context, hash [32]byte, kind string) ([]byte, error) {
	q, err := s.d.Write(ctx)
	if err != nil {
		return nil, err
	}
	data, ok, err := db.One(ctx, q, func(r db.Row) (data []byte, err error) { return data, r.Scan(&data) },
		"DELETE FROM handshakes WHERE hash = ? AND kind = ? AND expires_at > ? RETURNING data", hash[:], kind, s.say.LeaseNow())
	switch {
	case err != nil:
		return nil, fmt.Errorf("take a handshake: %w", err)
	case !ok:
		return nil, identity.HandshakeNotFound.New("the sign-in is unknown, used or expired")
	}
	return data, nil
}

// Witness implements identity.HandshakeStore. Of two units that bring the same hash, the second waits for the first.
func (s *Store) Witness(ctx context.Context, hash [32]byte, ttl time.Duration) (fresh bool, err error) {
	now := s.say.LeaseNow()
	n, err := s.exec(ctx, "INSERT INTO witnessed (hash, expires_at) VALUES (?, ?) ON CONFLICT (hash) DO UPDATE "+
		"SET expires_at = excluded.expires_at WHERE witnessed.expires_at <= ?", hash[:], now.Add(ttl), now)
	if err != nil {
		return false, fmt.Errorf("witness a hash: %w", err)
	}
	return n > 0, nil
}

// PurgeHandshakes implements identity.HandshakeStore. Rows that another unit holds are left to it.
func (s *Store) PurgeHandshakes(ctx context.Context, limit int) (int, error) {
	now, dropped := s.say.LeaseNow(), 0
	for _, table := range []string{"handshakes", "witnessed"} {
		n, err := s.exec(ctx, "DELETE FROM "+table+" WHERE hash IN (SELECT hash FROM "+table+" WHERE expires_at <= ? "+
			"ORDER BY expires_at LIMIT ?"+s.say.ForUpdateSkipLocked()+")", now, limit)
		if err != nil {
			return 0, fmt.Errorf("purge %s: %w", table, err)
		}
		dropped += int(n)
	}
	return dropped, nil
}
