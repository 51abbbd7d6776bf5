package insight

import (
	"encoding/binary"
	"slices"

	"github.com/writ-automation/writ/ports/runs"
)

// matrix returns the requested window.
func (b *builder) matrix(q runs.MatrixQuery) *runs.Matrix {
	from := min(max(q.From, 0), len(b.names))
	to := len(b.names)
	if q.Count > 0 {
		to = min(from+q.Count, to)
	}
	m := &runs.Matrix{Tasks: slices.Clone(b.tasks), Hosts: len(b.names), From: from, Rev: b.rev}
	if q.AfterRev > 0 && b.rev <= q.AfterRev {
		m.Same = true
		return m
	}
	m.Names = slices.Clone(b.names[from:to])
	m.Cells = b.encode(from, to)
	return m
}

// encode encodes the rows from from to to, column by column, as pairs of a byte and its number of repetitions.
func (b *builder) encode(from, to int) []byte {
	var r runLength
	for _, col := range b.cells {
		have := min(max(len(col), from), to)
		if from < len(col) {
			for _, c := range col[from:have] {
				r.add(c, 1)
			}
		}
		r.add(byte(runs.CellNone), uint64(to-have))
	}
	return r.bytes()
}

type runLength struct {
	out  []byte
	last byte
	n    uint64
}

func (r *runLength) add(c byte, n uint64) {
	if n == 0 {
		return
	}
	if r.n > 0 && c != r.last {
		r.flush()
	}
	r.last = c
	r.n += n
}

func (r *runLength) flush() {
	r.out = append(r.out, r.last)
	r.out = binary.AppendUvarint(r.out, r.n)
	r.n = 0
}

func (r *runLength) bytes() []byte {
	if r.n > 0 {
		r.flush()
	}
	return r.out
}
