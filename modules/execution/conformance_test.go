package execution_test

import (
	"fmt"
	"testing"

	"github.com/writ-automation/writ/ports/execution/executiontest"
	"github.com/writ-automation/writ/ports/runs"
)

// The plane that the executor's tests use keeps the promises of a real one.
func TestThePlaneOfTheseTests(t *testing.T) {
	t.Parallel()
	executiontest.Run(t, func(*testing.T) executiontest.Fixture {
		p := newPlane()
		n := 0
		return executiontest.Fixture{
			Plane: p,
			SubmitDry: func(_ *testing.T, queue string) string {
				n++
				id := fmt.Sprintf("run_%d", n)
				p.submit(&runs.Run{ID: id, Spec: runs.Spec{Queue: queue, DryRun: true}})
				return id
			},
			Submit: func(_ *testing.T, kind runs.Kind, queue string) string {
				n++
				id := fmt.Sprintf("run_%d", n)
				p.submit(&runs.Run{ID: id, Kind: kind, Spec: runs.Spec{Queue: queue}})
				return id
			},
			Run: func(_ *testing.T, id string) *runs.Run {
				r := p.see(id)
				if r.end != nil {
					r.run.LogBytes, r.run.LogSHA256, r.run.ExitCode, r.run.Outputs = r.end.LogBytes, r.end.LogSHA256, r.end.ExitCode,
						r.end.Outputs
					r.run.ToolVersion, r.run.AcceptedHostKeys = r.end.ToolVersion, r.end.AcceptedHostKeys
				}
				r.run.LogOmitted = r.holes
				return r.run
			},
			Log:    func(_ *testing.T, id string) []byte { return p.see(id).log },
			Events: func(_ *testing.T, id string) []runs.Event { return p.see(id).events },
			Expire: func(_ *testing.T, id string) { p.expire(id) },
		}
	})
}
