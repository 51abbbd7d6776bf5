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
		c.report.Fail(StepSubject, ProofInvalid, "the subject of the statement is another run or another document")
	case end < 0 && !c.Digest.Bare:
		c.report.Fail(StepSubject, ProofInvalid, "the receipt has results of the run, but no entry that ends it")
	case end < 0:
		c.report.Warn(StepSubject, "no entry ends the run: its status is asserted by the signer only")
	case c.leaves[end].Det != "sha256:"+hex.EncodeToString(c.Digest.Sum[:]):
		c.report.Fail(StepSubject, ProofInvalid, "entry %d ends the run, but has the digest of another document",
			c.leaves[end].Seq)
	default:
		c.report.Pass(StepSubject, "entry %d ends the run and has the digest of its document", c.leaves[end].Seq)
	}
	c.complete(end)
}

const completeAsserted = "that the receipt has all its entries is asserted by the signer only"

// complete counts the run's own entries before the one that ends it.
func (c *receiptCheck) complete(end int) {
	switch {
	case end < 0:
		c.report.Warn(StepCompleteness,
			"no entry ends the run: "+completeAsserted)
		return
	case c.Digest.Own == nil:
		c.report.Warn(StepCompleteness,
			"the document of the run does not count its entries: "+completeAsserted)
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
			"the receipt has %d entries of the run before its end, which do not match the recorded count of %d and its digest",
			got.Count, c.Digest.Own.Count)
		return
	}
	c.report.Pass(StepCompleteness, "the receipt has all %d entries that the run had before its end", c.Digest.Own.Count)
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
			c.report.Fail(StepDisclosures, ProofInvalid, disclosureInvalid, l.Seq, flaw(err))
			continue
		}
		open += int64(len(m.Open))
		missing += int64(len(m.Missing))
	}
	c.report.Private(open, missing)
}
