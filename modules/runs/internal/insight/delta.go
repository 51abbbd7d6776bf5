package insight

import (
	"cmp"
	"context"
	"slices"

	"github.com/writ-automation/writ/ports/runs"
)

// Bounds of deltas: the changes that a builder remembers, and the bytes of a delta's cells.
const (
	maxChanges = 16 << 10
	maxDelta   = 256 << 10
)

// change is a cell that the event of a revision changed.
type change struct {
	rev      int64
	col, row int32
}

// history records the revision of each part of a matrix. Its lists are sorted by revision.
type history struct {
	tasks   []int64 // by column
	names   []int64 // by row
	changes []change
	lost    int64 // changes up to this revision are forgotten
}

// add appends a change. A full history drops its older half at once, so that dropping is rare.
func (h *history) add(c change) {
	if len(h.changes) >= maxChanges {
		half := len(h.changes) / 2
		h.lost = h.changes[half-1].rev
		h.changes = append(h.changes[:0], h.changes[half:]...)
	}
	h.changes = append(h.changes, c)
}

// since returns the number of revisions in the sorted list that are not above rev.
func since(list []int64, rev int64) int {
	n, _ := slices.BinarySearch(list, rev+1)
	return n
}

// Delta returns the changes of a run's matrix since the revision and the order that a follower has, or nil if there
// are none. It includes at least the first upTo of the run's own events.
func (x *Insight) Delta(ctx context.Context, r *runs.Run, rev, order, upTo int64) (d *runs.MatrixDelta, err error) {
	err = x.withRun(ctx, r, upTo, func(b *builder) {
		whole := r.Kind.Parent() && order != b.order
		if whole {
			rev = b.began
		}
		if d = b.delta(rev); d == nil {
			return
		}
		if d.Order = b.order; whole {
			d.Since = 0
		}
	})
	return d, err
}

func (b *builder) delta(rev int64) *runs.MatrixDelta {
	if b.rev <= rev {
		return nil
	}
	if rev < b.past.lost {
		return &runs.MatrixDelta{Since: rev, Rev: b.rev, Reload: true}
	}
	d := &runs.MatrixDelta{
		Since: rev, Rev: b.rev, Hosts: len(b.names), TasksFrom: since(b.past.tasks, rev), NamesFrom: since(b.past.names, rev),
	}
	d.Tasks, d.Names = slices.Clone(b.tasks[d.TasksFrom:]), slices.Clone(b.names[d.NamesFrom:])
	at, _ := slices.BinarySearchFunc(b.past.changes, rev+1, func(c change, r int64) int { return cmp.Compare(c.rev, r) })
	d.Cells = b.encodeChanges(b.past.changes[at:])
	switch {
	case len(d.Cells) > maxDelta:
		return &runs.MatrixDelta{Since: rev, Rev: b.rev, Reload: true}
	case len(d.Cells)+len(d.Tasks)+len(d.Names) == 0:
		return nil
	}
	return d
}

// encodeChanges encodes the changed cells by their positions in the whole matrix.
func (b *builder) encodeChanges(changes []change) []byte {
	hosts := int64(len(b.names))
	places := make([]int64, len(changes))
	for i, c := range changes {
		places[i] = int64(c.col)*hosts + int64(c.row)
	}
	slices.Sort(places)
	var r runLength
	next := int64(0)
	for _, p := range slices.Compact(places) {
		r.add(byte(runs.CellSame), uint64(p-next))
		r.add(b.cells[p/hosts][p%hosts], 1)
		next = p + 1
	}
	return r.bytes()
}
