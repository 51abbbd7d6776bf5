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
	d       *db.DB
	dialect db.Dialect
	totals  totals
	// The texts of the queries for a caller.
	callerByHash, callerByID string
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
func New(d *db.DB) *Store {
	s := &Store{d: d, dialect: d.Dialect()}
	s.callerByHash, s.callerByID = callerQueries(d)
	return s
}

// insertNew makes an insertion leave alone what is there already.
func insertNew(q *bun.InsertQuery) *bun.InsertQuery {
	return q.On("CONFLICT DO NOTHING").Returning("NULL")
}

// naming makes a fault name the member of the request that it is about.
func naming(location string, f *fault.Error) error {
	f.Fields = []fault.Field{{Location: location, Message: f.Message}}
	return f
}

// lockRights returns the transaction of the open unit with the row of access_state locked: until the unit ends,
// nobody else changes rights or who is an admin.
func (s *Store) lockRights(ctx context.Context) (bun.IDB, error) {
	q := s.d.InUnit(ctx)
	return q, s.lock(ctx, q)
}

func (s *Store) lock(ctx context.Context, q bun.IDB) error {
	var row accessState
	_, err := db.First(ctx, q.NewSelect().Model(&row).Where("s.id = 1").Apply(s.dialect.Lock))
	return db.Wrap(err, "lock the rights")
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
	names *bun.SelectQuery // where name is empty: each once, in the one column name
}

func ofObject(name string) change { return change{kind: changedObject, name: name} }

func ofAccount(id string) change { return change{kind: changedUser, name: id} }

// recordChange counts up the version of rights and remembers what it touches. Call it before rows go that a query
// needs.
func recordChange(ctx context.Context, q bun.IDB, touched ...change) error {
	state := accessState{ID: 1}
	if _, err := q.NewUpdate().Model(&state).Set("version = version + 1").WherePK().Returning("version").Exec(ctx); err != nil {
		return db.Wrap(err, "count up the version of rights")
	}
	for _, c := range touched {
		row := accessChange{Version: state.Version, Kind: c.kind, Name: c.name}
		insert := q.NewInsert().Model(&row)
		if c.names != nil {
			found := q.NewSelect().TableExpr("(?) AS f", c.names).
				ColumnExpr("? AS version, ? AS kind, f.name", row.Version, row.Kind)
			insert = q.NewInsert().Model((*accessChange)(nil)).TableExpr("(?) AS found", found).
				Column("version", "kind", "name")
		}
		if _, err := db.Modify(ctx, insert); err != nil {
			return fmt.Errorf("remember a change of rights: %w", err)
		}
	}
	return nil
}
