package relay

import (
	"net/http"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// TestProfilesOfWorkers launches templates with isolation profiles: the worker obeys one that its queue allows, and
// refuses others. The record tells which one a run had.
func TestProfilesOfWorkers(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "")
	w.worker("--name", "one", "--queue-profile", "default=standard")
	for _, c := range []struct{ profile, status, got, says string }{
		{"", "succeeded", "standard", "interfaces"},
		{"sealed", "succeeded", "sealed", "alone"},
		{"host", "failed", "", "the queue default does not allow the isolation profile host here"},
		{"none-such", "failed", "", "does not allow the isolation profile none-such"},
	} {
		body := harness.Body{"name": "t" + c.profile, "tool": "bash",
			"command": "test \"$(grep -c : /proc/net/dev)\" -gt 1 && echo interfaces || echo alone\n"}
		if c.profile != "" {
			body["isolation_profile"] = c.profile
		}
		template := w.made("/v1/templates", body)
		r := w.Await(w.Act("/v1/templates/" + template + "/launch").ID)
		var record struct {
			Isolation struct{ Profile string }
			Worker    string
		}
		w.Do(http.MethodGet, "/v1/runs/"+r.ID, nil).JSON(t, &record)
		if r.Status != c.status || record.Isolation.Profile != c.got || !strings.Contains(r.Error+w.Log(r.ID), c.says) {
			t.Errorf("%q: %s (%s) with %+v\n%s", c.profile, r.Status, r.Error, record, w.Log(r.ID))
		}
		if c.status == "failed" && w.Log(r.ID) != "" {
			t.Errorf("%q executed: %s", c.profile, w.Log(r.ID))
		}
	}
}
