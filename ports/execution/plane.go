package execution

import "github.com/writ-automation/writ/ports/runs"

// ControlPlane is the interface of an executor to the holder of the runs. The runs context provides it over the
// database, a relay over HTTP.
type ControlPlane interface {
	runs.Worklist
	runs.Journal
	runs.Planner
}
