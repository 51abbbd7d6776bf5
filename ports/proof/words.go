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
		"whether the server recorded what really happened: an entry shows only what was recorded",
		"whether anything happened that was not recorded",
		"whether the server stopped recording after the last entry, unless somebody monitored the log",
		"the entries after the newest head that is stored outside of the server: an attacker with both the database and " +
			"the signing key can change them",
	}
}

// UnprovableOfFile lists what a bundle or a receipt cannot prove and what its verifier does not check.
func UnprovableOfFile() []string {
	return append(Unprovable(), timesAsserted, UncheckedBeats,
		"whether a missing private value was erased or withheld",
		ownKey,
	)
}

// UncheckedBeats is the remark that the gaps between beats were not checked.
const UncheckedBeats = "gaps between the beats, the entries that the server records at a fixed interval"

const (
	timesAsserted = "the times of entries: no verified time-stamp token or witness cosignature confirms them, so they " +
		"are asserted by the server only"
	timesBetween = "the times of entries between the heads that a trusted third party signed: they are asserted by " +
		"the server only"
	ownKey = "the data in the file other than the entries: the key that signed it comes from the file itself"
)

// The texts that several checks share.
const (
	entryUnreadable   = "the entry at position %d is not a valid leaf: %s"
	tooManyEntries    = "the file has more entries than its window"
	checkpointSigned  = "the checkpoint of %d entries is signed by %s"
	inclusionInvalid  = "entry %d has no valid inclusion proof for the checkpoint: %s"
	disclosureInvalid = "a disclosure of entry %d is invalid: %s"
	checkpointExtends = "the checkpoint of %d entries extends the head of %d entries"
	growthInvalid     = "the consistency proof from %d to %d entries is invalid: %s"
	extendsGiven      = "the log extends the given head of %d entries"
	extendsKnown      = "the log extends the head of %d entries %s"
	noProofFromGiven  = "the file has no valid consistency proof from the given head of %d entries"
	staleCheckpoint   = ", stale: the checkpoint has %d entries"
)

// Vouched removes the remark on an unknown signer of the whole file.
func Vouched(v *Verdict) { v.unremark(ownKey) }

func (v *Verdict) unremark(text string) {
	v.NotChecked = slices.DeleteFunc(v.NotChecked, func(s string) bool { return s == text })
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
		remarks = append(remarks, fmt.Sprintf("clock_back: %d entries have an earlier time than the entry before, "+
			"the first is entry %d", c.back.N, c.back.Seq))
	}
	if c.ahead.N > 0 {
		remarks = append(remarks, fmt.Sprintf("clock_ahead: %d entries have a time in the future, the first is entry %d",
			c.ahead.N, c.ahead.Seq))
	}
	if len(remarks) > 0 {
		r.Warn(StepTimes, "%s", strings.Join(remarks, "; "))
		return
	}
	r.Pass(StepTimes, "no entry has an earlier time than the entry before, or a time in the future")
}

// Private reports on disclosures: how many are in the file and how many are missing.
func (r *Report) Private(open, missing int64) {
	if missing > 0 {
		r.Warn(StepDisclosures, "withheld: %d private values of the entries in the file are missing, erased or withheld; "+
			"%d are present and match their digests", missing, open)
		return
	}
	r.Pass(StepDisclosures, "all %d private values of the entries in the file are present and match their digests", open)
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
		return fmt.Sprintf("position %d has entry %d instead of entry %d", place, seq, want), false
	case named != prev:
		return fmt.Sprintf("entry %d does not have the hash of the entry before it", seq), false
	}
	return "", true
}
