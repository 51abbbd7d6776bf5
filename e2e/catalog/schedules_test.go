package catalog

import (
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/depthtest"
)

// slot returns the next time of a schedule. A test sleeps until then, since polling would use a processor.
func (w *fixture) slot(schedule string) time.Time {
	w.t.Helper()
	next, _ := w.want(http.StatusOK, http.MethodGet, "/v1/schedules/"+schedule, nil)["next_run_at"].(string)
	slot, err := time.Parse(time.RFC3339, next)
	if err != nil {
		w.t.Fatal(err)
	}
	return slot
}

// TestFourServersFireEachSlotOnce stops and continues four servers with shared schedules around the minute.
// Keeps F24.
func TestFourServersFireEachSlotOnce(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		if dbURL == "" {
			return // one server owns an SQLite file
		}
		w := newFixture(t, harness.Options{DB: dbURL})
		key := w.Dir + "/data/encryption.key"
		servers := []*harness.Server{w.Server}
		for range 3 {
			servers = append(servers, harness.Start(t,
				harness.Options{DB: dbURL, Admin: w.Admin, Flags: []string{"--encryption-key-file", key}}))
		}
		tpl := w.id("/v1/templates", harness.Body{"name": "t", "tool": "bash", "command": "true", "queue": "parked",
			"max_concurrent": 0})
		const schedules = 20
		slots := depthtest.Of(1, 2)
		ids := map[string]bool{}
		for i := range schedules {
			ids[w.id("/v1/schedules", harness.Body{"name": "s" + strconv.Itoa(i), "cron": "* * * * *",
				"template_id": tpl, "overlap": "allow"})] = true
		}
		begun := time.Now()
		minutes := func() int {
			return int(time.Now().Truncate(time.Minute).Sub(begun.Truncate(time.Minute)) / time.Minute)
		}
		for round := 0; round < 3 || minutes() < slots; round++ {
			s := servers[1+round%3]
			s.Signal(syscall.SIGSTOP)
			<-time.After(300 * time.Millisecond)
			s.Signal(syscall.SIGCONT)
		}
		harness.Eventually(t, awhile, "every slot fires", func() bool { return len(w.fired()) >= slots*schedules })
		for key, n := range w.fired() {
			if sch, _, _ := strings.Cut(key, " "); n != 1 || !ids[sch] {
				t.Errorf("%s fired %d times", key, n)
			}
		}
	})
}

// fired counts runs by schedule and minute.
func (w *fixture) fired() map[string]int {
	w.t.Helper()
	var list struct {
		Runs []struct {
			SourceID  string    `json:"source_id"`
			CreatedAt time.Time `json:"created_at"`
		} `json:"runs"`
	}
	w.Do(http.MethodGet, "/v1/runs?q=source:schedule&limit=1000", nil).JSON(w.t, &list)
	out := map[string]int{}
	for _, r := range list.Runs {
		out[r.SourceID+" "+r.CreatedAt.Truncate(time.Minute).Format("15:04")]++
	}
	return out
}

