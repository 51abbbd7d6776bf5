package script_test

import (
	"testing"

	"github.com/writ-automation/writ/adapters/tools/script"
	"github.com/writ-automation/writ/ports/extension/extensiontest"
)

const tree = `import subprocess, time
p = subprocess.Popen(["sleep", "300"], start_new_session=True)
open("pid", "w").write("%d\n" % p.pid)
`

func TestPython(t *testing.T) {
	t.Parallel()
	extensiontest.Tool{
		Runner: script.Python(runner(t)),
		Env:    map[string]string{"PATH": "/usr/bin:/bin"},
		Scripts: extensiontest.Scripts{
			Exit7: "raise SystemExit(7)", Text: `print("first\nlast", end="")`, Broken: "def",
			Dir: "import os; print(os.getcwd())", Touch: `open("touched", "w")`,
			Burst:    `print("x" * 1048576 + "end", end="")`,
			Environ:  `import sys; sys.stdout.buffer.write(open("/proc/self/environ", "rb").read())`,
			Tree:     tree + "time.sleep(300)\n",
			Leftover: tree,
		},
	}.Run(t)
}
