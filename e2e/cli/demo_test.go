package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/ports/runs"
)

// demo is a running demo.
type demo struct {
	*harness.RunningDemo
	t *testing.T
}

func startDemo(t *testing.T) demo { t.Helper(); return demo{harness.StartDemo(t), t} }

// get reads a document of the demo.
func (d demo) get(path string, into any) {
	d.t.Helper()
	raw := d.raw(path)
	if err := json.Unmarshal(raw, into); err != nil {
		d.t.Fatalf("%s: %v\n%s", path, err, raw)
	}
}

func (d demo) raw(path string) []byte {
	d.t.Helper()
	a := d.Do(http.MethodGet, path, nil)
	if a.Status != http.StatusOK {
		d.t.Fatalf("%s: %d %s", path, a.Status, a.Body)
	}
	return a.Body
}

// shownRun is a run in a list.
type shownRun struct {
	ID, Name, Status, Kind string
	LogBytes               int64     `json:"log_bytes"`
	CreatedAt              time.Time `json:"created_at"`
}

func (d demo) list(query string) []shownRun {
	d.t.Helper()
	var list struct{ Runs []shownRun }
	d.get("/v1/runs?"+query, &list)
	return list.Runs
}

// TestDemo looks at a demo as a visitor does, and ends it.
func TestDemo(t *testing.T) {
	t.Parallel()
	watch := clock.Start()
	empty := serverIn(t, t.TempDir(), "--open", "--addr", "127.0.0.1:0")
	empty.shows(empty.err, "msg=ready")
	serve := watch.Elapsed()
	watch = clock.Start()
	d := startDemo(t)
	t.Logf("an empty server was ready after %s, the demo after %s", serve, watch.Elapsed())
	a := d.Do(http.MethodPost, "/v1/runs", `{"tool":"bash","command":"id"}`)
	if a.Status != http.StatusForbidden || !strings.Contains(string(a.Body), `"reason":"read_only"`) {
		t.Errorf("a change: %d %s", a.Status, a.Body)
	}
	for _, s := range runs.Statuses() {
		if len(d.list("status="+string(s))) == 0 {
			t.Errorf("no run is %s", s)
		}
	}
	demoDrift(t, d)
	demoProject(t, d)
	demoReceipts(t, d, 1)
	if code := d.Stop(); code != 0 {
		t.Errorf("it ended with %d: %s", code, d.Output())
	}
	if _, err := os.Stat(d.Dir); !os.IsNotExist(err) {
		t.Errorf("its directory is still there: %v", err)
	}
}

// demoProject waits until the project is fetched.
func demoProject(t *testing.T, d demo) {
	t.Helper()
	var p struct{ Projects []struct{ ID string } }
	for deadline := time.Now().Add(waitTimeout); ; <-time.After(50 * time.Millisecond) {
		d.get("/v1/projects", &p)
		a := d.Do(http.MethodGet, "/v1/projects/"+p.Projects[0].ID+"/files", nil)
		if a.Status == http.StatusOK && strings.Contains(string(a.Body), "baseline.yml") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the project is not fetched: %d %s", a.Status, a.Body)
		}
	}
}

// demoDrift counts the hosts that drift, and those that were not checked.
func demoDrift(t *testing.T, d demo) {
	t.Helper()
	var drift struct {
		Resources []struct {
			Host, Playbook string
			TargetID       string `json:"target_id"`
		}
		Coverage []struct{ Unknown int }
	}
	d.get("/v1/drift", &drift)
	hosts, unchecked := map[string]bool{}, 0
	for _, r := range drift.Resources {
		hosts[r.Host] = true
	}
	for _, c := range drift.Coverage {
		if c.Unknown > 0 {
			unchecked++
		}
	}
	if len(hosts) != 23 || unchecked == 0 || unchecked > 20 {
		t.Errorf("%d hosts drift, %d were not checked", len(hosts), unchecked)
	}
	r := drift.Resources[0]
	code, out, errs := (user{t: t, url: d.URL}).do("drift", "--target", r.Playbook, "--host", r.Host, "--jq",
		"[.resources[].target_id] | unique | join(\",\")")
	if code != 0 || out != r.TargetID+"\n" {
		t.Errorf("drift from %s: %d %s%s, want %s", r.Playbook, code, out, errs, r.TargetID)
	}
}

// demoReceipts verifies the receipts of so many runs without the server, and the forged one.
func demoReceipts(t *testing.T, d demo, n int) {
	t.Helper()
	u := user{t: t}
	list := d.list(fmt.Sprintf("limit=%d&status=succeeded", n))
	if len(list) != n {
		t.Errorf("%d runs succeeded, want %d", len(list), n)
	}
	for _, r := range list {
		file := filepath.Join(t.TempDir(), "receipt.json")
		if err := os.WriteFile(file, d.raw("/v1/runs/"+r.ID+"/receipt"), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, out, errs := u.do("audit", "verify", file); code != 3 { // intact, without a pinned key
			t.Errorf("the receipt of %s: %d\n%s%s", r.Name, code, out, errs)
		}
	}
	if code, out, _ := u.do("audit", "verify", filepath.Join(d.Dir, "receipt.json")); code != 3 {
		t.Errorf("the receipt to try: %d\n%s", code, out)
	}
	code, out, errs := u.do("audit", "verify", filepath.Join(d.Dir, "receipt-forged.json"))
	if code != 1 || !strings.Contains(out+errs, "at position 4") {
		t.Errorf("the forged receipt: %d\n%s%s", code, out, errs)
	}
}
