package proof

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/writ-automation/writ/ports/proof/checkpoint"
	"github.com/writ-automation/writ/ports/proof/dsse"
	"github.com/writ-automation/writ/ports/proof/keys"
	"github.com/writ-automation/writ/ports/proof/leaf"
	"github.com/writ-automation/writ/ports/proof/receipt"
	"github.com/writ-automation/writ/ports/proof/tree"
)

// VerifyReceipt checks a receipt of a run like VerifyBundle. It reads the whole file into memory, up to a bound.
func VerifyReceipt(ctx context.Context, r io.Reader, t Trust, now time.Time) (Verdict, error) {
	known, err := basisOf(t)
	if err != nil {
		return Verdict{}, err
	}
	data, err := io.ReadAll(io.LimitReader(r, receipt.MaxBytes+1))
	if err != nil {
		return Verdict{}, fmt.Errorf("receipt: read: %w", err)
	}
	if ctx.Err() != nil {
		return Verdict{}, context.Cause(ctx)
	}
	c := &receiptCheck{basis: known, from: t.From, times: NewTimes(now), report: OfReceipt()}
	c.report.Waive(StepKnown, len(known.pins) == 0)
	c.verdict.AnchorProblems = []AnchorProblem{}
	c.verdict.NotChecked = UnprovableOfFile()
	switch err := c.run(data); {
	case keys.FormatInvalid.Is(err):
		c.report.Refuse(StepFormat, err)
	case err != nil:
		return Verdict{}, err
	}
	c.report.Finish(&c.verdict)
	c.verdict.Pinned = c.basis.knows(c.Origin) && c.report.Passed(StepCheckpoint)
	return c.verdict, nil
}

// receiptCheck is the verification of one receipt.
type receiptCheck struct {
	receipt.Document
	signed  checkpoint.Body // contents of the checkpoint, verified or not
	basis   basis
	outside outsideTally
	from    *Head // demanded by the reader
	memory  memory
	by      []keys.Key // the signers of the checkpoint
	times   Times
	sighted []Sighted
	report  Report
	verdict Verdict

	leaves []leaf.Leaf
	hashes []tree.Hash
}

// run executes the steps. Its errors are flaws of form, including a document that is not a receipt.
func (c *receiptCheck) run(data []byte) error {
	var err error
	if c.Document, err = receipt.Parse(data); err != nil {
		return err
	}
	note, err := checkpoint.Parse([]byte(c.Checkpoint))
	if err != nil {
		return err
	}
	if note.Origin != c.Origin {
		return keys.FormatInvalid.New("the checkpoint and the file have different origins")
	}
	c.signed, c.verdict.Size, c.verdict.Root, c.verdict.Origin = note.Body, note.Size, note.Root, note.Origin
	c.verdict.Note, c.memory.heads = c.Checkpoint, c.basis.heads(c.Origin)
	c.report.Pass(StepFormat, "a %s receipt of run %s with %d entries of %s", c.Mode, c.Digest.ID, len(c.Entries),
		c.Origin)
	ring, err := c.basis.trusted(c.Keys, c.Origin)
	if err != nil {
		c.report.Refuse(StepTrust, err)
	} else {
		c.basis.heldTo(&c.report, c.Origin)
	}
	if !c.report.Failed(StepTrust) {
		c.openCheckpoint(ring)
	}
	c.openEnvelope()
	read := c.readEntries()
	if read {
		c.prove()
		c.subject()
		c.disclosures()
	}
	c.goesOn()
	c.openAnchors(ring)
	if read {
		for _, got := range c.times.All(c.leaves, c.sighted) {
			c.report.Conflict(&c.verdict, &got)
		}
		c.report.Times(&c.times)
	}
	return nil
}

