package evidence

import (
	"context"
	"errors"
	"fmt"

	"github.com/writ-automation/writ/modules/audit/internal/report/paper"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// Bounds of a dossier. Items beyond them are only counted.
const (
	MaxHosts   = 10_000
	MaxTasks   = 2_000
	MaxEntries = 1_000
	maxParts   = 1_000
)

// Params holds the dependencies of Evidence.
type Params struct {
	Runs    runs.Reader
	Chain   audit.ChainReader
	Anchors audit.AnchorStore
	Prover  audit.Prover
	Clock   clock.Clock
}

// Evidence makes dossiers.
type Evidence struct{ p Params }

// New returns the maker of dossiers.
func New(p Params) *Evidence { return &Evidence{p: p} }

// Evidence collects the data of a run that the actor of ctx may read, else it returns runs.RunNotFound. If no signed
// receipt can be made, or if trail and record differ, the dossier lists that under problems.
func (e *Evidence) Evidence(ctx context.Context, run string) (audit.Evidence, error) {
	d, err := e.Collect(ctx, run)
	if err != nil {
		return audit.Evidence{}, err
	}
	doc, err := paper.JSON(d)
	if err != nil {
		return audit.Evidence{}, fault.Wrap(fault.Internal, err, "the evidence of a run cannot be written")
	}
	html, err := paper.Render(ctx, "Evidence of run "+d.Run.ID, document(d, doc))
	if err != nil {
		return audit.Evidence{}, fault.Wrap(fault.Internal, err, "the evidence of a run cannot be written")
	}
	return audit.Evidence{JSON: doc, HTML: html}, nil
}

// Collect returns the document that Evidence writes.
func (e *Evidence) Collect(ctx context.Context, run string) (*Document, error) {
	r, err := e.p.Runs.Get(ctx, run)
	if err != nil {
		return nil, err
	}
	return e.collect(ctx, r, e.parts, e.results, e.entries, e.anchors, e.receipt)
}

// Proof returns the part of the document that is about the trail: the entries of a run and its receipt.
func (e *Evidence) Proof(ctx context.Context, r *runs.Run) (*Document, error) {
	return e.collect(ctx, r, e.entries, e.receipt)
}

func (e *Evidence) collect(
	ctx context.Context, r *runs.Run, parts ...func(context.Context, *runs.Run, *Document) error,
) (*Document, error) {
	d := &Document{
		Run: settings(r, e.p.Clock.Now()), RequestedBy: who(r.Actor), Commit: r.Commit, GeneratedAt: e.p.Clock.Now().UTC(),
		Holds: []Hold{}, Decisions: []Decision{}, Hosts: []Host{}, Tasks: []Task{}, Receipts: []Entry{}, Anchors: []Anchor{},
		Problems: []Problem{},
	}
	for _, part := range parts {
		if err := part(ctx, r, d); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// receipt embeds the sparse receipt: it has only entries of this run and no private values.
func (e *Evidence) receipt(ctx context.Context, r *runs.Run, d *Document) error {
	signed, err := e.p.Prover.Receipt(ctx, r.ID, audit.ReceiptQuery{Sparse: true})
	var f *fault.Error
	if errors.As(err, &f) && f.Kind != fault.Internal {
		d.problem("no_receipt", "There is no signed receipt in this file: "+f.Message)
		return nil
	}
	if err != nil {
		return fmt.Errorf("the receipt of run %s: %w", r.ID, err)
	}
	d.Receipt, d.KeyID = signed.Body, signed.KeyID
	return nil
}

func (d *Document) problem(code, message string) {
	d.Problems = append(d.Problems, Problem{Code: code, Message: message})
}
