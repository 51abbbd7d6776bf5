package bench

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

// weeks are the readings of each host, one a week.
const weeks = 104

// history is a server with two years of readings of hosts, of which a tenth changed. The facts are those of this
// machine.
type history struct {
	b      *testing.B
	engine engine
	db     *sql.DB
	s      *harness.Server
	none   *baseline
	hosts  int
	grown  float64 // bytes of a reading
}

// remembered measures the estate.
func remembered(e engine, long bool) subject {
	name, sizes := "estate-"+e.name, []int{500, 5000}
	if long {
		name, sizes = name+"-large", []int{5000, 50_000}
	}
	return subject{name: name, sizes: sizes, long: long, open: func(b *testing.B) func(int) []probe {
		server, direct, _ := e.open(b)
		h := &history{b: b, engine: e, none: startBaseline(b, "none", "")}
		if e.driver == "sqlite" {
			direct += "?_pragma=busy_timeout(60000)&_pragma=synchronous(OFF)"
		}
		var err error
		h.db, err = sql.Open(e.driver, direct)
		must(b, err)
		h.db.SetMaxOpenConns(1)
		b.Cleanup(func() { _ = h.db.Close() })
		h.s = harness.Start(b, harness.Options{DB: server, Tags: []string{harness.Release},
			Flags: []string{"--isolation", "none"}})
		file := filepath.Join(b.TempDir(), "gather.yml")
		must(b, os.WriteFile(file, []byte("- {hosts: all, connection: local}\n"), 0o600))
		r := h.s.Await(h.s.Submit(harness.Body{"playbook": file, "inventory": "node,"}).ID)
		harness.Eventually(b, time.Minute, "the facts of "+r.ID+" are recorded", func() bool {
			return h.s.Do(http.MethodGet, "/v1/hosts/node/facts", nil).Status == http.StatusOK
		})
		return h.at
	}}
}

func (h *history) exec(query string, args ...any) {
	if _, err := h.db.Exec(query, args...); err != nil {
		h.b.Fatalf("%v\n%.200s", err, query)
	}
}

func (h *history) bytes() (n float64) {
	must(h.b, h.db.QueryRow(h.engine.size).Scan(&n))
	return n
}

const week = int64(7 * 24 * time.Hour / time.Microsecond)

// seed adds hosts like the one that was gathered. The readings come week by week, as they would.
func (h *history) seed(size int) {
	now := time.Now().UnixMicro() - week/7
	list := fmt.Sprintf("WITH RECURSIVE n(i) AS (SELECT CAST(%d AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < %d) ",
		h.hosts+1, size)
	h.exec("INSERT INTO estate_hosts (id, name) " + list + "SELECT 100 + i, 'h' || CAST(1000000 + i AS TEXT) FROM n")
	h.exec("INSERT INTO estate_facts (host_id, first_at, at, run_id, hash, changes) "+list+
		"SELECT 100 + n.i, CAST($1 AS BIGINT) + n.i * 1000000, CAST($2 AS BIGINT) + n.i * 1000000, f.run_id, f.hash, "+
		"0 FROM n CROSS JOIN estate_facts AS f WHERE f.host_id < 100", now-(weeks-1)*week, now)
	h.exec("INSERT INTO estate_snapshots (host_id, at, codec, facts, volatile_codec, volatile) " + list +
		"SELECT 100 + n.i, s.at, s.codec, s.facts, s.volatile_codec, s.volatile FROM n " +
		"CROSS JOIN estate_snapshots AS s WHERE s.host_id < 100")
	before := h.bytes()
	for w := weeks - 1; w >= 0; w-- {
		h.exec("INSERT INTO estate_readings (host_id, at, run_id) "+list+"SELECT 100 + n.i, "+
			"CAST($1 AS BIGINT) + n.i * 1000000, f.run_id FROM n CROSS JOIN estate_facts AS f WHERE f.host_id < 100",
			now-int64(w)*week)
	}
	h.grown = (h.bytes() - before) / float64(weeks*(size-h.hosts))
	var change []byte
	for _, f := range []string{"ansible_kernel", `"6.1.0-17-amd64"`, `"6.1.0-18-amd64"`, "ansible_kernel_version",
		`"#1 SMP Debian 6.1.69"`, `"#1 SMP Debian 6.1.76"`, "ansible_proc_cmdline.BOOT_IMAGE",
		`"/vmlinuz-6.1.0-17"`, `"/vmlinuz-6.1.0-18"`} {
		change = append(append(change, byte(len(f))), f...)
	}
	for w := weeks - 2; w >= 0; w-- {
		h.exec("INSERT INTO estate_changes (host_id, at, codec, facts) "+list+"SELECT 100 + n.i, "+
			fmt.Sprintf("CAST($1 AS BIGINT) + n.i * 1000000, 0, $2 FROM n WHERE (n.i + %d) %% 10 = 0", w),
			now-int64(w)*week, change)
	}
	h.exec("DELETE FROM estate_buckets")
	h.exec("INSERT INTO estate_buckets (hour, scope_id, before_scope, readings, changed, first_at) " +
		"SELECT r.at / 3600000000, 0, 0, COUNT(*), COUNT(c.at), MIN(r.at) FROM estate_readings AS r " +
		"LEFT JOIN estate_changes AS c ON c.host_id = r.host_id AND c.at = r.at GROUP BY 1")
	if h.engine.driver != "sqlite" {
		h.exec("ANALYZE")
	}
	h.hosts = size
}

