package prove

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"sync/atomic"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/proof"
	"github.com/writ-automation/writ/ports/proof/bundle"
	"github.com/writ-automation/writ/ports/proof/leaf"
	"github.com/writ-automation/writ/ports/proof/tree"
)

func (p *Prover) Bundle(ctx context.Context, q audit.BundleQuery) (audit.Document, error) {
	for name, n := range map[string]int64{"from": q.From, "to": q.To, "limit": q.Limit} {
		if n < 0 {
			return nil, fault.BadField(name, "must be 1 or more")
		}
	}
	f, err := p.verify(ctx)
	switch {
	case err != nil:
		return nil, err
	case !f.OK:
		return nil, refusal(f)
	case f.Count == 0:
		return nil, detailed(audit.Unbundlable, f.ChainVerdict, "the audit trail has no entry yet")
	case f.foreign > 0:
		return nil, detailed(audit.Unbundlable, f.ChainVerdict,
			"the audit trail has entries of a version that a bundle of this version cannot have")
	}
	s, err := p.state(ctx)
	if err != nil {
		return nil, err
	}
	// Entries that were appended since the verification link to it, and are checked again while they are written.
	verified := proof.AnchorProblem{ID: "verified", Kind: audit.KindCheckpoint, Size: f.Count}
	if _, err := p.grown(ctx, &s, verified, f.root); err != nil {
		return nil, err
	}
	from, to, err := window(q, s.Size)
	if err != nil {
		return nil, err
	}
	doc := document{p: p, s: s, private: q.Private, visibility: newVisibility(q.Audience)}
	doc.head = bundle.Head{
		Origin: s.id.Epoch.Origin, From: from, To: to, Size: s.Size, GeneratedAt: p.p.Clock.Now(), Checkpoint: s.Note,
		Keys: s.id.Keys,
	}
	if err := doc.prove(ctx); err != nil {
		return nil, err
	}
	if doc.anchors, err = p.heads(ctx, &s); err != nil {
		return nil, err
	}
	if q.Tiles {
		return doc.tiled(ctx)
	}
	for _, a := range doc.anchors {
		doc.head.Anchors = append(doc.head.Anchors, bundle.Anchor{ID: a.ID, Kind: a.Kind, Size: a.Size, Note: a.Note})
	}
	return &doc, nil
}

// window returns the requested entries.
func window(q audit.BundleQuery, size int64) (from, to int64, err error) {
	from, to = max(q.From, 1), q.To
	to = cmp.Or(to, size)
	switch {
	case from > size:
		return 0, 0, fault.BadField("from", "the audit trail has %d entries", size)
	case to > size:
		return 0, 0, fault.BadField("to", "the audit trail has %d entries", size)
	case to < from:
		return 0, 0, fault.BadField("to", "must not be below from")
	}
	if q.Limit > 0 {
		from = max(from, to-q.Limit+1)
	}
	if q.Tiles && (from != 1 || to != size) {
		return 0, 0, fault.BadField("from", "the form tiles has the whole audit trail: omit from, to and limit")
	}
	return from, to, nil
}

// document is a bundle that is ready to be written. While it is read again it is compared with the proofs.
type document struct {
	p          *Prover
	s          state
	head       bundle.Head
	anchors    []audit.Anchor
	private    bool
	visibility *visibility
	last       tree.Hash // of the entry To, where a proof begins
	written    atomic.Bool
}

