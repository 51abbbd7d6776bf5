package identity

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
)

// Store implements the stores of ports/identity. It is safe for concurrent use.
type Store struct{ d *db.DB }

var (
	_ identity.Store    = (*Store)(nil)
	_ identity.UseStore = (*Store)(nil)
)

// nameTaken is the fault of a user name that another account has.
var nameTaken = fault.Code{Name: "name_taken", Kind: fault.Conflict}

const tokenColumns = "t.id, t.name, t.user_id, t.created_at, t.created_by, t.expires_at, t.last_used_at"

// New makes a Store on a migrated database.
func New(d *db.DB) *Store { return &Store{d: d} }

// InsertUser implements identity.Store. A name or an id that exists is a Conflict.
func (s *Store) InsertUser(ctx context.Context, u identity.User) error {
	n, err := s.exec(ctx, "INSERT INTO users (id, username, role, created_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
		u.ID, u.Username, string(u.Role), db.At(u.CreatedAt))
	if err == nil && n == 0 {
		return nameTaken.New("the user name %q is taken", u.Username)
	}
	return err
}

// UserByID implements identity.Store. UserNotFound.
func (s *Store) UserByID(ctx context.Context, id string) (identity.User, error) {
	return s.user(ctx, "id", id)
}

// UserByName implements identity.Store. UserNotFound.
func (s *Store) UserByName(ctx context.Context, username string) (identity.User, error) {
	return s.user(ctx, "username", username)
}

func (s *Store) user(ctx context.Context, column, value string) (identity.User, error) {
	var u identity.User
	var created db.Time
	err := s.d.Read(ctx).QueryRowContext(ctx, "SELECT id, username, role, created_at FROM users WHERE "+column+" = ?", value).
		Scan(&u.ID, &u.Username, &u.Role, &created)
	if errors.Is(err, sql.ErrNoRows) {
		return u, identity.UserNotFound.New("no user %q", value)
	}
	u.CreatedAt = created.Time
	return u, db.Translate(err)
}

// CountUsers implements identity.Store.
func (s *Store) CountUsers(ctx context.Context) (int, error) {
	var n int
	err := s.d.Read(ctx).QueryRowContext(ctx, "SELECT count(*) FROM users").Scan(&n)
	return n, db.Translate(err)
}

// InsertToken implements identity.Store. UserNotFound where nobody owns it; an id or a hash that exists is a Conflict.
func (s *Store) InsertToken(ctx context.Context, t identity.Token, hash [32]byte) error {
	if _, err := s.d.Write(ctx); err != nil {
		return err
	}
	if _, err := s.UserByID(ctx, t.UserID); err != nil {
		return err
	}
	n, err := s.exec(ctx, "INSERT INTO tokens (id, name, user_id, hash, created_at, created_by, expires_at, last_used_at) "+
		"VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
		t.ID, t.Name, t.UserID, hash[:], db.At(t.CreatedAt), t.CreatedBy, db.At(t.ExpiresAt), db.At(t.LastUsedAt))
	if err == nil && n == 0 {
		return &fault.Error{Kind: fault.Conflict, Message: "the token exists"}
	}
	return err
}

// TokenByHash implements identity.Store. An expired token is returned too.
func (s *Store) TokenByHash(ctx context.Context, hash [32]byte) (identity.Token, identity.User, error) {
	var r tokenRow
	var u identity.User
	var created db.Time
	err := s.d.Read(ctx).QueryRowContext(ctx, "SELECT "+tokenColumns+", u.id, u.username, u.role, u.created_at FROM tokens AS t "+
		"JOIN users AS u ON u.id = t.user_id WHERE t.hash = ?", hash[:]).
		Scan(append(r.targets(), &u.ID, &u.Username, &u.Role, &created)...)
	if errors.Is(err, sql.ErrNoRows) {
		return identity.Token{}, u, identity.TokenNotFound.New("no such token")
	}
	u.CreatedAt = created.Time
	return r.token(), u, db.Translate(err)
}

// ListTokens implements identity.Store. They are in the order of their creation.
func (s *Store) ListTokens(ctx context.Context) ([]identity.Token, error) {
	rows, err := s.d.Read(ctx).QueryContext(ctx, "SELECT "+tokenColumns+" FROM tokens AS t ORDER BY t.created_at, t.id")
	if err != nil {
		return nil, db.Translate(fmt.Errorf("list tokens: %w", err))
	}
	var out []identity.Token
	for rows.Next() {
		var r tokenRow
		if err = rows.Scan(r.targets()...); err != nil {
			break
		}
		out = append(out, r.token())
	}
	return out, db.Translate(errors.Join(err, rows.Err(), rows.Close()))
}

// DeleteToken implements identity.Store.
func (s *Store) DeleteToken(ctx context.Context, id string) error {
	n, err := s.exec(ctx, "DELETE FROM tokens WHERE id = ?", id)
	if err == nil && n == 0 {
		return identity.TokenNotFound.New("no token %q", id)
	}
	return err
}

// TouchTokens implements identity.UseStore. A time never moves back, and tokens that are gone are passed over. They
// are written in one order everywhere, so that two servers do not lock each other out.
func (s *Store) TouchTokens(ctx context.Context, lastUsed map[string]time.Time) error {
	for _, id := range slices.Sorted(maps.Keys(lastUsed)) {
		at := db.At(lastUsed[id])
		if _, err := s.exec(ctx, "UPDATE tokens SET last_used_at = ? WHERE id = ? AND (last_used_at IS NULL OR last_used_at < ?)", at, id, at); err != nil {
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
	res, err := q.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, db.Translate(err)
	}
	n, err := res.RowsAffected()
	return n, db.Translate(err)
}

// tokenRow receives the columns of a token.
type tokenRow struct {
	t                       identity.Token
	created, expires, usage db.Time
}

func (r *tokenRow) targets() []any {
	return []any{&r.t.ID, &r.t.Name, &r.t.UserID, &r.created, &r.t.CreatedBy, &r.expires, &r.usage}
}

func (r *tokenRow) token() identity.Token {
	r.t.CreatedAt, r.t.ExpiresAt, r.t.LastUsedAt = r.created.Time, r.expires.Time, r.usage.Time
	return r.t
}
