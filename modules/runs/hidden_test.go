package runs_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secret"
)

const canary = "s3cr3t canary"

// secretive is a submission that repeats the secret of its credential in every text, in several forms.
func secretive(credentials ...string) runs.Submission {
	s := over("", credentials...)
	s.Name, s.Change, s.Command = "deploy "+canary, canary, "echo "+canary
	s.Labels = map[string]string{"team": canary, "stage": "prod"}
	s.Env = map[string]string{"A": base64.StdEncoding.EncodeToString([]byte(canary)), "B": "plain"}
	s.ExtraVars = runs.Vars{
		"deep":  json.RawMessage(`{"list":["` + hex.EncodeToString([]byte("x"+canary)) + `","plain"],"n":1}`),
		"plain": json.RawMessage(`"plain"`),
	}
	return s
}

// conceals checks that a run as a reader sees it holds none of the secret and everything else.
func conceals(t testing.TB, what string, r *runs.Run) {
	t.Helper()
	whole, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{canary, base64.StdEncoding.EncodeToString([]byte(canary)),
		hex.EncodeToString([]byte(canary))} {
		if strings.Contains(string(whole), form) {
			t.Errorf("%s tells %q: %s", what, form, whole)
		}
	}
	if r.Name != runs.Redacted || r.Change != runs.Redacted || r.Labels["team"] != runs.Redacted ||
		r.Labels["stage"] != "prod" {
		t.Errorf("%s is %+v", what, r)
	}
}

func shows(t testing.TB, what string, r *runs.Run) {
	t.Helper()
	want := secretive()
	if r.Name != want.Name || r.Spec.Command != want.Command || r.Change != want.Change {
		t.Errorf("%s is %+v", what, r)
	}
	if diff := cmp.Diff(want.ExtraVars, r.Vars); diff != "" {
		t.Errorf("%s: %s", what, diff)
	}
}

// reads checks every way in which a run is read.
func (b *bundle) reads(id string) {
	b.t.Helper()
	ctx := as(b.t, "ada")
	got := must[*runs.Run](b.t)(b.Reader.Get(ctx, id))
	conceals(b.t, "the record", got)
	if got.Vars != nil {
		want := `{"list":["[redacted]","plain"],"n":1}`
		if string(got.Vars["deep"]) != want || string(got.Vars["plain"]) != `"plain"` || got.Spec.Env["A"] != runs.Redacted ||
			got.Spec.Env["B"] != "plain" {
			b.t.Errorf("%s, %v", got.Vars, got.Spec.Env)
		}
	}
	for _, r := range must[*runs.List](b.t)(b.Reader.List(ctx, runs.Filter{})).Runs {
		if r.ID == id {
			conceals(b.t, "the list", r)
		}
	}
	for name, f := range map[string]runs.Filter{"a word": {Terms: []string{"s3c"}}, "a change": {Change: canary},
		"a label": {Labels: map[string]string{"team": canary}}} {
		if l := must[*runs.List](b.t)(b.Reader.List(ctx, f)); l.Total != 0 {
			b.t.Errorf("%s finds it", name)
		}
	}
	for _, e := range b.trail.of(id) {
		if whole, err := json.Marshal(e); err != nil || strings.Contains(string(whole), canary) {
			b.t.Errorf("the entry %s tells it: %s, %v", e.Action, whole, err)
		}
	}
}

// TestStoredSecretsReadBackRedacted from the submission on, in the run and its rerun, while executors get the values.
func TestStoredSecretsReadBackRedacted(t *testing.T) {
	eachReferences(t, func(t *testing.T, b *bundle, _ *ledger, s *fakeReferences) {
		ctx := as(t, "ada")
		s.stored = map[string]string{keyA: canary}
		r, _, err := b.Submitter.Submit(ctx, secretive(keyA))
		if err != nil {
			t.Fatal(err)
		}
		conceals(t, "the answer", r)
		b.reads(r.ID)
		inputs := must[*runs.RunDigest](t)(b.Digests.Digest(ctx, r.ID)).Inputs
		if got := b.trail.of(r.ID)[0].Detail["inputs"]; got != inputs {
			t.Errorf("the entry has the digest %v, the record %s", got, inputs)
		}
		a := b.claim()
		shows(t, "what an executor gets", a.Run)
		b.begin(a)
		b.finish(a, runs.Ending{Status: runs.Failed, Error: "echo " + canary})
		if got := must[*runs.Run](t)(b.Reader.Get(ctx, r.ID)); got.Error != runs.Redacted {
			t.Errorf("the error is %q", got.Error)
		}
		// The credential has another secret by now.
		s.stored = nil
		again := must[*runs.Run](t)(b.Controller.Rerun(ctx, r.ID))
		conceals(t, "the rerun's answer", again)
		b.reads(again.ID)
		shows(t, "what an executor gets of the rerun", b.claim().Run)
		c := must[*runs.Comparison](t)(b.Reader.Compare(ctx, again.ID, r.ID))
		conceals(t, "the comparison", c.Run)
		if len(c.ChangedFields) != 0 {
			t.Errorf("changed: %v", c.ChangedFields)
		}
	})
}

