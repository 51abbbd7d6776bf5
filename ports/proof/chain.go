package proof

import (
	"cmp"

	"github.com/writ-automation/writ/ports/proof/bundle"
	"github.com/writ-automation/writ/ports/proof/checkpoint"
	"github.com/writ-automation/writ/ports/proof/disclosure"
	"github.com/writ-automation/writ/ports/proof/keys"
	"github.com/writ-automation/writ/ports/proof/leaf"
	"github.com/writ-automation/writ/ports/proof/tree"
)

// chain is the verification of one document: what is known of the entries that were read.
type chain struct {
	in      *bundle.Reader
	head    bundle.Head
	signed  checkpoint.Body // what the checkpoint says, verified or not
	basis   basis
	outside outsideTally
	from    *Head // that the reader demands
	memory  memory
	by      []keys.Key // that signed the checkpoint
	latest  string     // the last time that is not ahead of the reader's clock
	report  Report
	verdict Verdict

	narrowed bool // the manifest's key was known beforehand
	broken   bool
	prev     tree.Hash // hash of the entry before
	at       string    // time of the entry before
	frontier tree.Range
	rooted   bool // edge is the tree up to the entry before
	marks    []mark
	next     int // the first mark that was not compared

	back, ahead   Tally
	open, missing int64
	skipped       int64 // marks outside of the window
	met           int64 // marks on the way
	proofOK       bool
}

// entry checks the next entry. After the first one that breaks the chain it counts alone.
func (c *chain) entry(e bundle.Entry) {
	c.verdict.Count++
	if c.broken {
		return
	}
	l, err := leaf.Scan(e.Leaf)
	if err != nil {
		c.snap(0, 0, "the entry at place %d cannot be read: %s", c.verdict.Count, flaw(err))
		return
	}
	seq := c.head.From + c.verdict.Count - 1
	want := c.prev
	if c.verdict.Count == 1 {
		want = c.head.Prev
	}
	text, ok := Linked(c.verdict.Count, l.Seq, seq, l.Prev, want)
	if !ok || seq > c.head.To {
		c.snap(c.verdict.Count, l.Seq, "%s", cmp.Or(text, "there are more entries than the window holds"))
		return
	}
	hash := leaf.Hash(e.Leaf)
	c.grow(seq, hash)
	c.clock(&l)
	c.disclosed(&l, e.Disclosures)
	c.prev = hash
}

// snap records where the chain breaks.
func (c *chain) snap(at, seq int64, text string, args ...any) {
	c.broken = true
	c.report.Snap(&c.verdict, at, seq, text, args...)
}

// grow adds the entry to the tree and holds what is known of the tree against it.
func (c *chain) grow(seq int64, hash tree.Hash) {
	index, size := uint64(seq-1), uint64(c.head.Size) //nolint:gosec // both are within the tree, from one on
	if !c.head.Whole() && seq == c.head.From {
		if err := tree.VerifyInclusion(hash, index, size, c.head.First, c.signed.Root); err != nil {
			c.report.Fail(StepInclusion, ProofInvalid, "the first entry is not shown to be under the head: %s", code(err))
		} else {
			c.begin(index, size)
		}
	}
	if c.rooted {
		c.frontier.Append(hash)
		c.compare()
	}
	if !c.head.Whole() && seq == c.head.To {
		if err := tree.VerifyInclusion(hash, index, size, c.head.Last, c.signed.Root); err != nil {
			c.report.Fail(StepInclusion, ProofInvalid, "the last entry is not shown to be under the head: %s", code(err))
		}
		c.proofOK = true
	}
}

// begin takes the tree before the window out of the verified proof of its first entry. Where that proof holds the
// hash of the leaf before, it has to be the one that the first entry names.
func (c *chain) begin(index, size uint64) {
	if c.rooted {
		return
	}
	if index%2 == 1 && c.head.First[0] != c.head.Prev {
		c.report.Fail(StepInclusion, ProofInvalid, "the hash before the first entry is not the one of its proof")
		return
	}
	edge, err := tree.Before(index, size, c.head.First)
	if err != nil {
		c.report.Fail(StepInclusion, ProofInvalid, "the first entry is not shown to be under the head: %s", code(err))
		return
	}
	c.frontier, c.rooted = edge, true
	c.compare()
}

func (c *chain) clock(l *leaf.Leaf) {
	// The one form of a time sorts as the times do.
	if l.At < c.at {
		c.back.Add(l.Seq)
	}
	if l.At > c.latest {
		c.ahead.Add(l.Seq)
	}
	c.at = l.At
}

func (c *chain) disclosed(l *leaf.Leaf, encoded []string) {
	if len(l.SD) == 0 && len(encoded) == 0 {
		return
	}
	m, err := disclosure.Match(l.SD, encoded)
	if err != nil {
		c.report.Fail(StepDisclosures, ProofInvalid, "a disclosure of entry %d is not the one that was recorded: %s", l.Seq, flaw(err))
		return
	}
	c.open += int64(len(m.Open))
	c.missing += int64(len(m.Missing))
}

// conclude reports on the entries as a whole.
func (c *chain) conclude() {
	if c.broken {
		return
	}
	c.report.Pass(StepEntries, "%d entries are in their one form, numbered without a gap and linked", c.verdict.Count)
	c.concludeHeads()
	if c.proofOK {
		c.report.Pass(StepInclusion, "the first and the last entry are under the head")
	}
	c.report.Times(c.back, c.ahead)
	c.report.Private(c.open, c.missing)
}