// prove makes the proofs of a window, which link its first and its last entry to the checkpoint.
func (d *document) prove(ctx context.Context) error {
	h := &d.head
	one := func(seq int64) (l leaf.Leaf, hash tree.Hash, err error) {
		links := links{next: seq, any: true}
		err = d.p.p.Reader.Range(ctx, seq, seq, false, func(e *audit.Stored) error {
			l, hash, err = links.take(e)
			return err
		})
		if err == nil && links.next != seq+1 {
			err = changed(seq, seq)
		}
		return l, hash, err
	}
	first, hash, err := one(h.From)
	if err != nil {
		return err
	}
	h.Prev = first.Prev
	if h.First, err = d.p.inclusion(ctx, &d.s, h.From, hash); err != nil {
		return err
	}
	if _, d.last, err = one(h.To); err != nil {
		return err
	}
	if h.Last, err = d.p.inclusion(ctx, &d.s, h.To, d.last); err != nil {
		return err
	}
	if h.Whole() {
		h.First, h.Last = nil, nil
	}
	return nil
}

func (d *document) MediaType() string { return bundle.MediaType }

func (d *document) Name() string {
	return fmt.Sprintf("audit-%s-%d-%d.json", d.s.id.InstallID, d.head.From, d.head.To)
}

func (d *document) WriteTo(ctx context.Context, w io.Writer) error {
	if d.written.Swap(true) {
		return fault.Wrap(fault.Internal, nil, "a bundle can be written only once")
	}
	out, err := bundle.NewWriter(w, d.head)
	if err != nil {
		return err
	}
	if err := d.each(ctx, func(e *audit.Stored, hash tree.Hash, seen bool) error {
		if !seen {
			return out.Add(bundle.Entry{Hash: &hash})
		}
		entry := bundle.Entry{Leaf: []byte(e.Leaf)}
		if d.private {
			entry.Disclosures = e.Disclosures
		}
		return out.Add(entry)
	}); err != nil {
		return err
	}
	return out.Close(d.s.signer)
}

// each calls fn with the entries of the window, and whether the reader sees them. It fails if they are not the entries
// under the checkpoint.
func (d *document) each(ctx context.Context, fn func(e *audit.Stored, hash tree.Hash, seen bool) error) error {
	links := links{next: d.head.From, prev: d.head.Prev}
	err := d.p.p.Reader.Range(ctx, d.head.From, d.head.To, d.private, func(e *audit.Stored) error {
		l, hash, err := links.take(e)
		if err == nil && d.private {
			_, err = open(e, &l)
		}
		if err != nil {
			return err
		}
		seen, err := d.visibility.sees(ctx, e)
		if err != nil {
			return err
		}
		return fn(e, hash, seen)
	})
	switch {
	case err != nil:
		return fmt.Errorf("read entries %d to %d: %w", d.head.From, d.head.To, err)
	case links.next != d.head.To+1 || links.prev != d.last:
		return changed(d.head.To, d.head.To)
	}
	return nil
}

// maxNotes bounds the bytes of all anchors in a bundle, as its format does.
const maxNotes = 8 << 20

// heads returns the anchors of the open epoch that a bundle has: every one of a third party, and of the heads that this
// install signed, including those of workers, the newest ones that fit.
func (p *Prover) heads(ctx context.Context, s *state) ([]audit.Anchor, error) {
	var others, own []audit.Anchor
	bytes := 0
	err := p.p.Anchors.Anchors(ctx, func(a *audit.Anchor) error {
		if a.Epoch != s.Epoch || a.Size > s.Size {
			return nil
		}
		// A head of a worker proves no more than the checkpoint itself.
		if a.Kind == audit.KindCheckpoint || a.Kind == audit.KindWorker {
			own = append(own, *a)
		} else {
			others = append(others, *a)
		}
		// The oldest are dropped first: the heads that this install signed before the anchors of third parties.
		for bytes += len(a.Note); len(own)+len(others) > bundle.MaxAnchors || bytes > maxNotes; {
			list := &own
			if len(own) == 0 {
				list = &others
			}
			bytes -= len((*list)[0].Note)
			*list = (*list)[1:]
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read anchors: %w", err)
	}
	all := append(others, own...)
	slices.SortFunc(all, func(a, b audit.Anchor) int {
		return cmp.Or(cmp.Compare(a.Size, b.Size), cmp.Compare(a.ID, b.ID))
	})
	return all, nil
}
