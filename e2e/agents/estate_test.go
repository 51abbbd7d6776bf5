package agents

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

// play gathers facts, would change a file and, outside of dry runs, fails on one host.
const play = `- hosts: all
  connection: local
  gather_facts: false
  tasks:
    - ansible.builtin.setup: {gather_subset: ["!all", min]}
    - name: Notice
      ansible.builtin.copy: {content: "managed\n", dest: /nowhere/notice, mode: "0644"}
      when: ansible_check_mode
    - name: Release
      ansible.builtin.fail: {msg: the disk is full}
      when: inventory_hostname == "web2" and not ansible_check_mode
`

// TestAnAgentReadsAnEstate has a dry run and a real one of a playbook, and reads what they found with the tools about
// hosts, facts, drift and failures.
func TestAnAgentReadsAnEstate(t *testing.T) {
	t.Parallel()
	f := start(t)
	file := filepath.Join(harness.Shared(t), "play.yml")
	if err := os.WriteFile(file, []byte(play), 0o644); err != nil { //nolint:gosec // for runs
		t.Fatal(err)
	}
	template := f.made("/v1/templates", harness.Body{"name": "release", "playbook": file, "inventory": "web1,web2,",
		"allow_overrides": []string{"dry_run"}})["id"]
	_, token := f.account("olga", "operator", "read", "launch")
	a := f.command(token)
	dry, _ := a.use("launch_template", args{"template": template})["id"].(string)
	if r := f.Await(dry); r.Status != "succeeded" {
		t.Fatalf("the dry run %s: %s", r.Status, f.Log(dry))
	}
	var drift []any
	harness.Eventually(t, time.Minute, "drift is listed", func() bool {
		drift = rows(a.use("list_drift", args{"host": "web1"}), "resources")
		return len(drift) > 0
	})
	if row := drift[0].(map[string]any); len(drift) != 1 || row["host"] != "web1" || row["run_id"] != dry ||
		!strings.Contains(row["resource"].(string), "/nowhere/notice") {
		t.Errorf("drift: %v", drift)
	}

	run, _ := a.use("launch_template", args{"template": template, "dry_run": false, "confirm": true,
		"dry_run_id": dry})["id"].(string)
	if r := f.Await(run); r.Status != "failed" {
		t.Fatalf("the run %s: %s", r.Status, f.Log(run))
	}
	failures := rows(a.use("list_run_failures", args{"run": run}), "groups")
	if len(failures) != 1 {
		t.Fatalf("failures: %v", failures)
	}
	if group := failures[0].(map[string]any); group["task"] != "Release" || group["count"] != 1.0 ||
		!strings.Contains(group["message"].(string), "the disk is full") {
		t.Errorf("failures: %v", group)
	}
	var hosts []any
	harness.Eventually(t, time.Minute, "both hosts are listed with the run", func() bool {
		hosts = rows(a.use("list_hosts", nil), "hosts")
		return len(hosts) == 2 && hosts[0].(map[string]any)["failures"] == 1.0
	})
	if worst := hosts[0].(map[string]any); worst["host"] != "web2" || worst["last_outcome"] != "failed" {
		t.Errorf("hosts: %v", hosts)
	}
	if h := a.use("get_host", args{"host": "web2"}); h["host"] != "web2" || h["failures"] != 1.0 {
		t.Errorf("a host: %v", h)
	}
	facts := a.use("get_host_facts", args{"host": "web1"})
	if values, _ := facts["facts"].(map[string]any); facts["host"] != "web1" || values["ansible_system"] != "Linux" {
		t.Errorf("facts: %v", facts)
	}
}

// rows returns a member that is a list.
func rows(answer map[string]any, member string) []any {
	list, _ := answer[member].([]any)
	return list
}
