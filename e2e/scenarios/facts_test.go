package scenarios

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/e2e/fleet"
	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/depthtest"
)

// gather reads all facts, and those of a file on each host.
const gather = `- hosts: all
  gather_facts: false
  tasks:
    - ansible.builtin.setup: {fact_path: "{{ host_root }}/facts"}
`

type diffAnswer struct {
	Changed []struct {
		Host  string
		Facts []struct{ Key, From, To string }
	}
	Added, Unobserved   []string
	Unchanged, Withheld int
	BeforeHistory       bool `json:"before_history"`
}

// TestEstateOverSSH gathers the facts of real hosts several times: nothing changes but what was changed by hand. The
// past stays as it was, and who may not read a run sees neither its facts nor that they changed.
func TestEstateOverSSH(t *testing.T) {
	t.Parallel()
	f := fleet.New(t, 3)
	s := harness.Start(t, harness.Options{})
	set := func(h *fleet.Host, version string) {
		t.Helper()
		dir := filepath.Join(h.Root(), "facts")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "app.fact"), []byte(`{"version": "`+version+`"}`), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, h := range f.Hosts() {
		set(h, "1.0")
	}
	playbook := filepath.Join(harness.Shared(t), "gather.yml")
	if err := os.WriteFile(playbook, []byte(gather), 0o644); err != nil {
		t.Fatal(err)
	}
	read := func(c harness.Client, path string, into any) {
		t.Helper()
		a := c.Do(http.MethodGet, path, nil)
		if a.Status != http.StatusOK {
			t.Fatalf("%s: %d %s", path, a.Status, a.Body)
		}
		a.JSON(t, into)
	}
	run := func(body harness.Body) time.Time {
		t.Helper()
		body["playbook"] = playbook
		r := s.Await(s.Submit(body).ID)
		if r.Status != "succeeded" {
			t.Fatalf("%s\n%s", r.Status, s.Log(r.ID))
		}
		harness.Eventually(t, time.Minute, "the facts of "+r.ID+" are recorded", func() bool {
			var estate struct {
				Hosts []struct {
					RunID string `json:"run_id"`
				}
			}
			read(s.Client, "/v1/estate?keys=none", &estate)
			n := 0
			for _, h := range estate.Hosts {
				if h.RunID == r.ID {
					n++
				}
			}
			return n == 3
		})
		return time.Now()
	}
	of := func(at time.Time) string { return url.QueryEscape(at.UTC().Format(time.RFC3339Nano)) }
	plain := func() harness.Body { return harness.Body{"inventory": f.InventoryPath()} }
	first := run(plain())
	for range depthtest.Of(2, 10) {
		run(plain())
	}
	var d diffAnswer
	read(s.Client, "/v1/estate/diff?from="+of(first), &d)
	if len(d.Changed) > 0 || d.Unchanged != 3 || d.BeforeHistory {
		t.Fatalf("unchanged hosts differ: %+v", d)
	}
	set(f.Host(2), "2.0")
	inventory, reader := restricted(t, s, f)
	last := run(harness.Body{"inventory_id": inventory})
	read(s.Client, "/v1/estate/diff?from="+of(first), &d)
	want := []struct{ Key, From, To string }{{"ansible_local.app.version", "1.0", "2.0"}}
	if len(d.Changed) != 1 || d.Changed[0].Host != "node02" || !cmp.Equal(want, d.Changed[0].Facts) {
		t.Errorf("changed by hand: %+v", d)
	}
	for name, c := range map[string]struct {
		client          harness.Client
		at              time.Time
		hosts, withheld int
		version         string
	}{
		"then, for the admin": {s.Client, first, 3, 0, "1.0"}, "now, for the admin": {s.Client, last, 3, 0, "2.0"},
		"then, for the reader": {reader, first, 3, 0, "1.0"}, "now, for the reader": {reader, last, 0, 3, ""},
	} {
		var estate struct {
			Hosts []struct {
				Host  string
				Facts map[string]any
			}
			Withheld int
		}
		read(c.client, "/v1/estate?keys=ansible_local&at="+of(c.at), &estate)
		version := ""
		for _, h := range estate.Hosts {
			if h.Host == "node02" {
				version, _ = h.Facts["ansible_local.app.version"].(string)
			}
		}
		if len(estate.Hosts) != c.hosts || estate.Withheld != c.withheld || version != c.version {
			t.Errorf("%s: %+v", name, estate)
		}
	}
	var hidden diffAnswer
	read(reader, "/v1/estate/diff?from="+of(first), &hidden)
	if hidden.Withheld != 3 || len(hidden.Changed) > 0 || hidden.Unchanged > 0 {
		t.Errorf("the reader sees %+v", hidden)
	}
	if a := reader.Do(http.MethodGet, "/v1/hosts/node02/facts", nil); a.Status != http.StatusNotFound {
		t.Errorf("the reader reads facts of a run that it may not read: %d %s", a.Status, a.Body)
	}
	var timeline struct {
		Buckets []struct{ Readings, Changed int }
	}
	read(s.Client, "/v1/estate/timeline?buckets=1", &timeline)
	if runs := 2 + depthtest.Of(2, 10); timeline.Buckets[0].Readings != 3*runs || timeline.Buckets[0].Changed != 1 {
		t.Errorf("the timeline has %+v", timeline)
	}
}

// restricted stores the inventory of a fleet for another account, and returns its id and a client of an account that
// may not read it.
func restricted(t *testing.T, s *harness.Server, f *fleet.Fleet) (inventory string, reader harness.Client) {
	t.Helper()
	content, err := os.ReadFile(f.InventoryPath())
	if err != nil {
		t.Fatal(err)
	}
	create := func(path string, body harness.Body) (made struct{ ID, Token string }) {
		a := s.Do(http.MethodPost, path, body)
		if a.Status != http.StatusCreated {
			t.Fatalf("%s: %d %s", path, a.Status, a.Body)
		}
		a.JSON(t, &made)
		return made
	}
	inventory = create("/v1/inventories", harness.Body{"name": "fleet", "content": string(content), "format": "ini"}).ID
	user := create("/v1/users", harness.Body{"username": "reader", "role": "viewer"}).ID
	other := create("/v1/users", harness.Body{"username": "other", "role": "viewer"}).ID
	create("/v1/grants", harness.Body{"subject": "user:" + other, "object": inventory, "level": "read"})
	return inventory, s.As(create("/v1/tokens", harness.Body{"name": "t", "user_id": user}).Token)
}
