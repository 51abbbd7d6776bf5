package sqlstore_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/sqlstore"
	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/scheduling"
	"github.com/writ-automation/writ/ports/secrets"
	"github.com/writ-automation/writ/ports/system"
)

// apart reports whether a table differs between the engines: the structures of the full-text search, and the tables of
// the migrations.
func apart(table string) bool {
	return table == "run_search" || strings.HasPrefix(table, "run_search_") || strings.HasPrefix(table, "sqlite_") ||
		table == "goose_db_version" || table == "schema_floor"
}

// rowid reports whether the primary key of a table, of this column, is the rowid on SQLite.
func rowid(table, column string) bool {
	switch table {
	case "runs", "audit_entries", "audit_private", "hook_log":
		return column == "seq"
	default:
		return column == "id" && slices.Contains([]string{"estate_hosts", "estate_runs", "estate_tasks"}, table)
	}
}

// queries list, for each engine, the columns as (table, column, may be NULL) and the indexes as (table, unique,
// columns). Primary keys are among the indexes, except the rowid of SQLite, which has no index.
func queries(e db.Engine) (columns, indexes string) {
	if e == db.Postgres {
		return `SELECT table_name, column_name, is_nullable = 'YES' FROM information_schema.columns WHERE table_schema = current_schema()`,
			`SELECT c.relname, i.relname, x.indisunique, array_to_string(ARRAY(SELECT a.attname FROM unnest(x.indkey) WITH ORDINALITY AS k (n, o)
				JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = k.n ORDER BY k.o), ','), x.indpred IS NOT NULL
			FROM pg_index AS x JOIN pg_class AS c ON c.oid = x.indrelid JOIN pg_class AS i ON i.oid = x.indexrelid
			JOIN pg_namespace AS s ON s.oid = c.relnamespace WHERE s.nspname = current_schema()`
	}
	return `SELECT m.name, c.name, c."notnull" = 0 FROM sqlite_master AS m, pragma_table_info(m.name) AS c WHERE m.type = 'table'`,
		`SELECT m.name, i.name, i."unique", (SELECT group_concat(x.name, ',') FROM pragma_index_info(i.name) AS x), i.partial
			FROM sqlite_master AS m, pragma_index_list(m.name) AS i WHERE m.type = 'table'`
}

type schema struct{ Columns, Indexes []string }

func read(t *testing.T, d *db.DB) schema {
	t.Helper()
	var s schema
	columns, indexes := queries(d.Engine())
	rows, err := d.Read(t.Context()).QueryContext(t.Context(), columns)
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		var table, column string
		var null bool
		if err := rows.Scan(&table, &column, &null); err != nil {
			t.Fatal(err)
		}
		if !apart(table) {
			s.Columns = append(s.Columns, fmt.Sprintf("%s.%s null=%t", table, column, null))
		}
	}
	if err := rows.Close(); err != nil {
		t.Fatal(err)
	}
	if rows, err = d.Read(t.Context()).QueryContext(t.Context(), indexes); err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		var table, name, columns string
		var unique, partial bool
		if err := rows.Scan(&table, &name, &unique, &columns, &partial); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(name, "sqlite_autoindex_") || strings.HasSuffix(name, "_pkey") {
			name = "primary key"
		}
		if !apart(table) && !rowid(table, columns) {
			s.Indexes = append(s.Indexes, fmt.Sprintf("%s %s (%s) unique=%t partial=%t", table, name, columns, unique, partial))
		}
	}
	if err := rows.Close(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(s.Columns)
	slices.Sort(s.Indexes)
	return s
}

func TestTheEnginesHaveOneSchema(t *testing.T) {
	t.Parallel()
	lite := read(t, dbtest.Open(t, db.SQLite, migrations.FS))
	post := read(t, dbtest.Open(t, db.Postgres, migrations.FS))
	if len(lite.Columns) < 100 || len(lite.Indexes) < 20 {
		t.Fatalf("%d columns and %d indexes were read", len(lite.Columns), len(lite.Indexes))
	}
	if diff := cmp.Diff(lite, post); diff != "" {
		t.Errorf("the engines differ (-SQLite +Postgres):\n%s", diff)
	}
}

func TestTheEnginesHaveTheSameMigrations(t *testing.T) {
	t.Parallel()
	names := func(folder string) []string {
		entries, err := migrations.FS.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, e := range entries {
			out = append(out, e.Name())
		}
		return out
	}
	if diff := cmp.Diff(names("sqlite"), names("postgres")); diff != "" {
		t.Errorf("the files differ (-SQLite +Postgres):\n%s", diff)
	}
}

func TestTheModuleProvidesEveryStore(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, db.SQLite, migrations.FS)
	app := fx.New(fx.NopLogger, fx.Supply(d), sqlstore.Module,
		fx.Invoke(func(runs.Store, runs.Queue, runs.LogStore, runs.EventStore,
			runs.SummaryStore, runs.KeyStore, runs.TicketStore, runs.Purger, identity.AccountStore, identity.CallerStore,
			identity.TokenStore, identity.UseStore, identity.TeamStore, identity.OrgStore, identity.GrantStore,
			identity.ObjectStore,
			identity.RightsStore, identity.HandshakeStore, audit.ChainStore, audit.ChainReader, audit.TileStore,
			audit.AnchorStore,
			audit.IdentityStore, catalog.ProjectStore, catalog.InventoryStore, catalog.InventoryVersionStore,
			catalog.SourceStore, catalog.TemplateStore,
			object.Usage,
			scheduling.ScheduleStore, scheduling.SlotStore, scheduling.TriggerStore, scheduling.DeliveryStore, notify.Store,
			notify.TargetStore, execution.WorkerStore,
			execution.ClaimStore, execution.WorkerTokenStore, identity.VersionStore, identity.PreferenceStore, runs.FacetStore,
			secrets.Store, secrets.TypeStore, secrets.LeaseStore, system.DeadLetterStore, policy.Store, policy.WindowStore,
		) {
		}))
	if err := app.Err(); err != nil {
		t.Fatal(err)
	}
}

func TestTheModuleProvidesEverySealedStore(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, db.SQLite, migrations.FS)
	var held []string
	app := fx.New(fx.NopLogger, fx.Supply(d), sqlstore.Module, fx.Invoke(fx.Annotate(func(holders ...secrets.SealedStore) {
		for _, h := range holders {
			held = append(held, h.Name())
		}
	}, fx.ParamTags(`group:"sealed_holders"`))))
	if err := app.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(held)
	// Every column of this name is sealed with the install's key, and must be sealed again when the key changes.
	var want []string
	for _, c := range read(t, d).Columns {
		if table, ok := strings.CutSuffix(strings.Fields(c)[0], ".sealed"); ok {
			want = append(want, table)
		}
	}
	if len(want) < 3 || len(want) != len(held) {
		t.Errorf("%q are held, and sealed are the tables %q", held, want)
	}
}
