package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestShowsWhatTheRecordKnows shows a run with the names of what it uses. One of them may not be read.
func TestShowsWhatTheRecordKnows(t *testing.T) {
	t.Parallel()
	at := func(s string) string {
		x, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return instant(x)
	}
	f := newFakeServer(t, obj{"id": "run_1", "kind": "single", "status": "failed", "tool": "ansible",
		"tool_version": "2.14", "playbook": "site.yml",
		"template_id": "tpl_1", "project_id": "prj_1", "commit": "abc", "inventory_id": "inv_1",
		"inventory_query": "os.family=Debian", "limit": "web", "limit_hosts": []string{"web1", "web2"},
		"tags": []string{"a"}, "skip_tags": []string{"b"}, "dry_run": true, "diff_mode": true, "change": "CHG-1",
		"labels": obj{"team": "web"}, "source": "schedule", "source_id": "sch_1", "actor": obj{"name": "ada"},
		"queue": "default", "worker": "w1", "created_at": "2026-05-01T12:00:00Z", "queued_at": "2026-05-01T12:00:00Z",
		"started_at": "2026-05-01T12:00:02Z", "duration_ms": 5000, "hosts": obj{"ignored": 2, "ok": 1, "failed": 1},
		"held_by": obj{"id": "pol_1", "name": "prod"}, "risk": obj{"level": "high", "reasons": []string{"many hosts"}},
		"decision": obj{"at": "2026-05-01T12:00:00Z", "by": obj{"name": "bob"}, "verdict": "approved", "reason": "fine"},
		"outputs":  obj{"n": []int{1}, "v": "x"}, "extra_vars": obj{"release": "1.4"}, "credential_ids": []string{"crd_1"},
		"error": "1 host failed", "warnings": []obj{{"code": "x", "message": "look here"}}, "locks": []string{"db"},
	}).with(map[string]any{
		"GET /v1/templates/tpl_1":   obj{"name": "deploy"},
		"GET /v1/inventories/inv_1": obj{"name": "web"}, "GET /v1/schedules/sch_1": obj{"name": "nightly"},
		"GET /v1/credentials/crd_1": obj{"name": "key"},
	})
	want := `site.yml
  tool       ansible 2.14
  template   deploy (tpl_1)
  project    prj_1 at abc
  playbook   site.yml
  inventory  web (inv_1), hosts with os.family=Debian
  limit      web, 2 hosts: web1, web2
  tags       a, without b
  mode       dry run, with differences
  change     CHG-1
  labels     team=web
  source     schedule nightly (sch_1)
  by         ada
  queue      default
  worker     w1
  created    ` + at("2026-05-01T12:00:00Z") + `
  waited     2.0s
  started    ` + at("2026-05-01T12:00:02Z") + `
  took       5.0s
  hosts      3 ok, 1 failed
  held by    prod
  risk       high: many hosts
  decided    approved by bob at ` + at("2026-05-01T12:00:00Z") + `: fine
  outputs    n=[1], v="x"
warning: look here
✗ run_1 failed in 5.0s: 1 host failed
next  writ failures run_1
      writ relaunch run_1
      writ compare run_1
      writ logs run_1
`
	code, out, errs := call(t, f, "runs", "latest")
	if diff := cmp.Diff(want, out); diff != "" || code != exitDone || errs != "" {
		t.Errorf("exit %d, %q\n%s", code, errs, diff)
	}
	_, out, _ = call(t, f, "runs", "run_1", "-o", "wide")
	for _, line := range []string{`  extra vars  {"release":"1.4"}`, `  locks      ["db"]`, "  credentials  key (crd_1)"} {
		if !strings.Contains(out, line+"\n") {
			t.Errorf("no %q in\n%s", line, out)
		}
	}
	_, out, _ = call(t, f, "runs", "-o", "wide")
	for _, cell := range []string{"SOURCE", "WAITED", "schedule", "2.0s", "CHG-1", "team=web", "ada", "w1"} {
		if !strings.Contains(out, cell) {
			t.Errorf("no %q in\n%s", cell, out)
		}
	}
}
