package proof

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/writ-automation/writ/ports/proof/tree"
)

// mark is a head that the chain has to contain.
type mark struct {
	size     int64
	root     tree.Hash
	id, kind string
	at       time.Time // the verified time of a third party, or zero
}

// remembered reports whether the reader knew the head before.
func (m mark) remembered() bool { return m.kind == pinKind || m.kind == sealKind }

// addMark keeps the marks ascending by size.
func (c *chain) addMark(m mark) {
	i, _ := slices.BinarySearchFunc(c.marks, m.size+1, func(m mark, size int64) int { return cmp.Compare(m.size, size) })
	c.marks = slices.Insert(c.marks, i, m)
}

func (c *chain) problem(m mark, what string) {
	if m.remembered() && what == RootMismatch {
		c.memory.contradict(&c.report, &c.verdict, m.kind, c.head.Checkpoint)
		return
	}
	c.report.Unsatisfied(&c.verdict, StepHeads, AnchorProblem{ID: m.id, Kind: m.kind, Size: m.size, Problem: what})
}

// compare compares the tree with the marks of its size. Marks of smaller trees are outside of the window.
func (c *chain) compare() {
	size := int64(c.frontier.Size()) //nolint:gosec // no tree is larger than 2^53-1
	if c.next == len(c.marks) || c.marks[c.next].size > size {
		return
	}
	root := c.frontier.Root()
	for ; c.next < len(c.marks) && c.marks[c.next].size <= size; c.next++ {
		m := c.marks[c.next]
		switch {
		case m.size < size:
			c.elsewhere(m)
		case m.root != root:
			c.problem(m, RootMismatch)
		default:
			c.meets(m)
		}
	}
}

// meets counts a satisfied mark.
func (c *chain) meets(m mark) {
	switch {
	case m.kind == "from":
		c.report.Pass(StepFrom, extendsGiven, m.size)
	case m.remembered():
		c.memory.meets(m.kind)
	default:
		c.met++
		if !m.at.IsZero() {
			c.outside.checked++
			c.report.Conflict(&c.verdict, c.times.Head(Sighted{ID: m.id, Kind: m.kind, Size: m.size, At: m.at}))
		}
	}
}

// elsewhere compares a mark outside of the window with the heads that are known without entries.
func (c *chain) elsewhere(m mark) {
	root, known := tree.EmptyRoot(), m.size == 0
	if m.size == c.signed.Size {
		root, known = c.signed.Root, true
	} else if p := c.head.Consistency; p != nil && p.From == m.size && !c.report.Failed(StepConsistency) {
		root, known = p.Root, true
	}
	switch {
	case known && m.root != root:
		c.problem(m, RootMismatch)
	case known:
		c.meets(m)
	case m.remembered(): // no proof in the file
	case m.kind == "from":
		c.report.Fail(StepFrom, ProofInvalid, noProofFromGiven, m.size)
	default:
		c.skipped++
	}
}

// concludeHeads reports on the marks after every entry was read.
func (c *chain) concludeHeads() {
	if !c.rooted && c.verdict.Count > 0 {
		return // the proof of the first entry failed
	}
	last := c.head.From + c.verdict.Count - 1
	short := last < c.head.To || c.head.Size < c.signed.Size
	for ; c.next < len(c.marks); c.next++ {
		m := c.marks[c.next]
		switch {
		case m.size > c.signed.Size && m.remembered():
			c.memory.stale = append(c.memory.stale, m.kind)
		case m.size > c.signed.Size || short && m.size > last:
			c.problem(m, TailMissing)
			if m.kind == "from" && m.size > c.signed.Size {
				c.report.Add(StepFrom, staleCheckpoint, c.signed.Size)
			}
		default:
			c.elsewhere(m)
		}
	}
	c.report.Pass(StepHeads, "the log is consistent with %d heads, including the checkpoint of %d entries", c.met,
		c.signed.Size)
	c.outside.conclude(&c.report, StepHeads, &c.verdict)
	c.memory.conclude(&c.report, &c.verdict)
	if c.skipped > 0 {
		c.verdict.NotChecked = append(c.verdict.NotChecked, fmt.Sprintf("%d anchors outside of the window", c.skipped))
	}
	if !c.head.Whole() {
		c.verdict.NotChecked = append(c.verdict.NotChecked,
			"the contents of the entries outside of the window")
	}
}
