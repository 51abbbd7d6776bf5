package prove

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/proof"
	"github.com/writ-automation/writ/ports/proof/leaf"
	"github.com/writ-automation/writ/ports/proof/tree"
)

// turn is a place where an epoch ends or begins. Heads of a closed epoch are given up, so that whoever could move such a place
// without a trace could give up any head.
type turn struct {
	size  int64
	epoch int64
	ends  bool
	root  tree.Hash // where it ends
}

// turns returns the turns of the epochs, ascending. An epoch that was forgotten begins where the next one does, and has no entry.
func turns(epochs []audit.Epoch) (out []turn) {
	for i, e := range epochs {
		if e.Closed {
			out = append(out, turn{size: e.LastSize, epoch: e.N, ends: true, root: e.LastRoot})
		}
		if last := i == len(epochs)-1; e.N > 1 && (last || epochs[i+1].FirstSeq != e.FirstSeq) {
			out = append(out, turn{size: e.FirstSeq, epoch: e.N})
		}
	}
	slices.SortStableFunc(out, func(a, b turn) int { return cmp.Compare(a.size, b.size) })
	return out
}

// turn holds the turns up to this place to the entry that is there, nil at the beginning.
func (w *walk) turn(l *leaf.Leaf) {
	for ; len(w.turns) > 0 && w.turns[0].size <= w.place; w.turns = w.turns[1:] {
		t := w.turns[0]
		switch {
		case t.ends && (t.size != w.place || t.root != w.edge.Root()):
			w.problem(t.mark(), proof.StepHeads, proof.RootMismatch)
		case !t.ends && (l == nil || l.Seq != t.size || l.Act != string(audit.ServiceEpoch) || l.Obj != fmt.Sprintf("epoch/%d", t.epoch)):
			w.problem(t.mark(), proof.StepHeads, proof.RootMismatch)
		}
	}
}

// unturned notes the turns that the chain does not reach.
func (w *walk) unturned() {
	for _, t := range w.turns {
		w.problem(t.mark(), proof.StepHeads, proof.TailMissing)
	}
}

func (t turn) mark() mark {
	return mark{id: fmt.Sprintf("epoch_%d", t.epoch), kind: "epoch", size: t.size}
}
