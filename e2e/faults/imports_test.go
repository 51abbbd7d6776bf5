package faults

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/importer"
)

// eachOf is how many projects, templates and schedules an export of these tests has.
const eachOf = 60

// anExport is an export of AWX with n projects, templates and schedules, whose names begin with a prefix, and with some
// text for each.
func anExport(n int, prefix, text string) string {
	var projects, templates []string
	for i := range n {
		name := fmt.Sprintf("%s %d", prefix, i)
		projects = append(projects, fmt.Sprintf(
			`{"name": %q, "scm_type": "git", "scm_url": "https://git.example.com/%d.git"}`, name, i))
		templates = append(templates, fmt.Sprintf(`{"name": %q, "playbook": "site.yml", "extra_vars": "text: %s",
			"project": {"type": "project", "name": %[1]q}, "related": {"schedules": [{"name": %[1]q, "enabled": false,
			"rrule": "DTSTART;TZID=Europe/Berlin:20240101T023000 RRULE:FREQ=DAILY;INTERVAL=1"}]}}`, name, text))
	}
	return fmt.Sprintf(`{"projects": [%s], "job_templates": [%s]}`, strings.Join(projects, ","),
		strings.Join(templates, ","))
}

func tryImport(s *harness.Server, body, query string) (harness.Answer, error) {
	return s.Try(http.MethodPost, "/v1/import/awx"+query, body, "Content-Type", "application/octet-stream")
}

// imported applies an export and returns the plan.
func imported(t *testing.T, s *harness.Server, body string) (plan importer.Body) {
	t.Helper()
	a, err := tryImport(s, body, "?apply=true")
	if err != nil || a.Status != http.StatusOK {
		t.Fatalf("import: %v %d %.2000s", err, a.Status, a.Body)
	}
	a.JSON(t, &plan)
	return plan
}

// counted returns how many objects an export made, by the entries of imports, projects, templates and schedules.
func counted(t *testing.T, s *harness.Server) (out [4]int) {
	t.Helper()
	for i, path := range []string{"audit?object=import/awx&", "projects?", "templates?", "schedules?"} {
		var list struct {
			Total   int
			Entries []struct{}
		}
		a := s.Do(http.MethodGet, "/v1/"+path+"limit=200", nil)
		if a.JSON(t, &list); a.Status != http.StatusOK {
			t.Fatalf("GET %s: %d %s", path, a.Status, a.Body)
		}
		out[i] = list.Total
		if i == 0 {
			out[i] = len(list.Entries)
		}
	}
	return out
}

// wholeOrNothing checks that an import left all of its objects and its entry, or none, and returns whether all. Then it
// imports the export again, which makes what is missing, and once more, which changes nothing.
func wholeOrNothing(t *testing.T, what string, s *harness.Server, before [4]int, body string) (kept bool) {
	t.Helper()
	after := counted(t, s)
	all := before
	for i := range all {
		all[i] += eachOf
	}
	all[0] = before[0] + 1
	if kept = after == all; !kept && after != before {
		t.Errorf("%s: of %v objects there are %v now, and not %v", what, before, after, all)
	}
	verified(t, what, s)
	again := imported(t, s, body).Counts
	want := importer.Counts{Create: 3 * eachOf}
	if kept {
		want = importer.Counts{Skip: 3 * eachOf}
	}
	if again.Create != want.Create || again.Skip != want.Skip || again.Update+again.NoHome != 0 {
		t.Errorf("%s: the import again counts %+v, want %+v", what, again, want)
	}
	if third := imported(t, s, body).Counts; third.Skip != 3*eachOf {
		t.Errorf("%s: the third import counts %+v", what, third)
	}
	now := counted(t, s)
	if now[0], all[0] = 0, 0; now != all {
		t.Errorf("%s: at last there are %v, want %v", what, now, all)
	}
	return kept
}

// verified checks the trail with the command, on the database itself.
func verified(t *testing.T, what string, s *harness.Server) {
	t.Helper()
	address := s.DB
	if address == "" {
		address = filepath.Join(s.Dir, "writ.db")
	}
	out, err := exec.Command(harness.Binary(t), "audit", "verify", "--db", address, "--data-dir",
		filepath.Join(s.Dir, "data")).CombinedOutput()
	if err != nil {
		t.Errorf("%s: writ audit verify: %v\n%s", what, err, out)
	}
}

// TestCrashOfAnImport kills the server before and after the commit of an import, and in the middle of it. All of the
// import is there after a restart, or nothing.
func TestCrashOfAnImport(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		admin := ""
		for _, point := range []string{"request-before-commit", "request-after-commit", "in-the-middle"} {
			tr := newTrap(t, dbURL, point)
			s := tr.start(&admin)
			body := anExport(eachOf, point, "x")
			before := counted(t, s)
			tr.set(1)
			if point == "in-the-middle" {
				work := spent(t, s, func() { _, _ = tryImport(s, body, "") })
				killed := midway(t, s, work, func() { _, _ = tryImport(s, body, "?apply=true") })
				s.Kill()
				killed()
			} else if a, err := tryImport(s, body, "?apply=true"); err == nil {
				t.Fatalf("%s: answered %d %.300s", point, a.Status, a.Body)
			}
			s.Wait(time.Minute)
			s = tr.release(s)
			kept := wholeOrNothing(t, point, s, before, body)
			if point != "in-the-middle" && kept != (point == "request-after-commit") {
				t.Errorf("%s: the import is kept: %v", point, kept)
			}
			s.Stop()
		}
	})
}

