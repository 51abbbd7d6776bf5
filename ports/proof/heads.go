package proof

import (
	"slices"

	"github.com/writ-automation/writ/ports/proof/checkpoint"
	"github.com/writ-automation/writ/ports/proof/keys"
	"github.com/writ-automation/writ/ports/proof/receipt"
	"github.com/writ-automation/writ/ports/proof/tree"
)

// grown checks that the tree of the checkpoint begins with another one.
func (c *receiptCheck) grown(size int64, root tree.Hash, proof []tree.Hash) error {
	//nolint:gosec // sizes were read without a sign
	return tree.VerifyConsistency(uint64(size), uint64(c.signed.Size), root, c.signed.Root, proof)
}

// goesOn compares the receipt with its own proof of consistency, with the head that the reader demands and with the
// ones that it recorded earlier. The proof begins at a head that the reader has: without a head of that size only its
// length can be checked.
func (c *receiptCheck) goesOn() {
	c.report.Waive(StepConsistency, c.Consistency == nil)
	c.report.Waive(StepFrom, c.from == nil)
	c.report.Waive(StepKnown, !slices.ContainsFunc(c.memory.heads, func(k known) bool { return k.kind == pinKind }))
	c.consistency()
	if c.from != nil {
		c.extends(c.from)
	}
	c.memory.extends(c)
	c.memory.conclude(&c.report, &c.verdict)
}

// extends compares the receipt with the demanded head.
func (c *receiptCheck) extends(f *Head) {
	problem := AnchorProblem{ID: "from", Kind: "from", Size: f.Size}
	var proof []tree.Hash
	switch {
	case f.Size > c.signed.Size:
		problem.Problem = TailMissing
		c.report.Unsatisfied(&c.verdict, StepFrom, problem)
		c.report.Add(StepFrom, staleCheckpoint, c.signed.Size)
		return
	case f.Size == c.signed.Size || f.Size == 0:
	case c.Consistency == nil || c.Consistency.From != f.Size || c.report.Failed(StepConsistency):
		c.report.Fail(StepFrom, ProofInvalid, noProofFromGiven, f.Size)
		return
	default:
		proof = c.Consistency.Proof
	}
	if c.grown(f.Size, f.Root, proof) != nil {
		problem.Problem = RootMismatch
		c.report.Unsatisfied(&c.verdict, StepFrom, problem)
		return
	}
	c.report.Pass(StepFrom, extendsGiven, f.Size)
}

// contains returns the reader's head of this size: the demanded one before the known ones.
func (c *receiptCheck) contains(size int64) *Head {
	if c.from != nil && c.from.Size == size {
		return c.from
	}
	for i := range c.memory.heads {
		if c.memory.heads[i].Size == size {
			return &c.memory.heads[i].Head
		}
	}
	return nil
}

func (c *receiptCheck) consistency() {
	p := c.Consistency
	if p == nil {
		return
	}
	root, known := tree.EmptyRoot(), p.From == 0
	held := c.contains(p.From)
	if held != nil {
		root, known = held.Root, true
	} else if p.From == c.signed.Size {
		root, known = c.signed.Root, true
	}
	err := c.grown(p.From, root, p.Proof)
	switch {
	case err == nil:
		c.report.Pass(StepConsistency, checkpointExtends, c.signed.Size, p.From)
	case held != nil && code(err) == string(tree.CodeRoot):
		c.report.Warn(StepConsistency, "the consistency proof does not match the reader's head of %d entries", p.From)
	case !known && code(err) == string(tree.CodeRoot):
		c.report.Warn(StepConsistency,
			"the consistency proof was not checked: no head of %d entries was given", p.From)
	default:
		c.report.Fail(StepConsistency, ProofInvalid, growthInvalid, p.From, c.signed.Size, code(err))
	}
}

// openAnchors verifies each anchor: its note, the evidence, and that the checkpoint's tree extends it.
func (c *receiptCheck) openAnchors(ring keys.Ring) {
	if c.report.Failed(StepTrust) {
		return
	}
	for i := range c.Anchors {
		a := &c.Anchors[i]
		if what := c.anchor(ring, a); what != "" {
			c.report.Unsatisfied(&c.verdict, StepAnchors, AnchorProblem{ID: a.ID, Kind: a.Kind, Size: a.Size, Problem: what})
		}
	}
	c.report.Pass(StepAnchors, "the checkpoint extends the heads of all %d anchors", len(c.Anchors))
	c.outside.conclude(&c.report, StepAnchors, &c.verdict)
}

// anchor returns the problem of an anchor, or "". A proof of the wrong length proves neither consistency nor a fork.
func (c *receiptCheck) anchor(ring keys.Ring, a *receipt.Anchor) string {
	signed, err := checkpoint.Open([]byte(a.Note), ring, needed(ring, c.Origin, a.Size)...)
	if err != nil || signed.Origin != c.Origin {
		return BadSignature
	}
	at, ok := c.outside.add(c.basis.outsiders, a.Kind, a.Note, a.Token)
	if !ok {
		return BadSignature
	}
	if a.Size > c.signed.Size {
		return TailMissing
	}
	switch err := c.grown(a.Size, signed.Root, a.Proof); {
	case err == nil:
		if !at.IsZero() {
			c.outside.checked++
			c.sighted = append(c.sighted, Sighted{ID: a.ID, Kind: a.Kind, Size: a.Size, At: at})
		}
		return ""
	case code(err) == string(tree.CodeLength):
		c.report.Fail(StepAnchors, ProofInvalid, "%s %s of %d entries: %s", a.Kind, a.ID, a.Size, code(err))
		return ""
	}
	return RootMismatch
}
