package proof

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/writ-automation/writ/ports/proof/receipt"
)

// KindEvidence is the kind of documents with receipts: the evidence of a run and the report of a change, as JSON or as
// a page.
const KindEvidence = "evidence"

// MaxEvidence bounds a document with receipts, in bytes.
const MaxEvidence = 256 << 20

// The beginnings of such documents, and of the data in a page.
const (
	openingEvidence = `{"run":{`
	openingReport   = `{"change":"`
	openingPage     = `<!DOCTYPE html>`
	dataOfPage      = `<script type="application/json" id="evidence">`
)

// isEvidence reports whether a file begins as a document with receipts.
func isEvidence(prefix []byte) bool {
	return slices.ContainsFunc([]string{openingEvidence, openingReport, openingPage}, func(s string) bool {
		return bytes.HasPrefix(prefix, []byte(s))
	})
}

const (
	uncovered = "the members of the document that no receipt covers: names, reasons, settings, tasks, warnings and " +
		"anchors; they are asserted by the server only"
	pageText = "the text of the page: only the data at its end was compared with the receipts"
)

// VerifyEvidence checks the receipts in the evidence of a run or in the report of a change like VerifyReceipt, and that
// what they cover agrees with the document around them. A document without a receipt is not verified. It reads the
// whole file into memory, up to MaxEvidence.
func VerifyEvidence(ctx context.Context, r io.Reader, t Trust, now time.Time) (Verdict, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxEvidence+1))
	switch {
	case err != nil:
		return Verdict{}, fmt.Errorf("evidence: read: %w", err)
	case len(data) > MaxEvidence:
		return Verdict{}, fmt.Errorf("evidence: the file has more than %d bytes", MaxEvidence)
	}
	page := bytes.HasPrefix(data, []byte(openingPage))
	if page {
		_, after, found := bytes.Cut(data, []byte(dataOfPage))
		inner, _, ended := bytes.Cut(after, []byte("</script>"))
		if !found || !ended || bytes.Contains(after, []byte(dataOfPage)) {
			return Verdict{}, fmt.Errorf("the page has no evidence in it: %w", ErrUnknownFile)
		}
		data = inner
	}
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(data, &doc); err != nil {
		return Verdict{}, fmt.Errorf("the evidence is not JSON: %w: %w", ErrUnknownFile, err)
	}
	v, err := receiptsOf(ctx, doc, t, now)
	v.NotChecked = append(v.NotChecked, uncovered)
	if page {
		v.NotChecked = append(v.NotChecked, pageText)
	}
	return v, err
}

// receiptsOf verifies the receipts of a document.
func receiptsOf(ctx context.Context, doc map[string]json.RawMessage, t Trust, now time.Time) (Verdict, error) {
	if doc["run"] != nil {
		return evidenceOf(ctx, doc, t, now)
	}
	var signed []map[string]json.RawMessage
	if doc["receipts"] == nil || json.Unmarshal(doc["receipts"], &signed) != nil {
		return Verdict{}, fmt.Errorf("the document has no receipts: %w", ErrUnknownFile)
	}
	if len(signed) == 0 {
		return unsigned("the report has no receipt"), nil
	}
	var all Verdict
	for i, one := range signed {
		v, err := verifyOne(ctx, one, t, now)
		if err != nil {
			return v, err
		}
		run := textOf(one["run_id"])
		v.agree(one["receipt"], "document", func(d *receipt.Document) (string, error) {
			if d.Digest.ID != run {
				return "", fmt.Errorf("receipts[%d].run_id is %q, and the receipt is of run %q", i, run, d.Digest.ID)
			}
			return "the receipt is of the run that the report names", nil
		})
		all = merged(all, v, run, i == 0)
	}
	return all, nil
}

