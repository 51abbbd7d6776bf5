package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/writ-automation/writ/ports/extension"
)

// planChanged is the exit code of a run whose plan is not the approved one.
const planChanged = 3

// planFile is where OpenTofu keeps the plan. It has secrets, and is removed with the directory of the run.
const planFile = "plan.tfplan"

// runTofu plans the configuration that the run has as its command, and applies the plan unless this is a dry run. A run
// with the digest of an approved plan applies that plan or none.
func runTofu(ctx context.Context, spec extension.ToolSpec, out io.Writer) (none extension.ToolResult, err error) {
	path, err := exec.LookPath("tofu")
	if err != nil {
		return none, errors.New("the program tofu is not installed on the executing machine, or not on its PATH")
	}
	if err := write(spec); err != nil {
		return none, err
	}
	t := &job{path: path, spec: spec, out: out}
	for _, step := range [][]string{{"init"}, {"plan", "-out=" + planFile}} {
		if code, err := t.run(ctx, out, append(step, "-input=false", "-no-color")...); err != nil || code != 0 {
			return extension.ToolResult{ExitCode: code}, err
		}
	}
	plan, code, err := t.plan(ctx)
	if err != nil || code != 0 {
		return extension.ToolResult{ExitCode: code}, err
	}
	switch {
	case spec.DryRun:
		return extension.ToolResult{Plan: plan}, nil
	case spec.PlanDigest != "" && spec.PlanDigest != plan.Digest:
		_, err = fmt.Fprintf(out, "The plan is not the one that was approved, so nothing was applied. It has now: %s.\n",
			plan.Summary)
		return extension.ToolResult{ExitCode: planChanged}, err
	}
	code, err = t.run(ctx, out, "apply", "-input=false", "-no-color", planFile)
	return extension.ToolResult{ExitCode: code}, err
}

// write makes the files of the configuration and of its variables.
func write(spec extension.ToolSpec) error {
	vars := spec.ExtraVars
	if vars == nil {
		vars = map[string]any{}
	}
	text, err := json.Marshal(vars)
	if err != nil {
		return errors.New("a variable has no JSON")
	}
	return errors.Join(
		os.WriteFile(filepath.Join(spec.Dir, "main.tf"), []byte(spec.Command), 0o600),
		os.WriteFile(filepath.Join(spec.Dir, "writ.auto.tfvars.json"), text, 0o600),
	)
}

// job calls OpenTofu for one run.
type job struct {
	path string
	spec extension.ToolSpec
	out  io.Writer
}

// run executes one command and returns its exit code. A cancel interrupts it once: OpenTofu then ends what it does, and
// saves the state and releases its lock. It has a process group of its own, since it would stop at once if it got the
// signal that the group of the plugin gets as well.
func (t *job) run(ctx context.Context, stdout io.Writer, args ...string) (int, error) {
	c := exec.CommandContext(ctx, t.path, args...) //nolint:gosec // that is what the tool is for
	c.Dir, c.Stdout, c.Stderr = t.spec.Dir, stdout, t.out
	for name, value := range t.spec.Env {
		c.Env = append(c.Env, name+"="+value)
	}
	// OpenTofu makes an empty directory in the home, which is removed with the directory of the run.
	c.Env = append(c.Env, "TF_IN_AUTOMATION=1", "HOME="+t.spec.Dir)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	err := c.Run()
	if failed := new(exec.ExitError); errors.As(err, &failed) {
		return failed.ExitCode(), nil // OpenTofu ran, and reported an error
	}
	return 0, err
}

// plan reads the plan that the job has made.
func (t *job) plan(ctx context.Context) (*extension.Plan, int, error) {
	text := limited{most: maxShown}
	code, err := t.run(ctx, &text, "show", "-json", "-no-color", planFile)
	switch {
	case err != nil || code != 0:
		return nil, code, err
	case text.over:
		return nil, 0, fmt.Errorf("the plan has more than %d bytes", maxShown)
	}
	p, err := readPlan(text.bytes.Bytes())
	return p, 0, err
}

// maxShown bounds what OpenTofu prints of a plan, in bytes.
const maxShown = 64 << 20

// limited keeps at most so many bytes of what is written to it.
type limited struct {
	bytes bytes.Buffer
	most  int
	over  bool // more was written
}

func (l *limited) Write(p []byte) (int, error) {
	free := l.most - l.bytes.Len()
	l.over = l.over || len(p) > free
	l.bytes.Write(p[:min(len(p), free)])
	return len(p), nil
}
