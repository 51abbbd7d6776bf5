package runs_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/runs"
)

// masking returns masks of targets and stores nothing.
type masking struct{}

var _ notify.Targets = masking{}

func (masking) Seal(_ context.Context, list []runs.Notification) (notify.SealedTargets, error) {
	out := notify.SealedTargets{List: slices.Clone(list)}
	for i, n := range list {
		if n.Ref == "" && n.URL+n.Key != "" {
			out.List[i] = n.Masked()
			out.Fresh = append(out.Fresh, notify.SealedTarget{At: i, Ref: "ntg_1"})
		}
	}
	return out, nil
}

func (masking) Save(_ context.Context, t notify.SealedTargets) ([]runs.Notification, error) {
	out := slices.Clone(t.List)
	for _, f := range t.Fresh {
		out[f.At].Ref = f.Ref
	}
	return out, nil
}

func (masking) Same(_ context.Context, input, stored []runs.Notification) (bool, error) {
	masked := func(a, b runs.Notification) bool { return a.Masked() == b.Masked() }
	return slices.EqualFunc(input, stored, masked), nil
}

func (masking) Echoed(_ context.Context, input, _ []runs.Notification) ([]runs.Notification, error) {
	return input, nil
}

// TestTargetsAreKept checks that the record of a run holds masks with a reference, that its children hold none, and
// that a run made from it repeats the reference.
func TestTargetsAreKept(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		s := script()
		s.Notifications = []runs.Notification{{Kind: "grafana", URL: "https://grafana.example.org/S3CRET", Key: "K3Y",
			OnFailure: true}}
		want := []runs.Notification{{Kind: "grafana", URL: "https://grafana.example.org/***", Key: "***", OnFailure: true,
			Ref: "ntg_1"}}
		r := b.submit(s)
		stored := must[*runs.Run](t)(b.store.ByID(t.Context(), r.ID))
		if d := cmp.Diff(want, stored.Spec.Notifications); d != "" {
			t.Error(d)
		}
		again := must[*runs.Run](t)(b.Controller.Rerun(t.Context(), r.ID))
		if d := cmp.Diff(want, again.Spec.Notifications); d != "" {
			t.Error(d)
		}
		s.Notifications[0].URL = "https://grafana.example.org/***"
		if _, _, err := b.Submitter.Submit(t.Context(), s); err == nil ||
			!strings.Contains(err.Error(), "notifications[0].url") {
			t.Errorf("a mask is taken: %v", err)
		}
	})
}

// TestHoldsArePublished checks that one message is published for each run or pipeline that waits for approval, and
// none for the others.
func TestHoldsArePublished(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		s := script()
		b.submit(s)
		s.RequireApproval = true
		r := b.submit(s)
		p, _, err := b.Submitter.SubmitPipeline(t.Context(), runs.PipelineSubmission{
			RequireApproval: true, Steps: []runs.StepSpec{{Name: "one", Tool: "bash", Command: "true"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		var published []string
		b.heard.mu.Lock()
		defer b.heard.mu.Unlock()
		for _, e := range b.heard.all {
			if h, ok := e.(runs.Held); ok {
				published = append(published, h.RunID)
			}
		}
		if d := cmp.Diff([]string{r.ID, p.ID}, published); d != "" {
			t.Error(d)
		}
	})
}
