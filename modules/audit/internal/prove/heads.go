package prove

import (
	"context"
	"fmt"
	"time"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/proof"
	"github.com/writ-automation/writ/ports/proof/leaf"
)

// maxProblems bounds the anchors that a verdict names; all are counted.
const maxProblems = 1000

// headings is how the heads were met.
type headings struct {
	batch     []mark // of marks that were read and not compared
	at0       int
	over      bool
	met       int64
	unchecked int64 // of which nobody is known who said what is said of them
	outside   int64 // of those that were met, heads that are not only checkpoints of the store
	problems  int64
	anchored  int64
}

// times is what is known of the clock: remarks, and what outsiders say.
type times struct {
	back, ahead proof.Tally
	latest      string // the newest time of an entry so far
	latestSeq   int64
	after       string // no entry from here on is older, by the word of
	by          mark
	reported    bool // that an entry is older
	beat        string
	gaps        proof.Tally
	from, to    string // of the first gap
}

// peek returns the next mark, nil at the end.
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

// meet holds the tree as it is now against the marks of its size.
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
			w.problem(*m, proof.StepHeads, proof.BadSignature)
		case m.size < w.place || m.root != w.frontier.Root():
			w.problem(*m, proof.StepHeads, proof.RootMismatch)
		case m.unchecked:
			w.unchecked++
		default:
			w.met++
			if m.kind != audit.KindCheckpoint {
				w.outside++
			}
			w.anchored = m.size
			w.witness(*m)
		}
		w.at0++
	}
}

func (w *walk) problem(m mark, s proof.Step, what string) {
	p := proof.AnchorProblem{ID: m.id, Kind: m.kind, Size: m.size, Problem: what}
	if w.problems++; w.problems > maxProblems {
		return
	}
	w.report.Unsatisfied(&w.Verdict, s, p)
}

// witness holds the entries up to a head to when somebody outside saw it, and those behind it from then on.
func (w *walk) witness(m mark) {
	t, err := (&leaf.Leaf{At: m.time}).Time()
	if m.time == "" || err != nil {
		return
	}
	if w.clock.latest > leaf.At(t.Add(proof.Tolerance)) {
		w.conflict(m, w.clock.latestSeq)
		return
	}
	if after := leaf.At(t.Add(-proof.Tolerance)); after > w.clock.after {
		w.clock.after, w.clock.by, w.clock.reported = after, m, false
	}
}

func (w *walk) conflict(m mark, seq int64) {
	first := !w.report.Failed(proof.StepTimes)
	w.problem(m, proof.StepTimes, proof.TimeConflict)
	if first {
		w.report.Add(proof.StepTimes, ", entry %d", seq)
	}
}

// tick looks at the time of an entry.
func (w *walk) tick(l *leaf.Leaf) {
	c := &w.clock
	if l.At < w.at {
		c.back.Add(l.Seq)
	}
	if l.At > w.latest {
		c.ahead.Add(l.Seq)
	}
	if l.At > c.latest {
		c.latest, c.latestSeq = l.At, l.Seq
	}
	if l.At < c.after && !c.reported {
		c.reported = true
		w.conflict(c.by, l.Seq)
	}
	if l.Seq == 1 {
		c.beat = l.At
	}
	if l.Act == string(audit.AuditBeat) {
		w.beats(l.At, l.Seq)
		c.beat = l.At
	}
}

// beats looks for a gap before this time.
func (w *walk) beats(at string, seq int64) {
	before, err := (&leaf.Leaf{At: w.clock.beat}).Time()
	now, err2 := (&leaf.Leaf{At: at}).Time()
	if w.beat <= 0 || err != nil || err2 != nil || now.Sub(before) <= w.beat+w.beat/2+proof.Tolerance {
		return
	}
	if w.clock.gaps.Add(seq); w.clock.gaps.N == 1 {
		w.clock.from, w.clock.to = w.clock.beat, at
	}
}

// conclude reports on the heads once every entry was read.
func (w *walk) conclude(ctx context.Context) error {
	w.report.Pass(proof.StepEntries, "%d entries are in their one form, numbered without a gap, linked and indexed as they say", w.place)
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
		w.problem(*m, proof.StepHeads, what)
		w.at0++
	}
	w.report.Pass(proof.StepHeads, "the chain passes through %d heads", w.met)
	if w.trusted != nil {
		w.trusted.Conclude()
	}
	w.private.conclude(&w.report)
	w.ends()
	return nil
}

// ends reports on times and beats, and says what was not looked at.
func (w *walk) ends() {
	w.report.Times(w.clock.back, w.clock.ahead)
	switch {
	case w.beat <= 0:
		w.report.Waive(proof.StepBeats, true)
		w.note("gaps between the beats of the chain")
	case w.clock.gaps.N > 0:
		w.report.Warn(proof.StepBeats, "%d gaps between beats, the first from %s to %s", w.clock.gaps.N, w.clock.from, w.clock.to)
	default:
		w.report.Pass(proof.StepBeats, "beats are no further apart than %s and half of it", w.beat.Round(time.Second))
	}
	if n := w.seen.skip[audit.KindCheckpoint]; n > 0 {
		w.note("the signatures of the oldest %d checkpoints, which the chain is held to by their roots alone", n)
	}
	if n := w.seen.skip[audit.KindWorker]; n > 0 {
		w.note("the signatures of the oldest %d heads of workers, which the chain is held to by their roots alone", n)
	}
	if w.over && w.seen.abandoned > 0 {
		w.note("%d heads of closed epochs, which were given up when a rollback was accepted", w.seen.abandoned)
	}
	if w.problems > maxProblems {
		w.note("%d further anchors that are not satisfied, beyond those that are named", w.problems-maxProblems)
	}
	if w.outside == 0 {
		w.note("whether the end of the chain was cut off together with every kept head: nobody outside of the database is known to hold one")
	}
	if w.foreign > 0 {
		w.note("%d entries of a version that is not known here, beyond that they are linked", w.foreign)
	}
	if w.unchecked > 0 {
		w.note("%d time-stamp tokens and cosignatures: no certificate or key is known here that they lead to", w.unchecked)
	}
}

func (w *walk) note(text string, args ...any) {
	w.NotChecked = append(w.NotChecked, fmt.Sprintf(text, args...))
}
