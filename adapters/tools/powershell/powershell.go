// Package powershell runs a script with PowerShell.
package powershell

import (
	"context"
	"fmt"
	"io"

	"github.com/writ-automation/writ/adapters/tools/proc"
	"github.com/writ-automation/writ/ports/extension"
)

// The text around a script: errors end it, and the exit code of the last program becomes its own.
const (
	preamble = "$ErrorActionPreference = 'Stop'\n"
	ending   = "\nif ($null -ne $LASTEXITCODE) { exit $LASTEXITCODE }\n"
)

// parser prints the syntax errors of the script named by its argument and exits with 1 if there are any.
const parser = `param([string]$Path)
$errors = $null
[void][System.Management.Automation.Language.Parser]::ParseFile($Path, [ref]$null, [ref]$errors)
foreach ($e in $errors) { [Console]::Error.WriteLine("line " + ($e.Extent.StartLineNumber - 1) + ": " + $e.Message) }
if ($errors.Count -gt 0) { exit 1 }
exit 0
`

// Tool runs ToolSpec.Command as a PowerShell script. A dry run parses it.
type Tool struct{ runner *proc.Runner }

var _ extension.ToolRunner = (*Tool)(nil)

// New makes the tool.
func New(r *proc.Runner) *Tool { return &Tool{runner: r} }

// Run looks for pwsh first, then for powershell.
func (t *Tool) Run(ctx context.Context, spec extension.ToolSpec, out io.Writer) (extension.ToolResult, error) {
	pwsh, err := proc.LookPath(ctx, spec.Env, "pwsh", "powershell")
	if err != nil {
		return extension.ToolResult{}, err
	}
	script, err := proc.WriteScript(ctx, spec.Dir, "script.ps1", preamble+spec.Command+ending)
	if err != nil {
		return extension.ToolResult{}, fmt.Errorf("powershell: %w", err)
	}
	args := []string{"-NoLogo", "-NoProfile", "-NonInteractive", "-File", script}
	if spec.DryRun {
		check, err := proc.WriteScript(ctx, spec.Dir, "parse.ps1", parser)
		if err != nil {
			return extension.ToolResult{}, fmt.Errorf("powershell: %w", err)
		}
		args = []string{"-NoLogo", "-NoProfile", "-NonInteractive", "-File", check, script}
	}
	code, err := t.runner.Run(ctx, proc.Command{
		Path: pwsh, Args: args, Dir: spec.Dir, Env: proc.Environ(spec.Env), Stdout: out,
	})
	return extension.ToolResult{ExitCode: code}, err
}
