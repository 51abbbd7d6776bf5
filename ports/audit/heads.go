package audit

import "context"

// Heads lets others keep signed heads of the chain and takes back what they kept: whoever rolls the chain back does
// not reach them.
type Heads interface {
	// Newest returns the newest signed head of the install that its store keeps and the chain satisfies, as a note,
	// empty where there is none. For some minutes after a head was shown that the chain does not satisfy it is empty
	// too: nobody is to let go of one that proves something. Show comes first where both are called for one worker. It
	// signs nothing.
	Newest(ctx context.Context) (note string, err error)
	// Show holds heads that a worker kept against the chain. One that the chain does not satisfy is kept as an anchor of
	// the kind worker, so that every verification tells of it, and is logged as an error; so is the largest that it does
	// satisfy, from time to time. Heads of an epoch that was given up are left out. ForeignHead is the fault of a note
	// that no key of this install signed, of which nothing is kept; the others are looked at all the same. Invalid
	// faults name worker, and heads where they are more than HeldHeads. It is called outside of units.
	Show(ctx context.Context, worker string, notes []string) error
}

// HeldHeads is how many heads a HeadShelf holds.
const HeldHeads = 16

// HeadStore keeps signed heads on the machine of a worker: of every origin the largest that it was given. It checks
// no signature, and never lets go of one: a new origin beyond HeldHeads is not kept.
type HeadStore interface {
	// Notes returns the heads that are kept, in no order, also those beside what its error says of others.
	Notes() ([]string, error)
	// Save keeps a head durably where it is larger than the one of its origin, and does nothing else. Invalid for what
	// is no note of a head.
	Save(note string) error
}
