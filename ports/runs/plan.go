package runs

// Plan is what a dry run of a tool found that it would change. Its texts are masked.
type Plan struct {
	Summary  string        `json:"summary"`
	Digest   string        `json:"digest"`
	Findings []PlanFinding `json:"findings"`
}

// PlanFinding is a resource that a plan would change. Diff is text, empty for none.
type PlanFinding struct {
	Resource string `json:"resource"`
	Action   string `json:"action"`
	Diff     string `json:"diff,omitempty"`
}
