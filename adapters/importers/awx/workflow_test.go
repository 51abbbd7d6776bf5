package awx

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/importer"
)

// flow is the export of a workflow whose nodes launch templates of their names. A node with a capital letter waits for
// all edges. An edge is "a>b" for a success, "a!b" for a failure and "a*b" for either.
func flow(t testing.TB, nodes, edges string, kinds map[string]string) string {
	t.Helper()
	next := map[string]map[string][]any{}
	for e := range strings.FieldsSeq(edges) {
		i := strings.IndexAny(e, ">!*")
		outcome := map[byte]string{'>': "success_nodes", '!': "failure_nodes", '*': "always_nodes"}[e[i]]
		if next[e[:i]] == nil {
			next[e[:i]] = map[string][]any{}
		}
		next[e[:i]][outcome] = append(next[e[:i]][outcome], map[string]any{"identifier": e[i+1:]})
	}
	var list, templates []any
	for name := range strings.FieldsSeq(nodes) {
		kind := kinds[name]
		if kind == "" {
			kind = "job_template"
		}
		list = append(list, map[string]any{"identifier": name, "related": next[name],
			"all_parents_must_converge": strings.ToLower(name) != name,
			"unified_job_template":      map[string]any{"type": kind, "name": name}})
		templates = append(templates, map[string]any{"name": name, "playbook": "p.yml",
			"project": map[string]any{"name": "P"}, "inventory": map[string]any{"name": "I"}})
	}
	body, err := json.Marshal(map[string]any{"job_templates": templates, "workflow_job_templates": []any{map[string]any{
		"name": "Flow", "related": map[string]any{"workflow_nodes": list}}}})
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// steps returns the steps of the only workflow of a draft in words: "c<a,b:failure", with ~ for one that may fail and ?
// for one that waits for an approval.
func steps(d importer.Draft) (words []string, o importer.Object) {
	for _, o := range d.Objects {
		spec, ok := o.Spec.(*importer.TemplateSpec)
		if !ok || len(spec.Steps) == 0 {
			continue
		}
		for _, s := range spec.Steps {
			word := strings.ReplaceAll(s.Name, " ", "")
			if s.ContinueOnFailure {
				word += "~"
			}
			if s.RequireApproval {
				word += "?"
			}
			if len(s.DependsOn) > 0 {
				word += "<" + strings.ReplaceAll(strings.Join(s.DependsOn, ","), " ", "")
			}
			if s.On != "" {
				word += ":" + s.On
			}
			words = append(words, word)
		}
		return words, o
	}
	return nil, importer.Object{}
}

func TestWorkflows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ what, nodes, edges, want string }{
		{"a chain", "a b c", "a>b b>c", "a b<a c<b"},
		{"a handled failure", "a b", "a!b", "a~ b<a:failure"},
		{"a failure beside a success", "a b c", "a>b a!c", "a b<a c<a:failure"},
		{"always after a first step that also has a success", "a b c", "a>b a*c", "a b<a c<a:always"},
		{"always after a step that can be skipped", "a b c", "a>b b*c", "a b~<a c<b"},
		{"always and success after a step that can be skipped", "a b c d", "a>b b*c b>d",
			"a b<a c<b c(2)<b:failure d<b"},
		{"one of two branches that exclude each other", "a b c d", "a>b a!c b>d c>d", "a b<a c<a:failure d<b d(2)<c"},
		{"what follows both of them", "a b c d e", "a>b a!c b>d c>d d>e",
			"a b<a c<a:failure d<b d(2)<c e<d e(2)<d(2)"},
		{"all of two", "a b C", "a>C b>C", "a b C<a,b"},
		{"one of two, which becomes all", "a b c", "a>c b>c", "a b c<a,b"},
		{"one of two failures", "a b c", "a!c b!c", "a~ b~ c<a,b:failure"},
		{"one of two, whatever their outcome", "a b c", "a*c b*c", "a~ b~ c<a,b"},
		{"all of two, whatever their outcome", "a b C", "a*C b*C", "a~ b~ C<a,b"},
		{"two failures together", "a b C d", "a!C b!C a>d", "a b~ d<a"},
		{"a success or a failure of others", "a b c", "a>c b!c", "a b~:always"},
		{"a success, and any outcome of another", "a b C d", "a>d a*C b>C", "a b d<a C<a,b"},
		{"no edges", "a b c", "", "a b:always c:always"},
	} {
		words, o := steps(read(t, flow(t, c.nodes, c.edges, nil)))
		slices.Sort(words)
		want := strings.Fields(c.want)
		slices.Sort(want)
		if diff := cmp.Diff(want, words); diff != "" {
			t.Errorf("%s: %s\n%v", c.what, diff, o.Warnings)
		}
	}
}

