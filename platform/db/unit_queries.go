package db

import (
	"context"
	"database/sql"
	"database/sql/driver"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"
)

func (u *unit) Dialect() schema.Dialect { return u.owner.reads.Dialect() }

// ScanRows is the method of bun.DB.
func (u *unit) ScanRows(ctx context.Context, rows *sql.Rows, dest ...any) error {
	return u.owner.reads.ScanRows(ctx, rows, dest...)
}

func (u *unit) NewValues(m any) *bun.ValuesQuery { return u.owner.reads.NewValues(m).Conn(u) }

func (u *unit) NewSelect() *bun.SelectQuery { return u.owner.reads.NewSelect().Conn(u) }

func (u *unit) NewInsert() *bun.InsertQuery { return u.owner.reads.NewInsert().Conn(u) }

func (u *unit) NewUpdate() *bun.UpdateQuery { return u.owner.reads.NewUpdate().Conn(u) }

func (u *unit) NewDelete() *bun.DeleteQuery { return u.owner.reads.NewDelete().Conn(u) }

func (u *unit) NewMerge() *bun.MergeQuery { return u.owner.reads.NewMerge().Conn(u) }

func (u *unit) NewRaw(query string, args ...any) *bun.RawQuery {
	return u.owner.reads.NewRaw(query, args...).Conn(u)
}

func (u *unit) NewCreateTable() *bun.CreateTableQuery { return u.owner.reads.NewCreateTable().Conn(u) }

func (u *unit) NewDropTable() *bun.DropTableQuery { return u.owner.reads.NewDropTable().Conn(u) }

func (u *unit) NewCreateIndex() *bun.CreateIndexQuery { return u.owner.reads.NewCreateIndex().Conn(u) }

func (u *unit) NewDropIndex() *bun.DropIndexQuery { return u.owner.reads.NewDropIndex().Conn(u) }

func (u *unit) NewTruncateTable() *bun.TruncateTableQuery {
	return u.owner.reads.NewTruncateTable().Conn(u)
}

func (u *unit) NewAddColumn() *bun.AddColumnQuery { return u.owner.reads.NewAddColumn().Conn(u) }

func (u *unit) NewDropColumn() *bun.DropColumnQuery { return u.owner.reads.NewDropColumn().Conn(u) }

// refusals is a database whose connections fail with the error in the context. There is no other way to make a
// sql.Row with an error.
type refusals struct{ db *sql.DB }

type refusalKey struct{}

type refuser struct{}

func (refuser) Connect(ctx context.Context) (driver.Conn, error) {
	if err, ok := ctx.Value(refusalKey{}).(error); ok {
		return nil, err
	}
	return nil, driver.ErrBadConn
}

func (refuser) Driver() driver.Driver { return nil }

func newRefusals() refusals { return refusals{sql.OpenDB(refuser{})} }

func (r refusals) row(ctx context.Context, err error) *sql.Row {
	return r.db.QueryRowContext(context.WithValue(ctx, refusalKey{}, err), "refused")
}
