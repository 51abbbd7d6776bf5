package extensiontest

import (
	"bytes"
	"maps"
	"os"
	"reflect"
	"strconv"
	"testing"

	"github.com/writ-automation/writ/ports/extension"
)

// Plans is the input of the suite of tools with plans.
type Plans struct {
	Runner extension.ToolRunner
	// Env is the environment in which the tool finds its program.
	Env map[string]string
	// First and Second return inputs for two different contents of a state, which is kept in a directory. Both change
	// an empty state.
	First, Second func(dir string) string
	// Broken is an invalid input.
	Broken string
}

// Run tests the tool against the contract of extension.Plan.
func (s Plans) Run(t *testing.T) {
	for name, test := range map[string]func(*testing.T){
		"the digest names the changes": s.digest, "an approved plan is applied": s.apply,
		"another plan is not applied": s.refuse, "a broken input has no plan": s.broken,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}

func (s Plans) run(t *testing.T, spec extension.ToolSpec) (extension.ToolResult, string) {
	t.Helper()
	spec.Dir, spec.Env = t.TempDir(), maps.Clone(s.Env)
	spec.Env["WRIT_RUN_ID"] = "suite-" + strconv.Itoa(os.Getpid()) + "-" + spec.Dir
	var out bytes.Buffer
	r, err := s.Runner.Run(t.Context(), spec, &out)
	if err != nil {
		t.Fatalf("the tool could not be run: %v\n%s", err, &out)
	}
	if r.Plan != nil && !spec.DryRun {
		t.Errorf("a real run has a plan: %+v", r.Plan)
	}
	return r, out.String()
}

// plan makes a dry run, and returns its plan.
func (s Plans) plan(t *testing.T, command string) extension.Plan {
	t.Helper()
	r, out := s.run(t, extension.ToolSpec{Command: command, DryRun: true})
	if r.ExitCode != 0 || r.Plan == nil {
		t.Fatalf("a dry run ends with exit code %d and the plan %v\n%s", r.ExitCode, r.Plan, out)
	}
	p := *r.Plan
	if p.Summary == "" || len(p.Summary) > extension.PlanText || p.Digest == "" ||
		len(p.Findings) > extension.PlanFindings {
		t.Errorf("the plan %q of %d findings has the digest %q", p.Summary, len(p.Findings), p.Digest)
	}
	for _, f := range p.Findings {
		if f.Resource == "" || f.Action == "" || len(f.Resource) > extension.PlanText || len(f.Action) > extension.PlanText {
			t.Errorf("a finding: %+v", f)
		}
	}
	return p
}

func (s Plans) digest(t *testing.T) {
	dir := t.TempDir()
	one, same, other := s.plan(t, s.First(dir)), s.plan(t, s.First(dir)), s.plan(t, s.Second(dir))
	if len(one.Findings) == 0 || len(other.Findings) == 0 {
		t.Errorf("nothing to do: %+v, %+v", one, other)
	}
	if !reflect.DeepEqual(one, same) {
		t.Errorf("the same changes have two plans:\n%+v\n%+v", one, same)
	}
	if one.Digest == other.Digest {
		t.Errorf("different changes have one digest: %+v, %+v", one, other)
	}
}

func (s Plans) apply(t *testing.T) {
	dir := t.TempDir()
	before := s.plan(t, s.First(dir))
	r, out := s.run(t, extension.ToolSpec{Command: s.First(dir), PlanDigest: before.Digest})
	if r.ExitCode != 0 {
		t.Fatalf("exit code %d\n%s", r.ExitCode, out)
	}
	if after := s.plan(t, s.First(dir)); len(after.Findings) > 0 || after.Digest == before.Digest {
		t.Errorf("after the apply: %+v", after)
	}
	if drifted := s.plan(t, s.Second(dir)); len(drifted.Findings) == 0 {
		t.Errorf("the apply had no effect: %+v", drifted)
	}
}

// refuse changes the state between a plan and its apply.
func (s Plans) refuse(t *testing.T) {
	dir := t.TempDir()
	stale := s.plan(t, s.First(dir))
	if r, out := s.run(t, extension.ToolSpec{Command: s.Second(dir)}); r.ExitCode != 0 {
		t.Fatalf("without a digest: exit code %d\n%s", r.ExitCode, out)
	}
	r, out := s.run(t, extension.ToolSpec{Command: s.First(dir), PlanDigest: stale.Digest})
	if r.ExitCode == 0 || out == "" {
		t.Errorf("a plan that nobody approved is applied: exit code %d\n%s", r.ExitCode, out)
	}
	if p := s.plan(t, s.Second(dir)); len(p.Findings) > 0 {
		t.Errorf("the refused apply changed something: %+v", p)
	}
}

func (s Plans) broken(t *testing.T) {
	for _, spec := range []extension.ToolSpec{{DryRun: true}, {}, {PlanDigest: "d"}} {
		spec.Command = s.Broken
		if r, out := s.run(t, spec); r.ExitCode == 0 || r.Plan != nil || out == "" {
			t.Errorf("exit code %d, plan %v, output %q", r.ExitCode, r.Plan, out)
		}
	}
}
