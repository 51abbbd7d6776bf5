package dbtest_test

import (
	"testing"
	"testing/fstest"

	"go.uber.org/goleak"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func migrations() fstest.MapFS {
	body := &fstest.MapFile{Data: []byte("-- +goose Up\nCREATE TABLE things (id TEXT PRIMARY KEY);")}
	return fstest.MapFS{"sqlite/0001_test_things.up.sql": body, "postgres/0001_test_things.up.sql": body}
}

func TestDatabasesAreFreshAndApart(t *testing.T) {
	t.Parallel()
	for range 3 {
		dbtest.EachEngine(t, migrations(), func(t *testing.T, d *db.DB) {
			var n int
			if err := d.Read(t.Context()).NewRaw("SELECT count(*) FROM things").Scan(t.Context(), &n); err != nil || n != 0 {
				t.Errorf("%d things: %v", n, err)
			}
			if _, err := d.Read(t.Context()).NewRaw("INSERT INTO things VALUES ('a')").Exec(t.Context()); err != nil &&
				d.Engine() == db.Postgres {
				t.Error(err)
			}
		})
	}
}

func TestDatabasesLiveInAHostileZone(t *testing.T) {
	t.Parallel()
	cluster := dbtest.NewCluster(t)
	for name, url := range map[string]string{"shared": dbtest.Fresh(t, db.Postgres, migrations()), "own": cluster.URL()} {
		d := dbtest.Connect(t, db.Config{URL: url})
		var zone string
		err := d.Read(t.Context()).NewRaw("SELECT reset_val FROM pg_settings WHERE name = 'TimeZone'").
			Scan(t.Context(), &zone)
		if err != nil {
			t.Fatal(err)
		}
		var config string
		err = d.Read(t.Context()).NewRaw("SELECT COALESCE((SELECT unnest(setconfig) FROM pg_db_role_setting LIMIT 1), '')").
			Scan(t.Context(), &config)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: session %s, database %q", name, zone, config)
		if name == "shared" && config != "TimeZone="+dbtest.Zone {
			t.Errorf("the database's zone is %q", config)
		}
	}
}

func TestClusterStopsAndStarts(t *testing.T) {
	t.Parallel()
	cluster := dbtest.NewCluster(t)
	for _, mode := range []dbtest.Mode{dbtest.Fast, dbtest.Immediate} {
		if err := cluster.Stop(t.Context(), mode); err != nil {
			t.Fatal(err)
		}
		if d, err := db.Open(t.Context(), db.Config{URL: cluster.URL()}); err == nil {
			t.Errorf("a stopped cluster answers: %v", d.Close())
		}
		if err := cluster.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	dbtest.Connect(t, db.Config{URL: cluster.URL()})
}

// TestDurableCluster shows that a cluster for measurements syncs its commits, and that the tests' own one does not.
func TestDurableCluster(t *testing.T) {
	t.Parallel()
	for name, cluster := range map[string]*dbtest.Cluster{
		"off 1min": dbtest.NewCluster(t), "on 7s": dbtest.NewDurableCluster(t, "authentication_timeout = 7\n"),
	} {
		d := dbtest.Connect(t, db.Config{URL: cluster.URL()})
		var got string
		query := "SELECT current_setting('fsync') || ' ' || current_setting('authentication_timeout')"
		if err := d.Read(t.Context()).NewRaw(query).Scan(t.Context(), &got); err != nil || got != name {
			t.Errorf("%q, want %q: %v", got, name, err)
		}
	}
}
