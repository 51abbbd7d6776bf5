package bench

import (
	"bufio"
	"bytes"
	"database/sql"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/platform/db/dbtest"
)

// BenchmarkCosts counts what an operation asks of its database: units of work, commits and bytes written on both
// engines, and on Postgres statements, round trips and bytes of its log. It samples where the processor time of the
// server goes, by perf, and writes all of that into the page. The binary needs its symbols, so the package builds it.
func BenchmarkCosts(b *testing.B) {
	b.Setenv(harness.Binaries, "")
	var page strings.Builder
	b.Run("SQLite", func(b *testing.B) {
		server, _, _ := sqlite().open(b)
		c := &costs{b: b}
		c.operations(server)
		c.boots()
		c.write(&page, "SQLite")
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
		c.write(&page, "Postgres")
	})
	if !b.Failed() {
		update(b, page.String())
	}
}

// costs counts. Without db it is SQLite.
type costs struct {
	b     *testing.B
	s     *harness.Server
	db    *sql.DB
	proxy *harness.Proxy
	done  []operation
}

// operation is what one operation costs.
type operation struct {
	name       string
	totals     map[string]float64
	shares     map[string]string
	statements string
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

// count measures what n operations cost, each.
func (c *costs) count(name string, n int, fn func()) {
	if c.db != nil {
		_, err := c.db.Exec("SELECT pg_stat_statements_reset()")
		must(c.b, err)
	}
	shares := c.sample()
	before := c.totals()
	fn()
	op := operation{name: name, totals: c.totals()}
	for what := range op.totals {
		op.totals[what] = (op.totals[what] - before[what]) / float64(n)
	}
	if c.db != nil {
		op.statements = c.statements(n)
	}
	op.shares = shares()
	c.done = append(c.done, op)
}

// boots samples starts of the server over what is stored, and their ends.
func (c *costs) boots() {
	c.s.Stop()
	out, err := exec.Command("../setup/shares.sh", "bash", "-c", `for i in 1 2 3 4 5 6 7 8 9 10; do
		timeout 2 "$0" serve --addr 127.0.0.1:0 --db "$1" --data-dir "$2" --isolation none; done; true`,
		harness.Binary(c.b), c.s.DB, filepath.Join(c.s.Dir, "data")).Output()
	must(c.b, err)
	c.done = append(c.done, operation{name: "boot", shares: parsed(string(out))})
}

// sample starts to sample the server and returns what ends that and gives the shares.
func (c *costs) sample() (shares func() map[string]string) {
	cmd := exec.Command("../setup/shares.sh", strconv.Itoa(c.s.PID))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	in, err := cmd.StdinPipe()
	must(c.b, err)
	must(c.b, cmd.Start())
	return func() map[string]string {
		must(c.b, in.Close())
		must(c.b, cmd.Wait())
		return parsed(out.String())
	}
}

// parsed reads lines of a number and what it is of.
func parsed(text string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(text) {
		n, what, _ := strings.Cut(strings.TrimSpace(line), "  ")
		if what != "samples" {
			out[what] = n
		}
	}
	return out
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

func (c *costs) statements(n int) string {
	rows, err := c.db.Query(`SELECT calls, regexp_replace(query, '\s+', ' ', 'g') FROM pg_stat_statements
		WHERE calls * 5 >= $1 AND query NOT LIKE '%pg_stat_statements%' ORDER BY calls DESC, query`, n)
	must(c.b, err)
	defer func() { _ = rows.Close() }()
	var out strings.Builder
	for rows.Next() {
		var calls float64
		var query string
		must(c.b, rows.Scan(&calls, &query))
		fmt.Fprintf(&out, "%6.2f  %.110s\n", calls/float64(n), query)
	}
	must(c.b, rows.Err())
	return out.String()
}
