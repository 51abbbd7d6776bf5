package db_test

import (
	"context"
	"testing"
	"time"

	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/fault"
)

func TestSchema(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			d := dbtest.Connect(t, db.Config{URL: dbtest.Fresh(t, engine, nil)})
			_, _, err := d.Schema(t.Context(), schema(first))
			wantKind(t, err, fault.Unavailable)
			if err := d.Migrate(t.Context(), schema(first, second)); err != nil {
				t.Fatal(err)
			}
			for _, c := range []struct {
				bodies []string
				newest int64
			}{{[]string{first}, 1}, {[]string{first, second}, 2}, {[]string{first, second, raise}, 3}} {
				applied, newest, err := d.Schema(t.Context(), schema(c.bodies...))
				if err != nil || applied != 2 || newest != c.newest {
					t.Errorf("applied %d, newest %d of %d: %v", applied, newest, c.newest, err)
				}
			}
			if _, _, err := d.Schema(t.Context(), schema()); err == nil {
				t.Error("no migrations were taken for a schema")
			}
		})
	}
}

func TestClock(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			d := dbtest.Connect(t, db.Config{URL: dbtest.Fresh(t, engine, nil)})
			before := clock.New().Now()
			now, err := d.Clock(t.Context())
			after := clock.New().Now()
			// Both run on this machine, so the database's clock is this process's.
			if err != nil || now.Before(before.Add(-time.Second)) || now.After(after.Add(time.Second)) ||
				now.Location() != time.UTC {
				t.Errorf("%v between %v and %v: %v", now, before, after, err)
			}
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			if now, err := d.Clock(ended); err == nil || !now.IsZero() {
				t.Errorf("%v after the end of the caller: %v", now, err)
			}
		})
	}
}
