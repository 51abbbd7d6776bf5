package runs_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	module "github.com/writ-automation/writ/modules/runs"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// ledger holds the rights, here for the guard and in the access tables for lists. The system may do everything. Every
// account may use an object without grants.
type ledger struct {
	mu    sync.Mutex
	d     *db.DB
	level map[string]map[string]access.Level // by object and account
}

func caller(ctx context.Context) string { return actor.From(ctx).ID }

func (l *ledger) May(ctx context.Context, want access.Level, objects ...string) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if caller(ctx) == "" {
		return true, nil
	}
	for _, o := range objects {
		level := access.Use
		if of, restricted := l.level[o]; restricted {
			level = of[caller(ctx)]
		}
		if !level.Covers(want) {
			return false, nil
		}
	}
	return true, nil
}

// MayAsk lets only the account "launcher" not control runs.
func (*ledger) MayAsk(ctx context.Context, kind, act string) (bool, error) {
	return kind != "run" || act != "control" || caller(ctx) != "launcher", nil
}

func (l *ledger) Scope(ctx context.Context) (access.Scope, error) {
	if caller(ctx) == "" {
		return access.Everything(), nil
	}
	return access.Scope{Subjects: []string{"user:" + caller(ctx)}}, nil
}

// restrict limits an object to the accounts with these levels.
func (l *ledger) restrict(ctx context.Context, object string, of map[string]access.Level) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.level[object] = of
	return l.d.Do(ctx, func(ctx context.Context) error {
		q, err := l.d.Write(ctx)
		if err != nil {
			return err
		}
		if _, err := q.ExecContext(ctx,
			"INSERT INTO access_objects (id, kind, restricted, gone) VALUES (?, 'test', TRUE, FALSE) "+
				"ON CONFLICT (id) DO NOTHING", object); err != nil {
			return err
		}
		if _, err := q.ExecContext(ctx, "DELETE FROM grants WHERE object = ?", object); err != nil {
			return err
		}
		for who, level := range of {
			if _, err := q.ExecContext(ctx, "INSERT INTO grants (id, subject, object, level, created_at, created_by, hidden) "+
				"VALUES (?, ?, ?, ?, ?, 'test', FALSE)", object+"/"+who, "user:"+who, object, string(level),
				db.At(time.Unix(0, 0).UTC())); err != nil {
				return err
			}
		}
		return nil
	})
}

// eachLedger opens the module over each engine with rights that a test can change.
func eachLedger(t *testing.T, test func(t *testing.T, b *bundle, l *ledger)) {
	t.Helper()
	t.Parallel()
	dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
		l := &ledger{d: d, level: map[string]map[string]access.Level{}}
		test(t, guarded(t, d, module.Config{}, l), l)
	})
}

// as returns the context of a request of an account.
func as(t testing.TB, id string) context.Context {
	return actor.With(t.Context(), actor.Actor{Type: actor.User, ID: id, Name: id})
}

func (l *ledger) must(t *testing.T, object string, of map[string]access.Level) {
	t.Helper()
	if err := l.restrict(t.Context(), object, of); err != nil {
		t.Fatal(err)
	}
}

func TestARestrictedQueueHidesItsRuns(t *testing.T) {
	eachLedger(t, func(t *testing.T, b *bundle, l *ledger) {
		s := script()
		s.Queue = "gpu"
		r, plain := b.submit(s), b.submit(script())
		l.must(t, "queue:gpu", map[string]access.Level{"ada": access.Use, "bob": access.Read})
		for who, want := range map[string][3]fault.Code{
			"ada": {}, "bob": {{}, runs.UseRequired, runs.UseRequired},
			"eve": {runs.RunNotFound, runs.RunNotFound, runs.QueueNotFound},
		} {
			ctx := as(t, who)
			_, get := b.Reader.Get(ctx, r.ID)
			_, rerun := b.Controller.Rerun(ctx, r.ID)
			_, _, submit := b.Submitter.Submit(ctx, s)
			for i, err := range []error{get, rerun, submit} {
				if want[i].Name == "" && err != nil || want[i].Name != "" && !want[i].Is(err) {
					t.Errorf("%s, %d: %v, want %s", who, i, err, want[i].Name)
				}
			}
			list := must[*runs.List](t)(b.Reader.List(ctx, runs.Filter{}))
			if visible := slices.ContainsFunc(list.Runs,
				func(x *runs.Run) bool { return x.ID == r.ID }); visible != (who != "eve") || list.Total != len(list.Runs) {
				t.Errorf("%s: shown %t, %d of %d", who, visible, len(list.Runs), list.Total)
			}
			must[*runs.Run](t)(b.Reader.Get(ctx, plain.ID))
		}
		_, hidden := b.Reader.Get(as(t, "eve"), r.ID)
		_, unknown := b.Reader.Get(t.Context(), "run_x")
		if hidden.Error() != `no run "`+r.ID+`"` || unknown.Error() != `no run "run_x"` {
			t.Errorf("%v is told otherwise than %v", hidden, unknown)
		}
	})
}

