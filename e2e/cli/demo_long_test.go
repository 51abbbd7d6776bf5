//go:build long

package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/runs"
)

// TestDemoGoesOn verifies receipts of a demo, compares it with a second one, and waits for what its runs report.
func TestDemoGoesOn(t *testing.T) {
	t.Parallel()
	d := startDemo(t)
	demoReceipts(t, d, 10)
	demoGrows(t, d)
	made := d.made()
	if n := len(made["runs"]); n < 150 {
		t.Errorf("%d runs were made", n)
	}
	if diff := cmp.Diff(made, startDemo(t).made()); diff != "" {
		t.Errorf("two demos differ (-first +second):\n%s", diff)
	}
	demoLarge(t, d)
}

// made lists what the start made: the ids and names of the runs and the objects, without times.
func (d demo) made() map[string][]string {
	d.t.Helper()
	out := map[string][]string{}
	for _, r := range d.list("limit=1000") {
		if strings.HasPrefix(r.ID, "run_01k") { // the later ones have ids of the time of day
			out["runs"] = append(out["runs"], r.ID+" "+r.Name)
		}
	}
	for _, kind := range []string{"projects", "inventories", "templates", "credentials", "policies", "schedules",
		"triggers", "windows", "users", "teams", "orgs"} {
		var list map[string]json.RawMessage
		var objects []struct{ ID, Name, Username string }
		d.get("/v1/"+kind, &list)
		if err := json.Unmarshal(list[kind], &objects); err != nil || len(objects) == 0 {
			d.t.Errorf("%s: %v, %d", kind, err, len(objects))
		}
		for _, o := range objects {
			out[kind] = append(out[kind], o.ID+" "+o.Name+o.Username)
		}
	}
	return out
}

// demoGrows waits until the output of a run grows.
func demoGrows(t *testing.T, d demo) {
	t.Helper()
	sizes := map[string]int{}
	deadline := time.Now().Add(waitTimeout)
	for grown := 0; grown < 2; {
		if time.Now().After(deadline) {
			t.Fatal("no output grows")
		}
		for _, r := range d.list("status=running") {
			n := len(d.raw("/v1/runs/" + r.ID + "/logs"))
			if had, known := sizes[r.ID]; known && n > had {
				grown++
			}
			sizes[r.ID] = n
		}
		<-time.After(50 * time.Millisecond)
	}
}

// demoLarge waits for the end of the large run, and compares its failures with what the demo promises.
func demoLarge(t *testing.T, d demo) {
	t.Helper()
	var id string
	for _, r := range d.list("limit=50") {
		if r.Name == "Patch web fleet" {
			id = r.ID
		}
	}
	var run struct {
		Status string
		Hosts  map[string]int
	}
	for deadline := time.Now().Add(waitTimeout); run.Status != string(runs.Failed); <-time.After(100 * time.Millisecond) {
		if d.get("/v1/runs/"+id, &run); time.Now().After(deadline) {
			t.Fatalf("the large run is %s", run.Status)
		}
	}
	if run.Hosts["failed"] != 12 || run.Hosts["unreachable"] != 5 {
		t.Errorf("the large run has %v", run.Hosts)
	}
	var failures struct{ Groups []json.RawMessage }
	d.get("/v1/runs/"+id+"/failures", &failures)
	if len(failures.Groups) < 3 {
		t.Errorf("%d groups of failures", len(failures.Groups))
	}
}
