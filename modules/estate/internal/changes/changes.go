package changes

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
)

// Changes implements estate.Changes.
type Changes struct {
	store estate.ChangeStore
	runs  runs.Reader
	guard access.Guard
	most  int // how many runs are read
}

var _ estate.Changes = (*Changes)(nil)

// New returns the changes that the runs of a reader make.
func New(s estate.ChangeStore, r runs.Reader, g access.Guard) *Changes {
	return &Changes{store: s, runs: r, guard: g, most: estate.MaxScanned}
}

func (c *Changes) List(ctx context.Context, w page.Window) (estate.ChangeList, error) {
	list, partial, err := c.read(ctx, "")
	if err != nil {
		return estate.ChangeList{}, err
	}
	out := estate.ChangeList{Scanned: len(list), Partial: partial}
	groups := make(map[string][]estate.ChangeRun)
	for _, r := range list {
		if r.Change != "" {
			groups[r.Change] = append(groups[r.Change], r)
		}
	}
	for name, members := range groups {
		out.Changes = append(out.Changes, summary(name, members))
	}
	slices.SortFunc(out.Changes, func(a, b estate.Change) int {
		if n := b.LastAt.Compare(a.LastAt); n != 0 {
			return n
		}
		return strings.Compare(a.Change, b.Change)
	})
	out.Total = len(out.Changes)
	from := min(w.Offset, out.Total)
	out.Changes = out.Changes[from:min(from+w.Rows(), out.Total)]
	lists := make([][]int64, len(out.Changes))
	for i, x := range out.Changes {
		lists[i] = seqs(groups[x.Change])
	}
	hosts, err := c.store.Touched(ctx, lists)
	for i, n := range hosts {
		out.Changes[i].Hosts = n
	}
	return out, err
}

// read returns the newest runs that the caller may read, of one change or of any, and whether there are more.
func (c *Changes) read(ctx context.Context, change string) (list []estate.ChangeRun, partial bool, err error) {
	reader, err := c.guard.Scope(ctx)
	if err != nil {
		return nil, false, fmt.Errorf("decide what may be read: %w", err)
	}
	list, err = c.store.ChangeRuns(ctx, change, c.most+1, reader)
	if partial = len(list) > c.most; partial {
		list = list[:c.most]
	}
	return list, partial, err
}

func (c *Changes) Get(ctx context.Context, change string, members page.Window) (estate.ChangeDetail, error) {
	missing := estate.ChangeNotFound.New("no change %q", change)
	if change == "" || !utf8.ValidString(change) || strings.Contains(change, "\x00") {
		return estate.ChangeDetail{}, missing
	}
	list, partial, err := c.read(ctx, change)
	if err != nil {
		return estate.ChangeDetail{}, err
	}
	if len(list) == 0 {
		return estate.ChangeDetail{}, missing
	}
	out := estate.ChangeDetail{Change: summary(change, list), Partial: partial}
	if out.Touched, err = c.store.TouchedHosts(ctx, seqs(list)); err != nil {
		return estate.ChangeDetail{}, err
	}
	out.Hosts = len(out.Touched)
	out.Touched = out.Touched[:min(out.Hosts, estate.MaxTouched)]
	found, err := c.runs.List(ctx, runs.Filter{Change: change, Oldest: true, Limit: members.Rows(), Offset: members.Offset,
		SkipTotal: true})
	if err != nil {
		return estate.ChangeDetail{}, err
	}
	out.Members = found.Runs
	reader, err := c.guard.Scope(ctx)
	if err != nil {
		return estate.ChangeDetail{}, fmt.Errorf("decide what may be read: %w", err)
	}
	out.Withheld, err = c.store.Withheld(ctx, change, reader)
	return out, err
}

func seqs(list []estate.ChangeRun) []int64 {
	out := make([]int64, len(list))
	for i, r := range list {
		out[i] = r.Seq
	}
	return out
}

// summary describes the runs of a change. There is at least one.
func summary(name string, list []estate.ChangeRun) estate.Change {
	out := estate.Change{Change: name, Runs: len(list), Outcome: outcome(list), FirstAt: list[0].CreatedAt}
	actors := make(map[string]bool)
	for _, r := range list {
		if r.CreatedAt.Before(out.FirstAt) {
			out.FirstAt = r.CreatedAt
		}
		for _, at := range []time.Time{r.CreatedAt, r.EndedAt} {
			if at.After(out.LastAt) {
				out.LastAt = at
			}
		}
		for _, a := range r.Actors {
			if !actors[a] {
				actors[a] = true
				out.Actors = append(out.Actors, a)
			}
		}
	}
	slices.Sort(out.Actors)
	return out
}

// outcome is that of the runs that no other one repeats.
func outcome(list []estate.ChangeRun) estate.ChangeOutcome {
	repeated := make(map[string]bool)
	for _, r := range list {
		repeated[r.RetryOf], repeated[r.RerunOf] = true, true
	}
	var failed, unfinished, partial bool
	for _, r := range list {
		switch {
		case repeated[r.ID]:
		case r.Status == runs.Failed:
			failed = true
		case !r.Status.Terminal():
			unfinished = true
		case r.Status != runs.Succeeded:
			partial = true
		}
	}
	switch {
	case failed:
		return estate.ChangeFailed
	case unfinished:
		return estate.ChangeInProgress
	case partial:
		return estate.ChangePartial
	default:
		return estate.ChangeSucceeded
	}
}
