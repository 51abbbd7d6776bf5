package query

import (
	"context"
	"errors"
	"io"

	"github.com/writ-automation/writ/ports/runs"
)

// Log returns a view of the output that is stored at the time of the call.
func (q *Reader) Log(ctx context.Context, id string, rg runs.LogRange) (*runs.LogView, error) {
	r, err := q.store.ByID(ctx, id)
	if err != nil {
		return nil, err
	}
	v := &runs.LogView{Total: r.LogBytes, Omitted: r.LogOmitted, Sealed: r.Status.Terminal()}
	v.From, v.To = stretch(rg, r.LogBytes)
	if rg.Line > 0 {
		if err := q.lines(ctx, r, v, rg.Line, max(rg.Lines, 1)); err != nil {
			return nil, err
		}
	}
	if rg.Tail > 0 && v.From > 0 {
		if v.Omitted, err = q.absent(ctx, r, v.From, v.To); err != nil {
			return nil, err
		}
	}
	if bounded := rg.From > 0 || rg.To > 0; bounded && rg.Tail <= 0 && r.LogOmitted > 0 {
		if v.From, v.To, err = q.unbroken(ctx, r, v.From, v.To); err != nil {
			return nil, err
		}
	}
	v.Truncated = v.Omitted > 0
	v.Copy = func(ctx context.Context, w io.Writer) error {
		if v.From >= v.To {
			return nil
		}
		return q.logs.ReadLog(ctx, id, v.From, v.To, func(c runs.LogChunk) error {
			_, err := w.Write(c.Data)
			return err
		})
	}
	return v, nil
}

func stretch(rg runs.LogRange, total int64) (from, to int64) {
	if rg.Tail > 0 {
		return max(total-rg.Tail, 0), total
	}
	to = rg.To
	if to <= 0 || to > total {
		to = total
	}
	return min(max(rg.From, 0), to), to
}

// errGap ends a read at dropped bytes.
var errGap = errors.New("a gap in the log")

// unbroken returns the first contiguous part of a range, or an empty one. Callers of a range treat its bytes as
// contiguous.
func (q *Reader) unbroken(ctx context.Context, r *runs.Run, from, to int64) (start, end int64, err error) {
	start, end = to, to
	err = q.logs.ReadLog(ctx, r.ID, from, to, func(c runs.LogChunk) error {
		switch {
		case start == to:
			start = c.Offset
		case c.Offset != end:
			return errGap
		}
		end = c.Offset + int64(len(c.Data))
		return nil
	})
	if errors.Is(err, errGap) {
		err = nil
	}
	return start, end, err
}

// absent counts the bytes of a log that a tail lacks: those before it, and the dropped ones within it. It reads the
// tail only if the log has gaps.
func (q *Reader) absent(ctx context.Context, r *runs.Run, from, to int64) (int64, error) {
	if r.LogOmitted == 0 {
		return from, nil
	}
	var kept int64
	err := q.logs.ReadLog(ctx, r.ID, from, to, func(c runs.LogChunk) error {
		kept += int64(len(c.Data))
		return nil
	})
	return r.LogBytes - kept, err
}
