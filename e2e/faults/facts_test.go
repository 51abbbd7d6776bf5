package faults

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/depthtest"
)

// TestCrashWhileFactsAreRecorded kills the server before and after commits while facts of many hosts wait. Each of them
// is recorded, and each once.
func TestCrashWhileFactsAreRecorded(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		const hosts = 200
		admin, rounds := "", 0
		for _, point := range []string{"unit-before-commit", "unit-after-commit"} {
			for n := 1; n <= depthtest.Of(4, 12); n++ {
				tr := newTrap(t, dbURL, point)
				s := tr.start(&admin)
				s.Stop()
				run := "run_" + strconv.Itoa(rounds)
				// Facts that a run stored wait here, also those of versions without an estate.
				s.Alter(`INSERT INTO run_facts (host, gathered_at, run_seq, run_id, scope_id, codec, facts)
					WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
					SELECT 'h' || CAST(i AS TEXT), '2026-05-01T12:`+fmt.Sprintf("%02d", rounds)+`:00.000000Z', 1, ?, -1, 0, ? FROM n`,
					run, []byte(`{"round":`+strconv.Itoa(rounds)+`}`))
				rounds++
				tr.set(n)
				if s, err := harness.Launch(t, tr.o); err == nil {
					s.Wait(time.Minute)
				}
				s = tr.release(s)
				harness.Eventually(t, time.Minute, "all facts are recorded", func() bool {
					return len(s.Column("SELECT CAST(run_seq AS TEXT) FROM run_facts")) == 0
				})
				if got := len(s.Column("SELECT CAST(r.host_id AS TEXT) FROM estate_readings AS r JOIN estate_runs AS ru " +
					"ON ru.id = r.run_id WHERE ru.run_id = '" + run + "'")); got != hosts {
					t.Fatalf("%s, %d: %d readings", point, n, got)
				}
				if a := s.Do(http.MethodGet, "/v1/estate?limit=1", nil); a.Status != http.StatusOK {
					t.Fatalf("the estate is %d %s", a.Status, a.Body)
				}
				s.Stop()
			}
		}
	})
}
