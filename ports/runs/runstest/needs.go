package runstest

import (
	"fmt"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/runs"
)

// credentialsUnfinished checks that unfinished runs need the credentials that they or their steps name, and that a
// credential is not among the objects of a run.
func credentialsUnfinished(t *testing.T, e *env) {
	const needed, other = "crd_00000000000000000000000001", "crd_00000000000000000000000002"
	having := func(list ...string) func(*runs.Run) { return func(r *runs.Run) { r.Spec.CredentialIDs = list } }
	steps := func(list ...runs.StepState) func(*runs.Run) {
		return func(r *runs.Run) { r.Kind, r.Graph = runs.Pipeline, &runs.Graph{Steps: list} }
	}
	step := func(name string, list ...string) runs.StepState {
		return runs.StepState{StepSpec: runs.StepSpec{Name: name, Command: "true", CredentialIDs: list}}
	}
	var want []string
	add := func(is bool, edit ...func(*runs.Run)) *runs.Run {
		t.Helper()
		r := e.add(t, edit...)
		if is {
			want = append(want, r.ID)
		}
		return r
	}
	for _, status := range runs.Statuses() {
		add(!status.Terminal(), having(other, needed), func(r *runs.Run) { r.Status = status })
		add(!status.Terminal(), steps(step("a"), step("b", needed, other)), func(r *runs.Run) { r.Status = status })
	}
	add(true, having(needed), steps(step("a", other)))
	split := add(true, asSplit, having(needed))
	add(false, childOf(split, runs.Shard, 0), having(needed))
	add(false)
	add(false, having(other), steps(step("a", other)))
	// A run with a similar text, or with the id in another place, does not need the credential.
	for _, text := range []string{needed, `"` + needed + `"`, "CRD_00000000000000000000000001"} {
		add(false, having(text+"x", "x"+text), func(r *runs.Run) {
			r.Spec.Tags, r.Spec.Limit, r.Name = []string{text}, text, text
		})
		add(false, steps(step(text)), func(r *runs.Run) { r.Graph.Vars = runs.Vars{"v": raw(fmt.Sprintf("%q", text))} })
	}
	add(false, having("CRD_00000000000000000000000001", "crd-00000000000000000000000001"))

	wantUnfinished := func(credential string, all []string) {
		t.Helper()
		for _, limit := range []int{len(all) + 10, 2, 1, 0} {
			list, total, err := e.Objects.Unfinished(t.Context(), credential, limit)
			if err != nil || total != len(all) {
				t.Fatalf("%s, %d: %v, %d, %v", credential, limit, list, total, err)
			}
			if d := diff(fmt.Sprint(all[:min(limit, len(all))]), fmt.Sprint(list)); d != "" {
				t.Errorf("%s, %d:\n%s", credential, limit, d)
			}
		}
	}
	wantUnfinished(needed, want)
	for _, none := range []string{"crd_", "crd_%", "crd_0000000000000000000000000_", `crd_"' OR 1 = 1 --`, "crd_\\",
		"crd_!%", "crd_?"} {
		wantUnfinished(none, nil)
	}
	// An ended run no longer needs it.
	a := e.claim(t, "w1", ttl)
	if a.Run.ID != want[2] {
		t.Fatalf("claimed %s, want %s", a.Run.ID, want[2])
	}
	e.finish(t, a, runs.Failed, at(time.Hour))
	wantUnfinished(needed, append(want[:2:2], want[3:]...))

	// Ids with special characters are found.
	const odd = "crd_'\"<&>\\%_!? 漢\U0001F600\u2028\n"
	r := e.add(t, having(odd))
	wantUnfinished(odd, []string{r.ID})
	if d := diff([]string{"queue:default"}, e.objects(t, r.ID)); d != "" {
		t.Errorf("the objects of a run with a credential:\n%s", d)
	}
	if err := e.Restrict(t.Context(), Restriction{Object: odd}); err != nil {
		t.Fatal(err)
	}
	if l := e.listAs(t, stranger, runs.Filter{}); l.Total == 0 {
		t.Error("who may not read a credential does not see the runs that need it")
	}
}
