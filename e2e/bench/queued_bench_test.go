package bench

import (
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/platform/db/dbtest"
)

// engine is a database that syncs each commit.
type engine struct {
	name, driver, size string
	rows               int // of the smaller table
	// open makes one and returns the address for a server, the one for its size, and that of another one beside it.
	open func(b *testing.B) (server, direct, other string)
}

func sqlite() engine {
	return engine{"SQLite", "sqlite", "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size", 2000,
		func(b *testing.B) (string, string, string) {
			dir := b.TempDir()
			return filepath.Join(dir, "writ.db"), "file:" + filepath.Join(dir, "writ.db"), "file:" +
				filepath.Join(dir, "other.db") + "?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_txlock=immediate"
		}}
}

func postgres() engine {
	return engine{"Postgres", "pgx", "SELECT pg_database_size(current_database())", 1000,
		func(b *testing.B) (string, string, string) {
			url := dbtest.NewDurableCluster(b).URL()
			db, err := sql.Open("pgx", url)
			must(b, err)
			_, err = db.Exec("CREATE DATABASE other")
			must(b, err)
			must(b, db.Close())
			return url, url, strings.Replace(url, "/postgres?", "/other?", 1)
		}}
}

// queue is a server without executors, and a process that does one durable insert for each request.
type queue struct {
	b      *testing.B
	engine engine
	direct string
	s      *harness.Server
	base   *baseline
	none   *baseline
	runs   int
	rate   float64
}

const submission = `{"tool":"bash","command":"echo hi"}`

// queued measures submissions, and what reads them.
func queued(e engine) subject {
	sizes := []int{e.rows, 10 * e.rows}
	return subject{name: "queued-" + e.name, sizes: sizes, open: func(b *testing.B) func(int) []probe {
		server, direct, other := e.open(b)
		q := &queue{b: b, engine: e, direct: direct}
		q.none, q.base = startBaseline(b, "none", ""), startBaseline(b, e.driver, other)
		q.s = harness.Start(b, harness.Options{DB: server, Tags: []string{harness.Release},
			Flags: []string{"--executors", "0", "--isolation", "none"}})
		return q.at
	}}
}

func (q *queue) at(size int) []probe {
	before, bytes := q.runs, q.bytes()
	post(q.b, q.s.Client, "/v1/runs", submission, 32, size-before)
	q.runs = size
	grown := (q.bytes() - bytes) / float64(size-before)
	out := []probe{
		q.submit(1, min(size/20, 500)), q.submit(32, min(size/10, 1000)),
		{rows: []row{{"database per submission, " + q.engine.name, "B"}}, rounds: 1, round: func() []Round {
			return []Round{{grown, float64(len(q.s.Do(http.MethodGet, "/v1/runs?limit=1", nil).Body))}}
		}},
		lists(q.b, q.s, "list of 200 that wait, 16 clients, "+q.engine.name),
	}
	if q.engine.driver == "sqlite" {
		out = append(out, q.verify(size), q.boot(), q.idle())
	}
	return out
}

func (q *queue) bytes() (n float64) {
	db, err := sql.Open(q.engine.driver, q.direct)
	must(q.b, err)
	must(q.b, db.QueryRow(q.engine.size).Scan(&n))
	must(q.b, db.Close())
	return n
}

func (q *queue) submit(clients, n int) probe {
	const inserts = 600
	name := fmt.Sprintf("submit, clients: %d, %s", clients, q.engine.name)
	return probe{rows: []row{{name, "us"}}, rounds: 9, round: func() []Round {
		ours := spent(q.b, q.s.PID, n, func() { q.rate = post(q.b, q.s.Client, "/v1/runs", submission, clients, n) })
		q.runs += n
		base := spent(q.b, q.base.pid, inserts, func() { post(q.b, q.base.Client, "/", submission, clients, inserts) })
		return []Round{{ours, base}}
	}, beside: func() string { return fmt.Sprintf("%.0f/s", q.rate) }}
}

// lists is pages of 200 for 16 clients, against encoding the same page once.
func lists(b *testing.B, s *harness.Server, name string) probe {
	const clients, each, path = 16, 5, "/v1/runs?limit=200"
	var took []time.Duration
	return probe{rows: []row{{name, "us"}}, rounds: 9, round: func() []Round {
		var page any
		s.Do(http.MethodGet, path, nil).JSON(b, &page)
		ours := spent(b, s.PID, clients*each, func() { took = append(took, pages(b, s, clients, each, path)...) })
		return []Round{{ours, spent(b, os.Getpid(), clients*each, func() {
			for range clients * each {
				_, err := json.Marshal(page)
				must(b, err)
			}
		})}}
	}, beside: func() string { return fmt.Sprintf("p95 %.1f ms", ms(quantile(took, 0.95))) }}
}

