package db

import (
	"context"
	"database/sql"
	"sync"
	"time"

	"github.com/uptrace/bun"
)

// maxStatements bounds how many texts are kept prepared, and maxSeen how many are counted.
const (
	maxStatements = 256
	maxSeen       = 1024
	// worthPreparing is how often a text must be used before it is prepared: lists with filters have a new text
	// nearly every time.
	worthPreparing = 3
)

// statements caches prepared statements of an SQLite pool for texts that repeat. Parsing and planning is a third of the
// cost of a short statement there, and a text with its arguments written into it is new every time. Postgres needs no
// cache: the pool uses the protocol without prepared statements.
type statements struct {
	mu    sync.RWMutex
	ready map[string]*sql.Stmt
	seen  map[string]int
	want  []string // worth preparing, but not prepared yet
}

func (d *DB) newStatements() *statements {
	if d.engine == Postgres {
		return nil
	}
	return newStatements()
}

func newStatements() *statements {
	return &statements{ready: make(map[string]*sql.Stmt), seen: make(map[string]int)}
}

// find returns the prepared statement of a text, or nil, and records the use of the text.
func (s *statements) find(query string) *sql.Stmt {
	if s == nil {
		return nil
	}
	s.mu.RLock()
	stmt := s.ready[query]
	s.mu.RUnlock()
	if stmt != nil {
		return stmt
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

// prepare prepares texts that repeat. A text that cannot be prepared fails when it is executed.
func (s *statements) prepare(ctx context.Context, pool *bun.DB) {
	s.mu.Lock()
	want := s.want
	s.want = nil
	s.mu.Unlock()
	for _, query := range want {
		stmt, err := pool.DB.PrepareContext(ctx, query)
		if err != nil {
			continue
		}
		s.mu.Lock()
		s.ready[query] = stmt
		s.mu.Unlock()
	}
}

// bindable returns the arguments as the driver accepts them. ok is false if one of them is SQL, or has a type that only
// bun can format: such a text is not prepared.
func bindable(args []any) (out []any, ok bool) {
	out = args
	copied := false
	for i, a := range args {
		switch v := a.(type) {
		case nil, string, []byte, int, int32, int64, float64, bool:
			continue
		case time.Time:
			a = Cut(v).Format(sqliteTime)
		case Time:
			a = nil
			if !v.IsZero() {
				a = Cut(v.Time).Format(sqliteTime)
			}
		case LeaseTime:
			if v.engine != SQLite {
				return nil, false
			}
			a = Cut(v.at.Add(v.offset)).Format(sqliteTime)
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

// statement returns the prepared form of a text with its arguments, or nil if bun has to write them into it.
func (s *statements) statement(query string, args []any) (*sql.Stmt, []any) {
	bound, ok := bindable(args)
	if !ok {
		return nil, nil
	}
	return s.find(query), bound
}

// pool is the reader of stores outside units.
type pool struct {
	*bun.DB
	kept *statements // nil if no statements stay prepared
}

var _ bun.IDB = (*pool)(nil)

func newPool(db *bun.DB, kept *statements) *pool { return &pool{DB: db, kept: kept} }

func (p *pool) statement(ctx context.Context, query string, args []any) (*sql.Stmt, []any) {
	stmt, bound := p.kept.statement(query, args)
	if stmt == nil && p.kept != nil && p.kept.wanted() {
		p.kept.prepare(context.WithoutCancel(ctx), p.DB)
	}
	return stmt, bound
}

func (s *statements) wanted() bool {
	if s == nil {
		return false
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.want) > 0
}

func (p *pool) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if stmt, bound := p.statement(ctx, query, args); stmt != nil {
		return stmt.QueryContext(ctx, bound...)
	}
	return p.DB.QueryContext(ctx, query, args...)
}

func (p *pool) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if stmt, bound := p.statement(ctx, query, args); stmt != nil {
		return stmt.QueryRowContext(ctx, bound...)
	}
	return p.DB.QueryRowContext(ctx, query, args...)
}
