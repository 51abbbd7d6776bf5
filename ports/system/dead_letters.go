package system

import (
	"context"

	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/page"
)

// DeadLetter is a message that a subscriber did not handle, however often it was tried.
type DeadLetter struct {
	ID string
	events.Failure
}

// DeadLetters is what admins do about messages that were not handled.
type DeadLetters interface {
	// ListDeadLetters returns letters and how many there are. The one that failed last comes first.
	ListDeadLetters(ctx context.Context, w page.Window) ([]DeadLetter, int, error)
	// RetryDeadLetter hands the message to its subscriber again, and to nobody else. The letter stays until the
	// subscriber has handled the message. It returns the letter, or DeadLetterNotFound.
	RetryDeadLetter(ctx context.Context, id string) (DeadLetter, error)
	// DeleteDeadLetter drops the message for good. attempts is how many the letter must have, 0 for any number; another
	// number is RevisionChanged. A letter that does not exist is DeadLetterNotFound.
	DeleteDeadLetter(ctx context.Context, id string, attempts int64) error
}

// DeadLetterStore stores dead letters. It writes in the unit of work that the context carries.
type DeadLetterStore interface {
	// AddDeadLetter stores a letter. Where the subscriber has one of the message already, that one keeps its id and the
	// time of its first failure, takes over the last error and counts the attempts together.
	AddDeadLetter(ctx context.Context, l DeadLetter) error
	// DeadLetterByID returns a letter, or DeadLetterNotFound.
	DeadLetterByID(ctx context.Context, id string) (DeadLetter, error)
	// ListDeadLetters returns a stretch of the letters and how many there are. The one that failed last comes first,
	// those of one moment by id.
	ListDeadLetters(ctx context.Context, w page.Window) ([]DeadLetter, int, error)
	// DeleteDeadLetter deletes a letter that has that many attempts, 0 for any number. It returns RevisionChanged, or
	// DeadLetterNotFound.
	DeleteDeadLetter(ctx context.Context, id string, attempts int64) error
	// ResolveDeadLetter deletes the letter of a message and a subscriber, where there is one.
	ResolveDeadLetter(ctx context.Context, messageID, subscriber string) error
}

// MaxDeadLetterError is how many bytes of an error a letter keeps.
const MaxDeadLetterError = 4096