func (h *history) at(size int) []probe {
	h.seed(size)
	out := []probe{{rows: []row{{"bytes of an unchanged reading, " + h.engine.name, "B"}}, rounds: 1,
		round: func() []Round { return []Round{{h.grown, 24}} }}}
	ago := time.Now().UTC().AddDate(-1, 0, 0).Format(time.RFC3339)
	out = append(out, h.first("estate, 64 hosts, ", "/v1/estate?"),
		h.first("estate a year ago, 64 hosts, ", "/v1/estate?at="+ago+"&"))
	for name, days := range map[string]int{"week": 7, "month": 30} {
		out = append(out, h.diff("diff of a "+name+", ", days, 0), h.diff("diff of a "+name+" a year ago, ", days, 365))
	}
	out = append(out, h.whole("query without a hit, each host, ", "/v1/estate?keys=host&q=os.family=None"))
	if size > 5000 { // it grows with its hosts, and takes minutes
		return out
	}
	return append(out, h.whole("estate, each host, ", "/v1/estate"))
}

// whole reads the facts of every host once.
func (h *history) whole(name, path string) probe {
	var took time.Duration
	return probe{rows: []row{{name + h.engine.name, "us"}}, rounds: 3, round: func() []Round {
		ours := spent(h.b, h.s.PID, h.hosts, func() { took = pages(h.b, h.s, 1, 1, path)[0] })
		var one any
		a := h.s.Do(http.MethodGet, "/v1/estate?limit=1", nil)
		a.JSON(h.b, &one)
		return []Round{{ours, spent(h.b, os.Getpid(), 1000, func() {
			for range 1000 {
				_, err := json.Marshal(one)
				must(h.b, err)
			}
		})}}
	}, beside: func() string { return fmt.Sprintf("%.1f s", took.Seconds()) }}
}

// first answers as many hosts as are read at once. Beside that it tells when the first byte of all hosts arrives.
func (h *history) first(name, path string) probe {
	p := h.against(name, 10, func() time.Duration { return pages(h.b, h.s, 1, 1, path+"limit=64")[0] })
	figures := p.beside
	p.beside = func() string { return fmt.Sprintf("%s, first byte of all %.1f ms", figures(), ms(h.firstByte(path))) }
	return p
}

// firstByte returns the least time of some requests.
func (h *history) firstByte(path string) time.Duration {
	took := make([]time.Duration, 10)
	for i := range took {
		req, err := http.NewRequest(http.MethodGet, h.s.URL+path, nil)
		must(h.b, err)
		req.Header.Set("Authorization", "Bearer "+h.s.Token)
		start := time.Now()
		resp, err := http.DefaultClient.Do(req)
		must(h.b, err)
		_, err = resp.Body.Read(make([]byte, 1))
		must(h.b, err)
		took[i] = time.Since(start)
		if resp.StatusCode != http.StatusOK {
			h.b.Fatalf("%s: %d", path, resp.StatusCode)
		}
		_ = resp.Body.Close()
	}
	return quantile(took, 0)
}

// diff compares two instants.
func (h *history) diff(name string, days, ago int) probe {
	to := time.Now().UTC().AddDate(0, 0, -ago)
	path := "/v1/estate/diff?from=" + to.AddDate(0, 0, -days).Format(time.RFC3339) + "&to=" + to.Format(time.RFC3339)
	return h.against(name, 3, func() time.Duration { return pages(h.b, h.s, 1, 1, path)[0] })
}

// against measures a request against one that is answered with nothing.
func (h *history) against(name string, times int, request func() time.Duration) probe {
	const empty = 300
	var took []time.Duration
	return probe{rows: []row{{name + h.engine.name, "us"}}, rounds: 5, round: func() []Round {
		ours := spent(h.b, h.s.PID, times, func() {
			for range times {
				took = append(took, request())
			}
		})
		return []Round{{ours, spent(h.b, h.none.pid, empty, func() {
			for range empty {
				h.none.Do(http.MethodGet, "/", nil)
			}
		})}}
	}, beside: func() string {
		return fmt.Sprintf("p50 %.1f, least %.1f ms", ms(quantile(took, 0.5)), ms(quantile(took, 0)))
	}}
}
