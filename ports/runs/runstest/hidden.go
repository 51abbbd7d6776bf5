package runstest

import (
	"context"
	"testing"

	"github.com/writ-automation/writ/ports/runs"
)

func hiddenCases() map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
		"from the submission":   hiddenSubmitted,
		"learned later":         hiddenLater,
		"by children":           hiddenChild,
		"an error that is":      hiddenError,
		"so many that all are":  hiddenAll,
		"of a run that is none": hiddenNone,
	}
}

// secretRun is a run with a secret in all by which runs are found.
func secretRun(r *runs.Run) {
	r.Name, r.Spec.Command, r.Change = "deploy canary", "echo canary", "chg canary"
	r.Labels = map[string]string{"team": "canary", "stage": "prod"}
}

func hiddenTexts() []string {
	var out []string
	for _, text := range []string{"deploy canary", "echo canary", "chg canary", "canary"} {
		out = append(out, runs.TextDigest(text))
	}
	return out
}

// notFound checks that no filter finds the run by a hidden text, that others do, and that the record keeps the texts.
func (e *env) notFound(t *testing.T, want *runs.Run) {
	t.Helper()
	for name, f := range map[string]runs.Filter{
		"a word": {Terms: []string{"canary"}}, "its beginning": {Terms: []string{"cana"}},
		"a label": {Labels: map[string]string{"team": "canary"}}, "the change": {Change: "chg canary"},
		"the change and more": {Change: "chg canary", Tool: "bash", Statuses: []runs.Status{want.Status}},
	} {
		if got := e.list(t, f); len(got.Runs) != 0 || got.Total != 0 {
			t.Errorf("%s finds %d of %d", name, len(got.Runs), got.Total)
		}
	}
	for name, f := range map[string]runs.Filter{
		"another label": {Labels: map[string]string{"stage": "prod"}}, "another word": {Terms: []string{"prod"}},
		"the tool": {Tool: "bash"},
	} {
		if d := diff([]string{want.ID}, ids(e.list(t, f).Runs)); d != "" {
			t.Errorf("%s finds:\n%s", name, d)
		}
	}
	listed := e.list(t, runs.Filter{}).Runs[0]
	for name, got := range map[string]*runs.Run{"the record": e.get(t, want.ID), "the list": listed} {
		if got.Name != "deploy canary" || got.Spec.Command != "echo canary" || got.Change != "chg canary" ||
			got.Labels["team"] != "canary" {
			t.Errorf("%s is %+v", name, got)
		}
		if d := diff(want.Hidden, got.Hidden); d != "" {
			t.Errorf("%s hides:\n%s", name, d)
		}
		if c := got.Conceal(); c.Name != runs.Redacted || c.Labels["team"] != runs.Redacted || c.Labels["stage"] != "prod" {
			t.Errorf("%s reads %+v", name, c)
		}
	}
}

func hiddenSubmitted(t *testing.T, e *env) {
	r := e.add(t, secretRun, func(r *runs.Run) { r.Hidden.Submitted = hiddenTexts() })
	e.notFound(t, r)
	a := e.claim(t, "w1", ttl)
	if d := diff(r.Hidden, a.Run.Hidden); d != "" || a.Run.Spec.Command != "echo canary" {
		t.Errorf("%s claimed with\n%s", a.Run.Spec.Command, d)
	}
}

func (e *env) hide(t *testing.T, id string, digests ...string) {
	t.Helper()
	e.must(t, func(ctx context.Context) error {
		return e.Runs.Amend(ctx, id, runs.Amendment{Hidden: digests})
	})
}

func hiddenLater(t *testing.T, e *env) {
	r := e.add(t, secretRun)
	if got := e.found(t, "canary"); len(got) != 1 {
		t.Fatalf("found %v", got)
	}
	all := hiddenTexts()
	e.hide(t, r.ID, all[0])
	e.hide(t, r.ID, all...)
	r.Hidden = r.Hidden.Learn(all)
	e.notFound(t, r)
	if got := e.get(t, r.ID); got.Revision != r.Revision+2 {
		t.Errorf("revision %d after %d", got.Revision, r.Revision)
	}
}

func hiddenChild(t *testing.T, e *env) {
	p := e.add(t, func(r *runs.Run) { r.Kind = runs.Split })
	k := e.add(t, func(r *runs.Run) {
		r.Kind, r.ParentID, r.ShardCount, r.Name = runs.Shard, p.ID, 1, "deploy canary"
	})
	e.hide(t, k.ID, hiddenTexts()[0])
	children, err := e.Runs.Children(t.Context(), p.ID)
	if err != nil || len(children) != 1 || children[0].Conceal().Name != runs.Redacted {
		t.Errorf("%+v, %v", children, err)
	}
}

// hiddenError hides an error that is known before it is stored, as that of a repeated ending is.
func hiddenError(t *testing.T, e *env) {
	a := e.running(t, secretRun, func(r *runs.Run) { r.Hidden.Submitted = hiddenTexts() })
	got, err := e.move(t, runs.Move{ID: a.Run.ID, From: runs.Running, To: runs.Failed, At: epoch, Error: "echo canary"})
	if err != nil || got.Conceal().Error != runs.Redacted {
		t.Fatalf("%+v, %v", got, err)
	}
	if found := e.found(t, "canary"); len(found) != 0 {
		t.Errorf("found %v", found)
	}
	if found := e.found(t, "prod"); len(found) != 1 {
		t.Errorf("found %v", found)
	}
}

func hiddenAll(t *testing.T, e *env) {
	r := e.add(t, secretRun)
	many := make([]string, runs.MaxHidden+1)
	for i := range many {
		many[i] = runs.TextDigest(string(rune('0' + i)))
	}
	e.hide(t, r.ID, many...)
	for name, f := range map[string]runs.Filter{"a word": {Terms: []string{"prod"}}, "a change": {Change: "chg canary"},
		"a label": {Labels: map[string]string{"stage": "prod"}}} {
		if got := e.list(t, f).Runs; len(got) != 0 {
			t.Errorf("%s finds %v", name, ids(got))
		}
	}
	if c := e.get(t, r.ID).Conceal(); c.Name != runs.Redacted || c.Labels[runs.Redacted] != runs.Redacted {
		t.Errorf("%+v", c)
	}
}

func hiddenNone(t *testing.T, e *env) {
	err := e.do(t, func(ctx context.Context) error {
		return e.Runs.Amend(ctx, "run_none", runs.Amendment{Hidden: hiddenTexts()})
	})
	if !runs.RunNotFound.Is(err) {
		t.Errorf("%v", err)
	}
}
