package extension

import (
	"context"
	"io"
)

// ToolSpec is what a tool is asked to do.
type ToolSpec struct {
	// Command is the tool's input: the field from which bash and python read their script.
	Command string
	// DryRun asks for the no-change mode.
	DryRun bool
	// ExtraVars are the variables of the run. Whole numbers are json.Number, so that none loses a digit.
	ExtraVars map[string]any
	// Env is the whole environment of the tool's process; nothing is inherited.
	Env map[string]string
	// Dir is a private, existing directory of this run. It is removed when the run has ended.
	Dir string
}

// ToolResult is how a tool ended.
type ToolResult struct {
	// ExitCode is the process's exit code; a process that a signal ended has 128 plus the signal's number.
	ExitCode int
}

// ToolRunner executes one run of a tool. It writes the tool's output to out while it runs and returns when the
// whole process tree is gone. A cancelled ctx ends the tree. It returns an error only where the tool could not be
// launched or supervised: a tool that ran and failed is an exit code.
type ToolRunner interface {
	Run(ctx context.Context, spec ToolSpec, out io.Writer) (ToolResult, error)
}

// ToolRunnerFunc adapts a function to ToolRunner.
type ToolRunnerFunc func(ctx context.Context, spec ToolSpec, out io.Writer) (ToolResult, error)

// Run calls f.
func (f ToolRunnerFunc) Run(ctx context.Context, spec ToolSpec, out io.Writer) (ToolResult, error) {
	return f(ctx, spec, out)
}
