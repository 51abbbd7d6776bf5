// Package script runs scripts with bash, Python and PowerShell.
package script

import (
	"context"
	"fmt"
	"io"

	"github.com/writ-automation/writ/adapters/tools/proc"
	"github.com/writ-automation/writ/ports/extension"
)

// Tool runs ToolSpec.Command as a script of one language. The script is a file, since any user of the machine can read
// arguments.
type Tool struct {
	runner   *proc.Runner
	name     string
	programs []string // the first that is installed runs the script
	file     string
	text     func(command string) string // nil: the command is the script
	args     func(ctx context.Context, spec extension.ToolSpec, script string) ([]string, error)
}

var _ extension.ToolRunner = (*Tool)(nil)

func (t *Tool) Run(ctx context.Context, spec extension.ToolSpec, out io.Writer) (extension.ToolResult, error) {
	program, err := proc.LookPath(ctx, spec.Env, t.programs...)
	if err != nil {
		return extension.ToolResult{}, err
	}
	text := spec.Command
	if t.text != nil {
		text = t.text(text)
	}
	var args []string
	script, err := proc.WriteScript(ctx, spec.Dir, t.file, text)
	if err == nil {
		args, err = t.args(ctx, spec, script)
	}
	if err != nil {
		return extension.ToolResult{}, fmt.Errorf("%s: %w", t.name, err)
	}
	code, err := t.runner.Run(ctx, proc.Command{
		Path: program, Args: args, Dir: spec.Dir, Env: proc.Environ(spec.Env), Stdout: out,
	})
	return extension.ToolResult{ExitCode: code}, err
}
