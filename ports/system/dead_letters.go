package system

import (
	"context"

	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/page"
)

// DeadLetter is a message that a subscriber failed to handle on every attempt.
type DeadLetter struct {
	ID string
	events.Failure
}

// DeadLetters lists, retries and deletes unhandled messages for admins.
type DeadLetters interface {
	// ListDeadLetters returns letters and their total number, the latest failure first.
	ListDeadLetters(ctx context.Context, w page.Window) ([]DeadLetter, int, error)
	// RetryDeadLetter sends the message to its subscriber alone again and returns the letter. The letter stays until
	// the subscriber has handled the message. Errors: DeadLetterNotFound.
	RetryDeadLetter(ctx context.Context, id string) (DeadLetter, error)
	// DeleteDeadLetter deletes the message for good. attempts is the expected number of attempts, 0 for any. Errors:
	// RevisionChanged for another number; DeadLetterNotFound.
	DeleteDeadLetter(ctx context.Context, id string, attempts int64) error
}

// DeadLetterStore stores dead letters. It writes in the unit of ctx.
type DeadLetterStore interface {
	// AddDeadLetter stores a letter. If the subscriber already has one of the message, that one keeps its id and the
	// time of its first failure, takes the last error and adds up the attempts.
	AddDeadLetter(ctx context.Context, l DeadLetter) error
	// DeadLetterByID returns a letter. Errors: DeadLetterNotFound.
	DeadLetterByID(ctx context.Context, id string) (DeadLetter, error)
	// ListDeadLetters returns a window of the letters and their total number, the latest failure first and then by id.
	ListDeadLetters(ctx context.Context, w page.Window) ([]DeadLetter, int, error)
	// DeleteDeadLetter deletes a letter with that many attempts, 0 for any number. Errors: RevisionChanged,
	// DeadLetterNotFound.
	DeleteDeadLetter(ctx context.Context, id string, attempts int64) error
	// ResolveDeadLetter deletes the letter of a message and a subscriber, if there is one.
	ResolveDeadLetter(ctx context.Context, messageID, subscriber string) error
}

// MaxDeadLetterError is the largest size of a stored error, in bytes.
const MaxDeadLetterError = 4096
