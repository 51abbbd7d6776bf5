package changes

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
)

func at(minute int) time.Time { return time.Date(2026, 3, 1, 12, minute, 0, 0, time.UTC) }

// stored has runs, the newest first. Each touched a host of its own.
type stored struct {
	runs.Reader
	list   []estate.ChangeRun
	asked  runs.Filter
	reader access.Scope
}

func (s *stored) ChangeRuns(_ context.Context, change string, limit int, r access.Scope) ([]estate.ChangeRun, error) {
	s.reader = r
	out := slices.DeleteFunc(slices.Clone(s.list), func(r estate.ChangeRun) bool {
		return change != "" && r.Change != change
	})
	return out[:min(limit, len(out))], nil
}

func (s *stored) Touched(_ context.Context, lists [][]int64) ([]int, error) {
	out := make([]int, len(lists))
	for i := range lists {
		out[i] = len(lists[i])
	}
	return out, nil
}

func (s *stored) TouchedHosts(_ context.Context, list []int64) (out []string, err error) {
	for _, seq := range list {
		out = append(out, fmt.Sprint("web", seq))
	}
	return out, nil
}

func (s *stored) Withheld(context.Context, string, access.Scope) (int, error) { return 7, nil }

func (s *stored) List(_ context.Context, f runs.Filter) (*runs.List, error) {
	s.asked = f
	return &runs.List{Runs: []*runs.Run{{ID: "run_1"}}}, nil
}

func (s *stored) May(context.Context, access.Level, ...string) (bool, error) { return true, nil }

func (s *stored) Scope(context.Context) (access.Scope, error) {
	return access.Scope{Subjects: []string{"user:usr_1"}}, nil
}

func of(s *stored) *Changes { return New(s, s, s) }

