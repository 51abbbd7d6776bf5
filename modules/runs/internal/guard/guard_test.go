package guard

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// rules is a guard and an object store. It holds the level of its one caller on each object, and the objects of each
// run.
type rules struct {
	mu      sync.Mutex
	level   map[string]access.Level
	objects map[string][]string
	all     bool
	broken  error
	lookups int
}

// gives changes the level of the caller.
func (r *rules) gives(object string, l access.Level) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.level[object] = l
}

func (r *rules) May(_ context.Context, want access.Level, objects ...string) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !slices.ContainsFunc(objects, func(o string) bool { return !r.level[o].Covers(want) }), r.broken
}

func (r *rules) Scope(context.Context) (access.Scope, error) {
	return access.Scope{All: r.all, Subjects: []string{"user:usr_1"}}, r.broken
}

func (r *rules) Objects(_ context.Context, id string) ([]string, error) {
	r.lookups++
	list, ok := r.objects[id]
	if !ok {
		return nil, runs.RunNotFound.New("no run %q", id)
	}
	return list, nil
}

// guards are the decorators over one implementation.
type guards struct {
	*Reader
	*Insight
	*Streamer
	*Tickets
	*Controller
	*Approver
	*Digests
}

func over(b *behind, r *rules) guards {
	g := NewGate(r, r)
	return guards{NewReader(b, g), NewInsight(b, g), NewStreamer(b, g), NewTickets(b, g), NewController(b, g),
		NewApprover(b, g), NewDigests(b, g)}
}

// row is one method: the right that it needs, and a call of it for a run.
type row struct {
	takes access.Level // None: it needs no right
	call  func(ctx context.Context, g guards, id string) error
}

// second returns the error of a call.
func second[T any](_ T, err error) error { return err }

func rows() map[string]row {
	return map[string]row{
		"Reader.Get": {access.Read, func(ctx context.Context, g guards, id string) error {
			return second(g.Get(ctx, id))
		}},
		"Reader.List": {access.None, func(ctx context.Context, g guards, _ string) error {
			return second(g.List(ctx, runs.Filter{}))
		}},
		"Reader.Children": {access.Read, func(ctx context.Context, g guards, id string) error {
			return second(g.Children(ctx, id))
		}},
		"Digests.Digest": {access.Read, func(ctx context.Context, g guards, id string) error {
			return second(g.Digest(ctx, id))
		}},
		"Reader.Events": {access.Read, func(ctx context.Context, g guards, id string) error {
			return second(g.Events(ctx, id, 0, 1))
		}},
		"Reader.Log": {access.Read, func(ctx context.Context, g guards, id string) error {
			return second(g.Log(ctx, id, runs.LogRange{}))
		}},
		"Reader.Hosts": {access.Read, func(ctx context.Context, g guards, id string) error {
			return second(g.Hosts(ctx, id))
		}},
		"Reader.Tasks": {access.Read, func(ctx context.Context, g guards, id string) error {
			return second(g.Tasks(ctx, id))
		}},
		"Reader.Compare": {access.Read, func(ctx context.Context, g guards, id string) error {
			return second(g.Compare(ctx, id, id))
		}},
		"Insight.Matrix": {access.Read, func(ctx context.Context, g guards, id string) error {
			return second(g.Matrix(ctx, id, runs.MatrixQuery{}))
		}},
		"Insight.Failures": {access.Read, func(ctx context.Context, g guards, id string) error {
			return second(g.Failures(ctx, id))
		}},
		"Insight.Find": {access.Read, func(ctx context.Context, g guards, id string) error {
			return second(g.Find(ctx, id, runs.LogQuery{Text: "x"}))
		}},
		"Insight.Why": {access.Read, func(ctx context.Context, g guards, id string) error {
			return second(g.Why(ctx, id))
		}},
		"Streamer.Follow": {access.Read, func(ctx context.Context, g guards, id string) error {
			return g.Follow(ctx, id, 0, 0, nil)
		}},
		"Tickets.Mint": {access.Read, func(ctx context.Context, g guards, id string) error {
			return second(g.Mint(ctx, id))
		}},
		"Tickets.Redeem": {access.None, func(ctx context.Context, g guards, id string) error {
			return second(g.Redeem(ctx, "t", id))
		}},
		"Controller.Cancel": {access.Use, func(ctx context.Context, g guards, id string) error {
			return second(g.Cancel(ctx, id))
		}},
		"Controller.Retry": {access.Use, func(ctx context.Context, g guards, id string) error {
			return second(g.Retry(ctx, id))
		}},
		"Controller.RelaunchFailed": {access.Use, func(ctx context.Context, g guards, id string) error {
			return second(g.RelaunchFailed(ctx, id))
		}},
		"Controller.Rerun": {access.Use, func(ctx context.Context, g guards, id string) error {
			return second(g.Rerun(ctx, id))
		}},
		"Controller.SetQueue": {access.Use, func(ctx context.Context, g guards, id string) error {
			return second(g.SetQueue(ctx, id, "default", 0))
		}},
		"Reconciler.Reconcile": {access.Use, func(ctx context.Context, g guards, id string) error {
			return second(g.Reconcile(ctx, id, runs.Reconciliation{}))
		}},
		"Controller.Preview": {access.Read, func(ctx context.Context, g guards, id string) error {
			_, _, err := g.Preview(ctx, id)
			return err
		}},
		"Approver.Approve": {access.Read, func(ctx context.Context, g guards, id string) error {
			return second(g.Approve(ctx, id, runs.DecisionInput{}))
		}},
		"Approver.Reject": {access.Read, func(ctx context.Context, g guards, id string) error {
			return second(g.Reject(ctx, id, runs.DecisionInput{}))
		}},
	}
}

