package prove

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/proof"
	"github.com/writ-automation/writ/ports/proof/keys"
	"github.com/writ-automation/writ/ports/proof/leaf"
	"github.com/writ-automation/writ/ports/proof/tree"
)

// found is the result of a verification of the stored chain.
type found struct {
	audit.ChainVerdict
	root    tree.Hash // of the tree over all entries, if the chain is intact
	foreign int64     // entries of a version that this build does not read
}

// An error means that the stores or the trusted keys could not be read.
func (p *Prover) Verify(ctx context.Context, t proof.Trust) (audit.ChainVerdict, error) {
	var f found
	var err error
	if t.Nothing() {
		f, err = p.verify(ctx)
	} else {
		f, err = p.scan(ctx, t)
	}
	f.Checks, f.NotChecked = append([]proof.Check(nil), f.Checks...), append([]string(nil), f.NotChecked...)
	return f.ChainVerdict, err
}

func (p *Prover) verify(ctx context.Context) (found, error) {
	return p.flights.do(ctx, func(ctx context.Context) (found, error) { return p.scan(ctx, proof.Trust{}) })
}

// scan reads the chain as it was at the beginning: the reader is ahead of the check by a few batches.
func (p *Prover) scan(ctx context.Context, t proof.Trust) (found, error) {
	// The tip and the epochs are read first, so that the entries are at least as new.
	tip, err := p.p.Chain.Tip(ctx)
	if err != nil {
		return found{}, fmt.Errorf("read the end of the audit trail: %w", err)
	}
	w := &walk{report: proof.OfStore(), times: proof.NewTimes(p.p.Clock.Now()), beat: p.p.Settings.Beat,
		tip: tip}
	w.AnchorProblems, w.NotChecked = []proof.AnchorProblem{}, proof.Unprovable()
	if w.seen, err = p.newSeen(ctx); err != nil {
		return found{}, err
	}
	w.turns = turns(w.seen.id.Epochs)
	if err := p.compare(ctx, w, t); err != nil {
		return found{}, err
	}
	last, err := p.lastSeq(ctx)
	if err != nil {
		return found{}, err
	}
	base := ctx
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	w.marks = stream(ctx, p.marks(w.seen))
	err = p.read(ctx, w, last)
	stop()
	w.marks.wait() // no read may continue after the return
	if err != nil {
		return found{}, fmt.Errorf("read the audit trail: %w", err)
	}
	n := w.place
	if w.broken { // the heads after the break were not compared
		if n, _, err = p.p.Reader.Count(base); err != nil {
			return found{}, fmt.Errorf("count the audit trail: %w", err)
		}
	}
	w.Count = n
	if w.Note == "" {
		w.Size = n
	}
	w.report.Finish(&w.Verdict)
	f := found{ChainVerdict: audit.ChainVerdict{Verdict: w.Verdict, Head: w.prev, Anchored: w.anchored},
		foreign: w.foreign}
	f.root = w.frontier.Root()
	return f, nil
}

// read checks the entries up to last. It continues from there if a head covers more, because both were added since.
func (p *Prover) read(ctx context.Context, w *walk, last int64) error {
	// One further look for new entries is enough; otherwise this might never end.
	looked := false
	for from := int64(math.MinInt64); ; { // rows below the first number are errors too
		part, stop := context.WithCancel(ctx)
		entries := stream(part, func(ctx context.Context, give func(e *audit.Stored) error) error {
			return p.p.Reader.Range(ctx, from, last, true, give)
		})
		err := w.run(ctx, entries)
		stop()
		entries.wait()
		if err != nil || w.broken {
			return err
		}
		m, err := w.peek(ctx)
		if err != nil {
			return err
		}
		newer := last
		erasedMeanwhile := !looked && len(w.private.gone) > 0 // a later entry may record the erasure
		if m != nil || erasedMeanwhile {
			looked = true
			if newer, err = p.lastSeq(ctx); err != nil {
				return err
			}
		}
		if newer <= last {
			return w.conclude(ctx)
		}
		from, last = last+1, newer
	}
}

// lastSeq returns the highest sequence number. Counting the entries would take a quarter of the time of checking them.
func (p *Prover) lastSeq(ctx context.Context) (int64, error) {
	last, _, err := p.p.Reader.Page(ctx, audit.Filter{Limit: 1})
	if err != nil {
		return 0, fmt.Errorf("read the newest entry of the audit trail: %w", err)
	}
	if len(last) == 0 {
		return 0, nil
	}
	return last[0].Seq, nil
}

// refusal returns the fault of an invalid chain, with the coordinates of the verdict.
func refusal(f found) *fault.Error {
	code, text := audit.Broken, "the audit trail does not recompute"
	if f.Reason == proof.AnchorUnsatisfied {
		code, text = audit.Unsatisfied, "the audit trail does not satisfy a head that was recorded earlier"
	}
	return detailed(code, f.ChainVerdict, text)
}

func detailed(code fault.Code, v audit.ChainVerdict, text string) *fault.Error {
	return code.New("%s", text).With("reason", code.Name).With("broke_at", v.BrokeAt).With("broke_seq", v.BrokeSeq).
		With("count", v.Count).With("anchor_problems", v.AnchorProblems)
}

