package audit

import "context"

// Heads gives signed heads of the chain to workers and compares the stored heads that they show with the chain: an
// attacker who rolls the chain back cannot change them.
type Heads interface {
	// Newest returns the newest stored signed head of the install that the chain satisfies, as a note, or "" without
	// one. It is also empty for some minutes after a worker showed a head that the chain does not satisfy: no worker
	// may replace a head that proves something. For one worker, call Show first. Newest signs nothing.
	Newest(ctx context.Context) (note string, err error)
	// Show compares heads that a worker stored with the chain. A head that the chain does not satisfy is stored as an
	// anchor of the kind worker, so that every verification reports it, and is logged as an error; the largest
	// satisfied head is stored from time to time. Abandoned heads are left out. A note that no key of this install
	// signed is a ForeignHead fault and is not stored; the other notes are still checked. An Invalid fault names
	// worker, or heads if there are more than HeldHeads. Call it outside of units.
	Show(ctx context.Context, worker string, notes []string) error
}

// HeldHeads bounds the heads of a HeadStore.
const HeldHeads = 16

// HeadStore stores signed heads on the machine of a worker: the largest one of every origin. It checks no signature
// and never deletes a head: beyond HeldHeads it ignores new origins.
type HeadStore interface {
	// Notes returns the stored heads in any order. With an error it returns the readable ones.
	Notes() ([]string, error)
	// Save stores a head durably if it is larger than the stored one of its origin. A text that is not the note of a
	// head is Invalid.
	Save(note string) error
}
