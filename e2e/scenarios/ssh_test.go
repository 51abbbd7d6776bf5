package scenarios

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/writ-automation/writ/e2e/fleet"
	"github.com/writ-automation/writ/e2e/harness"
)

// release writes a file on each host of a fleet, and fails on the configured hosts.
const release = `- hosts: all
  gather_facts: false
  tasks:
    - name: Release
      ansible.builtin.copy: {content: "1.0\n", dest: "{{ host_root }}/release"}
    - name: Check
      ansible.builtin.assert:
        that: inventory_hostname not in (break_hosts | default([]))
`

// TestHostsOverSSH makes one of three hosts fail and one unreachable, relaunches only on these two, and finds the
// changed host.
func TestHostsOverSSH(t *testing.T) {
	t.Parallel()
	f := fleet.New(t, 3)
	s := harness.Start(t, harness.Options{})
	playbook := filepath.Join(harness.Shared(t), "release.yml")
	if err := os.WriteFile(playbook, []byte(release), 0o644); err != nil {
		t.Fatal(err)
	}
	run := func(more harness.Body) harness.Run {
		t.Helper()
		body := harness.Body{"playbook": playbook, "inventory": f.InventoryPath(),
			"env": map[string]string{"ANSIBLE_PIPELINING": "1"}}
		maps.Copy(body, more)
		return s.Await(s.Submit(body).ID)
	}
	if err := f.Host(3).Stop(); err != nil {
		t.Fatal(err)
	}
	first := run(harness.Body{"extra_vars": harness.Body{"break_hosts": []string{"node02"}}})
	hosts := s.Hosts(first.ID)
	if first.Status != "failed" || hosts["node01"].Worst != "changed" || hosts["node02"].Worst != "failed" ||
		hosts["node03"].Worst != "unreachable" || !first.Warned("hosts_unreachable") {
		t.Errorf("%s with %v, hosts %v\n%s", first.Status, first.Warnings, hosts, s.Log(first.ID))
	}
	if err := f.Host(3).Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := s.Await(s.Act("/v1/runs/" + first.ID + "/relaunch-failed").ID)
	names := slices.Sorted(maps.Keys(s.Hosts(again.ID)))
	if again.Source != "relaunch" || again.RetryOf != first.ID || !slices.Equal(names, []string{"node02", "node03"}) {
		t.Errorf("%s of %s touched %v\n%s", again.Source, again.RetryOf, names, s.Log(again.ID))
	}
	if err := os.Remove(filepath.Join(f.Host(1).Root(), "release")); err != nil {
		t.Fatal(err)
	}
	dry := run(harness.Body{"dry_run": true})
	var changed []string
	for _, e := range s.Events(dry.ID) {
		if e.Type == "host_ok" && e.Changed {
			changed = append(changed, e.Host)
			if len(e.Diff) == 0 {
				t.Errorf("%s changed without a diff", e.Host)
			}
		}
	}
	if dry.Status != "succeeded" || !slices.Equal(changed, []string{"node01"}) {
		t.Errorf("the dry run %s and changes %v\n%s", dry.Status, changed, s.Log(dry.ID))
	}
	unmatched := run(harness.Body{"limit": "nosuchhost"})
	if unmatched.Status != "succeeded" || !unmatched.Warned("pattern_unmatched") || !unmatched.Warned("no_hosts_matched") {
		t.Errorf("%s with %v", unmatched.Status, unmatched.Warnings)
	}
}
