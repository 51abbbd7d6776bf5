package register

import (
	"context"
	"errors"
	"time"

	"github.com/writ-automation/writ/modules/audit/internal/record"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// stretch is how many sequence numbers are searched for an existing one.
const stretch = 1024

// errStop ends a read of the chain early.
var errStop = errors.New("enough")

// collect reads the entries of the period into the ledger.
func (r *Register) collect(ctx context.Context, b *ledger) error {
	_, last, err := r.p.Chain.Count(ctx)
	if err != nil || last == 0 {
		return err
	}
	from, err := r.seek(ctx, b.period.From.Add(-slack), last)
	if err != nil {
		return err
	}
	end := b.period.To.Add(slack)
	err = r.p.Chain.Range(ctx, from, last, true, func(s *audit.Stored) error {
		at, ok := clockOf(s)
		if ok && !at.Before(end) {
			return errStop
		}
		if ok && (at.Before(b.period.From) || !at.Before(b.period.To)) {
			return nil
		}
		line, err := record.Line(s)
		if err != nil || line.Hash != s.Hash || line.Seq != s.Seq {
			b.altered(s)
			return nil
		}
		b.add(&line)
		return nil
	})
	if errors.Is(err, errStop) {
		return nil
	}
	return err
}

// seek returns a sequence number before which every entry is older than a time. It searches by bisection, since the
// chain has no index by time, and assumes ascending times.
func (r *Register) seek(ctx context.Context, t time.Time, last int64) (int64, error) {
	low, high := int64(1), last+1
	for low < high {
		mid := low + (high-low)/2
		at, ok, err := r.timeAt(ctx, mid, min(mid+stretch-1, high-1))
		if err != nil {
			return 0, err
		}
		// If no time can be read the earlier half is used: surplus entries are dropped later.
		if ok && at.Before(t) {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low, nil
}

// timeAt returns the time of the first entry of a stretch that has one.
func (r *Register) timeAt(ctx context.Context, from, to int64) (at time.Time, ok bool, err error) {
	err = r.p.Chain.Range(ctx, from, to, false, func(s *audit.Stored) error {
		if at, ok = clockOf(s); ok {
			return errStop
		}
		return nil
	})
	if errors.Is(err, errStop) {
		err = nil
	}
	return at, ok, err
}

func clockOf(s *audit.Stored) (time.Time, bool) {
	at, err := time.Parse(time.RFC3339Nano, s.At)
	return at, err == nil
}

// maxLookups bounds the runs that are read one by one: those that began before the period.
const maxLookups = 2_000

// label adds the data of the run records: change, name and present state. A run without a record keeps the data of the
// trail.
func (r *Register) label(ctx context.Context, b *ledger) error {
	wanted := len(b.runs)
	f := runs.Filter{After: b.period.From, Before: b.period.To, Oldest: true, Limit: 1000, SkipTotal: true}
	if b.cut > 0 {
		f.Before = b.cutAt.Add(slack) // rows beyond the cut need no label
	}
	for wanted > 0 {
		list, err := r.p.Runs.List(ctx, f)
		if err != nil {
			return err
		}
		for _, run := range list.Runs {
			if row := b.runs[run.ID]; row != nil && !row.labelled {
				row.label(run)
				wanted--
			}
		}
		if !list.HasMore || list.NextCursor == "" || list.NextCursor == f.Cursor {
			break
		}
		f.Cursor = list.NextCursor
	}
	asked := 0
	for _, row := range b.rows {
		if row.run == "" || row.labelled || asked == maxLookups {
			continue
		}
		asked++
		run, err := r.p.Runs.Get(ctx, row.run)
		if fault.Is(err, fault.NotFound) {
			continue
		}
		if err != nil {
			return err
		}
		row.label(run)
	}
	return nil
}
