package identity

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/identity"
)

// caller is a token with its owner and the version of rights.
type caller struct {
	Token   tokenColumns `bun:"embed:token_"`
	User    userColumns  `bun:"embed:user_"`
	Version int64
}

// callerQueries returns the queries by the hash of a token, by the ids of a token and its owner, and by the name of a
// user. They are raw because each request runs one and statements of the query builder are not prepared. One statement
// reads the version and the caller, so that they are consistent.
func callerQueries(d *db.DB) (byHash, byID, byName string) {
	columns := "SELECT " + db.ModelOf[tokenColumns](d).Columns("t", "token_") + ", " + db.ModelOf[userColumns](d).
		Columns("u", "user_") +
		", (SELECT version FROM access_state WHERE id = 1) AS version FROM "
	return columns + "tokens AS t JOIN users AS u ON u.id = t.user_id WHERE t.hash = ?",
		columns + "users AS u LEFT JOIN tokens AS t ON t.id = ? AND t.user_id = u.id WHERE u.id = ?",
		"SELECT " + db.ModelOf[named](d).Columns("u", "") + " FROM users AS u WHERE u.username = ?"
}

func (s *Store) caller(ctx context.Context, query string, args ...any) (identity.Bearer, bool, error) {
	c, ok, err := db.QueryRow[caller](ctx, s.d.Read(ctx), query, args...)
	if c.Token.ID != "" {
		c.Token.Username = c.User.Username
	}
	return identity.Bearer{Token: identity.Token(c.Token), User: identity.User(c.User), Version: c.Version}, ok, err
}

// It also returns an expired token.
func (s *Store) TokenByHash(ctx context.Context, hash [32]byte) (identity.Bearer, error) {
	b, ok, err := s.caller(ctx, s.callerByHash, hash[:])
	switch {
	case err != nil:
		return b, fmt.Errorf("read a token: %w", err)
	case !ok:
		return b, noSuchToken()
	}
	return b, nil
}

func noSuchToken() error { return identity.TokenNotFound.New("no such token") }

// A token of another account counts as missing.
func (s *Store) Caller(ctx context.Context, userID, tokenID string) (identity.Bearer, error) {
	b, ok, err := s.caller(ctx, s.callerByID, tokenID, userID)
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

// named is a user with the hash of the password.
type named struct {
	userColumns
	PasswordHash string
}

func (s *Store) UserByName(ctx context.Context, username string) (identity.User, string, error) {
	row, ok, err := db.QueryRow[named](ctx, s.d.Read(ctx), s.userByName, username)
	if err = db.OrMissing(ok, err, noSuchUser()); err != nil {
		err = fmt.Errorf("read a user: %w", err)
	}
	return identity.User(row.userColumns), row.PasswordHash, err
}

func (s *Store) UserByLink(ctx context.Context, l identity.Link) (identity.User, error) {
	row, err := firstUser(ctx, s.d.Read(ctx).NewSelect().Join("JOIN user_links AS l ON l.user_id = u.id").
		Where("l.protocol = ? AND l.issuer = ? AND l.subject = ?", l.Protocol, l.Issuer, l.Subject))
	return identity.User(row.userColumns), err
}

// firstUser reads a user. Its fault does not repeat the requested name, because people enter other texts there by
// mistake, such as passwords.
func firstUser(ctx context.Context, q *bun.SelectQuery) (row user, err error) {
	ok, err := db.First(ctx, q.Model(&row))
	switch {
	case err != nil:
		return row, fmt.Errorf("read a user: %w", err)
	case !ok:
		return row, noSuchUser()
	}
	return row, nil
}

func noSuchUser() error { return identity.UserNotFound.New("no such user") }