func TestOutcome(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		statuses []runs.Status
		repeats  map[int]int // which run repeats which
		want     estate.ChangeOutcome
	}{
		{[]runs.Status{runs.Succeeded, runs.Succeeded}, nil, estate.ChangeSucceeded},
		{[]runs.Status{runs.Succeeded, runs.Failed, runs.Running}, nil, estate.ChangeFailed},
		{[]runs.Status{runs.Failed, runs.Succeeded}, map[int]int{1: 0}, estate.ChangeSucceeded},
		{[]runs.Status{runs.Failed, runs.Failed, runs.Succeeded}, map[int]int{1: 0, 2: 1}, estate.ChangeSucceeded},
		{[]runs.Status{runs.Failed, runs.PendingApproval}, map[int]int{1: 0}, estate.ChangeInProgress},
		{[]runs.Status{runs.Failed, runs.Rejected}, map[int]int{1: 0}, estate.ChangePartial},
		{[]runs.Status{runs.Succeeded, runs.Pending, runs.Canceled}, nil, estate.ChangeInProgress},
		{[]runs.Status{runs.Succeeded, runs.Canceled}, nil, estate.ChangePartial},
		{[]runs.Status{runs.Succeeded, runs.Interrupted}, nil, estate.ChangePartial},
	} {
		var list []estate.ChangeRun
		for i, s := range c.statuses {
			r := estate.ChangeRun{ID: fmt.Sprint(i), Status: s}
			if of, ok := c.repeats[i]; ok {
				r.RerunOf = fmt.Sprint(of)
			}
			list = append(list, r)
		}
		if got := outcome(list); got != c.want {
			t.Errorf("%v, %v: %s", c.statuses, c.repeats, got)
		}
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	s := &stored{list: []estate.ChangeRun{
		{Seq: 5, ID: "5", Status: runs.Succeeded, CreatedAt: at(5)}, // hides its change
		{Seq: 4, ID: "4", Change: "b", Status: runs.Running, CreatedAt: at(4), Actors: []string{"bob"}},
		{Seq: 3, ID: "3", Change: "a", Status: runs.Succeeded, CreatedAt: at(3), EndedAt: at(9),
			Actors: []string{"cleo", "ada"}},
		{Seq: 2, ID: "2", Change: "a", Status: runs.Failed, CreatedAt: at(2), EndedAt: at(3), Actors: []string{"ada"}},
		{Seq: 1, ID: "1", Change: "c", Status: runs.Succeeded, CreatedAt: at(1), EndedAt: at(4)},
	}}
	a := estate.Change{Change: "a", Outcome: estate.ChangeFailed, Runs: 2, FirstAt: at(2), LastAt: at(9),
		Actors: []string{"ada", "cleo"}, Hosts: 2}
	b := estate.Change{Change: "b", Outcome: estate.ChangeInProgress, Runs: 1, FirstAt: at(4), LastAt: at(4),
		Actors: []string{"bob"}, Hosts: 1}
	c := estate.Change{Change: "c", Outcome: estate.ChangeSucceeded, Runs: 1, FirstAt: at(1), LastAt: at(4), Hosts: 1}
	check := func(w page.Window, most int, want estate.ChangeList) {
		t.Helper()
		x := of(s)
		x.most = most
		got, err := x.List(t.Context(), w)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	check(page.Window{}, 5, estate.ChangeList{Changes: []estate.Change{a, b, c}, Total: 3, Scanned: 5})
	check(page.Window{Offset: 1, Limit: 1}, 9, estate.ChangeList{Changes: []estate.Change{b}, Total: 3, Scanned: 5})
	check(page.Window{Offset: 9}, 9, estate.ChangeList{Changes: []estate.Change{}, Total: 3, Scanned: 5})
	a.Outcome, a.Runs, a.FirstAt, a.Hosts = estate.ChangeSucceeded, 1, at(3), 1
	check(page.Window{}, 3, estate.ChangeList{Changes: []estate.Change{a, b}, Total: 2, Scanned: 3, Partial: true})
	if len(s.reader.Subjects) != 1 {
		t.Errorf("read as %+v", s.reader)
	}
}

func TestGet(t *testing.T) {
	t.Parallel()
	s := &stored{}
	for i := range 1200 {
		s.list = append(s.list, estate.ChangeRun{Seq: int64(i), ID: fmt.Sprint(i), Change: "a", Status: runs.Succeeded})
	}
	got, err := of(s).Get(t.Context(), "a", page.Window{Offset: 3, Limit: 2})
	if err != nil || got.Runs != 1200 || got.Hosts != 1200 || len(got.Touched) != estate.MaxTouched || got.Withheld != 7 ||
		len(got.Members) != 1 || got.Partial {
		t.Errorf("%d runs, %d of %d hosts, %v", got.Runs, len(got.Touched), got.Hosts, err)
	}
	want := runs.Filter{Change: "a", Oldest: true, Limit: 2, Offset: 3, SkipTotal: true}
	if diff := cmp.Diff(want, s.asked); diff != "" {
		t.Error(diff)
	}
	for _, name := range []string{"", "b", "a\x00", "a\xff"} {
		if _, err := of(s).Get(t.Context(), name, page.Window{}); !estate.ChangeNotFound.Is(err) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestPagesAreTheList states that pages in a row have each change once, in the order of the list.
func TestPagesAreTheList(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := &stored{}
		for i := range rapid.IntRange(0, 20).Draw(t, "runs") {
			s.list = append(s.list, estate.ChangeRun{Seq: int64(i), ID: fmt.Sprint(i), Status: runs.Succeeded,
				Change: rapid.SampledFrom([]string{"", "a", "b", "c", "d"}).Draw(t, "change"), CreatedAt: at(-i / 3)})
		}
		whole, err := of(s).List(t.Context(), page.Window{})
		if err != nil {
			t.Fatal(err)
		}
		limit := rapid.IntRange(1, 3).Draw(t, "limit")
		var pages []estate.Change
		for n := 0; n < whole.Total; n += limit {
			p, err := of(s).List(t.Context(), page.Window{Offset: n, Limit: limit})
			if err != nil {
				t.Fatal(err)
			}
			pages = append(pages, p.Changes...)
		}
		if diff := cmp.Diff(whole.Changes[:len(pages)], pages); diff != "" || len(pages) != whole.Total {
			t.Fatal(diff)
		}
	})
}
