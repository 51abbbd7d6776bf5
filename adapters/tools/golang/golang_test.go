package golang_test

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-automation/writ/adapters/tools/golang"
	"github.com/writ-automation/writ/adapters/tools/proc"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/extension/extensiontest"
)

func setup(t *testing.T) (*golang.Tool, map[string]string) {
	t.Helper()
	r, err := proc.New(proc.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	gocmd, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	// The machine's own cache, since an empty one means compiling the standard library.
	cache, err := exec.Command(gocmd, "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	shared := t.TempDir()
	tool := golang.New(r, golang.Config{
		Cache: strings.TrimSpace(string(cache)), Path: filepath.Join(shared, "path"), Home: filepath.Join(shared, "home"),
	})
	return tool, map[string]string{"PATH": filepath.Dir(gocmd) + ":/usr/bin:/bin", "GOTELEMETRY": "off"}
}

// program is a main package with one body; every import is used.
func program(body string) string {
	return `package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

func use() { _ = fmt.Sprint(os.Args, exec.ErrNotFound, strings.ToLower(""), syscall.SIGTERM, time.Second) }

func main() {
	use()
` + body + "\n}\n"
}

const tree = `	c := exec.Command("sleep", "300")
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		panic(err)
	}
	os.WriteFile("pid", []byte(fmt.Sprintln(c.Process.Pid)), 0o600)
`

func TestContract(t *testing.T) {
	t.Parallel()
	tool, env := setup(t)
	extensiontest.Tool{
		Runner: tool,
		Env:    env,
		Scripts: extensiontest.Scripts{
			Exit7: program("os.Exit(7)"), Text: program(`fmt.Print("first\nlast")`), Broken: "package main\nfunc",
			Dir: program("d, _ := os.Getwd(); fmt.Println(d)"), Touch: program(`os.Create("touched")`),
			Burst:    program(`fmt.Print(strings.Repeat("x", 1<<20), "end")`),
			Environ:  program(`b, _ := os.ReadFile("/proc/self/environ"); os.Stdout.Write(b)`),
			Tree:     program(tree + "<-time.After(5 * time.Minute)"),
			Leftover: program(tree),
		},
	}.Run(t)
}

func TestADryRunVets(t *testing.T) {
	t.Parallel()
	tool, env := setup(t)
	var out bytes.Buffer
	res, err := tool.Run(t.Context(), extension.ToolSpec{
		Command: program(`fmt.Printf("%d", "text")`), Dir: t.TempDir(), Env: env, DryRun: true,
	}, &out)
	if err != nil || res.ExitCode == 0 || !strings.Contains(out.String(), "Printf") {
		t.Errorf("%v, %v, %q", res, err, &out)
	}
}
