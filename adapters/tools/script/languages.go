package script

import (
	"context"
	"path/filepath"

	"github.com/writ-automation/writ/adapters/tools/proc"
	"github.com/writ-automation/writ/ports/extension"
)

// Bash returns the tool for bash scripts. A script ends at the first failed command, also inside a pipe. A dry run
// checks the syntax.
func Bash(r *proc.Runner) *Tool {
	return &Tool{
		runner: r, name: "bash", programs: []string{"bash"}, file: "script.sh",
		args: func(_ context.Context, spec extension.ToolSpec, script string) ([]string, error) {
			if spec.DryRun {
				return []string{"--noprofile", "--norc", "-n", script}, nil
			}
			return []string{"--noprofile", "--norc", "-eo", "pipefail", script}, nil
		},
	}
}

// Python returns the tool for Python scripts, whose output is not buffered. A dry run compiles the script.
func Python(r *proc.Runner) *Tool {
	return &Tool{
		runner: r, name: "python", programs: []string{"python3"}, file: "script.py",
		args: func(_ context.Context, spec extension.ToolSpec, script string) ([]string, error) {
			if spec.DryRun {
				// The compiled file must be in the run's directory regardless of PYTHONPYCACHEPREFIX.
				cache := filepath.Join(spec.Dir, "pycache")
				return []string{"-X", "pycache_prefix=" + cache, "-m", "py_compile", script}, nil
			}
			return []string{"-u", script}, nil
		},
	}
}

// The text around a PowerShell script: errors end it, and the exit code of the last program becomes its own.
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

// PowerShell returns the tool for PowerShell scripts, which looks for pwsh first, then for powershell. A dry run parses
// the script.
func PowerShell(r *proc.Runner) *Tool {
	return &Tool{
		runner: r, name: "powershell", programs: []string{"pwsh", "powershell"}, file: "script.ps1",
		text: func(command string) string { return preamble + command + ending },
		args: func(ctx context.Context, spec extension.ToolSpec, script string) ([]string, error) {
			args := []string{"-NoLogo", "-NoProfile", "-NonInteractive", "-File"}
			if !spec.DryRun {
				return append(args, script), nil
			}
			check, err := proc.WriteScript(ctx, spec.Dir, "parse.ps1", parser)
			return append(args, check, script), err
		},
	}
}