// evidenceOf verifies the evidence of one run.
func evidenceOf(ctx context.Context, doc map[string]json.RawMessage, t Trust, now time.Time) (Verdict, error) {
	if doc["receipt"] == nil {
		return unsigned("the evidence has no receipt"), nil
	}
	v, err := verifyOne(ctx, doc, t, now)
	if err != nil {
		return v, err
	}
	var e dossier
	if err := e.read(doc); err != nil {
		v.differ("document", err)
		return v, nil
	}
	v.agree(doc["receipt"], "results", e.results)
	v.agree(doc["receipt"], "listed", e.listed)
	if e.problems > 0 {
		v.Checks = append(v.Checks, Check{ID: "problems", Result: Warned,
			Detail: fmt.Sprintf("the document reports %d problems by itself", e.problems)})
	}
	return v, nil
}

// verifyOne verifies the member receipt, which must be signed by the key that the member key_id names.
func verifyOne(ctx context.Context, doc map[string]json.RawMessage, t Trust, now time.Time) (Verdict, error) {
	v, err := VerifyReceipt(ctx, bytes.NewReader(doc["receipt"]), t, now)
	if errors.Is(err, receipt.ErrUnknown) {
		return unsigned("the member receipt is no receipt"), nil
	}
	if id := textOf(doc["key_id"]); err == nil && v.OK && !slices.Contains(v.SignedBy, id) {
		v.differ("document", fmt.Errorf("key_id is %q, and %s signed the receipt", id, strings.Join(v.SignedBy, ", ")))
	}
	return v, err
}

// unsigned is the verdict over a document without a receipt.
func unsigned(why string) Verdict {
	return Verdict{Reason: Unsigned, AnchorProblems: []AnchorProblem{}, NotChecked: Unprovable(),
		Checks: []Check{{ID: "signature", Result: Failed, Detail: why + ": nothing in it is signed"}}}
}

// differ records that a document does not agree with its receipt.
func (v *Verdict) differ(id string, err error) {
	v.OK, v.Reason = false, cmp.Or(v.Reason, EvidenceDiffers)
	v.Checks = append(v.Checks, Check{ID: id, Result: Failed, Detail: err.Error()})
}

// agree compares the document with a receipt that was verified. Nothing is compared with another one. with returns what
// agrees.
func (v *Verdict) agree(raw json.RawMessage, id string, with func(*receipt.Document) (string, error)) {
	if !v.OK && v.Reason != EvidenceDiffers {
		return
	}
	text := ""
	d, err := receipt.Parse(raw)
	if err == nil {
		text, err = with(&d)
	}
	if err != nil {
		v.differ(id, err)
		return
	}
	v.Checks = append(v.Checks, Check{ID: id, Result: Passed, Detail: text})
}

// merged adds the verdict over one receipt of a report. The head of all is the newest one.
func merged(all, v Verdict, run string, first bool) Verdict {
	for i := range v.Checks {
		v.Checks[i].Detail = run + ": " + v.Checks[i].Detail
	}
	if first {
		return v
	}
	older := v.Size <= all.Size
	out, other := v, all
	if older {
		out, other = all, v
	}
	out.OK, out.Pinned = all.OK && v.OK, all.Pinned && v.Pinned
	out.Reason = cmp.Or(all.Reason, v.Reason)
	out.BrokeAt, out.BrokeSeq = cmp.Or(all.BrokeAt, v.BrokeAt), cmp.Or(all.BrokeSeq, v.BrokeSeq)
	out.Count = all.Count + v.Count
	out.Checks = append(all.Checks, v.Checks...)
	out.AnchorProblems = append(all.AnchorProblems, v.AnchorProblems...)
	if len(out.Conflict) == 0 {
		out.Conflict = other.Conflict
	}
	for _, id := range other.SignedBy {
		if !slices.Contains(out.SignedBy, id) {
			out.SignedBy = append(out.SignedBy, id)
		}
	}
	return out
}

// textOf returns a JSON string, empty for anything else.
func textOf(raw json.RawMessage) (s string) {
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}
