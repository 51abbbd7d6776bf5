// Package python runs a script with python3.
package python

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/writ-automation/writ/adapters/tools/proc"
	"github.com/writ-automation/writ/ports/extension"
)

// Tool runs ToolSpec.Command as a Python script with unbuffered output. A dry run compiles it.
type Tool struct{ runner *proc.Runner }

var _ extension.ToolRunner = (*Tool)(nil)

// New makes the tool.
func New(r *proc.Runner) *Tool { return &Tool{runner: r} }

func (t *Tool) Run(ctx context.Context, spec extension.ToolSpec, out io.Writer) (extension.ToolResult, error) {
	python, err := proc.LookPath(ctx, spec.Env, "python3")
	if err != nil {
		return extension.ToolResult{}, err
	}
	script, err := proc.WriteScript(ctx, spec.Dir, "script.py", spec.Command)
	if err != nil {
		return extension.ToolResult{}, fmt.Errorf("python: %w", err)
	}
	args := []string{"-u", script}
	if spec.DryRun {
		// The compiled file must be in the run's directory regardless of PYTHONPYCACHEPREFIX.
		args = []string{"-X", "pycache_prefix=" + filepath.Join(spec.Dir, "pycache"), "-m", "py_compile", script}
	}
	code, err := t.runner.Run(ctx, proc.Command{
		Path: python, Args: args, Dir: spec.Dir, Env: proc.Environ(spec.Env), Stdout: out,
	})
	return extension.ToolResult{ExitCode: code}, err
}