// TestAScheduleSaysWhyItCannotFire removes an object that a schedule needs.
func TestAScheduleSaysWhyItCannotFire(t *testing.T) {
	t.Parallel()
	w := newFixture(t, harness.Options{})
	tpl := w.id("/v1/templates", harness.Body{"name": "t", "tool": "bash", "command": "true"})
	org := w.id("/v1/orgs", harness.Body{"name": "o"})
	id, token := w.somebody("owner", "operator")
	w.want(http.StatusCreated, http.MethodPost, "/v1/orgs/"+org+"/members", harness.Body{"user_id": id, "role": "admin"})
	a := w.As(token).Do(http.MethodPost, "/v1/schedules",
		harness.Body{"name": "s", "cron": "* * * * *", "template_id": tpl, "org_id": org})
	var sch struct {
		ID        string `json:"id"`
		CreatedBy string `json:"created_by"`
		NextRunAt string `json:"next_run_at"`
	}
	if a.JSON(t, &sch); a.Status != 201 || sch.CreatedBy != id || sch.NextRunAt == "" {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	w.want(http.StatusNoContent, http.MethodDelete, "/v1/users/"+id, nil)
	<-time.After(time.Until(w.slot(sch.ID)))
	harness.Eventually(t, awhile, "it says why", func() bool {
		got := w.want(http.StatusOK, http.MethodGet, "/v1/schedules/"+sch.ID, nil)
		lastError, _ := got["last_error"].(string)
		return strings.Contains(lastError, "account")
	})
	doctor := w.want(http.StatusOK, http.MethodGet, "/v1/doctor", nil)
	if found := w.found(doctor, sch.ID); found == "" || doctor["ok"] != false {
		t.Errorf("the doctor says %v", doctor)
	}
	if list := w.want(http.StatusOK, http.MethodGet, "/v1/runs", nil); list["total"] != 0.0 {
		t.Errorf("it made runs: %v", list)
	}
	// A schedule that cannot fire can be disabled.
	change := harness.Body{"name": "t", "tool": "bash", "command": "true",
		"survey": []harness.Body{{"var": "a", "type": "text", "required": true}}}
	w.want(http.StatusOK, http.MethodPut, "/v1/templates/"+tpl, change)
	body := harness.Body{"name": "s", "cron": "* * * * *", "template_id": tpl, "org_id": org}
	w.want(http.StatusBadRequest, http.MethodPut, "/v1/schedules/"+sch.ID, body)
	body["enabled"] = false
	w.want(http.StatusOK, http.MethodPut, "/v1/schedules/"+sch.ID, body)
}

// found returns the doctor's problem with an object.
func (w *fixture) found(doctor map[string]any, id string) string {
	list, _ := doctor["findings"].([]any)
	for _, f := range list {
		m := f.(map[string]any)
		if o, ok := m["object"].(map[string]any); ok && o["id"] == id {
			return m["problem"].(string)
		}
	}
	return ""
}

// TestTargets fires a run, a split and a pipeline by schedules, and checks previews and refusals.
func TestTargets(t *testing.T) {
	t.Parallel()
	harness.EachEngine(t, func(t *testing.T, dbURL string) {
		w := newFixture(t, harness.Options{DB: dbURL})
		inv := w.inventory("i")
		r := w.repo("p", map[string]string{"site.yml": "- hosts: all\n  gather_facts: false\n  tasks: [{ping: }]\n"})
		p := w.project("p", r)
		want, slot := map[string]string{}, time.Time{}
		for kind, target := range map[string]harness.Body{
			"single":   {"run": harness.Body{"tool": "bash", "command": "true", "labels": harness.Body{"k": "v"}}},
			"split":    {"run": harness.Body{"playbook": "site.yml", "project_id": p, "inventory_id": inv, "shards": 2}},
			"pipeline": {"pipeline": harness.Body{"steps": []harness.Body{{"name": "a", "tool": "bash", "command": "true"}}}},
		} {
			target["name"], target["cron"], target["timezone"] = kind, "* * * * *", "Asia/Kathmandu"
			id := w.id("/v1/schedules", target)
			want[id], slot = kind, w.slot(id)
		}
		<-time.After(time.Until(slot))
		for id, kind := range want {
			var run string
			harness.Eventually(t, awhile, kind+" fires", func() bool {
				got := w.want(http.StatusOK, http.MethodGet, "/v1/schedules/"+id, nil)
				if lastError, failed := got["last_error"]; failed {
					t.Fatalf("%s: %v", kind, lastError)
				}
				run, _ = got["last_run_id"].(string)
				return run != ""
			})
			if got := w.succeeds(run); got.Kind != kind || got.Source != "schedule" {
				t.Errorf("%s made %+v", kind, got)
			}
		}
		for at, body := range map[string]harness.Body{
			"cron": {"name": "x", "cron": "61 * * * *", "run": harness.Body{"tool": "bash", "command": "true"}},
			"timezone": {"name": "x", "cron": "@daily", "timezone": "Mars/Olympus",
				"run": harness.Body{"tool": "bash", "command": "true"}},
			"template_id": {"name": "x", "cron": "@daily"},
			"run.command": {"name": "x", "cron": "@daily", "run": harness.Body{"tool": "bash"}},
			"name":        {"name": " ", "cron": "@daily", "run": harness.Body{"tool": "bash", "command": "true"}},
		} {
			p := w.want(http.StatusBadRequest, http.MethodPost, "/v1/schedules", body)
			if errs, _ := p["errors"].([]any); len(errs) == 0 || errs[0].(map[string]any)["location"] != at {
				t.Errorf("%s: %v", at, p)
			}
		}
		preview := w.want(http.StatusOK, http.MethodGet,
			"/v1/schedules/preview?cron=30+2+*+*+*&timezone=Europe/Berlin&count=400", nil)
		if next, _ := preview["next"].([]any); len(next) != 50 || preview["count"] != 50.0 {
			t.Errorf("preview: %v", preview)
		}
	})
}

// TestWhatWasMissed stops a server over a minute: a slightly late slot fires once, one that is later than the bound
// does not.
// Keeps F25.
func TestWhatWasMissed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		catchup string
		runs    float64
	}{"in time": {"5m", 1}, "too late": {"1s", 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, harness.Options{Flags: []string{"--schedule-catchup", c.catchup}})
			// The server stops before the slot.
			if left := time.Minute - time.Duration(time.Now().UnixNano())%time.Minute; left < 8*time.Second {
				<-time.After(left)
			}
			id := w.id("/v1/schedules", harness.Body{"name": "s", "cron": "* * * * *",
				"run": harness.Body{"tool": "bash", "command": "true"}})
			next := w.want(http.StatusOK, http.MethodGet, "/v1/schedules/"+id, nil)["next_run_at"].(string)
			slot, err := time.Parse(time.RFC3339, next)
			if err != nil {
				t.Fatal(err)
			}
			w.Kill()
			<-time.After(time.Until(slot) + 3*time.Second)
			w.Server = w.Again()
			harness.Eventually(t, awhile, "the missed slot is dealt with", func() bool {
				got := w.want(http.StatusOK, http.MethodGet, "/v1/schedules/"+id, nil)
				lastError, _ := got["last_error"].(string)
				return c.runs == 1 && got["last_run_id"] != nil && got["last_run_at"] == next ||
					c.runs == 0 && strings.Contains(lastError, "missed")
			})
			if list := w.want(http.StatusOK, http.MethodGet, "/v1/runs", nil); list["total"] != c.runs {
				t.Errorf("%v runs", list["total"])
			}
		})
	}
}
