package masking

import (
	"bytes"
	"context"

	"github.com/writ-automation/writ/ports/runs"
)

// Log stores output, as runs.Journal does.
type Log interface {
	AppendLog(ctx context.Context, l runs.Lease, c runs.LogChunk) (next int64, err error)
}

// AppendLog stores output with stars over each secret of its claim. What may be the beginning of a secret at its end
// waits for the next output. Offsets stay those of the worker, and a call that is repeated changes nothing: the output
// is stored before its end.
func (m *Masks) AppendLog(ctx context.Context, log Log, l runs.Lease, c runs.LogChunk) (int64, error) {
	masker, err := m.Of(ctx, l)
	if err != nil {
		return 0, err
	}
	if masker.Empty() {
		return log.AppendLog(ctx, l, c)
	}
	last, err := m.tailOf(ctx, l)
	if err != nil {
		return 0, err
	}
	hidden := 0
	if len(last.data) > 0 {
		switch end := last.end(); {
		case c.Offset+int64(len(c.Data)) <= end: // held already
			_, err := log.AppendLog(ctx, l, runs.LogChunk{}) // whether the lease is valid
			return end, err
		case c.Offset <= end:
			c = runs.LogChunk{Offset: last.offset, Data: append(last.data, c.Data[end-c.Offset:]...)}
			hidden = last.hidden
		default: // the worker dropped output in between: a secret could continue behind it
			lost := runs.LogChunk{Offset: last.offset, Data: bytes.Repeat([]byte("*"), len(last.data))}
			if _, err := log.AppendLog(ctx, l, lost); err != nil {
				return 0, err
			}
		}
	}
	out, undecided, hidden := masker.Blank(c.Data, hidden)
	decided := len(out) - undecided
	next := tail{c.Offset + int64(decided), hidden, c.Data[decided:]}
	held, err := log.AppendLog(ctx, l, decidedChunk(c.Offset, out[:decided]))
	if err != nil {
		return 0, err
	}
	if len(last.data)+len(next.data) == 0 {
		return held, nil
	}
	return max(held, next.end()), m.putTail(ctx, l, next)
}

// decidedChunk returns no offset without data: that would make a hole.
func decidedChunk(offset int64, data []byte) runs.LogChunk {
	if len(data) == 0 {
		return runs.LogChunk{}
	}
	return runs.LogChunk{Offset: offset, Data: data}
}

// EndLog stores what waits of the output of a claim that ends.
func (m *Masks) EndLog(ctx context.Context, log Log, l runs.Lease) error {
	masker, err := m.Of(ctx, l)
	if err != nil || masker.Empty() {
		return err
	}
	last, err := m.tailOf(ctx, l)
	if err != nil || len(last.data) == 0 {
		return err
	}
	out, _, _ := masker.Blank(last.data, last.hidden)
	_, err = log.AppendLog(ctx, l, runs.LogChunk{Offset: last.offset, Data: out})
	return err
}
