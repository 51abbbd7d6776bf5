package query

import (
	"context"
	"reflect"
	"slices"

	"github.com/writ-automation/writ/modules/runs/internal/binding"
	"github.com/writ-automation/writ/modules/runs/internal/lifecycle"
	"github.com/writ-automation/writ/modules/runs/internal/record"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/runs"
)

// Before returns the id of the default baseline of a run: the newest earlier one that the scope may read. It returns
// a NoBaseline fault if there is none.
func (q *Reader) Before(ctx context.Context, id string, s access.Scope) (string, error) {
	r, err := q.store.ByID(ctx, id)
	if err != nil {
		return "", err
	}
	before, err := q.summaries.Previous(ctx, r, s)
	if err == nil && before == "" {
		err = NoPrevious()
	}
	return before, err
}

// Compare takes the newest of all earlier runs as the run before. Only Before considers what a caller may read.
func (q *Reader) Compare(ctx context.Context, id, with string) (*runs.Comparison, error) {
	if Previous(with) {
		var err error
		if with, err = q.Before(ctx, id, access.Everything()); err != nil {
			return nil, err
		}
	}
	after, err := q.side(ctx, id)
	if err != nil {
		return nil, err
	}
	before, err := q.side(ctx, with)
	if err != nil {
		return nil, err
	}
	if after.Excludes, err = q.excludes(ctx, after.Run, before.Run); err != nil {
		return nil, err
	}
	if before.Excludes, err = q.excludes(ctx, before.Run, after.Run); err != nil {
		return nil, err
	}
	return record.Compare(before, after, q.clock.Now())
}

// excludes returns which hosts the limit of a run leaves out, or nil if the other run has the same limit. The limit
// selects from the inventory as it is now. If only the tool can read either, every host that the run lacks is left out.
func (q *Reader) excludes(ctx context.Context, r, other *runs.Run) (func(host string) bool, error) {
	limits := binding.Limits(r)
	if !slices.ContainsFunc(limits, binding.Limit.Limited) || reflect.DeepEqual(limits, binding.Limits(other)) {
		return nil, nil
	}
	names, err := q.binder.HostNames(ctx, r)
	if err != nil {
		return nil, err
	}
	return func(host string) bool {
		_, reached := slices.BinarySearch(names, host)
		return !reached
	}, nil
}

func (q *Reader) side(ctx context.Context, id string) (s record.Side, err error) {
	r, children, err := q.family(ctx, id)
	if err != nil {
		return s, err
	}
	s.Run = r
	if s.Hosts, err = lifecycle.Hosts(ctx, q.summaries, lifecycle.Counted(r, children)); err != nil {
		return s, err
	}
	s.Tasks, err = q.tasks(ctx, r, children)
	return s, err
}
