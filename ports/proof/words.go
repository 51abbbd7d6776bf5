package proof

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Tolerance is the largest difference of two clocks without a remark.
const Tolerance = 5 * time.Minute

// The problems of an anchor.
const (
	TailMissing  = "tail_missing"
	RootMismatch = "root_mismatch"
	BadSignature = "signature_invalid"
	TimeConflict = "time_conflict"
)

// Unprovable lists what neither a file nor a store can prove.
func Unprovable() []string {
	return []string{
		"whether the server saw the world as it was: an entry shows what was recorded",
		"whether something happened that was never recorded",
		"silence after the last entry that nobody watched",
		"anything after the newest head that somebody outside of the server holds, against whoever has both the database " +
			"and the signing key",
	}
}

// UnprovableOfFile lists what a bundle cannot prove and what its verifier does not check.
func UnprovableOfFile() []string {
	return append(Unprovable(),
		timesOfFile,
		"gaps between the beats of the chain",
		"whether a private value that is missing was erased or withheld",
		makers+" file"+besides,
	)
}

// UnprovableOfReceipt lists the same for a receipt.
func UnprovableOfReceipt() []string {
	return append(Unprovable(),
		timesOfReceipt,
		"gaps between the beats of the chain",
		"whether a private value that is missing was erased or withheld",
		makers+" receipt"+besides,
	)
}

const (
	timesOfFile = "the times of entries: no time-stamp token and no witness is read here, so they are the server's " +
		"own word"
	timesOfReceipt = "the times of entries: they are the server's own word, and no certificate of a time-stamping " +
		"authority and no witness's key is known here"
)

const (
	makers  = "what the maker of the"
	besides = " chose to put into it beside the entries: the key that signed it is one that it brings along"
)

// Vouched removes the remark on an unknown signer of the whole file.
func Vouched(v *Verdict) {
	v.NotChecked = slices.DeleteFunc(v.NotChecked, func(s string) bool { return strings.HasPrefix(s, makers) })
}

// Tally counts entries and stores the first one.
type Tally struct{ N, Seq int64 }

// Add counts an entry.
func (t *Tally) Add(seq int64) {
	if t.N++; t.N == 1 {
		t.Seq = seq
	}
}

// Times reports on the clock: entries older than their predecessor, and entries in the future.
func (r *Report) Times(c *Times) {
	var remarks []string
	if c.back.N > 0 {
		remarks = append(remarks, fmt.Sprintf("clock_back: %d entries are older than the one before, entry %d first",
			c.back.N, c.back.Seq))
	}
	if c.ahead.N > 0 {
		remarks = append(remarks, fmt.Sprintf("clock_ahead: %d entries are of the future, entry %d first", c.ahead.N,
			c.ahead.Seq))
	}
	if len(remarks) > 0 {
		r.Warn(StepTimes, "%s", strings.Join(remarks, "; "))
		return
	}
	r.Pass(StepTimes, "no entry is older than the one before it, and none of the future")
}

// Private reports on disclosures: how many are in the file and how many are missing.
func (r *Report) Private(open, missing int64) {
	if missing > 0 {
		r.Warn(StepDisclosures, "withheld: %d private values are not in the file, erased or left out; %d are and agree",
			missing, open)
		return
	}
	r.Pass(StepDisclosures, "%d private values, all in the file, agree with their entries", open)
}

// Unsatisfied adds an anchor that the chain does not satisfy to the report and the verdict. The step is s, or StepFrom
// for the head that a reader demands.
func (r *Report) Unsatisfied(v *Verdict, s Step, p AnchorProblem) {
	v.AnchorProblems = append(v.AnchorProblems, p)
	if p.Kind == "from" {
		s = StepFrom
	}
	r.Fail(s, AnchorUnsatisfied, "%s %s of %d entries: %s", p.Kind, p.ID, p.Size, p.Problem)
}

// Snap records the first entry that breaks the chain.
func (r *Report) Snap(v *Verdict, at, seq int64, text string, args ...any) {
	v.BrokeAt, v.BrokeSeq = at, seq
	r.Fail(StepEntries, ChainBreak, text, args...)
}

// Linked reports whether an entry at a place has the number want and the previous hash prev. If not, the text is the
// reason.
func Linked(place, seq, want int64, named, prev [32]byte) (text string, ok bool) {
	switch {
	case seq != want:
		return fmt.Sprintf("at place %d, where entry %d would be, is entry %d", place, want, seq), false
	case named != prev:
		return fmt.Sprintf("entry %d does not name the hash of the entry before it", seq), false
	}
	return "", true
}
