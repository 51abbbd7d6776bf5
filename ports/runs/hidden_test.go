package runs_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/runs"
)

const canary = "s3cr3t-canary"

// full returns a run with the canary in each text that Conceal covers.
func full() *runs.Run {
	vars := func() runs.Vars {
		return runs.Vars{"a": json.RawMessage(`{"b":["x ` + canary + `",{"` + canary + `":true}],"n":10}`),
			canary: json.RawMessage(`1`)}
	}
	texts := func() map[string]string { return map[string]string{"a": canary, canary: "b"} }
	return &runs.Run{
		ID: "run_1", Name: canary, Change: "c " + canary, Error: canary + "!", Labels: texts(), Vars: vars(),
		Outputs: vars(), Warnings: []runs.Warning{{Code: "w", Message: canary}},
		Decision: &runs.Decision{By: actor.Actor{Name: "ada"}, At: time.Unix(1, 0), Reason: canary},
		Spec: runs.Spec{Tool: "bash", Playbook: canary, Command: "echo " + canary, Inventory: canary,
			InventoryQuery: canary, Env: texts(),
			Controls: runs.Controls{Limit: canary, Tags: []string{"t", canary}, SkipTags: []string{canary}},
			Locks:    []string{"db", canary}},
		Graph: &runs.Graph{Vars: vars(), Steps: []runs.StepState{{Outputs: vars(), StepSpec: runs.StepSpec{
			Name: "one", Playbook: canary, Command: canary, ExtraVars: vars(), Limit: canary,
			InventoryQuery: canary, Tags: []string{canary},
			SkipTags: []string{canary}, Answers: vars(),
			Preset: &runs.Preset{Inventory: canary, Labels: texts(), Change: canary},
		}}}},
	}
}

func holding(r *runs.Run) (out []string) {
	r.MapTexts(func(text string) string {
		if strings.Contains(text, canary) {
			out = append(out, runs.TextDigest(text))
		}
		return text
	})
	return out
}

func TestConceal(t *testing.T) {
	t.Parallel()
	r := full()
	if r.Conceal() != r {
		t.Error("a run that hides nothing is copied")
	}
	r.Hidden = r.Hidden.Learn(holding(r))
	got := r.Conceal()
	if text := dump(t, got); strings.Contains(text, canary) || strings.Count(text, runs.Redacted) < 30 {
		t.Errorf("%d places in %s", strings.Count(text, runs.Redacted), text)
	}
	if diff := cmp.Diff(full().Vars, r.Vars); diff != "" {
		t.Errorf("the run itself was changed:\n%s", diff)
	}
	want := runs.Vars{"a": json.RawMessage(`{"b":["[redacted]",{"[redacted]":true}],"n":10}`),
		runs.Redacted: json.RawMessage(`1`)}
	if diff := cmp.Diff(want, got.Vars); diff != "" {
		t.Error(diff)
	}
	if got.Spec.Tool != "bash" || got.Decision.By.Name != "ada" || got.Graph.Steps[0].Name != "one" {
		t.Errorf("%+v", got)
	}
}

// TestEveryTextIsCovered finds a text of a run that MapTexts leaves out. Those that are no texts of users are named.
func TestEveryTextIsCovered(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, other := range []string{
		"ID", "Kind", "Status", "Origin", "Actor", "Commit", "Repairs",
		"ParentID", "StepName", "Lineage", "Approvals.Holds", "Risk",
		"Worker",
		"Approvals.Given.By",
		"Isolation", "LogSHA256", "Hidden", "Objects", "ShardHosts", "Hosts", "ToolVersion", "AcceptedHostKeys", "Spec.Tool",
		"Spec.InventoryID", "Spec.IsolationProfile", "Spec.FailOn", "Graph.Steps.FailOn",
		"Spec.ProjectID", "Spec.TemplateID", "Spec.Templated", "Spec.CredentialIDs",
		"Spec.Queue", "Spec.Notifications", "Spec.LimitHosts", "Spec.PlanDigest",
		"Decision.By", "Decision.Verdict", "Warnings.Code", "Graph.Templated", "Graph.Steps.Name", "Graph.Steps.Tool",
		"Graph.Steps.DependsOn", "Graph.Steps.Templated", "Graph.Steps.CredentialIDs", "Graph.Steps.InventoryID",
		"Graph.Steps.LimitHosts",
		"Graph.Steps.Queue", "Graph.Steps.Status", "Graph.Steps.RunID", "Graph.Steps.On", "Graph.Steps.ProjectID",
		"Graph.Steps.Commit", "Graph.Steps.TemplateID", "Graph.Steps.Preset.IsolationProfile", "Graph.Steps.Preset.Closed",
	} {
		known[other] = true
	}
	r := full()
	r.Hidden = r.Hidden.Learn(holding(r))
	walk(t, known, "", reflect.ValueOf(*full()), reflect.ValueOf(*r.Conceal()))
}

// walk expects each text below two values to differ, unless it is known as another.
func walk(t *testing.T, known map[string]bool, at string, was, is reflect.Value) {
	if known[at] {
		return
	}
	switch was.Kind() {
	case reflect.Pointer:
		if !was.IsNil() {
			walk(t, known, at, was.Elem(), is.Elem())
		}
	case reflect.Struct:
		if was.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range was.NumField() {
			name := was.Type().Field(i).Name
			if was.Type().Field(i).Anonymous {
				walk(t, known, at, was.Field(i), is.Field(i))
				continue
			}
			walk(t, known, strings.TrimPrefix(at+"."+name, "."), was.Field(i), is.Field(i))
		}
	case reflect.Slice:
		if was.Type().Elem().Kind() == reflect.Struct {
			for i := range was.Len() {
				walk(t, known, at, was.Index(i), is.Index(i))
			}
			return
		}
		fallthrough
	case reflect.String, reflect.Map:
		if reflect.DeepEqual(was.Interface(), is.Interface()) {
			t.Errorf("%s is not covered: %v", at, was)
		}
	}
}

func TestManyHiddenTextsHideAll(t *testing.T) {
	t.Parallel()
	var h runs.Hidden
	for i := range runs.MaxHidden {
		h = h.Learn([]string{runs.TextDigest(strings.Repeat("x", i+1))})
	}
	if h.Has("y") || !h.Has("xx") || h.Has("") || len(h.Later) != runs.MaxHidden {
		t.Errorf("%d texts", len(h.Later))
	}
	h = h.Learn([]string{runs.TextDigest("more")})
	if !h.Has("y") || h.Has("") || len(h.Later) != 1 {
		t.Errorf("%+v", h)
	}
	if h = h.Learn([]string{runs.TextDigest("y")}); !h.Has("z") {
		t.Error("what hides all is forgotten")
	}
}

func dump(t *testing.T, r *runs.Run) string {
	t.Helper()
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