func TestEveryMethodHasARow(t *testing.T) {
	t.Parallel()
	table := rows()
	seen := 0
	for _, role := range []reflect.Type{
		reflect.TypeFor[runs.Reader](), reflect.TypeFor[runs.Insight](), reflect.TypeFor[runs.Streamer](),
		reflect.TypeFor[runs.Tickets](), reflect.TypeFor[runs.Controller](), reflect.TypeFor[runs.Approver](),
		reflect.TypeFor[runs.Digests](), reflect.TypeFor[runs.Reconciler](),
	} {
		for i := range role.NumMethod() {
			name := role.Name() + "." + role.Method(i).Name
			if _, ok := table[name]; !ok {
				t.Errorf("nothing says which right %s takes", name)
			}
			seen++
		}
	}
	if seen != len(table) {
		t.Errorf("%d methods and %d rows", seen, len(table))
	}
}

// The runs of the cases: the caller may use the objects of the first, only read those of the second, and neither of
// the third. The last is unknown.
const (
	mine, visible, hidden, unknown = "run_mine", "run_shown", "run_hidden", "run_unknown"
)

func setup() (*behind, *rules) {
	return &behind{}, &rules{
		level: map[string]access.Level{"queue:mine": access.Manage, "inv_shown": access.Read, "prj_hidden": access.None},
		objects: map[string][]string{
			mine: {"queue:mine"}, visible: {"inv_shown", "queue:mine"}, hidden: {"inv_shown", "prj_hidden", "queue:mine"},
		},
	}
}

func TestEveryMethodAsksForItsRight(t *testing.T) {
	t.Parallel()
	for name, r := range rows() {
		if r.takes == access.None {
			continue
		}
		for _, id := range []string{mine, visible, hidden, unknown} {
			b, is := setup()
			err := r.call(t.Context(), over(b, is), id)
			switch {
			case id == hidden || id == unknown:
				want := runs.RunNotFound.New("no run %q", id)
				var f *fault.Error
				if !errors.As(err, &f) || !reflect.DeepEqual(f, want) || b.calls != 0 {
					t.Errorf("%s of %s: %v after %d calls, want %v", name, id, err, b.calls, want)
				}
			case id == visible && r.takes == access.Use:
				if !runs.UseRequired.Is(err) || err.Error() != "this takes the right to use its inventory" || b.calls != 0 {
					t.Errorf("%s of %s: %v after %d calls", name, id, err, b.calls)
				}
			case err != nil || b.calls != 1:
				t.Errorf("%s of %s: %v after %d calls", name, id, err, b.calls)
			}
		}
	}
}

