package identity

import (
	"context"
	"fmt"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/identity"
)

const (
	userColumns = "u.id, u.username, u.role, u.created_at"
	// versionColumn is read by the statement that reads the caller, so that the two fit.
	versionColumn = "(SELECT version FROM access_state WHERE id = 1)"
)

// userRow receives the columns of a user.
type userRow struct {
	u       identity.User
	created db.Time
}

func (r *userRow) targets() []any { return []any{&r.u.ID, &r.u.Username, &r.u.Role, &r.created} }

func (r *userRow) user() identity.User {
	r.u.CreatedAt = r.created.Time
	return r.u
}

// TokenByHash implements identity.CallerStore. An expired token is returned too.
func (s *Store) TokenByHash(ctx context.Context, hash [32]byte) (identity.Bearer, error) {
	b, ok, err := db.One(ctx, s.d.Read(ctx), scanBearer, "SELECT "+tokenColumns+", "+userColumns+", "+versionColumn+" FROM tokens AS t "+
		"JOIN users AS u ON u.id = t.user_id WHERE t.hash = ?", hash[:])
	switch {
	case err != nil:
		return identity.Bearer{}, fmt.Errorf("read a token: %w", err)
	case !ok:
		return identity.Bearer{}, noSuchToken()
	}
	return b, nil
}

func noSuchToken() error { return identity.TokenNotFound.New("no such token") }

func scanBearer(r db.Row) (b identity.Bearer, err error) {
	var t tokenRow
	var u userRow
	err = r.Scan(append(append(t.targets(), u.targets()...), &b.Version)...)
	b.Token, b.User = t.token(), u.user()
	return b, err
}

// Caller implements identity.CallerStore. A token of another account is none of this one's.
func (s *Store) Caller(ctx context.Context, userID, tokenID string) (identity.Bearer, error) {
	b, ok, err := db.One(ctx, s.d.Read(ctx), scanBearer, "SELECT "+maybeTokenColumns+", "+userColumns+", "+versionColumn+
		" FROM users AS u LEFT JOIN tokens AS t ON t.id = ? AND t.user_id = u.id WHERE u.id = ?", tokenID, userID)
	switch {
	case err != nil:
		return identity.Bearer{}, fmt.Errorf("read a caller: %w", err)
	case !ok:
		return identity.Bearer{}, noSuchUser()
	case b.Token.ID != tokenID:
		return identity.Bearer{}, noSuchToken()
	}
	return b, nil
}

// UserByName implements identity.CallerStore.
func (s *Store) UserByName(ctx context.Context, username string) (identity.User, string, error) {
	var hash string
	u, err := s.user(ctx, []any{&hash}, "SELECT "+userColumns+", u.password_hash FROM users AS u WHERE u.username = ?", username)
	return u, hash, err
}

// UserByLink implements identity.CallerStore.
func (s *Store) UserByLink(ctx context.Context, l identity.Link) (identity.User, error) {
	return s.user(ctx, nil, "SELECT "+userColumns+" FROM user_links AS l JOIN users AS u ON u.id = l.user_id "+
		"WHERE l.protocol = ? AND l.issuer = ? AND l.subject = ?", string(l.Protocol), l.Issuer, l.Subject)
}

// user reads a user with more columns behind its own. Its fault does not repeat what was asked for: people type all sorts
// of things where a name is expected.
func (s *Store) user(ctx context.Context, more []any, query string, args ...any) (identity.User, error) {
	u, ok, err := db.One(ctx, s.d.Read(ctx), func(r db.Row) (identity.User, error) {
		var u userRow
		err := r.Scan(append(u.targets(), more...)...)
		return u.user(), err
	}, query, args...)
	switch {
	case err != nil:
		return identity.User{}, fmt.Errorf("read a user: %w", err)
	case !ok:
		return identity.User{}, noSuchUser()
	}
	return u, nil
}

func noSuchUser() error { return identity.UserNotFound.New("no such user") }
