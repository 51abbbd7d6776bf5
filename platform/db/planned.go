package db

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"
)

// planAgainEvery is how long Postgres keeps a plan. It plans a statement for the tables as they are, and a table that
// was nearly empty then may be large now.
const planAgainEvery = 10 * time.Second

// plannedPerConn bounds the statements that a connection to Postgres keeps planned.
const plannedPerConn = 128

// errNamed is a text that names its arguments, or has a question mark that is none.
var errNamed = errors.New("the text has no plain arguments")

// planned is a text in the form of Postgres, and the types of its arguments. Each connection plans it at its first use.
type planned struct {
	text   string
	params []uint32
}

// numbered replaces question marks by $1, $2 and so on.
func numbered(query string) (string, error) {
	var b strings.Builder
	for n := 1; ; n++ {
		before, after, found := strings.Cut(query, "?")
		b.WriteString(before)
		switch {
		case !found:
			return b.String(), nil
		case strings.HasSuffix(before, `\`), after != "" && (isWord(after[0]) || after[0] == '?'):
			return "", errNamed
		}
		b.WriteByte('$')
		b.WriteString(strconv.Itoa(n))
		query = after
	}
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// describe asks Postgres for the types of the arguments of a text.
func describe(ctx context.Context, pool *bun.DB, query string) (p planned, err error) {
	if p.text, err = numbered(query); err != nil {
		return p, err
	}
	conn, err := pool.DB.Conn(ctx)
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	return p, conn.Raw(func(driver any) error {
		d, err := driver.(*stdlib.Conn).Conn().Prepare(ctx, "", p.text)
		if err == nil {
			p.params = d.ParamOIDs
		}
		return err
	})
}

// accepts reports whether the arguments have the types that the text needs, so that nothing is left to convert.
func (p *planned) accepts(args []any) bool {
	if len(args) != len(p.params) {
		return false
	}
	for i, a := range args {
		if !fits(a, p.params[i]) {
			return false
		}
	}
	return true
}

func fits(a any, oid uint32) bool {
	switch v := a.(type) {
	case nil:
		return true
	case string:
		return oid == pgtype.TextOID || oid == pgtype.VarcharOID
	case []byte:
		return oid == pgtype.ByteaOID
	case bool:
		return oid == pgtype.BoolOID
	case time.Time:
		return oid == pgtype.TimestamptzOID
	case float64:
		return oid == pgtype.Float8OID
	case int:
		return holds(int64(v), oid)
	case int32:
		return holds(int64(v), oid)
	case int64:
		return holds(v, oid)
	default:
		return false
	}
}

func holds(n int64, oid uint32) bool {
	switch oid {
	case pgtype.Int8OID:
		return true
	case pgtype.Int4OID:
		return n >= math.MinInt32 && n <= math.MaxInt32
	case pgtype.Int2OID:
		return n >= math.MinInt16 && n <= math.MaxInt16
	default:
		return false
	}
}

// inlined writes the points of the lease clock into the text: they are SQL on Postgres, and the same for each use.
func inlined(query string, args []any) (string, []any) {
	at := -1
	for i, a := range args {
		if t, ok := a.(LeaseTime); ok && t.engine == Postgres {
			at = i
			break
		}
	}
	if at < 0 {
		return query, args
	}
	var b strings.Builder
	rest := make([]any, 0, len(args)-1)
	for _, a := range args {
		before, after, found := strings.Cut(query, "?")
		if !found {
			break
		}
		b.WriteString(before)
		query = after
		if t, ok := a.(LeaseTime); ok {
			sql, err := t.AppendQuery(schema.QueryGen{}, nil)
			if err == nil {
				b.Write(sql)
				continue
			}
		}
		b.WriteByte('?')
		rest = append(rest, a)
	}
	b.WriteString(query)
	return b.String(), rest
}

// run are the arguments of database/sql for a text that stays planned, and the text. The number of the plan is part of
// the text, so that a new number is planned again.
func (p *planned) run(number int64, args []any) (text string, all []any) {
	return p.text + " /* " + strconv.FormatInt(number, 10) + " */", append([]any{pgx.QueryExecModeCacheStatement}, args...)
}

// together runs statements in one round trip. Those that are planned are planned on this connection first, each once.
func (u *unit) together(ctx context.Context, list []Statement) (rows int64, err error) {
	if err := u.enter(); err != nil {
		return 0, err
	}
	defer u.gate.RUnlock()
	err = u.conn.Raw(func(driver any) (err error) {
		rows, err = u.send(ctx, driver.(*stdlib.Conn).Conn(), list)
		return err
	})
	u.fail(err)
	return rows, err
}

func (u *unit) send(ctx context.Context, conn *pgx.Conn, list []Statement) (rows int64, err error) {
	number := u.kept.number()
	if was := conn.PgConn().CustomData(); was[planNumber] != number {
		if err := conn.DeallocateAll(ctx); err != nil {
			return 0, err
		}
		was[planNumber] = number
	}
	var all pgx.Batch
	for _, s := range list {
		p, bound := u.kept.statement(s.Query, s.Args)
		if p == nil {
			all.Queue(u.owner.reads.QueryGen().FormatQuery(s.Query, s.Args...))
			continue
		}
		if _, err := conn.Prepare(ctx, p.planned.text, p.planned.text); err != nil {
			return 0, err
		}
		all.Queue(p.planned.text, bound...)
	}
	results := conn.SendBatch(ctx, &all)
	for range list {
		done, err := results.Exec()
		if err != nil {
			return 0, errors.Join(err, results.Close())
		}
		rows = done.RowsAffected()
	}
	return rows, results.Close()
}

// planNumber is the key of the number of the plans that a connection has.
const planNumber = "writ plans"

// querier is what database/sql's transactions and pools have in common.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}
