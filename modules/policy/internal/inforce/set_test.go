package inforce_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	sqlaudit "github.com/writ-automation/writ/adapters/sqlstore/audit"
	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	sqlpolicy "github.com/writ-automation/writ/adapters/sqlstore/policy"
	"github.com/writ-automation/writ/modules/policy/internal/inforce"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/depthtest"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/tx"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server is a process with the set of its own, on a database that others share.
type server struct {
	d       *db.DB
	store   *sqlpolicy.Store
	windows *sqlpolicy.Windows
	chain   *sqlaudit.Store
	set     *inforce.Set
}

func newServer(t *testing.T, url string) *server {
	t.Helper()
	d := dbtest.Connect(t, db.Config{URL: url})
	store, windows := sqlpolicy.New(d), sqlpolicy.NewWindows(d)
	return &server{d, store, windows, sqlaudit.New(d), inforce.New(store, windows, nil)}
}

// eachEngine opens two servers on one database of each engine.
func eachEngine(t *testing.T, fn func(t *testing.T, a, b *server)) {
	t.Helper()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			url := dbtest.Fresh(t, engine, migrations.FS)
			fn(t, newServer(t, url), newServer(t, url))
		})
	}
}

// record appends an entry at the end of the unit, after the lock of the chain, as the trail does.
func (s *server) record(ctx context.Context, action string) error {
	return tx.BeforeCommit(ctx, tx.Last, s, action, func(ctx context.Context, all []string) error {
		tip, now, err := s.chain.Lock(ctx)
		if err != nil {
			return err
		}
		list := make([]audit.Stored, len(all))
		for i, action := range all {
			id := fmt.Sprint(tip.Size + int64(i) + 1)
			list[i] = audit.Stored{Seq: tip.Size + int64(i) + 1, Leaf: "leaf " + id, Hash: sha256.Sum256([]byte(id)),
				ID: "aud_" + id, At: now.Format(time.RFC3339Nano), Action: action, Actor: "system"}
		}
		return s.chain.Append(ctx, list)
	})
}

// evaluate decides by the policies in force, as a submission does.
func (s *server) evaluate(ctx context.Context) error {
	return s.d.Do(ctx, func(ctx context.Context) error {
		r, err := s.set.Current(ctx)
		if err != nil {
			return err
		}
		return errors.Join(s.record(ctx, fmt.Sprint("evaluated ", len(r.Policies)+len(r.Windows))), s.set.Recheck(ctx, r))
	})
}

func named(name string, at time.Time) policy.Policy {
	return policy.Policy{Record: object.Record{ID: "pol_" + name, Name: name, CreatedAt: at, UpdatedAt: at},
		Effect: policy.RequireApproval, Enabled: true, ApprovalsNeeded: 1}
}

// change makes the n-th change, every second one of windows. It makes n rules.
func (s *server) change(ctx context.Context, n int) error {
	return s.d.Do(ctx, func(ctx context.Context) error {
		if n%2 == 0 {
			w := policy.Window{Record: named(fmt.Sprint(n), time.Unix(int64(n), 0).UTC()).Record, Enabled: true}
			return errors.Join(s.windows.Insert(ctx, w), s.record(ctx, fmt.Sprint("changed ", n)))
		}
		if err := s.store.Insert(ctx, named(fmt.Sprint(n), time.Unix(int64(n), 0).UTC())); err != nil {
			return err
		}
		return s.record(ctx, fmt.Sprint("changed ", n))
	})
}

