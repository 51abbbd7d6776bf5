package faults

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/depthtest"
)

// TestCrashOfAMigration kills the server within the migrations of its first start, each start at a later point. Every
// start continues after the last whole migration, and in the end the schema is that of a server that was never killed.
// Keeps F26.
func TestCrashOfAMigration(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		other := ""
		if dbURL != "" { // without a schema
			dbURL, other = dbtest.Fresh(t, db.Postgres, nil), dbtest.Fresh(t, db.Postgres, nil)
		}
		whole := harness.Start(t, harness.Options{DB: other, Dir: t.TempDir(), Flags: []string{"--executors", "0"}})
		want := schemaOf(whole)
		o := harness.Options{DB: dbURL, Dir: t.TempDir()}
		deaths := 0
		if dbURL == "" {
			deaths = killedByWrites(t, o)
		} else {
			deaths, o.Dir = killedByStatements(t, dbURL)
		}
		t.Logf("killed %d times", deaths)
		if least := depthtest.Of(4, 15); deaths < least {
			t.Errorf("killed %d times, and at least %d were meant", deaths, least)
		}
		s := harness.Start(t, o)
		if diff := cmp.Diff(want, schemaOf(s)); diff != "" {
			t.Errorf("the schema differs from that of a server that was never killed (-never +killed):\n%s", diff)
		}
		if s.Token == "" { // the server that printed it was killed
			out, code := writ(t, o, nil, "token", "new", "--user", "admin", "--name", "after", "--db", s.DB)
			if s.Token = regexp.MustCompile(`writ_\w{39}`).FindString(out); code != 0 || s.Token == "" {
				t.Fatalf("token new: %d %s", code, out)
			}
		}
		h := harness.NewHistory(t)
		h.Insist(s.Client, h.Script("echo said"), "after")
		if r := h.Check(s.Client)[0]; r.Status != "succeeded" {
			t.Errorf("the first run is %s (%s)", r.Status, r.Error)
		}
	})
}

// later returns the next point after n.
func later(n int) int { return depthtest.Of(3*n, n+n/6+1) }

// killedByWrites kills servers at the n-th write of a thread to their SQLite files, until one survives.
func killedByWrites(t *testing.T, o harness.Options) (deaths int) {
	t.Helper()
	for n := 1; ; n = later(n) {
		o.Wrap = []string{"strace", "-D", "-f", "-q", "-o", "/dev/null", "-e", "trace=pwrite64",
			"-e", fmt.Sprint("inject=pwrite64:signal=SIGKILL:when=", n)}
		s, err := harness.Launch(t, o)
		if err == nil {
			s.Kill()
			return deaths
		}
		if !strings.Contains(err.Error(), "signal: killed") {
			t.Fatalf("killed at write %d: %v", n, err)
		}
		deaths++
	}
}

// killedByStatements kills servers behind the n-th statement of their migrations on Postgres, until one survives, and
// returns the directory of that. The next server waits for the migration of the one before.
func killedByStatements(t *testing.T, url string) (deaths int, dir string) {
	t.Helper()
	g := newGate(t, url)
	n := 1
	g.closeAt(n)
	s := inBackground(t, url)
	for {
		harness.Eventually(t, time.Minute, "a server reaches the point or survives", func() bool {
			return len(s.ended) > 0 || g.reached()
		})
		if len(s.ended) > 0 {
			if err := <-s.ended; err != nil {
				t.Fatalf("a server that was not killed: %v", err)
			}
			g.exec("DROP EVENT TRIGGER gate")
			return deaths, s.dir
		}
		next := inBackground(t, url)
		harness.Eventually(t, time.Minute, "the next server waits", func() bool { return g.waiting() == 1 })
		harness.Eventually(t, time.Minute, "the stopped session holds the lock", g.locked)
		s.kill(t)
		deaths++
		n = later(n)
		g.closeAt(n)
		g.open()
		s = next
	}
}

// background is a server that nobody waits for.
type background struct {
	dir   string
	ended chan error // nil where it became ready, and then it is killed
}

func inBackground(t *testing.T, url string) background {
	t.Helper()
	s := background{t.TempDir(), make(chan error, 1)}
	o := harness.Options{DB: url, Dir: s.dir, Wrap: []string{"sh", "-c", `echo $$ >"$0"; exec "$@"`, s.pid()}}
	go func() {
		ready, err := harness.Launch(t, o)
		if err == nil {
			ready.Kill()
		}
		s.ended <- err
	}()
	return s
}

func (s background) pid() string { return filepath.Join(s.dir, "pid") }

func (s background) kill(t *testing.T) {
	t.Helper()
	raw, err := os.ReadFile(s.pid())
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := <-s.ended; err == nil || !strings.Contains(err.Error(), "signal: killed") {
		t.Fatalf("a killed server: %v", err)
	}
}

