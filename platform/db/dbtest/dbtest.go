package dbtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/writ-automation/writ/platform/db"
)

// Engines are the engines that stores must work on.
func Engines() []db.Engine { return []db.Engine{db.SQLite, db.Postgres} }

// EachEngine runs fn as a sub-test named after each engine, in parallel, on a fresh migrated database.
func EachEngine(t *testing.T, migrations fs.FS, fn func(t *testing.T, d *db.DB)) {
	t.Helper()
	for _, engine := range Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			fn(t, Open(t, engine, migrations))
		})
	}
}

// unitTimeout keeps a loaded machine under the race detector from failing tests that are not about time.
const unitTimeout = 2 * time.Minute

// Open opens a fresh migrated database with a long time limit for units. It is closed when the test ends.
func Open(t testing.TB, engine db.Engine, migrations fs.FS) *db.DB {
	t.Helper()
	return Connect(t, db.Config{URL: Fresh(t, engine, migrations), UnitTimeout: unitTimeout})
}

// Connect opens a database with cfg. It is closed when the test ends; the test may close it earlier.
func Connect(t testing.TB, cfg db.Config) *db.DB {
	t.Helper()
	d, err := db.Open(t.Context(), cfg)
	if err != nil {
		t.Fatalf("open the database: %v", err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("close the database: %v", err)
		}
	})
	return d
}

// Fresh makes a database and returns its URL, for db.Config. With migrations it is migrated, without (nil) empty.
// It is dropped when the test ends.
func Fresh(t testing.TB, engine db.Engine, migrations fs.FS) string {
	t.Helper()
	if engine == db.Postgres {
		return server(t).fresh(t, migrations)
	}
	path := filepath.Join(t.TempDir(), "writ.db")
	if migrations != nil {
		Copy(t, path, migrations)
	}
	return path
}

// Copy writes a migrated SQLite database without rows to path.
func Copy(t testing.TB, path string, migrations fs.FS) {
	t.Helper()
	if err := os.WriteFile(path, files.template(t, migrations), 0o600); err != nil {
		t.Fatalf("copy the migrated database: %v", err)
	}
}

// files are the migrated SQLite databases of this process, by the digest of their migrations: to migrate one takes
// longer than most tests do.
var files templates

type templates struct {
	mu   sync.Mutex
	made map[string][]byte
}

// template returns the bytes of a database that is migrated and closed.
func (f *templates) template(t testing.TB, migrations fs.FS) []byte {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	key := digest(t, migrations)
	if raw, ok := f.made[key]; ok {
		return raw
	}
	path := filepath.Join(t.TempDir(), "template.db")
	migrate(t, path, migrations)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("read the migrated database: %v", err)
	}
	if f.made == nil {
		f.made = make(map[string][]byte)
	}
	f.made[key] = raw
	return raw
}

func migrate(t testing.TB, url string, migrations fs.FS) {
	t.Helper()
	d, err := db.Open(t.Context(), db.Config{URL: url})
	if err != nil {
		t.Fatalf("open the database: %v", err)
	}
	if err := d.Migrate(t.Context(), migrations); err != nil {
		t.Errorf("migrate the database: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Errorf("close the database: %v", err)
	}
	if t.Failed() {
		t.FailNow()
	}
}