// TestNoUnitCommitsByReplacedPolicies has two servers evaluate while both change policies. The chain has the order of
// the commits: what was evaluated by a version stands after the change that made it and before the next one.
// Keeps T35.
func TestNoUnitCommitsByReplacedPolicies(t *testing.T) {
	t.Parallel()
	changes, each := depthtest.Of(20, 200), depthtest.Of(25, 250)
	eachEngine(t, func(t *testing.T, a, b *server) {
		servers := []*server{a, b}
		var group sync.WaitGroup
		for i := range 6 {
			group.Go(func() {
				for n := 0; n < each; {
					switch err := servers[i%2].evaluate(t.Context()); {
					case err == nil:
						n++
					case !policy.PoliciesChanged.Is(err):
						t.Errorf("evaluate: %v", err)
						return
					}
				}
			})
		}
		group.Go(func() {
			for n := range changes {
				if err := servers[n%2].change(t.Context(), n+1); err != nil {
					t.Errorf("change: %v", err)
				}
				// Whatever begins after the answer is evaluated by the new policies, or fails.
				if err := servers[(n+1)%2].evaluate(t.Context()); err != nil && !policy.PoliciesChanged.Is(err) {
					t.Errorf("evaluate: %v", err)
				}
			}
		})
		group.Wait()
		version, evaluated := 0, 0
		for _, action := range a.trail(t) {
			what, n, _ := strings.Cut(action, " ")
			if what == "changed" {
				version++
			} else {
				evaluated++
			}
			if n != fmt.Sprint(version) {
				t.Errorf("%q stands after change %d", action, version)
			}
		}
		if version != changes || evaluated < 6*each {
			t.Errorf("%d changes and %d evaluated", version, evaluated)
		}
	})
}

// trail returns the actions in the order of the chain.
func (s *server) trail(t *testing.T) []string {
	t.Helper()
	var out []string
	for f := (audit.Filter{Limit: 100}); ; {
		list, more, err := s.chain.Page(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			out = append([]string{e.Action}, out...)
			f.Before = e.Seq
		}
		if !more {
			return out
		}
	}
}

// TestKeptPolicies reads the store once for many units, and again after a change of another server.
func TestKeptPolicies(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, a, b *server) {
		names := func() string {
			r, err := a.set.Current(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			out := fmt.Sprint(len(r.Policies) + len(r.Windows))
			for _, p := range r.Policies {
				out += " " + p.Name
			}
			for _, w := range r.Windows {
				out += " window " + w.Name
			}
			return out
		}
		want := func(what, text string) {
			t.Helper()
			if got := names(); got != text {
				t.Errorf("%s: %q, want %q", what, got, text)
			}
		}
		want("at first", "0")
		if err := b.change(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		want("until a unit checks", "0")
		if err := a.evaluate(t.Context()); !policy.PoliciesChanged.Is(err) {
			t.Errorf("evaluated by an old version: %v", err)
		}
		want("after the check", "1 1")
		list, tag, err := a.set.Read(t.Context())
		_, same, _ := b.set.Read(t.Context())
		if len(list) != 1 || tag == "" || tag != same || err != nil {
			t.Errorf("%+v %q %q %v", list, tag, same, err)
		}

		// What a unit sees of itself is not kept if it rolls back.
		a.set.Forget()
		stop := errors.New("stop")
		if err := a.d.Do(t.Context(), func(ctx context.Context) error {
			if err := a.store.Insert(ctx, named("2", time.Unix(2, 0).UTC())); err != nil {
				return err
			}
			if r, err := a.set.Current(ctx); err != nil || len(r.Policies) != 2 {
				t.Errorf("in the unit: %+v %v", r, err)
			}
			return stop
		}); !errors.Is(err, stop) {
			t.Error(err)
		}
		want("after a rollback", "1 1")
		if err := a.evaluate(t.Context()); err != nil {
			t.Error(err)
		}
		if _, again, _ := a.set.Read(t.Context()); again != tag {
			t.Errorf("the tag changed to %q", again)
		}
		if err := b.change(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		want("until it is asked for what is committed", "1 1")
		if r, err := a.set.Fresh(t.Context()); err != nil || len(r.Windows) != 1 || r.WindowsVersion != 1 {
			t.Errorf("fresh: %+v %v", r, err)
		}
		want("after that", "2 1 window 2")
		if err := a.change(t.Context(), 3); err != nil {
			t.Fatal(err)
		}
		if _, changed, _ := b.set.Read(t.Context()); changed == tag {
			t.Error("the tag stayed")
		}
	})
}
