package proof

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Tolerance is how far two clocks may be apart before it is remarked on.
const Tolerance = 5 * time.Minute

// The problems of an anchor.
const (
	TailMissing  = "tail_missing"
	RootMismatch = "root_mismatch"
	BadSignature = "signature_invalid"
	TimeConflict = "time_conflict"
)

// Unprovable is what neither a file nor a store can show.
func Unprovable() []string {
	return []string{
		"whether the server saw the world as it was: an entry shows what was recorded",
		"whether something happened that was never recorded",
		"silence after the last entry that nobody watched",
		"anything after the newest head that somebody outside of the server holds, against whoever has both the database and the signing key",
	}
}

// UnprovableOfFile is what no file can show, and what its verifier does not look at.
func UnprovableOfFile() []string {
	return append(Unprovable(),
		timesOfFile,
		"gaps between the beats of the chain",
		"whether a private value that is missing was erased or withheld",
		makers+" file"+besides,
	)
}

// UnprovableOfReceipt is the same of a receipt.
func UnprovableOfReceipt() []string {
	return append(Unprovable(),
		timesOfReceipt,
		"gaps between the beats of the chain",
		"whether a private value that is missing was erased or withheld",
		makers+" receipt"+besides,
	)
}

const (
	timesOfFile    = "the times of entries: no time-stamp token and no witness is read here, so they are the server's own word"
	timesOfReceipt = "the times of entries: they are the server's own word, and no certificate of a time-stamping authority and no witness's key is known here"
)

const (
	makers  = "what the maker of the"
	besides = " chose to put into it beside the entries: the key that signed it is one that it brings along"
)

// Vouched takes back that nothing is known of who signed a file as a whole.
func Vouched(v *Verdict) {
	v.NotChecked = slices.DeleteFunc(v.NotChecked, func(s string) bool { return strings.HasPrefix(s, makers) })
}

// Tally counts something and keeps where it was first.
type Tally struct{ N, Seq int64 }

// Add counts an entry.
func (t *Tally) Add(seq int64) {
	if t.N++; t.N == 1 {
		t.Seq = seq
	}
}

// Times reports on the clock: entries older than the one before, and of the future.
func (r *Report) Times(back, ahead Tally) {
	var remarks []string
	if back.N > 0 {
		remarks = append(remarks, fmt.Sprintf("clock_back: %d entries are older than the one before, entry %d first", back.N, back.Seq))
	}
	if ahead.N > 0 {
		remarks = append(remarks, fmt.Sprintf("clock_ahead: %d entries are of the future, entry %d first", ahead.N, ahead.Seq))
	}
	if len(remarks) > 0 {
		r.Warn(StepTimes, "%s", strings.Join(remarks, "; "))
		return
	}
	r.Pass(StepTimes, "no entry is older than the one before it, and none of the future")
}

// Private reports on disclosures: how many are there and how many are not.
func (r *Report) Private(open, missing int64) {
	if missing > 0 {
		r.Warn(StepDisclosures, "withheld: %d private values are not in the file, erased or left out; %d are and agree", missing, open)
		return
	}
	r.Pass(StepDisclosures, "%d private values, all in the file, agree with their entries", open)
}

// Unsatisfied notes an anchor that the chain does not satisfy, in the report and in the verdict. The step is From for
// the head that a reader demands, else the one that is given.
func (r *Report) Unsatisfied(v *Verdict, s Step, p AnchorProblem) {
	v.AnchorProblems = append(v.AnchorProblems, p)
	if p.Kind == "from" {
		s = StepFrom
	}
	r.Fail(s, AnchorUnsatisfied, "%s %s of %d entries: %s", p.Kind, p.ID, p.Size, p.Problem)
}

// Snap notes where the chain breaks.
func (r *Report) Snap(v *Verdict, at, seq int64, text string, args ...any) {
	v.BrokeAt, v.BrokeSeq = at, seq
	r.Fail(StepEntries, ChainBreak, text, args...)
}

// Linked reports whether an entry stands where it has to: at the place where the number want is due, behind the one
// with the hash prev. Where it does not the text says why.
func Linked(place, seq, want int64, named, prev [32]byte) (text string, ok bool) {
	switch {
	case seq != want:
		return fmt.Sprintf("at place %d, where entry %d would be, is entry %d", place, want, seq), false
	case named != prev:
		return fmt.Sprintf("entry %d does not name the hash of the entry before it", seq), false
	}
	return "", true
}