// TestWorkflowsSayWhatTheyLose requires a warning at the node for each step that starts less often, or not at all.
func TestWorkflowsSayWhatTheyLose(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ nodes, edges, field, message string }{
		{"a b c", "a>c b>c", "[2].all_parents_must_converge", "after all of the nodes"},
		{"a b C d", "a!C b!C a>d", "[2]", "together with another outcome"},
		{"a b c", "a>c b!c", "[2]", "not all successes"},
		{"a b", "a>b a>x", "[0].related.success_nodes", "not in the export"},
	} {
		_, o := steps(read(t, flow(t, c.nodes, c.edges, nil)))
		if o.Class != importer.NeedsYou || !slices.ContainsFunc(o.Warnings, func(w importer.Warning) bool {
			return w.Field == "related.workflow_nodes"+c.field && strings.Contains(w.Message, c.message)
		}) {
			t.Errorf("%s: %s %+v", c.edges, o.Class, o.Warnings)
		}
	}
}

func TestNodesOfOtherKinds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what, nodes, edges string
		kinds              map[string]string
		want               string
	}{
		{"an approval of one step", "a ok b", "a>ok ok>b", map[string]string{"ok": "workflow_approval"}, "a b?<a"},
		{"an approval with a refusal", "a ok b c", "a>ok ok>b ok!c", map[string]string{"ok": "workflow_approval_template"},
			"a ok?<a b<ok c<ok:failure"},
		{"an approval of two steps", "ok b c", "ok>b ok>c", map[string]string{"ok": "workflow_approval"}, "ok? b<ok c<ok"},
		{"an update of a project", "a p b", "a!p p*b", map[string]string{"p": "project"}, "a~ b<a:failure"},
		{"maintenance first", "m a b", "m>a m!b", map[string]string{"m": "system_job_template"}, "a"},
		{"a workflow within", "a w b", "a>w w>b", map[string]string{"w": "workflow_job_template"}, "a"},
		{"an unknown kind", "a u b", "a>u u!b a>b", map[string]string{"u": "quantum_job"}, "a b<a"},
	} {
		words, o := steps(read(t, flow(t, c.nodes, c.edges, c.kinds)))
		slices.Sort(words)
		want := strings.Fields(c.want)
		slices.Sort(want)
		if diff := cmp.Diff(want, words); diff != "" {
			t.Errorf("%s: %s\n%v", c.what, diff, o.Warnings)
		}
		if lossless := strings.HasPrefix(c.what, "an approval of"); (o.Class == importer.Same) != lossless {
			t.Errorf("%s: it is %s", c.what, o.Class)
		}
	}
}

func TestRefusedWorkflows(t *testing.T) {
	t.Parallel()
	many := strings.Repeat("a", 1)
	for i := range maxSteps + 1 {
		many += fmt.Sprintf(" n%d", i)
	}
	for nodes, c := range map[string][2]string{
		"a b": {"a>b b>a", "cycle"}, "a a": {"", "identifier"}, many: {"", "steps"}, "": {"", "no nodes"},
	} {
		d := read(t, flow(t, nodes, c[0], nil))
		i := slices.IndexFunc(d.Objects, func(o importer.Object) bool { return o.Kind == "workflow_job_template" })
		if i < 0 || d.Objects[i].Spec != nil || !strings.Contains(d.Objects[i].Reason, c[1]) {
			t.Errorf("%.20q is not refused", nodes)
		}
	}
}
