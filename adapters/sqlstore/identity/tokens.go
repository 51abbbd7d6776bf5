package identity

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
)

const tokenColumns = "t.id, t.kind, t.name, t.user_id, t.created_at, t.created_by, t.expires_at, t.last_used_at"

// maybeTokenColumns are tokenColumns where there may be no token: then all of them are empty.
const maybeTokenColumns = "COALESCE(t.id, ''), COALESCE(t.kind, ''), COALESCE(t.name, ''), COALESCE(t.user_id, ''), t.created_at, " +
	"COALESCE(t.created_by, ''), t.expires_at, t.last_used_at"

// InsertToken implements identity.TokenStore. The owner is held, so that it is there when the unit commits. An id or a
// hash that exists is a Conflict.
func (s *Store) InsertToken(ctx context.Context, t identity.Token, hash [32]byte) error {
	q, err := s.d.Write(ctx)
	if err != nil {
		return err
	}
	_, ok, err := db.One(ctx, q, text, "SELECT id FROM users WHERE id = ?"+s.say.ForUpdate(), t.UserID)
	switch {
	case err != nil:
		return fmt.Errorf("read a token's owner: %w", err)
	case !ok:
		return noAccount("user_id", t.UserID)
	}
	kind := t.Kind
	if kind == "" {
		kind = identity.APIToken
	}
	n, err := exec(ctx, q, "INSERT INTO tokens (id, kind, name, user_id, hash, created_at, created_by, expires_at, last_used_at) "+
		"VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
		t.ID, string(kind), t.Name, t.UserID, hash[:], db.At(t.CreatedAt), t.CreatedBy, db.At(t.ExpiresAt), db.At(t.LastUsedAt))
	if err == nil && n == 0 {
		return &fault.Error{Kind: fault.Conflict, Message: "the token exists"}
	}
	return err
}

// TokenByID implements identity.TokenStore.
func (s *Store) TokenByID(ctx context.Context, id string) (identity.Token, error) {
	t, ok, err := db.One(ctx, s.d.Read(ctx), scanToken, "SELECT "+tokenColumns+" FROM tokens AS t WHERE t.id = ?", id)
	switch {
	case err != nil:
		return identity.Token{}, fmt.Errorf("read a token: %w", err)
	case !ok:
		return identity.Token{}, noToken(id)
	}
	return t, nil
}

func noToken(id string) error { return identity.TokenNotFound.New("no token %q", id) }

// ListTokens implements identity.TokenStore. They are in the order of their creation.
func (s *Store) ListTokens(ctx context.Context, w page.Window) ([]identity.Token, int, error) {
	q := s.d.Read(ctx)
	found, err := db.All(ctx, q, scanToken, "SELECT "+tokenColumns+" FROM tokens AS t ORDER BY t.created_at, t.id LIMIT ? OFFSET ?",
		w.Rows(), w.Offset)
	if err != nil {
		return nil, 0, fmt.Errorf("list tokens: %w", err)
	}
	n, err := count(ctx, q, "SELECT count(*) FROM tokens")
	return found, n, err
}

// DeleteToken implements identity.TokenStore.
func (s *Store) DeleteToken(ctx context.Context, id string) error {
	n, err := s.exec(ctx, "DELETE FROM tokens WHERE id = ?", id)
	if err == nil && n == 0 {
		return noToken(id)
	}
	return err
}

// DeleteSessions implements identity.TokenStore.
func (s *Store) DeleteSessions(ctx context.Context, userID, but string) (int, error) {
	n, err := s.exec(ctx, "DELETE FROM tokens WHERE user_id = ? AND kind = 'session' AND id <> ?", userID, but)
	return int(n), err
}

// PurgeTokens implements identity.TokenStore. The oldest go first; sessions that another unit holds are left to it.
func (s *Store) PurgeTokens(ctx context.Context, t time.Time, limit int) (int, error) {
	n, err := s.exec(ctx, "DELETE FROM tokens WHERE id IN (SELECT id FROM tokens WHERE kind = 'session' AND expires_at < ? "+
		"ORDER BY expires_at, id LIMIT ?"+s.say.ForUpdateSkipLocked()+")", db.At(t), limit)
	return int(n), err
}

// TouchTokens implements identity.UseStore. A time never moves back, and tokens that are gone are passed over. They
// are written in one order everywhere, so that two servers do not lock each other out.
func (s *Store) TouchTokens(ctx context.Context, lastUsed map[string]time.Time) error {
	for _, id := range slices.Sorted(maps.Keys(lastUsed)) {
		at := db.At(lastUsed[id])
		if _, err := s.exec(ctx, "UPDATE tokens SET last_used_at = ? "+
			"WHERE id = ? AND (last_used_at IS NULL OR last_used_at < ?)", at, id, at); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) exec(ctx context.Context, query string, args ...any) (int64, error) {
	q, err := s.d.Write(ctx)
	if err != nil {
		return 0, err
	}
	return exec(ctx, q, query, args...)
}

// tokenRow receives the columns of a token.
type tokenRow struct {
	t                       identity.Token
	created, expires, usage db.Time
}

func (r *tokenRow) targets() []any {
	return []any{&r.t.ID, &r.t.Kind, &r.t.Name, &r.t.UserID, &r.created, &r.t.CreatedBy, &r.expires, &r.usage}
}

func (r *tokenRow) token() identity.Token {
	r.t.CreatedAt, r.t.ExpiresAt, r.t.LastUsedAt = r.created.Time, r.expires.Time, r.usage.Time
	return r.t
}

func scanToken(r db.Row) (identity.Token, error) {
	var t tokenRow
	err := r.Scan(t.targets()...)
	return t.token(), err
}
