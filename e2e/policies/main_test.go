// Package policies tests runs that policies hold or deny against the real binary: on every path that makes runs, and
// from the hold to the execution of what was approved.
package policies

import (
	"flag"
	"os"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(harness.Main(m))
}

// TestGovernedRuns has one server for each engine. Its parts name their runs by labels, so that the policies of one do
// not match the runs of another.
//
// Keeps T35.
func TestGovernedRuns(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, url string) {
		w := newFixture(t, url)
		w.scheduled() // fires while the other parts run
		for _, part := range []struct {
			name string
			test func(*fixture)
		}{
			{"deciders", (*fixture).deciders},
			{"team", (*fixture).teamDecides},
			{"stale", (*fixture).stale},
			{"template", (*fixture).templateEdited},
			{"pinned", (*fixture).pinned},
			{"pipeline", (*fixture).pinnedPipeline},
			{"split", (*fixture).pinnedSplit},
			{"paths", (*fixture).paths},
			{"worker", (*fixture).pinnedAtAWorker},
			{"races", (*fixture).races},
			{"client", (*fixture).client},
			{"preview", (*fixture).previews},
			{"refreshed", (*fixture).refreshed},
			{"schedule", (*fixture).afterTheSlot},
		} {
			t.Run(part.name, func(t *testing.T) {
				part.test(w.at(t))
			})
		}
	})
}

// TestTimeForApproval checks that a server rejects a run that nobody approves in time, and says so.
func TestTimeForApproval(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, url string) {
		s := harness.Start(t, harness.Options{DB: url, Flags: []string{"--approval-ttl", "1s"}})
		id := s.Submit(harness.Body{"tool": "bash", "command": "true", "require_approval": true}).ID
		r := s.Await(id)
		var h held
		s.Do("GET", "/v1/runs/"+id, nil).JSON(t, &h)
		if r.Status != "rejected" || h.Decision == nil || h.Decision.Reason != "nobody approved the run within 1s" {
			t.Errorf("%s, %+v", r.Status, h.Decision)
		}
		var why struct {
			Reasons []struct{ Code, Text, Object string }
		}
		s.Do("GET", "/v1/runs/"+id+"/why", nil).JSON(t, &why)
		if len(why.Reasons) != 1 || why.Reasons[0].Code != "rejected" || why.Reasons[0].Object != "approval-ttl" {
			t.Errorf("%+v", why)
		}
	})
}
