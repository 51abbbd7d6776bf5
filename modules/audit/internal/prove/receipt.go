package prove

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/proof"
	"github.com/writ-automation/writ/ports/proof/keys"
	"github.com/writ-automation/writ/ports/proof/leaf"
	"github.com/writ-automation/writ/ports/proof/receipt"
	"github.com/writ-automation/writ/ports/proof/tree"
)

// perKind bounds the anchors of each kind of third party in a receipt, the newest first.
const perKind = 4

// outside lists the kinds of anchors that third parties store or sign.
func outside() []string {
	return []string{audit.KindHeadFile, audit.KindWorker, audit.KindReceipt, audit.KindTimestamp, audit.KindWitness,
		audit.KindPublish}
}

// If the run's digest was erased, the error is a Conflict.
func (p *Prover) Receipt(ctx context.Context, run string, q audit.ReceiptQuery) (audit.SignedReceipt, error) {
	if q.From != nil && *q.From < 0 {
		return audit.SignedReceipt{}, fault.BadField("from", "must be a number of entries, 0 or more")
	}
	own, err := p.p.Reader.OfRun(ctx, run, receipt.MaxEntries+1)
	if err != nil {
		return audit.SignedReceipt{}, fmt.Errorf("read the entries of run %s: %w", run, err)
	}
	if len(own) == 0 {
		missing := fault.Missing("run", run)
		missing.Message = fmt.Sprintf(
			"the audit trail has no entry of a run %q: there is no such run, or it is older than the trail", run)
		return audit.SignedReceipt{}, missing
	}
	if first, last := own[0].Seq, own[len(own)-1].Seq; len(own) > receipt.MaxEntries ||
		!q.Sparse && last-first >= receipt.MaxEntries {
		return audit.SignedReceipt{}, tooLong(len(own) > receipt.MaxEntries)
	}
	if !q.Sparse {
		seen, err := p.seesBetween(ctx, own, q.Audience)
		if err != nil {
			return audit.SignedReceipt{}, err
		}
		q.Sparse = !seen
	}
	s, err := p.state(ctx)
	if err != nil {
		return audit.SignedReceipt{}, err
	}
	made := receipt.Receipt{Origin: s.id.Epoch.Origin, Mode: receipt.Contiguous, Checkpoint: s.Note, Keys: s.id.Keys}
	if q.Sparse {
		made.Mode = receipt.Sparse
	}
	made.Scope = made.Mode.Scope()
	if made.Run, err = p.document(ctx, run, own); err != nil {
		return audit.SignedReceipt{}, err
	}
	var leaves []leaf.Leaf
	if made.Entries, leaves, err = p.entries(ctx, &s, own, q); err != nil {
		return audit.SignedReceipt{}, err
	}
	if made.Consistency, err = p.since(ctx, &s, q.From); err != nil {
		return audit.SignedReceipt{}, err
	}
	var sighted []proof.Sighted
	if made.Anchors, sighted, err = p.vouchers(ctx, &s); err != nil {
		return audit.SignedReceipt{}, err
	}
	times := proof.NewTimes(p.p.Clock.Now())
	if conflicts := times.All(leaves, sighted); len(conflicts) > 0 {
		return audit.SignedReceipt{}, p.unsatisfied(&s, conflicts[0].Problem(), proof.TimeConflict)
	}
	body, err := receipt.Sign(made, s.signer)
	if keys.FormatInvalid.Is(err) && weight(made.Entries) > heavy {
		return audit.SignedReceipt{}, tooLong(q.Sparse).Because(err)
	}
	if err != nil {
		return audit.SignedReceipt{}, fmt.Errorf("sign the receipt of run %s: %w", run, err)
	}
	return audit.SignedReceipt{Body: body, KeyID: s.keyID}, nil
}

// heavy is the weight from which on a receipt may exceed the size limit.
const heavy = 4 << 20

// weight returns the size of the entries in bytes without their proofs.
func weight(list []receipt.Entry) (n int) {
	for _, e := range list {
		n += len(e.Leaf)
		for _, d := range e.Disclosures {
			n += len(d)
		}
	}
	return n
}

// tooLong returns the fault of an oversized receipt with advice.
func tooLong(sparse bool) *fault.Error {
	if sparse {
		return audit.ReceiptTooLong.New(
			"the run has more entries than a receipt can have (%d entries, 24 MiB in all): request a bundle instead",
			receipt.MaxEntries)
	}
	return audit.ReceiptTooLong.New("the range of the run has more entries than a receipt can have (%d entries, "+
		"24 MiB in all): request ?sparse, which has only the entries of the run", receipt.MaxEntries)
}

