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
	// The queries for a caller.
	callerByHash, callerByID, userByName string
}

var (
	_ identity.AccountStore    = (*Store)(nil)
	_ identity.CallerStore     = (*Store)(nil)
	_ identity.TokenStore      = (*Store)(nil)
	_ identity.UseStore        = (*Store)(nil)
	_ identity.TeamStore       = (*Store)(nil)
	_ identity.OrgStore        = (*Store)(nil)
	_ identity.GrantStore      = (*Store)(nil)
	_ identity.ObjectStore     = (*Store)(nil)
	_ identity.RightsStore     = (*Store)(nil)
	_ identity.VersionStore    = (*Store)(nil)
	_ identity.HandshakeStore  = (*Store)(nil)
	_ identity.PreferenceStore = (*Store)(nil)
)

// New creates a Store on a migrated database.
func New(d *db.DB) *Store {
	s := &Store{d: d, dialect: d.Dialect()}
	s.callerByHash, s.callerByID, s.userByName = callerQueries(d)
	return s
}

// insertNew makes an insertion skip existing rows.
func insertNew(q *bun.InsertQuery) *bun.InsertQuery {
	return q.On("CONFLICT DO NOTHING").Returning("NULL")
}

// naming adds the field of the request to a fault.
func naming(location string, f *fault.Error) error {
	f.Fields = []fault.Field{{Location: location, Message: f.Message}}
	return f
}

// lockRights returns the transaction of the open unit after locking the row of access_state: until the unit ends, no
// other unit changes rights or admins.
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

// change is a change in one version: one name, or the names that a query returns.
type change struct {
	kind  string
	name  string
	names *bun.SelectQuery // if name is empty: unique names in the single column name
}

func ofObject(name string) change { return change{kind: changedObject, name: name} }

func ofAccount(id string) change { return change{kind: changedUser, name: id} }

// recordChange increments the version of rights and records the changed names. It must be called before the rows that
// a query reads are deleted.
func recordChange(ctx context.Context, q bun.IDB, touched ...change) error {
	state := accessState{ID: 1}
	if _, err := q.NewUpdate().Model(&state).Set("version = version + 1").WherePK().Returning("version").
		Exec(ctx); err != nil {
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
