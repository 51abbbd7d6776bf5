package extension

import (
	"context"
	"io"
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
}

// ToolResult is how a tool ended.
type ToolResult struct {
	// ExitCode is the process's exit code; a process that a signal ended has 128 plus the signal's number.
	ExitCode int
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
