package proof

import (
	"encoding/hex"

	"github.com/writ-automation/writ/ports/proof/disclosure"
	"github.com/writ-automation/writ/ports/proof/receipt"
)

// final returns the index of the entry that ends the run, the last one of several, or -1.
func (c *receiptCheck) final() int {
	for i := len(c.leaves) - 1; i >= 0; i-- {
		if c.leaves[i].Act == receipt.RunFinal && c.leaves[i].Obj == receipt.Object(c.Digest.ID) {
			return i
		}
	}
	return -1
}

// subject compares the document of the run with the statement's subject and with the entry that ends the run.
func (c *receiptCheck) subject() {
	end := c.final()
	switch {
	case c.Subject.Name != c.Digest.ID || c.Subject.SHA256 != c.Digest.Sum:
		c.report.Fail(StepSubject, ProofInvalid, "the statement is about another run or another document")
	case end < 0 && !c.Digest.Bare:
		c.report.Fail(StepSubject, ProofInvalid, "no entry ends the run, and yet there is a document of its end")
	case end < 0:
		c.report.Warn(StepSubject, "no entry ends the run: its status is the word of the signer")
	case c.leaves[end].Det != "sha256:"+hex.EncodeToString(c.Digest.Sum[:]):
		c.report.Fail(StepSubject, ProofInvalid, "entry %d, which ends the run, holds the digest of another document",
			c.leaves[end].Seq)
	default:
		c.report.Pass(StepSubject, "entry %d, which ends the run, holds the digest of its document", c.leaves[end].Seq)
	}
	c.complete(end)
}

// complete counts the run's own entries before the one that ends it.
func (c *receiptCheck) complete(end int) {
	switch {
	case end < 0:
		c.report.Warn(StepCompleteness,
			"no entry ends the run: that none of its entries is left out is the word of the signer")
		return
	case c.Digest.Own == nil:
		c.report.Warn(StepCompleteness,
			"the run's document does not count its entries: that none is left out is the word of the signer")
		return
	}
	var own receipt.Count
	for i := range end {
		if receipt.Belongs(c.Digest.ID, c.leaves[i].Run, c.leaves[i].Obj) {
			own.Add(c.hashes[i])
		}
	}
	if got := own.Own(); got != *c.Digest.Own {
		c.report.Fail(StepCompleteness, ProofInvalid,
			"the receipt holds %d entries of the run before its end, and there were %d, or they are others", got.Count,
			c.Digest.Own.Count)
		return
	}
	c.report.Pass(StepCompleteness, "the receipt holds all %d entries that the run had before its end", c.Digest.Own.Count)
}

func (c *receiptCheck) disclosures() {
	open, missing := int64(0), int64(0)
	for i := range c.leaves {
		l, encoded := &c.leaves[i], c.Entries[i].Disclosures
		if len(l.SD) == 0 && len(encoded) == 0 {
			continue
		}
		m, err := disclosure.Match(l.SD, encoded)
		if err != nil {
			c.report.Fail(StepDisclosures, ProofInvalid, "a disclosure of entry %d is not the one that was recorded: %s", l.Seq,
				flaw(err))
			continue
		}
		open += int64(len(m.Open))
		missing += int64(len(m.Missing))
	}
	c.report.Private(open, missing)
}