// verify checks the whole chain, against reading as many stored texts of the same length and hashing them.
func (q *queue) verify(size int) probe {
	var page struct{ Entries []json.RawMessage }
	q.s.Do(http.MethodGet, "/v1/audit?limit=1", nil).JSON(q.b, &page)
	db, err := sql.Open("sqlite", "file:"+filepath.Join(q.b.TempDir(), "entries.db"))
	must(q.b, err)
	q.b.Cleanup(func() { _ = db.Close() })
	_, err = db.Exec("CREATE TABLE t (n INTEGER PRIMARY KEY, body TEXT)")
	must(q.b, err)
	_, err = db.Exec("WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < $1) "+
		"INSERT INTO t SELECT n, $2 FROM i", size, string(page.Entries[0]))
	must(q.b, err)
	const times = 5
	var took []time.Duration
	rows := []row{{"verify, each entry", "us"}, {"verify, peak memory", "MiB"}}
	return probe{rows: rows, rounds: 9, round: func() []Round {
		var ours float64
		peak := peakMemory(q.b, q.s.PID, func() {
			ours = spent(q.b, q.s.PID, entries(q.b, q.s)*times, func() {
				took = append(took, pages(q.b, q.s, 1, times, "/v1/audit/verify")...)
			})
		})
		base := spent(q.b, os.Getpid(), size*times, func() {
			for range times {
				hashAll(q.b, db)
			}
		})
		return []Round{{ours, base}, {peak, procStatus(q.b, q.none.pid, "VmRSS")}}
	}, beside: func() string { return fmt.Sprintf("p50 %.0f ms", ms(quantile(took, 0.5))) }}
}

// entries is how many entries the trail has, which are numbered.
func entries(b *testing.B, s *harness.Server) int {
	var page struct{ Entries []struct{ Seq int } }
	s.Do(http.MethodGet, "/v1/audit?limit=1", nil).JSON(b, &page)
	return page.Entries[0].Seq
}

func hashAll(b *testing.B, db *sql.DB) {
	rows, err := db.Query("SELECT body FROM t ORDER BY n")
	must(b, err)
	defer func() { _ = rows.Close() }()
	var body sql.RawBytes
	for rows.Next() {
		must(b, rows.Scan(&body))
		sha256.Sum256(body)
	}
	must(b, rows.Err())
}

// boot starts the server again over what is stored, against an empty server of net/http.
func (q *queue) boot() probe {
	var took []time.Duration
	return probe{rows: []row{{"boot", "us"}}, rounds: 9, round: func() []Round {
		q.s.Stop()
		start := time.Now()
		q.s = q.s.Again()
		took = append(took, time.Since(start))
		return []Round{{micro(processorTime(q.b, q.s.PID), 1), emptyStart(q.b)}}
	}, beside: func() string { return fmt.Sprintf("p50 %.0f ms", ms(quantile(took, 0.5))) }}
}

// emptyStart is the processor time of an empty server until its first answer.
func emptyStart(b *testing.B) float64 {
	const times = 5
	var sum time.Duration
	for range times {
		p := startBaseline(b, "none", "")
		sum += processorTime(b, p.pid)
		p.stop()
	}
	return micro(sum, times)
}

func (q *queue) idle() probe {
	return probe{rows: []row{{"idle, resident memory", "MiB"}, {"idle, its anonymous part", "MiB"}}, rounds: 1,
		round: func() (out []Round) {
			<-time.After(2 * time.Second)
			for _, key := range []string{"VmRSS", "RssAnon"} {
				out = append(out, Round{procStatus(q.b, q.s.PID, key), procStatus(q.b, q.none.pid, key)})
			}
			return out
		}}
}

// firstStart starts a server in an empty directory.
func firstStart() subject {
	return subject{name: "first-start", sizes: []int{1}, open: func(b *testing.B) func(int) []probe {
		return func(int) []probe {
			var took []time.Duration
			return []probe{{rows: []row{{"first start", "us"}}, rounds: 9, round: func() []Round {
				start := time.Now()
				s := harness.Start(b, harness.Options{Tags: []string{harness.Release}, Flags: []string{"--isolation", "none"}})
				took = append(took, time.Since(start))
				ours := micro(processorTime(b, s.PID), 1)
				s.Stop()
				return []Round{{ours, emptyStart(b)}}
			}, beside: func() string { return fmt.Sprintf("p50 %.0f ms", ms(quantile(took, 0.5))) }}}
		}
	}}
}

// post posts body n times over some clients and returns posts a second; every answer must be 201.
func post(b *testing.B, c harness.Client, path, body string, clients, n int) float64 {
	b.Helper()
	tr := &http.Transport{MaxIdleConnsPerHost: clients}
	defer tr.CloseIdleConnections()
	c.Via = &http.Client{Transport: tr}
	var wg sync.WaitGroup
	var bad, next atomic.Int64
	start := time.Now()
	for range clients {
		wg.Go(func() {
			for next.Add(1) <= int64(n) {
				if a, err := c.Try(http.MethodPost, path, body); err != nil || a.Status != http.StatusCreated {
					bad.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if bad.Load() > 0 {
		b.Fatalf("%d submissions failed", bad.Load())
	}
	return float64(n) / time.Since(start).Seconds()
}
