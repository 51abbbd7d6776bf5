package facts

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/fault"
)

// Query selects hosts by their facts. Only the facts of its keys matter, each with those below it.
type Query interface {
	Fits(host string, f estate.Facts) bool
	Keys() []string
}

// Reader implements estate.Estate.
type Reader struct {
	Rules *Rules
	Store estate.FactStore
	Guard access.Guard
	Clock clock.Clock
	// Parse reads a query. Its error says what is wrong with the text.
	Parse func(query string) (Query, error)
}

var _ estate.Estate = (*Reader)(nil)

// timelineDays are how many days a timeline without a beginning has.
const timelineDays = 30

// errEnough ends a page.
var errEnough = errors.New("the page is full")

func (r *Reader) At(ctx context.Context, q estate.AtQuery, yield func(estate.Reading) error) (estate.AtSummary, error) {
	scope, err := r.Guard.Scope(ctx)
	if err != nil {
		return estate.AtSummary{}, err
	}
	query, err := r.Parse(q.Query)
	if err != nil {
		return estate.AtSummary{}, err
	}
	for _, k := range q.Keys {
		if _, err := Path(k); err != nil {
			return estate.AtSummary{}, fault.BadField("keys", "%q is no key: %v", k, err)
		}
	}
	if q.At.IsZero() {
		q.At = r.Clock.Now()
	}
	s := estate.AtSummary{At: q.At}
	answered := q.Keys
	if len(answered) > 0 {
		q.Keys = slices.Concat(answered, query.Keys())
	}
	err = r.Store.At(ctx, q, scope, func(reading estate.Reading) error {
		if !query.Fits(reading.Host, reading.Facts) {
			return nil
		}
		if s.HasMore = q.Limit > 0 && s.Count == q.Limit; s.HasMore {
			return errEnough
		}
		s.Count++
		reading.Facts = pick(reading.Facts, answered)
		return yield(reading)
	})
	if err != nil && !errors.Is(err, errEnough) {
		return s, err
	}
	if s.Withheld, err = r.Store.Withheld(ctx, q.At, scope); err != nil {
		return s, err
	}
	s.Horizon, s.BeforeHistory, err = r.horizon(ctx, q.At, scope)
	return s, err
}

// pick leaves the facts that keys select.
func pick(f estate.Facts, keys []string) estate.Facts {
	maps.DeleteFunc(f, func(k string, _ json.RawMessage) bool { return !estate.Selected(k, keys) })
	return f
}

func (r *Reader) horizon(ctx context.Context, at time.Time, scope access.Scope) (time.Time, bool, error) {
	first, err := r.Store.Horizon(ctx, scope)
	return first, !first.IsZero() && at.Before(first), err
}

// between checks the two ends of a time; a missing end is now.
func (r *Reader) between(from, to time.Time) (time.Time, error) {
	if to.IsZero() {
		to = r.Clock.Now()
	}
	if from.After(to) {
		return to, fault.BadField("from", "must not be after to")
	}
	return to, nil
}

func (r *Reader) Diff(
	ctx context.Context, from, to time.Time, yield func(estate.HostChange) error,
) (d estate.DiffSummary, err error) {
	if from.IsZero() {
		return d, fault.BadField("from", "is missing")
	}
	if to, err = r.between(from, to); err != nil {
		return d, err
	}
	scope, err := r.Guard.Scope(ctx)
	if err != nil {
		return d, err
	}
	same := 0 // hosts of which only volatile facts differ, stored before the list of them grew
	d, err = r.Store.Diff(ctx, from, to, scope, func(c estate.HostChange) error {
		facts := c.Facts[:0]
		for _, f := range c.Facts {
			if !r.Rules.Volatile(f.Key) {
				facts = append(facts, f)
			}
		}
		if c.Facts = facts; len(facts) == 0 {
			same++
			return nil
		}
		return yield(c)
	})
	if err != nil {
		return d, err
	}
	d.Changed, d.Unchanged = d.Changed-same, d.Unchanged+same
	d.Horizon, d.BeforeHistory, err = r.horizon(ctx, from, scope)
	return d, err
}

func (r *Reader) Timeline(ctx context.Context, from, to time.Time, buckets int) ([]estate.Bucket, error) {
	to, err := r.between(from, to)
	if err != nil {
		return nil, err
	}
	if from.IsZero() {
		from = to.AddDate(0, 0, -timelineDays)
	}
	if buckets < 1 || buckets > estate.MaxBuckets {
		return nil, fault.BadField("buckets", "must be between 1 and %d", estate.MaxBuckets)
	}
	scope, err := r.Guard.Scope(ctx)
	if err != nil {
		return nil, err
	}
	return r.Store.Timeline(ctx, from, to, buckets, scope)
}

func (r *Reader) Newest(ctx context.Context, host string) (estate.Reading, error) {
	scope, err := r.Guard.Scope(ctx)
	if err != nil {
		return estate.Reading{}, err
	}
	return r.Store.Newest(ctx, host, scope)
}

func (r *Reader) Changed(ctx context.Context, host string) (map[string]time.Time, error) {
	scope, err := r.Guard.Scope(ctx)
	if err != nil {
		return nil, err
	}
	return r.Store.Changed(ctx, host, scope)
}
