package db

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgtype"
)

func TestNumbered(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"":                          "",
		"SELECT 1":                  "SELECT 1",
		"a = ? AND b IN (?, ?)":     "a = $1 AND b IN ($2, $3)",
		"?":                         "$1",
		"a = ?0":                    "error",
		"a = ?name":                 "error",
		`a \? b`:                    "error",
		"a ?? b":                    "error",
		"é = ? || 'é' || CAST(? AS": "é = $1 || 'é' || CAST($2 AS",
	} {
		got, err := numbered(query)
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%q is %q, want %q", query, got, want)
		}
	}
}

// TestOnlyFittingArgumentsAreGivenToAPlan: others would be converted otherwise than as literals.
func TestOnlyFittingArgumentsAreGivenToAPlan(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, c := range []struct {
		oid  uint32
		fits []any
		not  []any
	}{
		{pgtype.TextOID, []any{nil, "", "x"}, []any{1, true, []byte("x"), now}},
		{pgtype.VarcharOID, []any{"x"}, []any{1}},
		{pgtype.TimestamptzOID, []any{nil, now}, []any{"2025-01-01T00:00:00Z", 1}},
		{3615, // tsquery
			[]any{nil}, []any{"a"}},
		{pgtype.JSONBOID, []any{nil}, []any{"{}", []byte("{}")}},
		{pgtype.Int8OID, []any{0, int32(1), int64(math.MaxInt64), nil}, []any{"1", 1.0, true}},
		{pgtype.Int4OID, []any{math.MaxInt32, math.MinInt32}, []any{math.MaxInt32 + 1, int64(math.MinInt32 - 1)}},
		{pgtype.Int2OID, []any{math.MaxInt16}, []any{int32(math.MaxInt16 + 1)}},
		{pgtype.NumericOID, []any{nil}, []any{1, 1.5}},
		{pgtype.Float8OID, []any{1.5}, []any{1}},
		{pgtype.BoolOID, []any{true}, []any{1, "t"}},
		{pgtype.ByteaOID, []any{[]byte{}}, []any{""}},
	} {
		for _, want := range []bool{true, false} {
			list := c.not
			if want {
				list = c.fits
			}
			for _, a := range list {
				p := planned{params: []uint32{c.oid}}
				if got := p.accepts([]any{a}); got != want {
					t.Errorf("%T %v for the type %d: %t", a, a, c.oid, got)
				}
				if p.accepts([]any{a, a}) || p.accepts(nil) {
					t.Errorf("another number of arguments is accepted")
				}
			}
		}
	}
}

func TestPointsOfTheLeaseClockAreText(t *testing.T) {
	t.Parallel()
	at := LeaseTime{engine: Postgres}
	query, args := inlined("a = ? AND b < ? AND c > ? AND d = ?", []any{1, at, at.Add(time.Second), "x"})
	const want = "a = ? AND b < clock_timestamp() AND c > (clock_timestamp() + interval '1000000 microseconds') AND d = ?"
	if query != want {
		t.Error(query)
	}
	if d := cmp.Diff([]any{1, "x"}, args); d != "" {
		t.Error(d)
	}
	text, all := (&planned{text: "SELECT $1"}).run(7, []any{1})
	if text != "SELECT $1 /* 7 */" || fmt.Sprint(all[1:]) != "[1]" {
		t.Error(text, all)
	}
}
