package db_test

import (
	"context"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/fault"
)

// schema makes migrations that both engines read; each entry is one migration.
func schema(bodies ...string) fstest.MapFS {
	files := fstest.MapFS{}
	for i, body := range bodies {
		file := &fstest.MapFile{Data: []byte("-- +goose Up\n" + body)}
		for _, engine := range dbtest.Engines() {
			files[string(engine)+"/000"+string(rune('1'+i))+"_test_step.up.sql"] = file
		}
	}
	return files
}

const (
	first  = "CREATE TABLE firsts (id TEXT PRIMARY KEY);"
	second = "CREATE TABLE seconds (id TEXT PRIMARY KEY);"
	raise  = "CREATE TABLE thirds (id TEXT PRIMARY KEY);\nUPDATE schema_floor SET min_binary = 3;"
)

// TestFourStartersMigrateOnce starts four processes together.
// Keeps F26.
func TestFourStartersMigrateOnce(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			url := dbtest.Fresh(t, engine, nil)
			var all sync.WaitGroup
			for range 4 {
				d := dbtest.Connect(t, db.Config{URL: url})
				all.Go(func() {
					if err := d.Migrate(t.Context(), schema(first, second)); err != nil {
						t.Errorf("migrate: %v", err)
					}
					if err := d.Probe(t.Context()); err != nil {
						t.Errorf("probe: %v", err)
					}
				})
			}
			all.Wait()
		})
	}
}

// TestSchemaRefusesBinariesThatAreTooOld starts older and newer binaries over one schema.
// Keeps F26.
func TestSchemaRefusesBinariesThatAreTooOld(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			d := dbtest.Connect(t, db.Config{URL: dbtest.Fresh(t, engine, nil)})
			steps := []struct {
				name    string
				files   fstest.MapFS
				refused bool
			}{
				{"first start", schema(first), false},
				{"newer binary", schema(first, second), false},
				{"older binary, schema compatible", schema(first), false},
				{"newest binary", schema(first, second, raise), false},
				{"again", schema(first, second, raise), false},
				{"binary below the floor", schema(first, second), true},
			}
			for _, s := range steps {
				err := d.Migrate(t.Context(), s.files)
				if s.refused != db.SchemaTooNew.Is(err) || !s.refused && err != nil {
					t.Errorf("%s: %v", s.name, err)
				}
			}
		})
	}
}

// TestFailedMigrationLeavesNothing checks that a migration which fails midway changes neither the schema nor the data.
// Keeps F26.
func TestFailedMigrationLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			d := dbtest.Connect(t, db.Config{URL: dbtest.Fresh(t, engine, nil)})
			const row = "\nINSERT INTO firsts (id) VALUES ('kept');"
			const moved = second + "\nINSERT INTO seconds (id) SELECT id FROM firsts;\nDELETE FROM firsts;"
			if err := d.Migrate(t.Context(), schema(first+row, moved+"\nCREATE TABLE broken (;")); err == nil {
				t.Fatal("a broken migration succeeded")
			}
			if n := count(t, d, "firsts"); n != 1 {
				t.Errorf("%d rows are left", n)
			}
			if err := d.Migrate(t.Context(), schema(first+row, moved)); err != nil {
				t.Errorf("the repaired migration: %v", err)
			}
			if from, to := count(t, d, "firsts"), count(t, d, "seconds"); from != 0 || to != 1 {
				t.Errorf("%d rows are left and %d moved", from, to)
			}
			if err := d.Migrate(t.Context(), fstest.MapFS{}); err == nil {
				t.Error("no migrations were taken for a schema")
			}
		})
	}
}

// count returns how many rows a table has.
func count(t *testing.T, d *db.DB, table string) (n int) {
	t.Helper()
	if err := d.Read(t.Context()).QueryRowContext(t.Context(), "SELECT count(*) FROM "+table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestProbe(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			d := dbtest.Connect(t, db.Config{URL: dbtest.Fresh(t, engine, nil)})
			wantKind(t, d.Probe(t.Context()), fault.Unavailable)
			if err := d.Migrate(t.Context(), schema(first)); err != nil {
				t.Fatal(err)
			}
			if err := d.Probe(t.Context()); err != nil {
				t.Errorf("probe: %v", err)
			}
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			wantKind(t, d.Probe(ended), fault.Unavailable)
		})
	}
}
