package projects

import "github.com/writ-automation/writ/ports/runs"

// stepOf finds steps of a project.
func stepOf(id string) func(runs.StepSpec) bool {
	return func(s runs.StepSpec) bool { return s.ProjectID == id }
}
