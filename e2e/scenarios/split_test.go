package scenarios

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/depthtest"
)

// fleetOf writes a playbook and an inventory of n local hosts into a directory.
func fleetOf(t *testing.T, n int, tasks string) (playbook, inventory string) {
	t.Helper()
	dir := harness.Shared(t)
	var inv strings.Builder
	for i := range n {
		fmt.Fprintf(&inv, "h%02d\n", i)
	}
	inv.WriteString("[all:vars]\nansible_connection=local\nansible_python_interpreter=/usr/bin/python3\n")
	playbook, inventory = filepath.Join(dir, "play.yml"), filepath.Join(dir, "hosts.ini")
	for name, text := range map[string]string{playbook: "- hosts: all\n  gather_facts: false\n  tasks:\n" + tasks,
		inventory: inv.String()} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return playbook, inventory
}

// shards lists the shard runs of a split.
func shards(t *testing.T, c harness.Client, id string) []harness.Run {
	t.Helper()
	var p struct {
		Shards []harness.Run `json:"shards"`
	}
	c.Do(http.MethodGet, "/v1/runs/"+id+"/shards", nil).JSON(t, &p)
	return p.Shards
}

// TestSplit divides seven hosts over shards. One shard fails, and only that one is retried.
func TestSplit(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		s := harness.Start(t, harness.Options{DB: dbURL})
		flag := filepath.Join(harness.Shared(t), "mended")
		playbook, inventory := fleetOf(t, 7, fmt.Sprintf(`
    - name: touch
      ansible.builtin.debug: {msg: "here is {{ inventory_hostname }} of {{ groups['all'] | length }}"}
    - name: h03 fails until it is mended
      ansible.builtin.debug: {msg: mended}
      failed_when: inventory_hostname == 'h03' and not lookup('fileglob', %q)
`, flag))
		n := depthtest.Of(2, 3)
		r := s.Submit(harness.Body{"playbook": playbook, "inventory": inventory, "shards": n})
		if r.Kind != "split" {
			t.Fatalf("kind %q", r.Kind)
		}
		r = s.Await(r.ID)
		parts := shards(t, s.Client, r.ID)
		if r.Status != "failed" || len(parts) != n || r.ShardCount != n || *r.HostsTouched != 7 {
			t.Fatalf("%s, %d shards, touched %d", r.Status, len(parts), *r.HostsTouched)
		}
		var seen []string
		for _, p := range parts {
			checkJournal(t, s.Client, p)
			for h := range s.Hosts(p.ID) {
				seen = append(seen, h)
			}
			if !strings.Contains(s.Log(p.ID), "of 7") {
				t.Error("a shard does not see the whole inventory")
			}
		}
		slices.Sort(seen)
		if len(seen) != 7 || len(slices.Compact(seen)) != 7 {
			t.Errorf("hosts over shards: %v", seen)
		}
		if rows, total := s.Runs("limit=10"); total != 1 || len(rows) != 1 {
			t.Errorf("the list shows %d runs (total %d): shards belong to their split", len(rows), total)
		}
		if err := os.WriteFile(flag, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		again := s.Await(s.Act("/v1/runs/" + r.ID + "/retry").ID)
		redone := shards(t, s.Client, again.ID)
		if again.Status != "succeeded" || again.Kind != "split" || again.RetryOf != r.ID || len(redone) != 1 {
			t.Fatalf("retry: %+v with %d shards", again, len(redone))
		}
		if _, ok := s.Hosts(redone[0].ID)["h03"]; !ok {
			t.Errorf("the retried shard ran on %v", s.Hosts(redone[0].ID))
		}
		if a := s.Do(http.MethodPost, "/v1/runs/"+again.ID+"/retry", nil); a.Status != 409 {
			t.Errorf("retry of a split without failed shards: %d", a.Status)
		}
	})
}

// TestLaunchValuesAreData checks that a lookup in a launch-time value is printed and never evaluated.
// Keeps T17.
func TestLaunchValuesAreData(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	mark := filepath.Join(harness.Shared(t), "pwned")
	playbook, inventory := fleetOf(t, 1, `
    - ansible.builtin.debug: {msg: "{{ who }} {{ nested.deep[0] }}"}
`)
	evil := "{{ lookup('pipe', 'touch " + mark + "') }}"
	r := s.Await(s.Submit(harness.Body{"playbook": playbook, "inventory": inventory,
		"extra_vars": harness.Body{"who": evil, "nested": harness.Body{"deep": []string{evil}}}}).ID)
	if _, err := os.Stat(mark); err == nil {
		t.Error("the lookup ran")
	}
	if r.Status != "succeeded" || !strings.Contains(s.Log(r.ID), "lookup('pipe'") {
		t.Errorf("%s: %s", r.Status, s.Log(r.ID))
	}
}
