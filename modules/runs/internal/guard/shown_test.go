package guard

import (
	"context"
	"slices"
	"testing"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/runs"
)

func (b *behind) Submit(context.Context, runs.Submission) (*runs.Run, bool, error) {
	return b.run, false, nil
}
func (b *behind) SubmitPipeline(context.Context, runs.PipelineSubmission) (*runs.Run, bool, error) {
	return b.run, false, nil
}

// TestCredentialsAreShownToTheirReaders calls everything that returns runs. Only a reader of a credential gets its id,
// and the run itself stays as it is.
func TestCredentialsAreShownToTheirReaders(t *testing.T) {
	t.Parallel()
	b, is := setup()
	b.run = &runs.Run{Spec: runs.Spec{CredentialIDs: []string{"crd_open", "crd_closed"}}}
	is.level["crd_open"], is.level["queue:mine"] = access.Read, access.Use
	one := func(r *runs.Run, err error) ([]*runs.Run, error) { return []*runs.Run{r}, err }
	calls := map[string]func(context.Context, guards) ([]*runs.Run, error){
		"Get":      func(ctx context.Context, g guards) ([]*runs.Run, error) { return one(g.Get(ctx, mine)) },
		"Children": func(ctx context.Context, g guards) ([]*runs.Run, error) { return g.Children(ctx, mine) },
		"Cancel":   func(ctx context.Context, g guards) ([]*runs.Run, error) { return one(g.Cancel(ctx, mine)) },
		"Retry":    func(ctx context.Context, g guards) ([]*runs.Run, error) { return one(g.Retry(ctx, mine)) },
		"Rerun":    func(ctx context.Context, g guards) ([]*runs.Run, error) { return one(g.Rerun(ctx, mine)) },
		"RelaunchFailed": func(ctx context.Context, g guards) ([]*runs.Run, error) {
			return one(g.RelaunchFailed(ctx, mine))
		},
		"Approve": func(ctx context.Context, g guards) ([]*runs.Run, error) { return one(g.Approve(ctx, mine, "")) },
		"Reject":  func(ctx context.Context, g guards) ([]*runs.Run, error) { return one(g.Reject(ctx, mine, "")) },
		"List": func(ctx context.Context, g guards) ([]*runs.Run, error) {
			l, err := g.List(ctx, runs.Filter{})
			return l.Runs, err
		},
		"Compare": func(ctx context.Context, g guards) ([]*runs.Run, error) {
			c, err := g.Compare(ctx, mine, mine)
			return []*runs.Run{c.Run, c.Baseline}, err
		},
		"Follow": func(ctx context.Context, g guards) (list []*runs.Run, err error) {
			b.follow = func(_ context.Context, emit func(runs.Update) error) error { return emit(runs.Update{Run: b.run}) }
			err = g.Follow(ctx, mine, 0, 0, func(u runs.Update) error { list = append(list, u.Run); return nil })
			return list, err
		},
		"Submit": func(ctx context.Context, _ guards) ([]*runs.Run, error) {
			r, _, err := NewSubmitter(b, NewGate(is, is)).Submit(ctx, runs.Submission{})
			return one(r, err)
		},
		"SubmitPipeline": func(ctx context.Context, _ guards) ([]*runs.Run, error) {
			r, _, err := NewSubmitter(b, NewGate(is, is)).SubmitPipeline(ctx, runs.PipelineSubmission{})
			return one(r, err)
		},
	}
	for _, c := range []struct {
		all  bool
		want []string
	}{{false, []string{"crd_open"}}, {true, []string{"crd_open", "crd_closed"}}} {
		is.all = c.all
		for name, call := range calls {
			list, err := call(t.Context(), over(b, is))
			if err != nil || len(list) == 0 {
				t.Errorf("%s: %d runs, %v", name, len(list), err)
			}
			for _, r := range list {
				if !slices.Equal(r.Spec.CredentialIDs, c.want) {
					t.Errorf("%s, of everything %t: %v", name, c.all, r.Spec.CredentialIDs)
				}
			}
		}
	}
	if len(b.run.Spec.CredentialIDs) != 2 {
		t.Error("the run of the store has changed")
	}
}
