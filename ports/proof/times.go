package proof

import (
	"cmp"
	"slices"
	"time"

	"github.com/writ-automation/writ/ports/proof/leaf"
)

// Times compares the times of entries with each other, with the reader's clock and with the verified times
// of heads. Add entries and heads in the order of the chain. Times are compared as text, since their format sorts by
// time.
type Times struct {
	latest      string // the last time that is not ahead of the reader's clock
	at          string // of the previous entry
	back, ahead Tally
	newest      string // the largest time of an entry so far
	newestSeq   int64
	after       string // lower bound of further entries, from the last verified time
	by          Sighted
	reported    bool // whether an older entry was reported
}

// Sighted is a head with the verified time of a third party. A zero time bounds no entry.
type Sighted struct {
	ID, Kind string
	Size     int64
	At       time.Time
}

// Conflict is a contradiction between the verified time of a head and the time of an entry.
type Conflict struct {
	Head Sighted
	Seq  int64
}

// NewTimes returns the check for a reader whose clock is at now.
func NewTimes(now time.Time) Times { return Times{latest: leaf.At(now.Add(Tolerance))} }

// Entry adds the next entry. It returns a conflict where the entry is older than the verified time of the last head
// allows; of several such entries the first one conflicts.
func (c *Times) Entry(l *leaf.Leaf) *Conflict {
	if l.At < c.at {
		c.back.Add(l.Seq)
	}
	if l.At > c.latest {
		c.ahead.Add(l.Seq)
	}
	c.at = l.At
	if l.At > c.newest {
		c.newest, c.newestSeq = l.At, l.Seq
	}
	if l.At >= c.after || c.reported {
		return nil
	}
	c.reported = true
	return &Conflict{Head: c.by, Seq: l.Seq}
}

// Head adds a head of the entries so far. It returns a conflict where one of them is younger than its time allows.
func (c *Times) Head(h Sighted) *Conflict {
	if _, err := (&leaf.Leaf{At: leaf.At(h.At)}).Time(); h.At.IsZero() || err != nil {
		return nil
	}
	if c.newest > leaf.At(h.At.Add(Tolerance)) {
		return &Conflict{Head: h, Seq: c.newestSeq}
	}
	if after := leaf.At(h.At.Add(-Tolerance)); after > c.after {
		c.after, c.by, c.reported = after, h, false
	}
	return nil
}

// All adds the entries of a receipt and heads of any sizes in the order of the chain, and returns every conflict.
func (c *Times) All(entries []leaf.Leaf, heads []Sighted) (out []Conflict) {
	heads = slices.Clone(heads)
	slices.SortStableFunc(heads, func(a, b Sighted) int { return cmp.Compare(a.Size, b.Size) })
	add := func(got *Conflict) {
		if got != nil {
			out = append(out, *got)
		}
	}
	for i := range entries {
		for ; len(heads) > 0 && heads[0].Size < entries[i].Seq; heads = heads[1:] {
			add(c.Head(heads[0]))
		}
		add(c.Entry(&entries[i]))
	}
	for _, h := range heads {
		add(c.Head(h))
	}
	return out
}

// Problem returns the anchor problem of a conflict.
func (c *Conflict) Problem() AnchorProblem {
	return AnchorProblem{ID: c.Head.ID, Kind: c.Head.Kind, Size: c.Head.Size, Problem: TimeConflict}
}

// Conflict fails the step times. A nil conflict changes nothing.
func (r *Report) Conflict(v *Verdict, c *Conflict) {
	if c == nil {
		return
	}
	first := !r.Failed(StepTimes)
	r.Unsatisfied(v, StepTimes, c.Problem())
	if first {
		r.Add(StepTimes, ", entry %d", c.Seq)
	}
}
