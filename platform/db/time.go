package db

import (
	"database/sql"
	"database/sql/driver"
	"fmt"
	"time"

	"github.com/uptrace/bun/schema"
)

const sqliteTime = "2006-01-02T15:04:05.000000Z"

// Time is a point in time in UTC, cut to microseconds, for columns that may be NULL: the zero value is NULL.
type Time struct{ time.Time }

var (
	_ schema.QueryAppender = Time{}
	_ driver.Valuer        = Time{}
	_ sql.Scanner          = (*Time)(nil)
)

// At makes a Time of t.
func At(t time.Time) Time { return Time{Cut(t)} }

// Cut reduces t to the precision of both engines: UTC, whole microseconds, no monotonic reading. The zero time stays
// zero.
func Cut(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Microsecond)
}

// AppendQuery writes the literal in the form of the engine.
func (t Time) AppendQuery(gen schema.QueryGen, b []byte) ([]byte, error) {
	if t.IsZero() {
		return append(b, "NULL"...), nil
	}
	return gen.Dialect().AppendTime(b, t.Time), nil
}

// Value is for arguments that do not pass through bun. It returns text that both engines read.
func (t Time) Value() (driver.Value, error) {
	if t.IsZero() {
		return nil, nil
	}
	return Cut(t.Time).Format(sqliteTime), nil
}

// Scan reads NULL as the zero value.
func (t *Time) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		t.Time = time.Time{}
	case time.Time:
		t.Time = Cut(v)
	case string:
		return t.parse(v)
	case []byte:
		return t.parse(string(v))
	default:
		return fmt.Errorf("scan a time from %T", src)
	}
	return nil
}

func (t *Time) parse(s string) error {
	at, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return fmt.Errorf("scan a time: %w", err)
	}
	t.Time = Cut(at)
	return nil
}
