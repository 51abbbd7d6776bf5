package plugin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-automation/writ/adapters/tools/proc"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/extension/extensiontest"
)

// keep keeps a word in a file: its input is the path and the word.
func keep(_ context.Context, spec extension.ToolSpec, out io.Writer) (r extension.ToolResult, err error) {
	path, word, whole := strings.Cut(spec.Command, " ")
	if !whole {
		_, err = fmt.Fprintln(out, "no word")
		return extension.ToolResult{ExitCode: 1}, err
	}
	now, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return r, err
	}
	change := string(now) + " -> " + word
	sum := sha256.Sum256([]byte(change))
	plan := extension.Plan{Summary: "as it is", Digest: "sha256:" + hex.EncodeToString(sum[:])}
	if string(now) != word {
		plan.Summary = "1 to update"
		plan.Findings = []extension.PlanFinding{{Resource: path, Action: "update", Diff: change}}
	}
	switch {
	case spec.DryRun:
		r.Plan, err = &plan, nil
	case spec.PlanDigest != "" && spec.PlanDigest != plan.Digest:
		r.ExitCode = 3
		_, err = fmt.Fprintln(out, "the plan has changed")
	default:
		err = os.WriteFile(path, []byte(word), 0o600)
	}
	return r, err
}

// TestPlans runs the suite of tools with plans through processes of a plugin.
func TestPlans(t *testing.T) {
	t.Parallel()
	word := func(word string) func(string) string {
		return func(dir string) string { return filepath.Join(dir, "word") + " " + word }
	}
	extensiontest.Plans{
		Runner: fixture(t, "keep", proc.Config{}), Env: map[string]string{}, Broken: "nothing",
		First: word("one"), Second: word("two"),
	}.Run(t)
}

// many returns a plan with n findings.
func many(n int, f extension.PlanFinding) *extension.Plan {
	p := &extension.Plan{Summary: "much", Digest: "d"}
	for range n {
		p.Findings = append(p.Findings, f)
	}
	return p
}

// hostile returns the plan that its input names.
func hostile(_ context.Context, spec extension.ToolSpec, _ io.Writer) (r extension.ToolResult, err error) {
	f := extension.PlanFinding{Resource: "r", Action: "update"}
	switch spec.Command {
	case "largest":
		f.Diff = strings.Repeat("x", (extension.PlanSize-100)/extension.PlanFindings-10)
		r.Plan = many(extension.PlanFindings, f)
	case "many":
		r.Plan = many(extension.PlanFindings+1, f)
	case "large":
		f.Diff = strings.Repeat("x", 1<<20)
		r.Plan = many(4, f)
	case "lie":
		r.Plan = &extension.Plan{Digest: "<b>approved</b>"}
	default:
		r.Plan = many(1, f)
	}
	return r, nil
}

// TestHostilePlans checks that a plan which exceeds a bound, has a wrong digest fails the run with a sentence, that
// the largest one arrives, and that a real run has none.
// Keeps T09, F07.
func TestHostilePlans(t *testing.T) {
	t.Parallel()
	tool := fixture(t, "hostile", proc.Config{})
	for command, want := range map[string]string{
		"many": "its plan has 5001 findings, and the limit is 5000", "large": "the limit is 4 MiB",
		"lie": "the digest of its plan is not",
	} {
		r, err := tool.Run(t.Context(), extension.ToolSpec{Command: command, DryRun: true, Dir: t.TempDir()}, io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) || r.Plan != nil {
			t.Errorf("%s: %v", command, err)
		}
	}
	r, err := tool.Run(t.Context(), extension.ToolSpec{Command: "largest", DryRun: true, Dir: t.TempDir()}, io.Discard)
	if err != nil || r.Plan == nil || len(r.Plan.Findings) != extension.PlanFindings {
		t.Errorf("the largest plan: %v", err)
	}
	r, err = tool.Run(t.Context(), extension.ToolSpec{Command: "real", Dir: t.TempDir()}, io.Discard)
	if err != nil || r.Plan != nil {
		t.Errorf("a real run: %+v, %v", r.Plan, err)
	}
}
