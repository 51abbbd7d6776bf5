package db

import (
	"context"
	"database/sql"
	"strings"
	"sync"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/clock"
)

// maxStatements bounds how many texts are kept prepared, and maxSeen how many are counted.
const (
	maxStatements = 256
	maxSeen       = 1024
	// worthPreparing is how often a text must be used before it is prepared: lists with filters have a new text
	// nearly every time.
	worthPreparing = 3
	// prepareTimeout bounds the wait for a database that does not answer.
	prepareTimeout = 2 * time.Second
)

// statements keeps texts that repeat prepared. Parsing and planning is a third of the cost of a short statement, and a
// text with its arguments written into it is new every time. SQLite has a statement for a connection of one pool, and
// Postgres one for each connection that uses it.
type statements struct {
	engine Engine
	watch  clock.Stopwatch

	mu    sync.RWMutex
	ready map[string]*prepared
	seen  map[string]int
	want  []string // worth preparing, but not prepared yet
}

// prepared is a text in the form of its engine.
type prepared struct {
	stmt    *sql.Stmt // SQLite's
	planned planned   // Postgres's
	unfit   bool      // it cannot be prepared
}

func newStatements(e Engine) *statements {
	return &statements{engine: e, watch: clock.Start(), ready: make(map[string]*prepared), seen: make(map[string]int)}
}

// statements returns those of a new connection of the writer.
func (d *DB) statements() *statements {
	if d.engine == Postgres {
		return d.planned
	}
	return newStatements(SQLite)
}

// find returns the prepared form of a text, or nil, and records the use of the text.
func (s *statements) find(query string) *prepared {
	s.mu.RLock()
	p := s.ready[query]
	s.mu.RUnlock()
	if p != nil {
		return p
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.ready)+len(s.want) >= maxStatements {
		return nil
	}
	if len(s.seen) >= maxSeen {
		clear(s.seen)
	}
	s.seen[query]++
	if s.seen[query] == worthPreparing {
		s.want = append(s.want, query)
	}
	return nil
}

// own returns the prepared statement of a text of the group itself on SQLite, or nil.
func (s *statements) own(query string) *sql.Stmt {
	if s.engine == SQLite {
		if p := s.find(query); p != nil {
			return p.stmt
		}
	}
	return nil
}

// wanted reports whether prepare has something to do.
func (s *statements) wanted() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.want) > 0
}

// prepare prepares texts that repeat. A text that cannot be prepared fails when it is executed.
func (s *statements) prepare(ctx context.Context, pool *bun.DB) {
	s.mu.Lock()
	want := s.want
	s.want = nil
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, prepareTimeout)
	defer cancel()
	for _, query := range want {
		var p prepared
		var err error
		if s.engine == Postgres {
			p.planned, err = describe(ctx, pool, query)
		} else {
			p.stmt, err = pool.DB.PrepareContext(ctx, query)
		}
		if p.unfit = err != nil; p.unfit && isDisconnect(err) {
			continue // it is asked for again
		}
		s.mu.Lock()
		s.ready[query] = &p
		s.mu.Unlock()
	}
}

// bindable returns the arguments as the drivers accept them. ok is false if one of them is SQL, or has a type that only
// bun can format: such a text is not prepared.
func (s *statements) bindable(args []any) (out []any, ok bool) {
	out = args
	copied := false
	for i, a := range args {
		switch v := a.(type) {
		case nil, string, []byte, int, int32, int64, float64, bool:
			continue
		case time.Time:
			a = s.time(v)
		case Time:
			a = nil
			if !v.IsZero() {
				a = s.time(v.Time)
			}
		case LeaseTime:
			if v.engine != SQLite {
				return nil, false
			}
			a = s.time(v.at.Add(v.offset))
		default:
			return nil, false
		}
		if !copied {
			out, copied = append([]any(nil), args...), true
		}
		out[i] = a
	}
	return out, true
}

func (s *statements) time(t time.Time) any {
	if s.engine == SQLite {
		return Cut(t).Format(sqliteTime)
	}
	return Cut(t)
}

// statement returns the prepared form of a text with its arguments, or nil if bun has to write them into it.
func (s *statements) statement(query string, args []any) (*prepared, []any) {
	if s.engine == Postgres {
		if len(args) == 0 || strings.Contains(query, ";") {
			return nil, nil // a question mark of the text would be no argument, and several statements have no plan
		}
		query, args = inlined(query, args)
	}
	bound, ok := s.bindable(args)
	if !ok {
		return nil, nil
	}
	p := s.find(query)
	if p == nil || p.unfit || s.engine == Postgres && !p.planned.accepts(bound) {
		return nil, nil
	}
	return p, bound
}

// number is that of the plans of now.
func (s *statements) number() int64 { return int64(s.watch.Elapsed() / planAgainEvery) }

// on returns what executes the prepared form on a connection, with the text and the arguments to give to it.
func (s *statements) on(
	ctx context.Context, p *prepared, tx *sql.Tx, pool *sql.DB, args []any,
) (querier, string, []any) {
	switch {
	case s.engine == Postgres:
		text, all := p.planned.run(s.number(), args)
		if tx != nil {
			return tx, text, all
		}
		return pool, text, all
	case tx != nil:
		return bare{tx.StmtContext(ctx, p.stmt)}, "", args
	default:
		return bare{p.stmt}, "", args
	}
}

// bare executes a statement, which has its text.
type bare struct{ *sql.Stmt }

func (b bare) QueryContext(ctx context.Context, _ string, args ...any) (*sql.Rows, error) {
	return b.Stmt.QueryContext(ctx, args...)
}

func (b bare) QueryRowContext(ctx context.Context, _ string, args ...any) *sql.Row {
	return b.Stmt.QueryRowContext(ctx, args...)
}

func (b bare) ExecContext(ctx context.Context, _ string, args ...any) (sql.Result, error) {
	return b.Stmt.ExecContext(ctx, args...)
}

// pool is the reader of stores outside units.
type pool struct {
	*bun.DB
	kept *statements
}

var _ bun.IDB = (*pool)(nil)

func newPool(db *bun.DB, kept *statements) *pool { return &pool{DB: db, kept: kept} }

func (p *pool) statement(ctx context.Context, query string, args []any) (querier, string, []any) {
	stmt, bound := p.kept.statement(query, args)
	if stmt == nil {
		if p.kept.wanted() {
			p.kept.prepare(context.WithoutCancel(ctx), p.DB)
		}
		return nil, "", nil
	}
	return p.kept.on(ctx, stmt, nil, p.DB.DB, bound)
}

func (p *pool) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if on, text, all := p.statement(ctx, query, args); on != nil {
		return on.QueryContext(ctx, text, all...)
	}
	return p.DB.QueryContext(ctx, query, args...)
}

func (p *pool) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if on, text, all := p.statement(ctx, query, args); on != nil {
		return on.QueryRowContext(ctx, text, all...)
	}
	return p.DB.QueryRowContext(ctx, query, args...)
}
