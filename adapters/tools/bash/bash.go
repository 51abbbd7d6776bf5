// Package bash runs a script with bash.
package bash

import (
	"context"
	"fmt"
	"io"

	"github.com/writ-automation/writ/adapters/tools/proc"
	"github.com/writ-automation/writ/ports/extension"
)

// Tool runs ToolSpec.Command as a bash script that ends at the first failed command, also inside a pipe. A dry run
// checks the syntax.
type Tool struct{ runner *proc.Runner }

var _ extension.ToolRunner = (*Tool)(nil)

// New makes the tool.
func New(r *proc.Runner) *Tool { return &Tool{runner: r} }

// The script is a file, since any user of the machine can read arguments.
func (t *Tool) Run(ctx context.Context, spec extension.ToolSpec, out io.Writer) (extension.ToolResult, error) {
	bash, err := proc.LookPath(ctx, spec.Env, "bash")
	if err != nil {
		return extension.ToolResult{}, err
	}
	script, err := proc.WriteScript(ctx, spec.Dir, "script.sh", spec.Command)
	if err != nil {
		return extension.ToolResult{}, fmt.Errorf("bash: %w", err)
	}
	args := []string{"--noprofile", "--norc", "-eo", "pipefail", script}
	if spec.DryRun {
		args = []string{"--noprofile", "--norc", "-n", script}
	}
	code, err := t.runner.Run(ctx, proc.Command{
		Path: bash, Args: args, Dir: spec.Dir, Env: proc.Environ(spec.Env), Stdout: out,
	})
	return extension.ToolResult{ExitCode: code}, err
}