func TestWhoMayReadEverythingCostsNothing(t *testing.T) {
	t.Parallel()
	for name, r := range rows() {
		if r.takes == access.Use {
			continue
		}
		b, is := setup()
		is.all = true
		if err := r.call(t.Context(), over(b, is), unknown); err != nil || b.calls != 1 || is.lookups != 0 {
			t.Errorf("%s: %v after %d lookups and %d calls", name, err, is.lookups, b.calls)
		}
	}
}

func TestAGuardThatCannotDecideRefuses(t *testing.T) {
	t.Parallel()
	for name, r := range rows() {
		if name == "Tickets.Redeem" {
			continue
		}
		b, is := setup()
		is.broken = errors.New("no rights are known")
		if err := r.call(t.Context(), over(b, is), mine); !errors.Is(err, is.broken) || b.calls != 0 {
			t.Errorf("%s: %v after %d calls", name, err, b.calls)
		}
	}
}

func TestAListIsNarrowedToItsCaller(t *testing.T) {
	t.Parallel()
	b, is := setup()
	if _, err := over(b, is).List(t.Context(), runs.Filter{Tool: "bash", Scope: access.Everything()}); err != nil {
		t.Fatal(err)
	}
	if b.filter.Tool != "bash" || b.filter.Scope.All || !slices.Equal(b.filter.Scope.Subjects, []string{"user:usr_1"}) {
		t.Errorf("%+v", b.filter)
	}
}

// TestCompareLooksAtBothSides also checks that Compare decides before it compares.
func TestCompareLooksAtBothSides(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		id, with, prev string
		want           fault.Code
		message        string
	}{
		{mine, visible, "", fault.Code{}, ""}, {mine, hidden, "", runs.RunNotFound, hidden},
		{mine, unknown, "", runs.RunNotFound, unknown},
		{hidden, mine, "", runs.RunNotFound, hidden}, {hidden, unknown, "", runs.RunNotFound, hidden},
		{mine, "prev", mine, fault.Code{}, ""}, {mine, "", visible, fault.Code{}, ""},
		{mine, "prev", "", runs.NoBaseline, "no earlier run"},
		// The baseline that was found is hidden or deleted by now.
		{mine, "prev", hidden, runs.NoBaseline, "no earlier run"}, {mine, "", unknown, runs.NoBaseline, "no earlier run"},
		{hidden, "prev", mine, runs.RunNotFound, hidden},
	} {
		b, is := setup()
		b.prev = c.prev
		got, err := over(b, is).Compare(t.Context(), c.id, c.with)
		if c.message == "" && (err != nil || got == nil) ||
			c.message != "" && (!c.want.Is(err) || !strings.Contains(err.Error(), c.message) || got != nil) {
			t.Errorf("%s with %q (%v): %v, %v", c.id, c.with, c.prev, got, err)
		}
		if compared := b.calls > 0; compared != (c.message == "") {
			t.Errorf("%s with %q (%v): compared %t", c.id, c.with, c.prev, compared)
		}
		if c.prev != "" && c.id == mine && !slices.Equal(b.scope.Subjects, []string{"user:usr_1"}) {
			t.Errorf("the run before was looked for with %+v", b.scope)
		}
	}
}

func TestWhatIsWrongWithARequestComesFirst(t *testing.T) {
	t.Parallel()
	b, is := setup()
	g := over(b, is)
	_, find := g.Find(t.Context(), hidden, runs.LogQuery{Text: "(", Regex: true})
	_, approve := g.Approve(t.Context(), hidden, runs.DecisionInput{Reason: "\x00"})
	_, reject := g.Reject(t.Context(), hidden, runs.DecisionInput{Reason: strings.Repeat("x", 2001)})
	for name, err := range map[string]error{"find": find, "approve": approve, "reject": reject} {
		if !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if b.calls+is.lookups != 0 {
		t.Errorf("%d calls, %d lookups", b.calls, is.lookups)
	}
}

func (*rules) Unfinished(context.Context, string, int) ([]string, int, error) { return nil, 0, nil }
