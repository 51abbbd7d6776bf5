package guard

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/runs"
)

// messages is a feed of what a test sends.
type messages func(emit func(runs.FeedUpdate) error) error

func (m messages) FollowAll(_ context.Context, _ string, emit func(runs.FeedUpdate) error) error {
	return m(emit)
}

// TestTheFeedShowsWhatTheCallerMayRead checks the right at each message: a lost one stops the messages of its runs, a
// new one starts them, and messages about the feed itself reach everybody.
func TestTheFeedShowsWhatTheCallerMayRead(t *testing.T) {
	t.Parallel()
	_, is := setup()
	message := func(id string) runs.FeedUpdate {
		return runs.FeedUpdate{ID: id, Run: &runs.Run{ID: id, Objects: is.objects[id]}}
	}
	feed := messages(func(emit func(runs.FeedUpdate) error) error {
		send := func(list ...runs.FeedUpdate) (err error) {
			for _, u := range list {
				err = errors.Join(err, emit(u))
			}
			return err
		}
		err := send(runs.FeedUpdate{Ready: true, ID: "ready"}, message(mine), message(visible), message(hidden))
		is.gives("queue:mine", access.None)
		err = errors.Join(err, send(message(mine), message(visible), runs.FeedUpdate{Reset: true, ID: "reset"}))
		is.gives("queue:mine", access.Read)
		is.gives("prj_hidden", access.Read)
		return errors.Join(err, send(message(mine), message(hidden)))
	})
	follow := func() (got []string, err error) {
		err = NewFeed(feed, NewGate(is, is), nil).FollowAll(t.Context(), "", func(u runs.FeedUpdate) error {
			got = append(got, u.ID)
			return nil
		})
		return got, err
	}
	got, err := follow()
	want := []string{"ready", mine, visible, "reset", mine, hidden}
	if err != nil || !slices.Equal(got, want) || is.lookups != 0 {
		t.Errorf("%v, %v, after %d lookups; want %v", got, err, is.lookups, want)
	}
	is.broken = errors.New("the rights cannot be read")
	if got, err := follow(); !errors.Is(err, is.broken) || !slices.Equal(got, []string{"ready", "reset"}) {
		t.Errorf("%v, %v without known rights", got, err)
	}
}

// lister counts how often it is asked, and finds as many runs as the scope has subjects.
type lister struct{ asked int }

func (l *lister) List(_ context.Context, f runs.Filter) (*runs.List, error) {
	l.asked++
	if !slices.Equal(f.Statuses, []runs.Status{runs.PendingApproval}) {
		return nil, errors.New("other runs are counted")
	}
	return &runs.List{Total: len(f.Scope.Subjects)}, nil
}

// TestHeldRunsAreCountedOnceForAll counts once for a message and all readers of the same rights, and again after
// the rights changed. A reader gets a number once.
func TestHeldRunsAreCountedOnceForAll(t *testing.T) {
	t.Parallel()
	_, is := setup()
	rights := &changing{rules: is, scope: access.Scope{Subjects: []string{"user:usr_1"}}}
	counts := &lister{}
	feed := messages(func(emit func(runs.FeedUpdate) error) error {
		rights.scope.Subjects = []string{"user:usr_1"}
		err := errors.Join(emit(runs.FeedUpdate{Held: true, ID: "1"}), emit(runs.FeedUpdate{Held: true, ID: "2"}))
		rights.scope.Subjects = append(rights.scope.Subjects, "team:team_1")
		return errors.Join(err, emit(runs.FeedUpdate{Held: true, ID: "2"}))
	})
	guarded := NewFeed(feed, NewGate(rights, is), counts)
	for range 3 {
		var got []int
		err := guarded.FollowAll(t.Context(), "", func(u runs.FeedUpdate) error {
			if u.Text == nil {
				t.Error("a count without a place for its text")
			}
			got = append(got, u.Count)
			return nil
		})
		if d := cmp.Diff([]int{1, 2}, got); err != nil || d != "" {
			t.Errorf("%v %s", err, d)
		}
	}
	if counts.asked > 3*3 {
		t.Errorf("counted %d times", counts.asked)
	}
	before := counts.asked
	for range 50 {
		if c, err := guarded.held(t.Context(), rights.scope, "3"); err != nil || c.n != 2 {
			t.Errorf("%d, %v", c.n, err)
		}
	}
	if counts.asked != before+1 {
		t.Errorf("counted %d times for one message", counts.asked-before)
	}
}

// changing is rules with another scope.
type changing struct {
	*rules
	scope access.Scope
}

func (c *changing) Scope(context.Context) (access.Scope, error) { return c.scope, nil }
