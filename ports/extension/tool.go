package extension

import (
	"context"
	"io"
	"strings"
)

// ToolSpec is the input of a tool.
type ToolSpec struct {
	// Command is the tool's input: for bash and python, the script.
	Command string
	// DryRun requests the mode without changes.
	DryRun bool
	// ExtraVars are the variables of the run. Whole numbers are json.Number, so that none loses a digit.
	ExtraVars map[string]any
	// Env is the whole environment of the tool's process; nothing is inherited.
	Env map[string]string
	// Dir is a private, existing directory of this run. It is removed when the run has ended.
	Dir string
	// PlanDigest is the digest of the plan that was approved, in the run that applies it. The tool makes the plan again
	// and applies it only if it has this digest. It is empty in every other run.
	PlanDigest string
}

// ToolResult is how a tool ended.
type ToolResult struct {
	// ExitCode is the process's exit code; a process that a signal ended has 128 plus the signal's number.
	ExitCode int
	// Plan is what a dry run found that it would change, nil from a tool without plans. A plan with findings makes a run
	// that applies it, which is always held for approval and bound to the digest. One without findings says that nothing
	// differs. It is ignored unless a dry run ended with exit code 0.
	Plan *Plan
}

// Plan is what a tool would change. Writ masks its texts, and fails the run if it exceeds a bound of PlanFindings,
// PlanText or PlanSize.
type Plan struct {
	// Summary is one sentence.
	Summary string
	// Digest names the changes: two plans with the same changes have the same digest, and others do not. It has 1 to 128
	// letters, digits and the signs : . _ - + / =.
	Digest   string // see ValidPlanDigest
	Findings []PlanFinding
}

// PlanFinding is a resource that a plan would change.
type PlanFinding struct {
	// Resource is the address of the resource, the same in every plan: terraform_data.web.
	Resource string
	// Action is what would be done: create, update, delete, replace, or a word of the tool.
	Action string
	// Diff is text for a person, empty for none. It holds no secrets.
	Diff string
}

// The bounds of a plan: the number of its findings, the bytes of a summary, a resource or an action, and the bytes of
// all its texts.
const (
	PlanFindings = 5000
	PlanText     = 1024
	PlanSize     = 4 << 20
)

// maxPlanDigest is the largest number of bytes of a digest.
const maxPlanDigest = 128

// ValidPlanDigest reports whether a plan may have a digest: 1 to 128 letters, digits and the signs : . _ - + / =.
func ValidPlanDigest(s string) bool {
	odd := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune(":._-+/=", r)
	}
	return s != "" && len(s) <= maxPlanDigest && !strings.ContainsFunc(s, odd)
}

// ToolRunner executes one run of a tool. It writes the tool's output to out while it runs and returns when the whole
// process tree has ended. A cancelled ctx ends the tree. It returns an error only if the tool could not be launched or
// supervised: a tool that ran and failed is an exit code.
type ToolRunner interface {
	Run(ctx context.Context, spec ToolSpec, out io.Writer) (ToolResult, error)
}

// ToolRunnerFunc adapts a function to ToolRunner.
type ToolRunnerFunc func(ctx context.Context, spec ToolSpec, out io.Writer) (ToolResult, error)

// Run calls f.
func (f ToolRunnerFunc) Run(ctx context.Context, spec ToolSpec, out io.Writer) (ToolResult, error) {
	return f(ctx, spec, out)
}
