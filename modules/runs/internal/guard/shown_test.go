package guard

import (
	"context"
	"reflect"
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
		"Approve": func(ctx context.Context, g guards) ([]*runs.Run, error) {
			return one(g.Approve(ctx, mine, runs.DecisionInput{}))
		},
		"Reject": func(ctx context.Context, g guards) ([]*runs.Run, error) {
			return one(g.Reject(ctx, mine, runs.DecisionInput{}))
		},
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

// TestReadersSeeOtherCredentialsAlone sets every member of a run: nothing but the credentials depends on the reader.
// The rows of lists that the API keeps rely on that.
func TestReadersSeeOtherCredentialsAlone(t *testing.T) {
	t.Parallel()
	_, is := setup()
	r := &runs.Run{}
	fill(t, reflect.ValueOf(r).Elem())
	shown, err := NewGate(is, is).Show(t.Context(), r)
	if err != nil || len(shown.Spec.CredentialIDs) >= len(r.Spec.CredentialIDs) {
		t.Fatalf("%v, %v", shown.Spec.CredentialIDs, err)
	}
	again := *shown
	again.Spec.CredentialIDs = r.Spec.CredentialIDs
	if !reflect.DeepEqual(&again, r) {
		t.Error("another member of the run differs: add it to the key of the rows that adapters/httpapi/runs keeps")
	}
}

// fill gives exported members a value.
func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(t, v.Field(i))
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, v.Index(0))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(t, key)
		fill(t, value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString("x")
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Bool:
		v.SetBool(true)
	}
}

func (b *behind) Preview(context.Context, string) (*runs.Run, bool, error) {
	b.calls++
	return b.run, false, nil
}

func (b *behind) Reconcile(context.Context, string, runs.Reconciliation) (*runs.Run, error) {
	b.calls++
	return b.run, nil
}

func (b *behind) RelaunchFailed(context.Context, string) (*runs.Run, error) {
	b.calls++
	return b.run, nil
}
