package harness

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
)

// Alter runs a statement directly on the database of the server. It converts a duration among the arguments to the time
// that far from now.
func (s *Server) Alter(statement string, args ...any) {
	s.t.Helper()
	d := dbtest.Connect(s.t, db.Config{URL: s.DB})
	for i, a := range args {
		if after, ok := a.(time.Duration); ok {
			args[i] = d.Dialect().LeaseNow().Add(after)
		}
	}
	err := d.Do(s.t.Context(), func(ctx context.Context) error {
		w, err := d.Write(ctx)
		if err != nil {
			return err
		}
		_, err = w.NewRaw(statement, args...).Exec(ctx)
		return err
	})
	if err != nil {
		s.t.Fatalf("%s: %v", statement, err)
	}
}

// SetLease sets the end of a run's lease to a time from now, which is negative for an expired lease.
func (s *Server) SetLease(runID string, after time.Duration) {
	s.t.Helper()
	s.Alter("UPDATE runs SET lease_expires_at = ? WHERE id = ?", after, runID)
}

// Column reads the first column of a query from the database of the server.
func (s *Server) Column(query string) [][]byte {
	s.t.Helper()
	var out [][]byte
	s.rows(query, func(_ []string, row [][]byte) { out = append(out, row[0]) })
	return out
}

// Cells calls fn with every column of every row of the database of the server and returns how many rows there are.
func (s *Server) Cells(fn func(table, column string, value []byte)) (rows int) {
	s.t.Helper()
	tables := "SELECT name FROM sqlite_master WHERE type = 'table'"
	if strings.HasPrefix(s.DB, "postgres") {
		tables = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
	}
	for _, table := range s.Column(tables) {
		s.rows(`SELECT * FROM "`+string(table)+`"`, func(columns []string, row [][]byte) {
			rows++
			for i, value := range row {
				fn(string(table), columns[i], value)
			}
		})
	}
	return rows
}

// rows reads outside of a unit of work, which would wait for writers.
func (s *Server) rows(query string, fn func(columns []string, row [][]byte)) {
	s.t.Helper()
	list, err := dbtest.Connect(s.t, db.Config{URL: s.DB}).Read(s.t.Context()).QueryContext(s.t.Context(), query)
	if err != nil {
		s.t.Fatalf("%s: %v", query, err)
	}
	defer func() { _ = list.Close() }()
	columns, err := list.Columns()
	row, into := make([][]byte, len(columns)), make([]any, len(columns))
	for err == nil && list.Next() {
		for i := range row {
			row[i], into[i] = nil, &row[i]
		}
		if err = list.Scan(into...); err == nil {
			fn(columns, slices.Clone(row))
		}
	}
	if err = errors.Join(err, list.Err()); err != nil {
		s.t.Fatalf("%s: %v", query, err)
	}
}
