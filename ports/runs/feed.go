package runs

import (
	"context"
	"sync"

	"github.com/writ-automation/writ/ports/access"
)

// FeedUpdate is a message of the feed for lists. One of Run, Ready, Reset and Held is set.
type FeedUpdate struct {
	ID    string // the position after the message
	Run   *Run   // shared by all readers, and never changed
	Ready bool   // the feed begins here
	Reset bool   // messages are missing before this one: what was read has to be read again
	Held  bool   // another number of runs is held than before
	Count int    // of the held runs that the reader may read, at most TotalCap
	// Text is the encoded message, which the first reader makes for all.
	Text *Encoded
}

// Encoded is a text that is made once.
type Encoded struct {
	once sync.Once
	text string
	err  error
}

// Get returns the text, which the first call makes.
func (e *Encoded) Get(encode func() (string, error)) (string, error) {
	e.once.Do(func() { e.text, e.err = encode() })
	return e.text, e.err
}

// Feed tells readers of lists which runs were made and changed.
type Feed interface {
	// FollowAll calls emit with each run that the caller may read and that is made or changed, in the order of the
	// changes, at most four times a second for one run, until ctx or emit ends it. after is the position from which it
	// continues; it begins with Ready without one, and with Reset for one that is unknown or too old. A reader that is
	// too slow gets Reset too. Held follows at most once a second, and only if Count is another one than before.
	FollowAll(ctx context.Context, after string, emit func(FeedUpdate) error) error
}

// FeedTicket is what tickets for the feed are for, instead of the id of a run.
const FeedTicket = "feed"

// HeldRuns is the filter of a list whose total is the number of the held runs that the scope may read.
func HeldRuns(s access.Scope) Filter {
	return Filter{Statuses: []Status{PendingApproval}, Limit: 1, Scope: s}
}