// gate stops sessions of a Postgres database behind the n-th statement that changes the schema. Its state is in
// sequences, which no transaction hides.
type gate struct {
	t *testing.T
	d *db.DB
}

func newGate(t *testing.T, url string) *gate {
	t.Helper()
	g := &gate{t, dbtest.Connect(t, db.Config{URL: url})}
	for _, statement := range []string{
		"CREATE SCHEMA gate", "CREATE SEQUENCE gate.done", "CREATE SEQUENCE gate.stop", "CREATE SEQUENCE gate.reached",
		"CREATE SEQUENCE gate.opened", "SELECT setval('gate.done', 1), setval('gate.opened', 1)",
		`CREATE FUNCTION gate.pass() RETURNS event_trigger LANGUAGE plpgsql AS $$
		DECLARE opened BIGINT := (SELECT last_value FROM gate.opened); BEGIN
			IF nextval('gate.done') <> (SELECT last_value FROM gate.stop) THEN RETURN; END IF;
			PERFORM setval('gate.reached', (SELECT last_value FROM gate.done));
			WHILE opened = (SELECT last_value FROM gate.opened) LOOP PERFORM pg_sleep(0.01); END LOOP;
		END $$`,
		"CREATE EVENT TRIGGER gate ON ddl_command_end EXECUTE FUNCTION gate.pass()",
	} {
		g.exec(statement)
	}
	return g
}

func (g *gate) exec(statement string) {
	g.t.Helper()
	err := g.d.Do(g.t.Context(), func(ctx context.Context) error {
		w, err := g.d.Write(ctx)
		if err != nil {
			return err
		}
		_, err = w.NewRaw(statement).Exec(ctx)
		return err
	})
	if err != nil {
		g.t.Fatalf("%s: %v", statement, err)
	}
}

func (g *gate) read(query string) (n int) {
	g.t.Helper()
	if err := g.d.Read(g.t.Context()).QueryRowContext(g.t.Context(), query).Scan(&n); err != nil {
		g.t.Fatalf("%s: %v", query, err)
	}
	return n
}

// closeAt stops a session n statements from now.
func (g *gate) closeAt(n int) {
	g.t.Helper()
	g.exec(fmt.Sprintf("SELECT setval('gate.stop', (SELECT last_value FROM gate.done) + %d)", n))
}

func (g *gate) open() { g.t.Helper(); g.exec("SELECT nextval('gate.opened')") }

func (g *gate) reached() bool {
	g.t.Helper()
	return g.read("SELECT CASE WHEN (SELECT last_value FROM gate.reached) = (SELECT last_value FROM gate.stop) THEN "+
		"1 ELSE 0 END") == 1
}

// locked reports whether the session that is stopped holds the lock on migrations itself. Otherwise the next server
// would begin when a killed server's connections close, while Postgres still executes its last statement.
func (g *gate) locked() bool {
	g.t.Helper()
	return g.read("SELECT count(*) FROM pg_locks AS l JOIN pg_stat_activity AS a USING (pid) WHERE l.locktype = "+
		"'advisory' "+
		"AND l.granted AND a.datname = current_database() AND a.wait_event = 'PgSleep'") == 1
}

// waiting counts the servers that wait for the lock on migrations.
func (g *gate) waiting() int {
	g.t.Helper()
	return g.read("SELECT count(*) FROM pg_locks AS l JOIN pg_database AS d ON d.oid = l.database " +
		"WHERE l.locktype = 'advisory' AND NOT l.granted AND d.datname = current_database()")
}

// schemaOf describes the tables, indexes and constraints of a server's database, and the migrations that it had.
func schemaOf(s *harness.Server) []string {
	queries := []string{
		"SELECT type || ' ' || name || ' ' || coalesce(sql, '') FROM sqlite_master",
		"SELECT 'migration ' || version_id || ' ' || is_applied FROM goose_db_version",
	}
	if strings.HasPrefix(s.DB, "postgres") {
		queries[0] = "SELECT table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable || ' ' || " +
			"coalesce(column_default, '') " +
			"FROM information_schema.columns WHERE table_schema = 'public'"
		queries = append(queries, "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'",
			"SELECT conrelid::regclass || ' ' || pg_get_constraintdef(oid) FROM pg_constraint "+
				"WHERE connamespace = 'public'::regnamespace")
	}
	var out []string
	for _, q := range append(queries, "SELECT 'needs ' || min_binary FROM schema_floor") {
		for _, row := range s.Column(q) {
			out = append(out, string(row))
		}
	}
	slices.Sort(out)
	return out
}