// TestProvidedSecretsReadBackRedacted from the moment on at which an executor gets them, without another digest of the
// inputs.
func TestProvidedSecretsReadBackRedacted(t *testing.T) {
	eachReferences(t, func(t *testing.T, b *bundle, _ *ledger, _ *fakeReferences) {
		ctx := as(t, "ada")
		r, _, err := b.Submitter.Submit(ctx, secretive(keyA))
		if err != nil {
			t.Fatal(err)
		}
		shows(t, "before anybody knows", r)
		before := must[*runs.RunDigest](t)(b.Digests.Digest(ctx, r.ID)).Inputs
		a := b.claim()
		for range 2 {
			if err := b.Redactor.HideSecrets(t.Context(), r.ID, []secret.Text{"another", canary}); err != nil {
				t.Fatal(err)
			}
		}
		size := b.trail.size() // the entry of the submission has the name as it was
		b.begin(a)
		b.finish(a, runs.Ending{Status: runs.Succeeded})
		for _, e := range b.trail.since(size) {
			if strings.Contains(e.Object.Name, canary) {
				t.Errorf("the entry %s names %q", e.Action, e.Object.Name)
			}
		}
		conceals(t, "the record", must[*runs.Run](t)(b.Reader.Get(ctx, r.ID)))
		if after := must[*runs.RunDigest](t)(b.Digests.Digest(ctx, r.ID)).Inputs; after != before {
			t.Error("the digest of the inputs is another one")
		}
		again := must[*runs.Run](t)(b.Controller.Rerun(ctx, r.ID))
		conceals(t, "the rerun", again)
		b.reads(again.ID)
		if err := b.Redactor.HideSecrets(t.Context(), "run_none", []secret.Text{canary}); !runs.RunNotFound.Is(err) {
			t.Error(err)
		}
	})
}

// TestPartsReadBackRedacted: what a part learns is hidden in its parent and in later parts too.
func TestPartsReadBackRedacted(t *testing.T) {
	eachReferences(t, func(t *testing.T, b *bundle, _ *ledger, s *fakeReferences) {
		ctx := as(t, "ada")
		value := json.RawMessage(`"` + canary + `"`)
		pipeline := runs.PipelineSubmission{ExtraVars: runs.Vars{"a": value}, Steps: []runs.StepSpec{
			{Name: "one", Tool: "bash", Command: "true", CredentialIDs: []string{keyA}},
			{Name: "two", Tool: "bash", Command: "echo " + canary},
		}}
		hidden := func(what string, r *runs.Run) {
			t.Helper()
			if whole, err := json.Marshal(r); err != nil || strings.Contains(string(whole), canary) {
				t.Errorf("%s tells it: %s, %v", what, whole, err)
			}
		}
		r, _, err := b.Submitter.SubmitPipeline(ctx, pipeline)
		if err != nil {
			t.Fatal(err)
		}
		one := b.claim()
		if err := b.Redactor.HideSecrets(t.Context(), one.Run.ID, []secret.Text{canary}); err != nil {
			t.Fatal(err)
		}
		b.begin(one)
		b.finish(one, runs.Ending{Status: runs.Succeeded, Outputs: runs.Vars{"out": value}})
		two := b.claim()
		if string(two.Run.Vars["a"]) != string(value) || two.Run.Spec.Command != "echo "+canary {
			t.Errorf("the second step gets %+v", two.Run)
		}
		hidden("the pipeline", must[*runs.Run](t)(b.Reader.Get(ctx, r.ID)))
		for _, id := range []string{one.Run.ID, two.Run.ID} {
			hidden("a step", must[*runs.Run](t)(b.Reader.Get(ctx, id)))
		}
		for _, k := range must[[]*runs.Run](t)(b.Reader.Children(ctx, r.ID)) {
			hidden("a child", k)
		}

		s.stored = map[string]string{keyA: canary}
		r, _, err = b.Submitter.SubmitPipeline(ctx, pipeline)
		if err != nil {
			t.Fatal(err)
		}
		hidden("the answer", r)
		split := secretive(keyA)
		split.Tool, split.Playbook, split.Command, split.Shards, split.Inventory = "ansible", "site.yml", "", 2, "[all]"
		r, _, err = b.Submitter.Submit(ctx, split)
		if err != nil {
			t.Fatal(err)
		}
		b.finish(two, runs.Ending{Status: runs.Succeeded})
		for a := b.claim(); a.Run.ID != r.ID; a = b.claim() { // the first step of the second pipeline
		}
		a := runs.Lease{RunID: r.ID, Worker: "w1", Epoch: 1}
		if err := b.Worklist.Divide(t.Context(), a, []string{"a", "b"}, nil); err != nil {
			t.Fatal(err)
		}
		for _, k := range must[[]*runs.Run](t)(b.Reader.Children(ctx, r.ID)) {
			hidden("a shard", k)
		}
		hidden("the split", must[*runs.Run](t)(b.Reader.Get(ctx, r.ID)))
		if shard := b.claim().Run; shard.Name != split.Name {
			t.Errorf("a shard gets %+v", shard)
		}
	})
}
