package contract

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/e2e/harness"
)

// always lists the members of a record that are present even if they are empty.
func always() []string {
	return []string{
		"id", "kind", "status", "source", "actor", "created_at", "duration_ms", "warnings", "cancel_requested", "hosts",
		"hosts_touched",
		"event_count", "log_bytes",
	}
}

// TestRecord submits every field and reads each of them back, clamped and masked as documented.
func TestRecord(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	sent := harness.Body{
		"name": "full", "playbook": "missing.yml", "inventory": "missing",
		"extra_vars": harness.Body{"a": 1, "nested": harness.Body{"db_password": "hunter22"}},
		"shards":     9999, "limit": "web:!db", "tags": []string{"t"}, "skip_tags": []string{"s"}, "forks": 7,
		"verbosity": 99, "diff_mode": true,
		"dry_run": true, "timeout": 60, "env": harness.Body{"A": "b"}, "queue": "parked", "priority": -10,
		"require_approval": true,
		"labels":           harness.Body{"team": "core"}, "change": "CHG-1",
		"notifications": []harness.Body{
			{"kind": "webhook", "url": "https://user:pw@hooks.example.com/T/abc?k=v", "on_failure": true},
			{"kind": "pagerduty", "key": "routing"},
			{"kind": "grafana", "url": "http://g.example:3000/x", "key": "k"},
			{"kind": "email", "to": "a@example.com, b@example.com"}, {"kind": "twilio", "to": "+4912345"},
		},
	}
	a := s.Do(http.MethodPost, "/v1/runs", sent)
	var got map[string]any
	a.JSON(t, &got)
	id, _ := got["id"].(string)
	if a.Status != 201 || a.Header.Get("Location") != "/v1/runs/"+id || a.Header.Get("ETag") == "" {
		t.Fatalf("%d %v %s", a.Status, a.Header, a.Body)
	}
	want := map[string]any{
		"name": "full", "kind": "split", "status": "pending_approval", "tool": "ansible", "playbook": "missing.yml",
		"inventory":  "missing",
		"extra_vars": map[string]any{"a": 1.0, "nested": map[string]any{"db_password": "[redacted]"}}, "shards": 512.0,
		"limit": "web:!db",
		"tags":  []any{"t"}, "skip_tags": []any{"s"}, "forks": 7.0, "verbosity": 4.0, "diff_mode": true, "dry_run": true,
		"timeout": 60.0,
		"env":     map[string]any{"A": "b"}, "queue": "parked", "priority": -10.0, "require_approval": true,
		"labels": map[string]any{"team": "core"},
		"change": "CHG-1", "source": "api", "held_by": map[string]any{"name": "require_approval"},
		"warnings": []any{map[string]any{"code": "queue_unserved", "message": `No executor serves the queue "parked". ` +
			"Start a worker with --queue parked, or choose another queue."}},
		"hosts":         map[string]any{},
		"hosts_touched": 0.0, "event_count": 0.0, "log_bytes": 0.0, "cancel_requested": false, "duration_ms": 0.0,
		"notifications": []any{
			map[string]any{"kind": "webhook", "url": "https://hooks.example.com/***", "on_failure": true},
			map[string]any{"kind": "pagerduty", "key": "***"},
			map[string]any{"kind": "grafana", "url": "http://g.example:3000/***", "key": "***"},
			map[string]any{"kind": "email", "to": "a@example.com, b@example.com"},
			map[string]any{"kind": "twilio", "to": "+4912345"},
		},
		"approvals": map[string]any{"needed": 1.0, "given": []any{}, "holds": []any{
			map[string]any{"name": "require_approval", "needed": 1.0, "given": 0.0}},
			"hosts": map[string]any{"count": 0.0, "names": []any{}, "unknown": true}},
		"risk": map[string]any{"level": "low", "reasons": []any{"The number of its hosts is not known before it runs.",
			"It is a dry run, which lowers the risk by one level."}},
	}
	if a.Header.Get("ETag") != `"`+got["approval_digest"].(string)+`"` {
		t.Errorf("ETag %s of the digest %s", a.Header.Get("ETag"), got["approval_digest"])
	}
	actor, _ := got["actor"].(map[string]any)
	if actor["type"] != "user" || actor["name"] != "admin" || !strings.HasPrefix(actor["id"].(string), "usr_") ||
		!strings.HasPrefix(id, "run_") {
		t.Errorf("id %s, actor %v", id, actor)
	}
	for _, varying := range []string{"id", "actor", "created_at", "audit_receipt", "approval_digest"} {
		delete(got, varying)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	read := s.Do(http.MethodGet, "/v1/runs/"+id, nil)
	if string(read.Body) != string(a.Body) || read.Header.Get("ETag") != a.Header.Get("ETag") {
		t.Errorf("read back:\n%s\n%s", a.Body, read.Body)
	}
	// Approvals are given to a held run without another tag, so it is always read whole.
	free := s.Submit(harness.Body{"tool": "bash", "command": "true", "queue": "parked"}).ID
	for of, status := range map[string]int{id: 200, free: 304} {
		tag := s.Do(http.MethodGet, "/v1/runs/"+of, nil).Header.Get("ETag")
		again := s.Do(http.MethodGet, "/v1/runs/"+of, nil, "If-None-Match", tag)
		if again.Status != status || status == 304 && len(again.Body) != 0 {
			t.Errorf("unchanged: %d, want %d", again.Status, status)
		}
	}
}

// TestDecisions decides held runs and reads the decisions.
// Keeps T35.
func TestDecisions(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	for verb, want := range map[string][2]string{"approve": {"approved", "succeeded"},
		"reject": {"rejected", "rejected"}} {
		r := s.Submit(harness.Body{"tool": "bash", "command": "echo ok", "require_approval": true})
		before := s.Do(http.MethodGet, "/v1/runs/"+r.ID, nil).Header.Get("ETag")
		a := s.Do(http.MethodPost, "/v1/runs/"+r.ID+"/"+verb, harness.Body{"reason": "looked at it"})
		if a.Status != 200 || a.Header.Get("ETag") == before {
			t.Errorf("%s: %d, ETag %s after %s", verb, a.Status, a.Header.Get("ETag"), before)
		}
		if ended := s.Await(r.ID); ended.Status != want[1] {
			t.Errorf("%s: ended as %s", verb, ended.Status)
		}
		d, _ := get(t, s.Client, "/v1/runs/"+r.ID)["decision"].(map[string]any)
		by, _ := d["by"].(map[string]any)
		if d["verdict"] != want[0] || d["reason"] != "looked at it" || d["at"] == nil || by["name"] != "admin" ||
			by["type"] != "user" {
			t.Errorf("%s: decision %v", verb, d)
		}
		for _, again := range []string{"approve", "reject"} {
			if p := refused(t, again, s.Do(http.MethodPost, "/v1/runs/"+r.ID+"/"+again, nil), 409); p.Reason != "run_not_held" {
				t.Errorf("%s after %s: %q", again, verb, p.Reason)
			}
		}
		if verb == "reject" {
			refused(t, "cancel", s.Do(http.MethodPost, "/v1/runs/"+r.ID+"/cancel", nil), 409)
		}
	}
}

// TestFamilies reads the records of a pipeline and a split, with their children.
func TestFamilies(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	made := s.Do(http.MethodPost, "/v1/pipelines", harness.Body{"name": "p", "steps": []harness.Body{
		{"name": "a", "tool": "bash", "command": "exit 1", "continue_on_failure": true},
		{"name": "b", "tool": "bash", "command": "exit 2"}, {"name": "c", "tool": "bash", "command": "true"},
	}})
	var p harness.Run
	made.JSON(t, &p)
	if made.Status != 201 || p.Kind != "pipeline" || made.Header.Get("Location") != "/v1/runs/"+p.ID {
		t.Fatalf("%d %s", made.Status, made.Body)
	}
	p = s.Await(p.ID)
	var states []string
	for _, x := range p.Steps {
		states = append(states, x.Name+" "+x.Status)
	}
	if diff := cmp.Diff([]string{"a failed", "b failed", "c skipped"}, states); diff != "" || p.Steps[2].RunID != "" ||
		p.Status != "failed" {
		t.Errorf("%s: %s", p.Status, diff)
	}
	if !p.Warned("step_failed_continued") {
		t.Errorf("warnings %v", p.Warnings)
	}
	steps := get(t, s.Client, "/v1/runs/"+p.ID+"/steps")
	list := steps["steps"].([]any)
	if len(list) != 2 || steps["count"] != 2.0 || steps["total"] != 2.0 {
		t.Fatalf("steps %v", steps)
	}
	step := list[0].(map[string]any)
	if step["kind"] != "step" || step["step_name"] != "a" || step["parent_id"] != p.ID || step["attempt"] != 1.0 ||
		step["exit_code"] != 1.0 {
		t.Errorf("step %v", step)
	}
	hosts := file(t, "hosts", "a ansible_connection=local\nb ansible_connection=local\n")
	sp := s.Await(s.Submit(harness.Body{"playbook": file(t, "p.yml", play), "inventory": hosts, "shards": 5}).ID)
	if sp.Kind != "split" || sp.ShardCount != 2 || sp.Hosts["ok"] != 2 || *sp.HostsTouched != 2 ||
		sp.Status != "succeeded" {
		t.Errorf("split %+v", sp)
	}
	for i, x := range get(t, s.Client, "/v1/runs/"+sp.ID+"/shards")["shards"].([]any) {
		shard := x.(map[string]any)
		if shard["kind"] != "shard" || shard["shard_index"] != float64(i) || shard["shard_count"] != 2.0 ||
			shard["parent_id"] != sp.ID {
			t.Errorf("shard %v", shard)
		}
	}
	for _, id := range []string{p.ID, sp.ID, p.Steps[0].RunID} {
		body := get(t, s.Client, "/v1/runs/"+id)
		for _, member := range always() {
			if _, ok := body[member]; !ok {
				t.Errorf("%s (%s) has no %s", id, body["kind"], member)
			}
		}
	}
	if _, total := s.Runs(""); total != 2 {
		t.Errorf("children are in the list: %d", total)
	}
	for path, reason := range map[string]string{
		sp.ID + "/retry": "run_not_retryable", p.ID + "/retry": "run_not_retryable",
		sp.ID + "/relaunch-failed": "no_failed_hosts",
		p.ID + "/relaunch-failed":  "run_not_relaunchable", sp.ID + "/approve": "run_not_held",
		sp.ID + "/cancel": "run_not_cancelable",
	} {
		if got := refused(t, path, s.Do(http.MethodPost, "/v1/runs/"+path, nil), 409); got.Reason != reason {
			t.Errorf("%s: %q", path, got.Reason)
		}
	}
}