// walk checks the entries one after the other.
type walk struct {
	proof.Verdict
	report proof.Report
	times  proof.Times
	beat   time.Duration // interval of the beats
	tip    audit.Tip
	seen   *seen
	marks  *batchStream[mark]
	turns  []turn // not reached yet

	place    int64
	broken   bool
	prev     tree.Hash
	frontier tree.Range
	foreign  int64
	beats    beats
	private  private
	trusted  *proof.LogTrust // nil if nothing is trusted in advance
	headings
}

// run checks entries to the end, or to the first one that breaks the chain.
func (w *walk) run(ctx context.Context, entries *batchStream[audit.Stored]) error {
	w.turn(nil)
	if err := w.meet(ctx); err != nil {
		return err
	}
	for {
		batch, err := entries.next(ctx)
		if err != nil {
			return err
		}
		if batch == nil {
			return nil
		}
		for i := range batch {
			if w.entry(&batch[i]); w.broken {
				w.report.Fail(proof.StepHeads, proof.ChainBreak, "not reached: the heads after the break were not checked")
				w.ends()
				return nil
			}
			if err := w.meet(ctx); err != nil {
				return err
			}
		}
		entries.back(batch)
	}
}

// compare makes the walk compare the chain with a reader's trusted keys and heads.
func (p *Prover) compare(ctx context.Context, w *walk, t proof.Trust) error {
	if t.Nothing() {
		for _, s := range []proof.Step{proof.StepTrust, proof.StepCheckpoint, proof.StepFrom, proof.StepKnown} {
			w.report.Waive(s, true)
		}
		return nil
	}
	id := w.seen.id
	kept, err := p.p.Anchors.NewestAnchors(ctx, audit.KindCheckpoint, perKind)
	if err != nil {
		return fmt.Errorf("read the newest head: %w", err)
	}
	notes := []string{w.seen.filed}
	for _, a := range kept {
		notes = append(notes, a.Note)
	}
	if w.trusted, err = t.Log(&w.report, &w.Verdict, id.Epoch.Origin, id.Keys, notes...); err != nil {
		return err
	}
	own := w.trusted.Outsiders()
	w.seen.outsiders.Roots = append(slices.Clone(w.seen.outsiders.Roots), own.Roots...)
	w.seen.outsiders.Witnesses = append(slices.Clone(w.seen.outsiders.Witnesses), own.Witnesses...)
	return nil
}

func (w *walk) snap(at, seq int64, text string, args ...any) {
	w.broken = true
	w.report.Snap(&w.Verdict, at, seq, text, args...)
}

// entry checks the form of an entry, its place, its predecessor, its stored hash and its projection.
func (w *walk) entry(e *audit.Stored) {
	w.place++
	l, err := leaf.ScanText(e.Leaf)
	if err != nil {
		if l, err = w.otherVersion([]byte(e.Leaf), err); err != nil {
			w.snap(0, 0, "the entry at position %d is not a valid leaf: %s", w.place, err)
			return
		}
	}
	if text, ok := proof.Linked(w.place, l.Seq, w.place, l.Prev, w.prev); !ok {
		w.snap(w.place, l.Seq, "%s", text)
		return
	}
	hash := leaf.HashText(e.Leaf)
	if hash != e.Hash {
		w.snap(w.place, l.Seq, "the stored hash of entry %d is not the hash of the entry", l.Seq)
		return
	}
	if name := differs(e, &l); name != "" {
		w.snap(w.place, l.Seq, "projection: the column %s of entry %d differs from the entry", name, l.Seq)
		return
	}
	open, gone, err := opened(e, &l)
	if err != nil {
		w.snap(w.place, l.Seq, "a private part that is stored with entry %d does not match its recorded digest: %s",
			l.Seq, err)
		return
	}
	w.private.add(e, &l, open, gone)
	w.frontier.Append(hash)
	w.prev = hash
	w.turn(&l)
	w.tick(&l)
	if l.Seq == w.tip.Size && hash != w.tip.Hash {
		w.report.Unsatisfied(&w.Verdict, proof.StepHeads, tipProblem(w.tip, proof.RootMismatch))
	}
}

// differs returns the first column that differs from the leaf.
func differs(e *audit.Stored, l *leaf.Leaf) string {
	switch {
	case e.Seq != l.Seq:
		return "seq"
	case e.ID != l.ID:
		return "id"
	case e.At != l.At:
		return "at"
	case e.Action != l.Act:
		return "action"
	case e.Actor != l.Sub:
		return "actor"
	case e.Object != l.Obj:
		return "object"
	case e.Run != l.Run:
		return "run"
	}
	return ""
}

// otherVersion reads a leaf whose only flaw is another version. The chain continues over it, but no file of this
// version can have it.
func (w *walk) otherVersion(raw []byte, why error) (leaf.Leaf, error) {
	var flaw *leaf.Error
	if !errors.As(why, &flaw) || flaw.Code != leaf.CodeVersion || flaw.At <= 0 || flaw.At > len(raw) {
		return leaf.Leaf{}, why
	}
	l, err := leaf.Scan(append(append([]byte(nil), raw[:flaw.At]...), '0'+leaf.Version, '}'))
	if end := raw[flaw.At:]; err != nil || len(end) < 2 || end[len(end)-1] != '}' {
		return leaf.Leaf{}, why
	}
	if _, err := keys.ParseSize(string(raw[flaw.At : len(raw)-1])); err != nil {
		return leaf.Leaf{}, why
	}
	w.foreign++
	return l, nil
}

func tipProblem(tip audit.Tip, what string) proof.AnchorProblem {
	return proof.AnchorProblem{ID: "tip", Kind: "tip", Size: tip.Size, Problem: what}
}
