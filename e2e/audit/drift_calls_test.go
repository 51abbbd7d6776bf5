package audit

import (
	"net/http"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

// driftCalls prepares the operations about drift.
func driftCalls() map[string]func(w *fixture) call {
	ignore := func(w *fixture, reason string) harness.Body {
		return harness.Body{"host": w.name("h"), "resource": "file *", "reason": reason}
	}
	made := func(w *fixture) string { return "/v1/drift/ignores/" + w.id("/v1/drift/ignores", ignore(w, "kept")) }
	return map[string]func(w *fixture) call{
		"create-ignore": func(w *fixture) call {
			return call{path: "/v1/drift/ignores", object: "drift_ignore", body: ignore(w, "known")}
		},
		"update-ignore": func(w *fixture) call {
			return call{path: made(w), object: "drift_ignore", body: ignore(w, "changed")}
		},
		"delete-ignore": func(w *fixture) call { return call{path: made(w), object: "drift_ignore"} },
		"reconcile-drift": func(w *fixture) call {
			return call{path: "/v1/drift/reconcile", object: "run", body: w.drifting()}
		},
	}
}

// drifting has a dry run find drift, and returns the request that repairs it.
func (w *fixture) drifting() harness.Body {
	w.t.Helper()
	publish(w.t, w.Dir+"/differs.yml", "- hosts: a\n  gather_facts: false\n  tasks:\n    - copy: {content: x, dest: '"+
		w.t.TempDir()+"/missing'}\n")
	w.Await(w.Submit(harness.Body{"playbook": w.Dir + "/differs.yml", "inventory": w.Dir + "/hosts", "dry_run": true}).ID)
	harness.Eventually(w.t, time.Minute, "drift", func() bool {
		var p struct{ Total int }
		w.Do(http.MethodGet, "/v1/drift?host=a", nil).JSON(w.t, &p)
		return p.Total > 0
	})
	return harness.Body{"host": "a"}
}