func TestExecutorsPassTheGuard(t *testing.T) {
	eachLedger(t, func(t *testing.T, b *bundle, l *ledger) {
		l.must(t, "queue:default", map[string]access.Level{"ada": access.Use})
		ctx := as(t, "ada")
		q := runs.PipelineSubmission{Steps: []runs.StepSpec{
			{Name: "a", Tool: "bash", Command: "true"}, {Name: "b", Tool: "bash", Command: "true", Queue: "gpu"},
		}}
		p, _, err := b.Submitter.SubmitPipeline(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		l.must(t, "queue:default", map[string]access.Level{})
		b.run(runs.Succeeded)
		a := must[*runs.Assignment](t)(b.Worklist.Claim(t.Context(),
			runs.ClaimRequest{Worker: "w1", Queues: []string{"gpu"}}))
		b.finish(a, runs.Ending{Status: runs.Succeeded})
		b.status(p.ID, runs.Succeeded)
		want := []string{"queue:default", "queue:gpu"}
		for _, k := range must[[]*runs.Run](t)(b.Reader.Children(t.Context(), p.ID)) {
			if diff := cmp.Diff(want, k.Objects); diff != "" {
				t.Errorf("step %s: %s", k.StepName, diff)
			}
			if _, err := b.Reader.Get(ctx, k.ID); !runs.RunNotFound.Is(err) {
				t.Errorf("step %s is read without the right to its parent: %v", k.StepName, err)
			}
		}
		if _, err := b.Reader.Children(ctx, p.ID); !runs.RunNotFound.Is(err) {
			t.Errorf("children of what may not be read: %v", err)
		}
	})
}

func TestShardsNameWhatTheirParentDoes(t *testing.T) {
	eachLedger(t, func(t *testing.T, b *bundle, _ *ledger) {
		s := runs.Submission{Spec: runs.Spec{Playbook: "site.yml", Shards: 2, Queue: "gpu"},
			Origin: runs.Origin{Source: runs.FromTemplate, SourceID: "tpl_1"}}
		p := b.submit(s)
		a := must[*runs.Assignment](t)(b.Worklist.Claim(t.Context(),
			runs.ClaimRequest{Worker: "w1", Queues: []string{"gpu"}}))
		if err := b.Worklist.Divide(t.Context(), a.Lease, []string{"x", "y"}, nil); err != nil {
			t.Fatal(err)
		}
		want := []string{"queue:gpu", "tpl_1"}
		children := must[[]*runs.Run](t)(b.Reader.Children(t.Context(), p.ID))
		if len(children) != 2 {
			t.Fatalf("%d shards", len(children))
		}
		for _, k := range children {
			if diff := cmp.Diff(want, k.Objects); diff != "" {
				t.Error(diff)
			}
		}
		again := must[*runs.Run](t)(b.Controller.Rerun(t.Context(), p.ID))
		if diff := cmp.Diff(want, b.get(again.ID).Objects); diff != "" {
			t.Errorf("what was made of a template's run: %s", diff)
		}
	})
}

func TestAReplayIsAnsweredOnlyIfReadable(t *testing.T) {
	eachLedger(t, func(t *testing.T, b *bundle, l *ledger) {
		s := runs.Submission{Spec: runs.Spec{Tool: "bash", Command: "true"},
			Idempotency: &runs.Idempotency{Key: "k", Scope: "runs"},
			Origin:      runs.Origin{Source: runs.FromTemplate, SourceID: "tpl_1"}}
		ctx := as(t, "ada")
		first, _, err := b.Submitter.Submit(ctx, s)
		if err != nil {
			t.Fatal(err)
		}
		again, replayed, err := b.Submitter.Submit(ctx, s)
		if err != nil || !replayed || again.ID != first.ID {
			t.Fatalf("%v, %t, %v", again, replayed, err)
		}
		l.must(t, "tpl_1", map[string]access.Level{"bob": access.Use})
		again, replayed, err = b.Submitter.Submit(ctx, s)
		if !runs.KeyReused.Is(err) || replayed || again != nil {
			t.Errorf("%v, %t, %v", again, replayed, err)
		}
	})
}

// TestTheRunBeforeIsOneThatCanBeRead compares with the newest earlier run that the caller may read, and never with
// one that it may not read.
func TestTheRunBeforeIsOneThatCanBeRead(t *testing.T) {
	eachLedger(t, func(t *testing.T, b *bundle, l *ledger) {
		of := func(queue string) *runs.Run {
			s := script()
			s.Queue = queue
			r := b.submit(s)
			a := must[*runs.Assignment](t)(b.Worklist.Claim(t.Context(),
				runs.ClaimRequest{Worker: "w1", Queues: []string{queue}}))
			b.finish(a, runs.Ending{Status: runs.Succeeded})
			return r
		}
		first, hidden, now := of("default"), of("gpu"), of("default")
		l.must(t, "queue:gpu", map[string]access.Level{"bob": access.Read})
		for who, want := range map[string]string{"ada": first.ID, "bob": hidden.ID, "": hidden.ID} {
			ctx := t.Context()
			if who != "" {
				ctx = as(t, who)
			}
			for _, with := range []string{"prev", ""} {
				if c := must[*runs.Comparison](t)(b.Reader.Compare(ctx, now.ID, with)); c.Baseline.ID != want {
					t.Errorf("%q compares with %s, want %s", who, c.Baseline.ID, want)
				}
			}
		}
		ada := as(t, "ada")
		if _, err := b.Reader.Compare(ada, now.ID, hidden.ID); !runs.RunNotFound.Is(err) {
			t.Errorf("with a run that may not be read: %v", err)
		}
		if _, err := b.Reader.Compare(ada, hidden.ID, "prev"); !runs.RunNotFound.Is(err) {
			t.Errorf("of a run that may not be read: %v", err)
		}
		l.must(t, "queue:default", map[string]access.Level{})
		l.must(t, "queue:gpu", map[string]access.Level{"ada": access.Read})
		if _, err := b.Reader.Compare(ada, hidden.ID, "prev"); !runs.NoBaseline.Is(err) {
			t.Errorf("without an earlier run that may be read: %v", err)
		}
	})
}

// TestListsAndSingleRunsAgree gives and takes rights at random: a list shows the runs that can be read one by one.
func TestListsAndSingleRunsAgree(t *testing.T) {
	eachLedger(t, func(t *testing.T, b *bundle, l *ledger) {
		queues, users := []string{"default", "gpu", "a", "b"}, []string{"ada", "bob", "eve"}
		var made []*runs.Run
		rapid.Check(t, func(rt *rapid.T) {
			s := script()
			s.Queue = rapid.SampledFrom(queues).Draw(rt, "queue")
			if n := rapid.IntRange(0, 3).Draw(rt, "template"); n > 0 {
				s.Origin = runs.Origin{Source: runs.FromTemplate, SourceID: fmt.Sprint("tpl_", n)}
			}
			r, _, err := b.Submitter.Submit(t.Context(), s)
			if err != nil {
				rt.Fatal(err)
			}
			made = append([]*runs.Run{r}, made...)
			if rapid.Bool().Draw(rt, "restrict") {
				of := map[string]access.Level{}
				for _, who := range rapid.SliceOfNDistinct(rapid.SampledFrom(users), 0, 2, rapid.ID[string]).Draw(rt, "who") {
					of[who] = rapid.SampledFrom([]access.Level{access.Read, access.Use}).Draw(rt, "level")
				}
				object := rapid.SampledFrom([]string{"queue:default", "queue:gpu", "queue:a", "tpl_1", "tpl_2"}).Draw(rt, "object")
				if err := l.restrict(t.Context(), object, of); err != nil {
					rt.Fatal(err)
				}
			}
			ctx := as(t, rapid.SampledFrom(users).Draw(rt, "reader"))
			var want, got []string
			for _, r := range made {
				if _, err := b.Reader.Get(ctx, r.ID); err == nil {
					want = append(want, r.ID)
				} else if !runs.RunNotFound.Is(err) {
					rt.Fatal(err)
				}
			}
			list, err := b.Reader.List(ctx, runs.Filter{Limit: 1000})
			if err != nil {
				rt.Fatal(err)
			}
			for _, r := range list.Runs {
				got = append(got, r.ID)
			}
			if diff := cmp.Diff(want, got); diff != "" || list.Total != len(want) {
				rt.Fatalf("a total of %d, want %d\n%s", list.Total, len(want), diff)
			}
		})
	})
}

func TestNothingStartsWithoutAGuard(t *testing.T) {
	t.Parallel()
	if _, err := module.New(module.Params{}); err == nil {
		t.Error("the module was made although nobody decides who may read what")
	}
}
