package prove

import (
	"context"
	"fmt"
	"time"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/proof"
	"github.com/writ-automation/writ/ports/proof/leaf"
)

// maxProblems bounds the anchors that a verdict lists; all are counted.
const maxProblems = 1000

// headings counts the heads.
type headings struct {
	batch     []mark // marks that were read but not compared
	at0       int
	over      bool
	met       int64
	unchecked int64 // not signed by a trusted third party
	outside   int64 // satisfied heads of other kinds than checkpoint
	problems  int64
	anchored  int64
}

// beats checks the gaps between beats.
type beats struct {
	last     string // time of the last beat
	gaps     proof.Tally
	from, to string // of the first gap
}

// peek returns the next mark, or nil at the end.
func (w *walk) peek(ctx context.Context) (*mark, error) {
	for !w.over && w.at0 == len(w.batch) {
		if w.batch != nil {
			w.marks.back(w.batch)
		}
		var err error
		if w.batch, err = w.marks.next(ctx); err != nil {
			return nil, err
		}
		w.at0, w.over = 0, w.batch == nil
	}
	if w.over {
		return nil, nil
	}
	return &w.batch[w.at0], nil
}

// meet compares the tree with the marks of its size.
func (w *walk) meet(ctx context.Context) error {
	if w.trusted.Due(w.place) {
		w.trusted.Compare(w.place, w.frontier.Root())
	}
	for {
		m, err := w.peek(ctx)
		if err != nil || m == nil || m.size > w.place {
			return err
		}
		switch {
		case m.bad:
			w.problem(*m, proof.BadSignature)
		case m.size < w.place || m.root != w.frontier.Root():
			w.problem(*m, proof.RootMismatch)
		case m.unchecked:
			w.unchecked++
		default:
			w.met++
			if m.kind != audit.KindCheckpoint {
				w.outside++
			}
			w.anchored = m.size
			w.conflict(w.times.Head(proof.Sighted{ID: m.id, Kind: m.kind, Size: m.size, At: m.time}))
		}
		w.at0++
	}
}

func (w *walk) problem(m mark, what string) {
	p := proof.AnchorProblem{ID: m.id, Kind: m.kind, Size: m.size, Problem: what}
	if w.problems++; w.problems > maxProblems {
		return
	}
	w.report.Unsatisfied(&w.Verdict, proof.StepHeads, p)
}

// conflict records a contradiction between a verified time and the time of an entry.
func (w *walk) conflict(c *proof.Conflict) {
	if c == nil {
		return
	}
	if w.problems++; w.problems <= maxProblems {
		w.report.Conflict(&w.Verdict, c)
	}
}

// tick checks the time of an entry.
func (w *walk) tick(l *leaf.Leaf) {
	w.conflict(w.times.Entry(l))
	if l.Seq == 1 {
		w.beats.last = l.At
	}
	if l.Act == string(audit.AuditBeat) {
		w.gap(l.At, l.Seq)
		w.beats.last = l.At
	}
}

// gap looks for a gap between the last beat and this one.
func (w *walk) gap(at string, seq int64) {
	before, err := (&leaf.Leaf{At: w.beats.last}).Time()
	now, err2 := (&leaf.Leaf{At: at}).Time()
	if w.beat <= 0 || err != nil || err2 != nil || now.Sub(before) <= w.beat+w.beat/2+proof.Tolerance {
		return
	}
	if w.beats.gaps.Add(seq); w.beats.gaps.N == 1 {
		w.beats.from, w.beats.to = w.beats.last, at
	}
}

// conclude reports on the heads after every entry was read.
func (w *walk) conclude(ctx context.Context) error {
	w.report.Pass(proof.StepEntries,
		"%d entries are in canonical form, numbered without a gap, linked by hash, and match their database columns", w.place)
	w.unturned()
	if w.tip.Size > w.place {
		w.report.Unsatisfied(&w.Verdict, proof.StepHeads, tipProblem(w.tip, proof.TailMissing))
	}
	for {
		m, err := w.peek(ctx)
		if err != nil {
			return err
		}
		if m == nil {
			break
		}
		what := proof.TailMissing
		if m.bad {
			what = proof.BadSignature
		}
		w.problem(*m, what)
		w.at0++
	}
	w.report.Pass(proof.StepHeads, "the log is consistent with %d heads", w.met)
	if w.trusted != nil {
		w.trusted.Conclude()
	}
	w.private.conclude(&w.report)
	w.ends()
	return nil
}

// ends reports on times and beats, and adds the list of unchecked properties.
func (w *walk) ends() {
	w.report.Times(&w.times)
	switch {
	case w.beat <= 0:
		w.report.Waive(proof.StepBeats, true)
		w.note(proof.UncheckedBeats)
	case w.beats.gaps.N > 0:
		w.report.Warn(proof.StepBeats, "%d gaps between beats, the first from %s to %s", w.beats.gaps.N, w.beats.from,
			w.beats.to)
	default:
		w.report.Pass(proof.StepBeats, "no gap between beats is longer than 1.5 times %s and the clock tolerance",
			w.beat.Round(time.Second))
	}
	if n := w.seen.skip[audit.KindCheckpoint]; n > 0 {
		w.note("the signatures of the oldest %d checkpoints: only their roots were checked", n)
	}
	if n := w.seen.skip[audit.KindWorker]; n > 0 {
		w.note("the signatures of the oldest %d heads of workers: only their roots were checked", n)
	}
	if w.over && w.seen.abandoned > 0 {
		w.note("%d heads of closed epochs, which were abandoned when a rollback was accepted", w.seen.abandoned)
	}
	if w.problems > maxProblems {
		w.note("%d more unsatisfied anchors, which are not listed", w.problems-maxProblems)
	}
	if w.outside == 0 {
		w.note("whether the end of the chain was removed together with every stored head: no head outside of the database " +
			"is known")
	}
	if w.foreign > 0 {
		w.note("the contents of %d entries of an unknown version: only their links were checked", w.foreign)
	}
	if w.unchecked > 0 {
		w.note("%d time-stamp tokens and witness cosignatures: no trusted certificate or key was given for them", w.unchecked)
	}
}

func (w *walk) note(text string, args ...any) {
	w.NotChecked = append(w.NotChecked, fmt.Sprintf(text, args...))
}
