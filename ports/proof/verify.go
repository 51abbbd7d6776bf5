package proof

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/writ-automation/writ/ports/proof/bundle"
	"github.com/writ-automation/writ/ports/proof/checkpoint"
	"github.com/writ-automation/writ/ports/proof/disclosure"
	"github.com/writ-automation/writ/ports/proof/keys"
	"github.com/writ-automation/writ/ports/proof/leaf"
	"github.com/writ-automation/writ/ports/proof/tree"
)

// VerifyBundle checks a bundle from a stream, in bounded memory. Entries with a time after now get a remark. The
// verdict describes flaws of the file; an error means that the file could not be read, is larger than any valid one,
// or that a trusted key cannot be read.
func VerifyBundle(ctx context.Context, r io.Reader, t Trust, now time.Time) (Verdict, error) {
	known, err := basisOf(t)
	if err != nil {
		return Verdict{}, err
	}
	c := &chain{in: bundle.NewReader(r), basis: known, from: t.From, times: NewTimes(now), report: OfBundle()}
	c.report.Waive(StepKnown, len(known.pins) == 0)
	c.verdict.AnchorProblems = []AnchorProblem{}
	c.verdict.NotChecked = UnprovableOfFile()
	err = c.run(ctx)
	switch {
	case keys.FormatInvalid.Is(err):
		c.report.Refuse(StepFormat, err)
	case err != nil:
		return Verdict{}, err
	}
	c.report.Finish(&c.verdict)
	// Keys that were known in advance count if one of them has signed.
	c.verdict.Pinned = c.basis.knows(c.head.Origin) && c.report.Passed(StepCheckpoint)
	return c.verdict, nil
}

// run reads the document. Its errors are those of reading.
func (c *chain) run(ctx context.Context) error {
	h, err := c.in.Head()
	if err != nil {
		return err
	}
	c.head = h
	if err := c.openHead(); err != nil {
		return err
	}
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		e, err := c.in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		c.entry(e)
	}
	envelope, covered, err := c.in.Manifest()
	if err != nil {
		return err
	}
	c.report.Pass(StepFormat, "a bundle of entries %d to %d of %s, made at %s", h.From, h.To, h.Origin,
		leaf.At(h.GeneratedAt))
	c.conclude()
	if id, err := c.openManifest(envelope, covered); err != nil {
		c.report.Refuse(StepManifest, err)
	} else {
		c.verdict.SignedBy = append(c.verdict.SignedBy, id)
		c.report.Pass(StepManifest, "every byte before the manifest is signed by %s", id)
		if c.narrowed {
			Vouched(&c.verdict)
		}
	}
	return nil
}

// openHead determines the trusted keys and opens checkpoint and anchors. Its error is a flaw of form.
func (c *chain) openHead() error {
	h := &c.head
	note, err := checkpoint.Parse([]byte(h.Checkpoint))
	if err != nil {
		return err
	}
	switch {
	case note.Origin != h.Origin:
		return keys.FormatInvalid.New("the checkpoint and the file have different origins")
	case note.Size < h.Size:
		return keys.FormatInvalid.New("the tree of the checkpoint is smaller than the size in the file")
	}
	c.signed, c.verdict.Size, c.verdict.Root, c.verdict.Origin = note.Body, note.Size, note.Root, note.Origin
	c.verdict.Note = h.Checkpoint
	ring, err := c.basis.trusted(h.Keys, h.Origin)
	if err != nil {
		c.report.Refuse(StepTrust, err)
	} else {
		c.basis.heldTo(&c.report, h.Origin)
	}
	c.openCheckpoint(ring)
	c.openAnchors(ring)
	c.addMark(mark{size: note.Size, root: note.Root, id: "checkpoint", kind: "checkpoint"})
	if c.from != nil {
		c.addMark(mark{size: c.from.Size, root: c.from.Root, id: "from", kind: "from"})
	}
	c.memory.heads = c.basis.heads(h.Origin)
	for _, k := range c.memory.heads {
		c.addMark(mark{size: k.Size, root: k.Root, id: k.kind, kind: k.kind})
	}
	c.openConsistency()
	c.report.Waive(StepInclusion, h.Whole())
	c.report.Waive(StepFrom, c.from == nil)
	c.report.Waive(StepKnown, !slices.ContainsFunc(c.memory.heads, func(k known) bool { return k.kind == pinKind }))
	if h.From == 1 {
		c.rooted = true
		c.compare()
	}
	return nil
}

func (c *chain) openCheckpoint(ring keys.Ring) {
	if c.report.Failed(StepTrust) {
		return
	}
	signed, err := checkpoint.Open([]byte(c.head.Checkpoint), ring, needed(ring, c.head.Origin, c.signed.Size)...)
	if err != nil {
		c.report.Refuse(StepCheckpoint, err)
		return
	}
	c.by = signed.By
	c.verdict.SignedBy = append(c.verdict.SignedBy, signed.By[0].ID)
	c.report.Pass(StepCheckpoint, checkpointSigned, signed.Size, signed.By[0].ID)
}

// openAnchors verifies each anchor. An untrusted anchor is a problem of its own and does not affect the chain.
func (c *chain) openAnchors(ring keys.Ring) {
	if c.report.Failed(StepTrust) {
		return
	}
	for _, a := range c.head.Anchors {
		signed, err := checkpoint.Open([]byte(a.Note), ring, needed(ring, c.head.Origin, a.Size)...)
		if err != nil || signed.Origin != c.head.Origin {
			c.problem(mark{size: a.Size, id: a.ID, kind: a.Kind}, BadSignature)
			continue
		}
		at, ok := c.outside.add(c.basis.outsiders, a.Kind, a.Note, nil)
		if !ok {
			c.problem(mark{size: a.Size, id: a.ID, kind: a.Kind}, BadSignature)
			continue
		}
		c.addMark(mark{size: a.Size, root: signed.Root, id: a.ID, kind: a.Kind, at: at})
	}
	c.head.Anchors = nil // the notes are not needed any more
}

func (c *chain) openConsistency() {
	p := c.head.Consistency
	if p == nil {
		c.report.Waive(StepConsistency, true)
		return
	}
	older, newer := uint64(p.From), uint64(c.signed.Size) //nolint:gosec // sizes were read without a sign
	err := tree.VerifyConsistency(older, newer, p.Root, c.signed.Root, p.Proof)
	if err != nil {
		c.report.Fail(StepConsistency, ProofInvalid, growthInvalid, p.From, c.signed.Size, code(err))
		return
	}
	c.report.Pass(StepConsistency, checkpointExtends, c.signed.Size, p.From)
}

// code returns the code of a flaw in a proof.
func code(err error) string {
	var e *tree.Error
	if errors.As(err, &e) {
		return string(e.Code)
	}
	return "error"
}

// flaw returns the code of a flaw in a leaf or a disclosure.
func flaw(err error) string {
	var l *leaf.Error
	var d *disclosure.Error
	switch {
	case errors.As(err, &l):
		return string(l.Code)
	case errors.As(err, &d):
		return string(d.Code)
	}
	return "error"
}
