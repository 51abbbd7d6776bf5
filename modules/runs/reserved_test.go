package runs_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/reserved/reservedtest"
	"github.com/writ-automation/writ/ports/runs"
)

// TestReservedOutputs ends a step with outputs of every known name, at the top and nested: none is in its record or
// reaches the next step, and the warning names what was dropped.
func TestReservedOutputs(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		p := b.pipeline(runs.PipelineSubmission{Name: "p", ExtraVars: runs.Vars{"mine": []byte(`"author"`)},
			Steps: []runs.StepSpec{stage("first"), stage("second")}})
		kept := runs.Vars{"version": []byte(`7.10`), "list": []byte(`[{"name":"a","groups":["b"]}]`)}
		end := runs.Ending{Status: runs.Succeeded, Warnings: []runs.Warning{{Code: "own", Message: "x"}},
			Outputs: kept.Merge(runs.Vars{"mine": []byte(`"output"`), "MINE": []byte(`"output"`),
				"hosts": []byte(`[{"name": "h", "n": 9007199254740993, "ansible_host": "x"}]`)})}
		names := slices.Concat(reservedtest.Ansible(), reservedtest.Magic(), reservedtest.Environment())
		nested := map[string]any{"name": 1}
		for _, name := range names {
			end.Outputs[name] = []byte(`"x"`)
			if !slices.Contains(reservedtest.Magic(), name) {
				nested[name] = []any{}
			}
		}
		end.Outputs["nested"] = must[[]byte](t)(json.Marshal([]any{nested}))
		kept["nested"], kept["hosts"] = []byte(`[{"name":1}]`), []byte(`[{"n":9007199254740993,"name":"h"}]`)

		a := b.claim()
		b.begin(a)
		b.finish(a, end)
		b.finish(a, end) // the answer was lost
		got := b.status(a.Run.ID, runs.Succeeded)
		want := kept.Merge(runs.Vars{"mine": []byte(`"output"`), "MINE": []byte(`"output"`)})
		if d := cmp.Diff(want, got.Outputs); d != "" {
			t.Error(d)
		}
		if len(got.Warnings) != 2 || got.Warnings[1].Code != "vars_reserved" ||
			!strings.Contains(got.Warnings[1].Message, "ANSIBLE_CALLBACK_PLUGINS, ") ||
			!strings.Contains(got.Warnings[1].Message, " more") {
			t.Errorf("warnings %v", got.Warnings)
		}
		next := b.claim()
		if d := cmp.Diff(kept.Merge(runs.Vars{"mine": []byte(`"author"`)}), next.Run.Vars); d != "" {
			t.Error(d)
		}
		b.begin(next)
		b.finish(next, runs.Ending{Status: runs.Succeeded, Outputs: runs.Vars{"n": []byte("1"), "PATH": []byte("2")}})
		b.status(p.ID, runs.Succeeded)
		second := b.get(next.Run.ID)
		if len(second.Warnings) != 1 || !strings.HasSuffix(second.Warnings[0].Message, "dropped: PATH") ||
			len(second.Outputs) != 1 {
			t.Errorf("%v, %v", second.Warnings, second.Outputs)
		}
	})
}
