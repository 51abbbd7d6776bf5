package script_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/adapters/tools/script"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/extension/extensiontest"
)

// stub stands for PowerShell, which cannot be installed everywhere: it takes the options that the tool promises, and
// then a bash script between the tool's own lines.
const stub = `#!/bin/bash
printf '%s\n' "$@" >"${0%/*}/argv.$$"
[ "$1 $2 $3 $4" = "-NoLogo -NoProfile -NonInteractive -File" ] || exit 64
script=$5 check=
if [ "${5##*/}" = parse.ps1 ]; then script=$6 check=-n; fi
[ "$(head -n 1 "$script")" = "\$ErrorActionPreference = 'Stop'" ] || exit 65
[ "$(tail -n 1 "$script")" = 'if ($null -ne $LASTEXITCODE) { exit $LASTEXITCODE }' ] || exit 66
sed '1d;$d' "$script" >"$script.sh"
exec /bin/bash --noprofile --norc $check "$script.sh"
`

func powershell(t *testing.T, name string) (*script.Tool, string) {
	t.Helper()
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, name), []byte(stub), 0o755); err != nil {
		t.Fatal(err)
	}
	return script.PowerShell(runner(t)), bin
}

func TestPowerShell(t *testing.T) {
	t.Parallel()
	tool, bin := powershell(t, "pwsh")
	extensiontest.Tool{
		Runner: tool,
		Env:    map[string]string{"PATH": bin + ":/usr/bin:/bin"},
		Scripts: extensiontest.Scripts{
			Exit7: "exit 7", Text: `printf 'first\nlast'`, Dir: "pwd", Touch: "touch touched", Broken: "if",
			Burst: `head -c 1048576 /dev/zero | tr '\0' x; printf end`,
			// bash has put its own variables in place of the stub's by now.
			Environ:  `tr '\0' '\n' </proc/$$/environ | grep -Ev '^(PWD|SHLVL|_|OLDPWD)=' | tr '\n' '\0'`,
			Tree:     "setsid sleep 300 & echo $! >pid; sleep 300",
			Leftover: "setsid sleep 300 & echo $! >pid",
		},
	}.Run(t)
}

func TestPowerShellArguments(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"pwsh", "powershell"} {
		tool, bin := powershell(t, name)
		dir := t.TempDir()
		spec := extension.ToolSpec{Command: "true", Dir: dir, Env: map[string]string{"PATH": bin + ":/usr/bin:/bin"}}
		if res, err := tool.Run(t.Context(), spec, new(bytes.Buffer)); err != nil || res.ExitCode != 0 {
			t.Fatalf("%s: %v, %v", name, res, err)
		}
		files, err := filepath.Glob(filepath.Join(bin, "argv.*"))
		if err != nil || len(files) != 1 {
			t.Fatalf("%s: %v, %v", name, files, err)
		}
		got, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"-NoLogo", "-NoProfile", "-NonInteractive", "-File", filepath.Join(dir, "script.ps1"), ""}
		if diff := cmp.Diff(want, strings.Split(string(got), "\n")); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestWithoutPowerShellTheErrorNamesIt(t *testing.T) {
	t.Parallel()
	tool, _ := powershell(t, "other")
	spec := extension.ToolSpec{Command: "true", Dir: t.TempDir(), Env: map[string]string{"PATH": "/nonexistent"}}
	_, err := tool.Run(t.Context(), spec, new(bytes.Buffer))
	if err == nil || !strings.HasPrefix(err.Error(), "pwsh or powershell is not installed") {
		t.Errorf("got %v", err)
	}
}
