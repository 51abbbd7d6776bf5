package db

import (
	"bytes"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/uptrace/bun/dialect"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	"github.com/uptrace/bun/schema"
)

// sqliteDialect and pgDialect write every time.Time in the form of its columns, and give the members of models the
// column types of setColumn.
type sqliteDialect struct {
	*sqlitedialect.Dialect
	tables *schema.Tables
}

func newSQLiteDialect() *sqliteDialect {
	d := &sqliteDialect{Dialect: sqlitedialect.New()}
	d.tables = schema.NewTables(d)
	return d
}

func (d *sqliteDialect) Tables() *schema.Tables { return d.tables }

func (d *sqliteDialect) OnTable(table *schema.Table) {
	d.Dialect.OnTable(table)
	setColumns(table)
}

func (*sqliteDialect) AppendTime(b []byte, t time.Time) []byte {
	b = append(b, '\'')
	b = Cut(t).AppendFormat(b, sqliteTime)
	return append(b, '\'')
}

type pgDialect struct {
	*pgdialect.Dialect
	tables *schema.Tables
}

func newPgDialect() *pgDialect {
	d := &pgDialect{Dialect: pgdialect.New()}
	d.tables = schema.NewTables(d)
	return d
}

func (d *pgDialect) Tables() *schema.Tables { return d.tables }

func (d *pgDialect) OnTable(table *schema.Table) {
	d.Dialect.OnTable(table)
	setColumns(table)
}

func (*pgDialect) AppendTime(b []byte, t time.Time) []byte {
	b = append(b, '\'')
	b = Cut(t).AppendFormat(b, "2006-01-02 15:04:05.000000+00:00")
	return append(b, '\'')
}

// setColumns gives members of a model the columns that this package's documentation promises, if bun's differ.
func setColumns(table *schema.Table) {
	for _, f := range table.FieldMap {
		t := f.IndirectType
		switch elem := t.Kind(); {
		case hasColumn(t):
		case elem == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
			f.IsZero = func(v reflect.Value) bool { return v.Len() == 0 }
		case elem == reflect.Array && t.Elem().Kind() == reflect.Uint8:
			f.Scan = scanArray
		case elem == reflect.Struct, elem == reflect.Map, elem == reflect.Slice:
			f.Append, f.Scan, f.IsPtr = appendDocument, scanDocument, false
		}
	}
}

// hasColumn reports whether a type defines its own column.
func hasColumn(t reflect.Type) bool {
	return t == reflect.TypeFor[time.Time]() || t.Implements(reflect.TypeFor[schema.QueryAppender]()) ||
		t.Implements(reflect.TypeFor[driver.Valuer]())
}

func scanArray(to reflect.Value, src any) error {
	to.SetZero()
	if raw, ok := src.([]byte); ok && len(raw) == to.Len() {
		reflect.Copy(to, reflect.ValueOf(raw))
	}
	return nil
}

func appendDocument(gen schema.QueryGen, b []byte, v reflect.Value) []byte {
	text, err := Document(v.Interface())
	if err != nil {
		return dialect.AppendError(b, err)
	}
	return gen.Dialect().AppendString(b, text)
}

func scanDocument(to reflect.Value, src any) error {
	to.SetZero()
	text, ok := src.(string)
	if raw, isRaw := src.([]byte); isRaw {
		text, ok = string(raw), true
	}
	switch {
	case src == nil, ok && text == "":
		return nil
	case !ok:
		return fmt.Errorf("scan a document from %T", src)
	}
	return ReadDocument(text, to.Addr().Interface())
}

// Document returns the column of a value that is stored as JSON. Raw members keep their characters as they are. It
// fails where JSON has no form for the value.
func Document(v any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", fmt.Errorf("make a stored document: %w", err)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// ReadDocument reverses Document: it sets the value that into points to. Numbers without a declared type become
// json.Number, so that their text stays. It fails if the column does not hold such a value.
func ReadDocument(column string, into any) error {
	dec := json.NewDecoder(strings.NewReader(column))
	dec.UseNumber()
	if err := dec.Decode(into); err != nil {
		return fmt.Errorf("read a stored document: %w", err)
	}
	return nil
}
