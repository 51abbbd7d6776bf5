package identity

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
)

// Store implements the stores of ports/identity. It is safe for concurrent use.
type Store struct {
	d      *db.DB
	say    db.Dialect
	totals totals
}

var (
	_ identity.AccountStore   = (*Store)(nil)
	_ identity.CallerStore    = (*Store)(nil)
	_ identity.TokenStore     = (*Store)(nil)
	_ identity.UseStore       = (*Store)(nil)
	_ identity.TeamStore      = (*Store)(nil)
	_ identity.OrgStore       = (*Store)(nil)
	_ identity.GrantStore     = (*Store)(nil)
	_ identity.ObjectStore    = (*Store)(nil)
	_ identity.RightsStore    = (*Store)(nil)
	_ identity.HandshakeStore = (*Store)(nil)
)

// New makes a Store on a migrated database.
func New(d *db.DB) *Store { return &Store{d: d, say: d.Dialect()} }

func text(r db.Row) (s string, err error) { return s, r.Scan(&s) }

func number(r db.Row) (n int, err error) { return n, r.Scan(&n) }

func count(ctx context.Context, q bun.IDB, query string, args ...any) (int, error) {
	n, _, err := db.One(ctx, q, number, query, args...)
	return n, err
}

func exists(ctx context.Context, q bun.IDB, query string, args ...any) (bool, error) {
	n, err := count(ctx, q, "SELECT count(*) FROM ("+query+") AS found", args...)
	return n > 0, err
}

func exec(ctx context.Context, q bun.IDB, query string, args ...any) (int64, error) {
	res, err := q.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, db.Translate(err)
	}
	n, err := res.RowsAffected()
	return n, db.Translate(err)
}

// execAll runs statements that each take the same arguments.
func execAll(ctx context.Context, q bun.IDB, args []any, queries ...string) error {
	for _, query := range queries {
		if _, err := exec(ctx, q, query, args...); err != nil {
			return err
		}
	}
	return nil
}

// naming makes a fault name the member of the request that it is about.
func naming(location string, f *fault.Error) error {
	f.Fields = []fault.Field{{Location: location, Message: f.Message}}
	return f
}

// writing returns the transaction of the open unit with the row of access_state locked: until the unit ends, nobody else
// changes rights or who is an admin.
func (s *Store) writing(ctx context.Context) (bun.IDB, error) {
	q, err := s.d.Write(ctx)
	if err != nil {
		return nil, err
	}
	return q, s.lock(ctx, q)
}

func (s *Store) lock(ctx context.Context, q bun.IDB) error {
	if _, err := count(ctx, q, "SELECT version FROM access_state WHERE id = 1"+s.say.ForUpdate()); err != nil {
		return fmt.Errorf("lock the rights: %w", err)
	}
	return nil
}

// The kinds of names in access_changes.
const (
	changedObject = "object"
	changedUser   = "user"
)

// change is what one version touched: one name, or the names that a query finds.
type change struct {
	kind  string
	name  string
	query string // where name is empty
	args  []any
}

func object(name string) change { return change{kind: changedObject, name: name} }

func account(id string) change { return change{kind: changedUser, name: id} }

// objects are the names that a query returns in one column, each once.
func objects(query string, args ...any) change {
	return change{kind: changedObject, query: query, args: args}
}

// accounts are the ids that a query returns in one column, each once.
func accounts(query string, args ...any) change {
	return change{kind: changedUser, query: query, args: args}
}

// changed counts up the version of rights and remembers what it touches. Call it before rows go that a query needs.
func changed(ctx context.Context, q bun.IDB, touched ...change) error {
	version, err := count(ctx, q, "UPDATE access_state SET version = version + 1 WHERE id = 1 RETURNING version")
	if err != nil {
		return fmt.Errorf("count up the version of rights: %w", err)
	}
	for _, c := range touched {
		query, args := "INSERT INTO access_changes (version, kind, name) VALUES (?, ?, ?)", []any{version, c.kind, c.name}
		if c.query != "" {
			query = "INSERT INTO access_changes (version, kind, name) SELECT ?, ?, found.name FROM (" + c.query + ") AS found"
			args = append([]any{version, c.kind}, c.args...)
		}
		if _, err := exec(ctx, q, query, args...); err != nil {
			return fmt.Errorf("remember a change of rights: %w", err)
		}
	}
	return nil
}