// used is the processor time of a server, in hundredths of a second.
func used(t *testing.T, s *harness.Server) int {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.PID))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(raw)[strings.LastIndex(string(raw), ")"):])
	user, _ := strconv.Atoi(fields[12])
	system, _ := strconv.Atoi(fields[13])
	return user + system
}

func spent(t *testing.T, s *harness.Server, fn func()) int {
	t.Helper()
	before := used(t, s)
	fn()
	return used(t, s) - before
}

// midway starts fn and returns when the server has done half of some work for it. Done waits for the end of fn.
func midway(t *testing.T, s *harness.Server, work int, fn func()) (done func()) {
	t.Helper()
	var wait sync.WaitGroup
	before := used(t, s)
	wait.Go(fn)
	harness.Eventually(t, time.Minute, "half of the work is done", func() bool { return used(t, s)-before >= work/2 })
	return wait.Wait
}

// TestImportsAtTheSameTime applies an export for several clients at once: one of them makes each object, and the
// others find it as it is.
func TestImportsAtTheSameTime(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		s := harness.Start(t, harness.Options{DB: dbURL})
		const clients, each = 3, 15
		body, before := anExport(each, "at once", "x"), counted(t, s)
		var plans [clients]importer.Body
		var wait sync.WaitGroup
		for i := range clients {
			wait.Go(func() {
				a, err := tryImport(s, body, "?apply=true")
				if err != nil || a.Status != http.StatusOK {
					t.Errorf("client %d: %v %d %.300s", i, err, a.Status, a.Body)
					return
				}
				a.JSON(t, &plans[i])
			})
		}
		wait.Wait()
		created := 0
		for i, p := range plans {
			created += p.Counts.Create
			for _, o := range p.Objects {
				if o.Class == importer.NoHome || o.ID == "" || o.Action == importer.Skip && o.Reason != "unchanged" {
					t.Fatalf("client %d: %+v", i, o)
				}
			}
		}
		after := counted(t, s)
		for i := 1; i < len(after); i++ {
			if after[i] != before[i]+each {
				t.Errorf("there are %v, there were %v", after, before)
			}
		}
		if created != 3*each || after[0] != before[0]+clients {
			t.Errorf("%d objects were created, and %d imports recorded", created, after[0]-before[0])
		}
		verified(t, "at once", s)
	})
}

// TestDatabaseDiskIsFullInAnImport imports more than the disk of an SQLite database holds: the answer says so, nothing
// of the import is stored, and with free space it succeeds.
func TestDatabaseDiskIsFullInAnImport(t *testing.T) {
	t.Parallel()
	disk := filepath.Join(t.TempDir(), "disk")
	smallDisk(t, disk, "24m")
	s := harness.Start(t, harness.Options{DB: filepath.Join(disk, "writ.db")})
	body, before := anExport(eachOf, "full", strings.Repeat("x", 20_000)), counted(t, s)
	full := ballast(t, disk, 256<<10)
	a, err := tryImport(s, body, "?apply=true")
	explained := strings.Contains(string(a.Body), "disk") || strings.Contains(string(a.Body), "may have been made or not")
	if err != nil || a.Status != http.StatusServiceUnavailable || !explained {
		t.Errorf("on a full disk: %v %d %.500s", err, a.Status, a.Body)
	}
	if after := counted(t, s); after != before {
		t.Errorf("on a full disk there are %v, there were %v", after, before)
	}
	if err := os.Remove(full); err != nil {
		t.Fatal(err)
	}
	if wholeOrNothing(t, "full disk", s, before, body) {
		t.Error("the import on a full disk was kept")
	}
}

// TestPostgresStopsInAnImport stops the database in the middle of an import: the answer is 503, and all of the import
// is there or nothing.
func TestPostgresStopsInAnImport(t *testing.T) {
	t.Parallel()
	cluster := dbtest.NewCluster(t)
	s := harness.Start(t, harness.Options{DB: cluster.URL()})
	body, before := anExport(eachOf, "gone", "x"), counted(t, s)
	work := spent(t, s, func() { _, _ = tryImport(s, body, "") })
	var a harness.Answer
	var err error
	done := midway(t, s, work, func() { a, err = tryImport(s, body, "?apply=true") })
	if err := cluster.Stop(t.Context(), dbtest.Immediate); err != nil {
		t.Fatal(err)
	}
	done()
	if err := cluster.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, time.Minute, "the server is ready", func() bool { return readiness(s) == 200 })
	kept := wholeOrNothing(t, "gone", s, before, body)
	if err != nil || a.Status != http.StatusServiceUnavailable && (a.Status != http.StatusOK || !kept) {
		t.Errorf("without a database: %v %d %.500s", err, a.Status, a.Body)
	}
}
