package bench

import (
	"bufio"
	"bytes"
	"database/sql"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/platform/db/dbtest"
)

// BenchmarkCosts counts what an operation asks of its database: units of work, commits and bytes written on both
// engines, and on Postgres statements, round trips and bytes of its log. It prints the statements with how often an
// operation executes each, and if WRIT_BENCH_SHARES is set, where the processor time of the server goes. That needs perf
// and a binary with symbols, which this package builds unless WRIT_TEST_BINARIES names others.
func BenchmarkCosts(b *testing.B) {
	b.Run("SQLite", func(b *testing.B) {
		server, _, _ := sqlite().open(b)
		c := &costs{b: b}
		c.operations(server)
	})
	b.Run("Postgres", func(b *testing.B) {
		cluster := dbtest.NewDurableCluster(b, "shared_preload_libraries = pg_stat_statements\n")
		db, err := sql.Open("pgx", cluster.URL())
		must(b, err)
		defer func() { _ = db.Close() }()
		_, err = db.Exec("CREATE EXTENSION pg_stat_statements")
		must(b, err)
		c := &costs{b: b, db: db, proxy: harness.NewProxy(b, cluster.Socket())}
		c.operations("postgres://postgres@" + c.proxy.Addr() + "/postgres?sslmode=disable")
	})
}

// costs counts. Without db it is SQLite.
type costs struct {
	b     *testing.B
	s     *harness.Server
	db    *sql.DB
	proxy *harness.Proxy
}

func (c *costs) operations(server string) {
	s := harness.Start(c.b, harness.Options{DB: server, Flags: []string{"--executors", fmt.Sprint(executors),
		"--isolation", "none"}})
	c.s = s
	spawned := func(n int) { submitMany(s, n); drained(c.b, s) }
	spawned(200) // what is prepared once is prepared
	c.count("lone run", 50, func() {
		for range 50 {
			s.Submit(harness.Body{"tool": "bash", "command": "true"})
			<-time.After(50 * time.Millisecond)
		}
		drained(c.b, s)
	})
	c.count("run, 32 executors", 500, func() { spawned(500) })
	s.Stop()
	s.Flags = []string{"--executors", "0", "--isolation", "none"}
	s = s.Again()
	c.s = s
	submit := func(clients, n int) func() {
		return func() { post(c.b, s.Client, "/v1/runs", submission, clients, n) }
	}
	submit(32, 320)()
	c.count("submission, 1 client", 500, submit(1, 500))
	c.count("submission, 32 clients", 2000, submit(32, 2000))
	c.count("page of 200 runs", 100, func() { pages(c.b, s, 1, 100, "/v1/runs?limit=200") })
	rows, _ := s.Runs("limit=1")
	c.count("one run", 1000, func() { pages(c.b, s, 1, 1000, "/v1/runs/"+rows[0].ID) })
	c.count("verified entry", 30*entries(c.b, s), func() { pages(c.b, s, 1, 30, "/v1/audit/verify") })
}

// count reports what n operations cost, each.
func (c *costs) count(name string, n int, fn func()) {
	c.b.Run(strings.ReplaceAll(name, " ", "-"), func(b *testing.B) {
		if c.db != nil {
			_, err := c.db.Exec("SELECT pg_stat_statements_reset()")
			must(b, err)
		}
		shares := c.sample()
		before := c.totals()
		fn()
		after := c.totals()
		for what, total := range after {
			b.ReportMetric((total-before[what])/float64(n), what)
		}
		b.ReportMetric(0, "ns/op")
		fmt.Printf("\n%s\n%s", name, shares())
		if c.db != nil {
			c.statements(n)
		}
	})
}

// sample starts to sample the server and returns what ends that and says the shares.
func (c *costs) sample() (shares func() string) {
	if os.Getenv("WRIT_BENCH_SHARES") == "" {
		return func() string { return "" }
	}
	cmd := exec.Command("../setup/shares.sh", strconv.Itoa(c.s.PID))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	in, err := cmd.StdinPipe()
	must(c.b, err)
	must(c.b, cmd.Start())
	return func() string {
		must(c.b, in.Close())
		must(c.b, cmd.Wait())
		return out.String()
	}
}

func (c *costs) totals() map[string]float64 {
	out := map[string]float64{"us-cpu": micro(processorTime(c.b, c.s.PID), 1), "B-written": c.written()}
	answer := string(c.s.Do(http.MethodGet, "/metrics", nil).Body)
	for name, what := range map[string]string{"writ_db_units_total": "units", "writ_db_commits_total": "commits"} {
		_, rest, _ := strings.Cut(answer, "\n"+name+" ")
		line, _, _ := strings.Cut(rest, "\n")
		n, err := strconv.ParseFloat(line, 64)
		must(c.b, err)
		out[what] = n
	}
	if c.db == nil {
		return out
	}
	out["trips"] = float64(c.proxy.Trips())
	var wal, statements float64
	must(c.b, c.db.QueryRow("SELECT wal_bytes, (SELECT sum(calls) FROM pg_stat_statements) FROM pg_stat_wal").
		Scan(&wal, &statements))
	out["B-wal"], out["statements"] = wal, statements
	return out
}

// written is how many bytes the server caused to be written to a disk.
func (c *costs) written() float64 {
	file, err := os.Open(fmt.Sprintf("/proc/%d/io", c.s.PID))
	must(c.b, err)
	defer func() { _ = file.Close() }()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if v, ok := strings.CutPrefix(lines.Text(), "write_bytes: "); ok {
			n, err := strconv.ParseFloat(v, 64)
			must(c.b, err)
			return n
		}
	}
	c.b.Fatal("no write_bytes")
	return 0
}

func (c *costs) statements(n int) {
	rows, err := c.db.Query(`SELECT calls, regexp_replace(query, '\s+', ' ', 'g') FROM pg_stat_statements
		WHERE calls * 20 >= $1 AND query NOT LIKE '%pg_stat_statements%' ORDER BY calls DESC, query`, n)
	must(c.b, err)
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var calls float64
		var query string
		must(c.b, rows.Scan(&calls, &query))
		fmt.Printf("%6.2f  %.110s\n", calls/float64(n), query)
	}
	must(c.b, rows.Err())
}