// document returns the digest of the run's results from the entry that ends the run.
func (p *Prover) document(ctx context.Context, run string, own []audit.Stored) (json.RawMessage, error) {
	for i := len(own) - 1; i >= 0; i-- {
		e := &own[i]
		if e.Action != string(audit.RunFinal) || e.Object != receipt.Object(run) {
			continue
		}
		if e.Detail == "" {
			return nil, fault.Wrap(fault.Conflict, nil,
				"the digest of the results of run %s was erased, so there is no receipt of it", run)
		}
		links := links{next: e.Seq, any: true}
		l, _, err := links.take(e)
		if err != nil {
			return nil, err
		}
		if !isDigest(l.Det, e.Detail) {
			return nil, changed(e.Seq, e.Seq)
		}
		return json.RawMessage(e.Detail), nil
	}
	status := ""
	if p.p.Settings.Status != nil {
		var err error
		if status, err = p.p.Settings.Status(ctx, run); err != nil {
			return nil, fmt.Errorf("the status of run %s: %w", run, err)
		}
	}
	doc, err := receipt.Open(run, status)
	if err != nil {
		return nil, fault.Wrap(fault.Internal, err, "run %s has no document", run)
	}
	return doc, nil
}

// entries returns the entries of the receipt with their proofs, and their leaves.
func (p *Prover) entries(
	ctx context.Context, s *state, own []audit.Stored, q audit.ReceiptQuery,
) (out []receipt.Entry, leaves []leaf.Leaf, err error) {
	first, last := own[0].Seq, own[len(own)-1].Seq
	var hashes []tree.Hash
	links := links{next: first, any: true}
	take := func(e *audit.Stored) error {
		l, hash, err := links.take(e)
		if err != nil {
			return err
		}
		made := receipt.Entry{Index: e.Seq - 1, Leaf: e.Leaf}
		if q.Private {
			if made.Disclosures, err = open(e, &l); err != nil {
				return err
			}
		}
		out, leaves, hashes = append(out, made), append(leaves, l), append(hashes, hash)
		return nil
	}
	if q.Sparse {
		for i := range own {
			if own[i].Seq > links.next {
				links.next, links.any = own[i].Seq, true
			}
			if err := take(&own[i]); err != nil {
				return nil, nil, err
			}
		}
	} else if err := p.p.Reader.Range(ctx, first, last, q.Private, take); err != nil {
		return nil, nil, fmt.Errorf("read entries %d to %d: %w", first, last, err)
	}
	if links.next != last+1 {
		return nil, nil, changed(links.next, links.next)
	}
	for i := range out {
		if !q.Sparse && i > 0 && i < len(out)-1 {
			continue
		}
		proof, err := p.inclusion(ctx, s, out[i].Index+1, hashes[i])
		if err != nil {
			return nil, nil, err
		}
		out[i].Proven, out[i].Proof = true, proof
	}
	return out, leaves, nil
}

// since returns the proof that the chain continues the tree of a size.
func (p *Prover) since(ctx context.Context, s *state, from *int64) (*receipt.Consistency, error) {
	if from == nil {
		return nil, nil
	}
	if *from > s.Size {
		return nil, p.unsatisfied(s, proof.AnchorProblem{ID: "from", Kind: "from", Size: *from}, proof.TailMissing)
	}
	proof, err := p.p.Tree.Consistency(ctx, *from, s.Size)
	if err != nil {
		return nil, fmt.Errorf("prove that the audit trail continues from %d entries: %w", *from, err)
	}
	return &receipt.Consistency{From: *from, Proof: proof}, nil
}

// younger reports whether an anchor is larger than the signed head, since the chain has grown.
func (p *Prover) younger(ctx context.Context, s *state, size int64) (bool, error) {
	if size <= s.Size {
		return false, nil
	}
	tip, err := p.p.Chain.Tip(ctx)
	if err != nil {
		return false, fmt.Errorf("read the end of the audit trail: %w", err)
	}
	return size <= tip.Size, nil
}

// vouchers returns the newest anchors of third parties in the open epoch, with the time of those whose time is
// verified.
func (p *Prover) vouchers(ctx context.Context, s *state) (out []receipt.Anchor, sighted []proof.Sighted, err error) {
	known, err := p.newSeen(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, kind := range outside() {
		newest, err := p.p.Anchors.NewestAnchors(ctx, kind, perKind)
		if err != nil {
			return nil, nil, fmt.Errorf("read anchors: %w", err)
		}
		for _, a := range newest {
			if a.Epoch != s.Epoch {
				continue
			}
			if younger, err := p.younger(ctx, s, a.Size); err != nil || younger {
				if err != nil {
					return nil, nil, err
				}
				continue
			}
			problem := proof.AnchorProblem{ID: a.ID, Kind: a.Kind, Size: a.Size}
			m := known.mark(&a, true)
			if m.bad {
				return nil, nil, p.unsatisfied(s, problem, proof.BadSignature)
			}
			made := receipt.Anchor{ID: a.ID, Kind: a.Kind, Size: a.Size, Note: a.Note}
			if made.Proof, err = p.grown(ctx, s, problem, a.Root); err != nil {
				return nil, nil, err
			}
			sighted = append(sighted, proof.Sighted{ID: a.ID, Kind: a.Kind, Size: a.Size, At: m.time})
			if a.Kind == audit.KindTimestamp {
				made.Token = a.Evidence
			}
			out = append(out, made)
		}
	}
	slices.SortFunc(out, func(a, b receipt.Anchor) int {
		return cmp.Or(cmp.Compare(a.Size, b.Size), cmp.Compare(a.ID, b.ID))
	})
	return out, sighted, nil
}
