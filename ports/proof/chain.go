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

// chain is the verification of one document, with the state of the entries read so far.
type chain struct {
	in      *bundle.Reader
	head    bundle.Head
	signed  checkpoint.Body // contents of the checkpoint, verified or not
	basis   basis
	outside outsideTally
	from    *Head // demanded by the reader
	memory  memory
	by      []keys.Key // the signers of the checkpoint
	times   Times
	report  Report
	verdict Verdict

	narrowed bool // the manifest's key was known in advance
	broken   bool
	prev     tree.Hash // hash of the previous entry
	frontier tree.Range
	rooted   bool // frontier is the tree up to the previous entry
	marks    []mark
	next     int // the first mark that is not compared yet

	open, missing int64
	withheld      int64 // entries of which the file has only the hash
	skipped       int64 // marks outside of the window
	met           int64 // satisfied marks
	proofOK       bool
}

// entry checks the next entry. After the first one that breaks the chain, entries are only counted.
func (c *chain) entry(e bundle.Entry) {
	c.verdict.Count++
	if c.broken {
		return
	}
	if e.Hash != nil {
		c.withhold(*e.Hash)
		return
	}
	l, err := leaf.Scan(e.Leaf)
	if err != nil {
		c.snap(0, 0, entryUnreadable, c.verdict.Count, flaw(err))
		return
	}
	seq := c.head.From + c.verdict.Count - 1
	want := c.prev
	if c.verdict.Count == 1 {
		want = c.head.Prev
	}
	text, ok := Linked(c.verdict.Count, l.Seq, seq, l.Prev, want)
	if !ok || seq > c.head.To {
		c.snap(c.verdict.Count, l.Seq, "%s", cmp.Or(text, tooManyEntries))
		return
	}
	hash := leaf.Hash(e.Leaf)
	c.grow(seq, hash, &l)
	c.disclosed(&l, e.Disclosures)
	c.prev = hash
}

// withhold takes the hash of the next entry. Its link to the entry before cannot be checked; the tree is.
func (c *chain) withhold(hash tree.Hash) {
	seq := c.head.From + c.verdict.Count - 1
	if seq > c.head.To {
		c.snap(c.verdict.Count, seq, tooManyEntries)
		return
	}
	c.withheld++
	c.grow(seq, hash, nil)
	c.prev = hash
}

// snap records the place of the first break.
func (c *chain) snap(at, seq int64, text string, args ...any) {
	c.broken = true
	c.report.Snap(&c.verdict, at, seq, text, args...)
}

// grow adds the entry to the tree and compares the tree with the marks. Without l the entry is withheld.
func (c *chain) grow(seq int64, hash tree.Hash, l *leaf.Leaf) {
	index, size := uint64(seq-1), uint64(c.head.Size) //nolint:gosec // both are within the tree, from one on
	if !c.head.Whole() && seq == c.head.From {
		if err := tree.VerifyInclusion(hash, index, size, c.head.First, c.signed.Root); err != nil {
			c.report.Fail(StepInclusion, ProofInvalid, inclusionInvalid, index+1, code(err))
		} else {
			c.begin(index, size)
		}
	}
	if l != nil {
		c.report.Conflict(&c.verdict, c.times.Entry(l))
	}
	if !c.head.Whole() && seq == c.head.To {
		c.end(hash, index, size)
	}
	if c.rooted {
		c.frontier.Append(hash)
		c.compare()
	}
}

// end checks the proof of the last entry. It also covers the entries before it, which may be withheld.
func (c *chain) end(hash tree.Hash, index, size uint64) {
	if err := tree.VerifyInclusion(hash, index, size, c.head.Last, c.signed.Root); err != nil {
		c.report.Fail(StepInclusion, ProofInvalid, inclusionInvalid, index+1, code(err))
	} else if before, err := tree.Before(index, size, c.head.Last); err != nil || c.rooted && before != c.frontier {
		c.report.Fail(StepInclusion, ProofInvalid,
			"the inclusion proof of the last entry does not match the entries before it")
	}
	c.proofOK = true
}

// begin takes the tree before the window from the verified proof of its first entry. If that proof contains the hash
// of the previous leaf, the first entry has to name the same hash.
func (c *chain) begin(index, size uint64) {
	if c.rooted {
		return
	}
	if index%2 == 1 && c.head.First[0] != c.head.Prev {
		c.report.Fail(StepInclusion, ProofInvalid, "the hash before the first entry does not match its inclusion proof")
		return
	}
	edge, err := tree.Before(index, size, c.head.First)
	if err != nil {
		c.report.Fail(StepInclusion, ProofInvalid, inclusionInvalid, index+1, code(err))
		return
	}
	c.frontier, c.rooted = edge, true
	c.compare()
}

func (c *chain) disclosed(l *leaf.Leaf, encoded []string) {
	if len(l.SD) == 0 && len(encoded) == 0 {
		return
	}
	open, missing, err := disclosure.Count(l.SD, encoded)
	if err != nil {
		c.report.Fail(StepDisclosures, ProofInvalid, disclosureInvalid, l.Seq, flaw(err))
		return
	}
	c.open += int64(open)
	c.missing += int64(missing)
}

// conclude reports on the entries as a whole.
func (c *chain) conclude() {
	if c.broken {
		return
	}
	const linked = "%d entries are in canonical form, numbered without a gap and linked by hash"
	if whole := c.verdict.Count - c.withheld; c.withheld == 0 {
		c.report.Pass(StepEntries, linked, whole)
	} else {
		c.report.Warn(StepEntries, linked+"; for %d others the file has only the hash", whole, c.withheld)
		c.verdict.NotChecked = append(c.verdict.NotChecked,
			"the contents of the entries for which the file has only the hash")
	}
	c.concludeHeads()
	if c.proofOK {
		c.report.Pass(StepInclusion, "the first and the last entry have valid inclusion proofs for the checkpoint")
	}
	c.report.Times(&c.times)
	c.report.Private(c.open, c.missing)
}
