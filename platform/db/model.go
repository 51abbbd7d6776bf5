package db

import (
	"context"
	"database/sql/driver"
	"iter"
	"reflect"
	"slices"
	"strings"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"

	"github.com/writ-automation/writ/ports/tx"
)

// Model is the table of a model for raw SQL, which stays prepared. It takes the names of the columns from the model.
type Model[T any] struct {
	table    *schema.Table
	inserted []*schema.Field // except those that the database numbers
	into     string
}

// ModelOf returns the table of a model.
func ModelOf[T any](d *DB) Model[T] {
	m := Model[T]{table: d.reads.Table(reflect.TypeFor[T]())}
	var names []string
	for _, f := range m.table.Fields {
		if !f.AutoIncrement {
			m.inserted, names = append(m.inserted, f), append(names, f.Name)
		}
	}
	m.into = "INSERT INTO " + m.table.Name + " (" + strings.Join(names, ", ") + ") VALUES "
	return m
}

// Columns lists the columns for a query: those of the table with the alias, under names that begin with prefix.
func (m Model[T]) Columns(alias, prefix string) string {
	names := make([]string, len(m.table.Fields))
	for i, f := range m.table.Fields {
		names[i] = alias + "." + f.Name
		if prefix != "" {
			names[i] += " AS " + prefix + f.Name
		}
	}
	return strings.Join(names, ", ")
}

// Targets returns the scan targets of the columns, in their order.
func (m Model[T]) Targets(row *T) []any {
	targets := make([]any, len(m.table.Fields))
	for i, f := range m.table.Fields {
		targets[i] = f.Value(reflect.ValueOf(row).Elem()).Addr().Interface()
	}
	return targets
}

// Insertion returns the statement that inserts rows, followed by tail, and its arguments. It omits a column that the
// database numbers.
func (m Model[T]) Insertion(rows []T, tail string) (query string, args []any, err error) {
	args = make([]any, 0, len(rows)*len(m.inserted))
	for i := range rows {
		row := reflect.ValueOf(&rows[i]).Elem()
		for _, f := range m.inserted {
			arg, err := argument(f.Value(row))
			if err != nil {
				return "", nil, err
			}
			args = append(args, arg)
		}
	}
	tuple := "(?" + strings.Repeat(", ?", len(m.inserted)-1) + ")"
	return m.into + tuple + strings.Repeat(", "+tuple, len(rows)-1) + tail, args, nil
}

// maxRows bounds the rows of one statement that shall stay prepared: SQLite's driver searches all arguments for each
// one.
const maxRows = 16

// Powers cuts a list into parts whose sizes are powers of two, at most 16: so there are few statement texts, which stay
// prepared.
func Powers[T any](list []T) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		for len(list) > 0 {
			size := maxRows
			for size > len(list) {
				size /= 2
			}
			if !yield(list[:size]) {
				return
			}
			list = list[size:]
		}
	}
}

// Insertions returns the statements that insert rows, with few different texts.
func (m Model[T]) Insertions(rows []T) ([]Statement, error) {
	var list []Statement
	for part := range Powers(rows) {
		query, args, err := m.Insertion(part, "")
		if err != nil {
			return nil, err
		}
		list = append(list, Statement{Query: query, Args: args})
	}
	return list, nil
}

// InsertAtEnd inserts rows when the unit of ctx is about to commit, together with those of all units that share the
// commit. For rows that nothing in a unit reads.
func (m Model[T]) InsertAtEnd(ctx context.Context, d *DB, rows ...T) error {
	return tx.BeforeCommit(ctx, tx.Early, inserted{d, m.into}, rows, func(ctx context.Context, all [][]T) error {
		list, err := m.Insertions(slices.Concat(all...))
		if err != nil {
			return err
		}
		return d.AtEnd(ctx, list...)
	})
}

// inserted is the key of the rows for the end of a unit.
type inserted struct {
	owner *DB
	into  string
}

// rowsPerInsert bounds one statement's text.
const rowsPerInsert = 200

// Insert inserts rows with few statements. Errors are translated.
func (m Model[T]) Insert(ctx context.Context, q bun.IDB, rows []T, tail string) error {
	for part := range slices.Chunk(rows, rowsPerInsert) {
		query, args, err := m.Insertion(part, tail)
		if err != nil {
			return err
		}
		if _, err := Exec(ctx, q, query, args...); err != nil {
			return err
		}
	}
	return nil
}

// argument returns a member of a model in a form that prepared statements accept.
func argument(v reflect.Value) (any, error) {
	switch x := v.Interface().(type) {
	case Time:
		return x, nil
	case driver.Valuer:
		return x.Value()
	}
	switch v.Kind() {
	case reflect.String:
		return v.String(), nil
	case reflect.Int, reflect.Int64:
		return v.Int(), nil
	case reflect.Array:
		return v.Slice(0, v.Len()).Bytes(), nil
	}
	return v.Interface(), nil
}