// openEnvelope verifies the signature over the statement with a statement key that the receipt lists.
func (c *receiptCheck) openEnvelope() {
	ring, narrowed, err := c.basis.statementKeys(c.Keys, c.Origin, c.by)
	if err != nil {
		c.report.Refuse(StepSignature, err)
		return
	}
	by, err := c.Envelope.Verify(ring)
	if err == nil {
		err = dsse.Opened{By: by}.Admit(c.signed.Size)
	}
	if err != nil {
		c.report.Refuse(StepSignature, err)
		return
	}
	c.verdict.SignedBy = append(c.verdict.SignedBy, by[0].ID)
	c.report.Pass(StepSignature, "the statement is signed by %s", by[0].ID)
	if narrowed {
		Vouched(&c.verdict)
	}
}

func (c *receiptCheck) openCheckpoint(ring keys.Ring) {
	signed, err := checkpoint.Open([]byte(c.Checkpoint), ring, needed(ring, c.Origin, c.signed.Size)...)
	if err != nil {
		c.report.Refuse(StepCheckpoint, err)
		return
	}
	c.by = signed.By
	c.verdict.SignedBy = append(c.verdict.SignedBy, signed.By[0].ID)
	c.report.Pass(StepCheckpoint, checkpointSigned, signed.Size, signed.By[0].ID)
}

// readEntries checks the form, the place and the link of each entry. After the first broken one, entries are only
// counted.
func (c *receiptCheck) readEntries() bool {
	c.verdict.Count = int64(len(c.Entries))
	c.leaves = make([]leaf.Leaf, 0, len(c.Entries))
	c.hashes = make([]tree.Hash, 0, len(c.Entries))
	for i := range c.Entries {
		e, place := &c.Entries[i], int64(i+1)
		l, err := leaf.Scan([]byte(e.Leaf))
		if err != nil {
			c.report.Snap(&c.verdict, 0, 0, entryUnreadable, place, flaw(err))
			return false
		}
		if text, ok := c.follows(i, &l); !ok {
			c.report.Snap(&c.verdict, place, l.Seq, "%s", text)
			return false
		}
		c.leaves = append(c.leaves, l)
		c.hashes = append(c.hashes, leaf.Hash([]byte(e.Leaf)))
		ends := i == 0 || i == len(c.Entries)-1
		if (ends || c.Mode == receipt.Sparse) && !receipt.Belongs(c.Digest.ID, l.Run, l.Obj) {
			c.report.Fail(StepEntries, ProofInvalid, "entry %d does not belong to the run", l.Seq)
		}
	}
	c.report.Pass(StepEntries, "%d entries are in canonical form and at their positions", len(c.Entries))
	return true
}

// follows checks that the entry at index i of the list continues the previous one: the number that its index implies,
// in a contiguous receipt the next number, in a sparse one a later number, and the hash of its neighbour as prev.
func (c *receiptCheck) follows(i int, l *leaf.Leaf) (text string, ok bool) {
	want, prev := c.Entries[i].Index+1, l.Prev
	if i > 0 {
		last := c.leaves[i-1].Seq
		switch {
		case c.Mode == receipt.Contiguous:
			want, prev = last+1, c.hashes[i-1]
		case l.Seq <= last:
			want = last + 1
		case l.Seq == last+1:
			prev = c.hashes[i-1]
		}
	}
	if text, ok = Linked(int64(i+1), l.Seq, want, l.Prev, prev); ok && l.Seq != c.Entries[i].Index+1 {
		return fmt.Sprintf("entry %d has the wrong index %d", l.Seq, c.Entries[i].Index), false
	}
	return text, ok
}

// prove verifies the inclusion proofs.
func (c *receiptCheck) prove() {
	n := 0
	for i := range c.Entries {
		e := &c.Entries[i]
		if !e.Proven {
			continue
		}
		index, size := uint64(e.Index), uint64(c.signed.Size) //nolint:gosec // both were read without a sign
		if err := tree.VerifyInclusion(c.hashes[i], index, size, e.Proof, c.signed.Root); err != nil {
			c.report.Fail(StepInclusion, ProofInvalid, inclusionInvalid, e.Index+1, code(err))
			return
		}
		n++
	}
	c.report.Pass(StepInclusion, "%d entries have valid inclusion proofs for the checkpoint of %d entries", n,
		c.signed.Size)
}
