package system

import (
	"context"
	"fmt"
	"strings"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/system"
)

// DeadLetters stores unhandled messages, and retries or deletes them for admins.
type DeadLetters struct{ p DeadLetterParams }

var (
	_ system.DeadLetters = (*DeadLetters)(nil)
	_ events.DeadLetters = (*DeadLetters)(nil)
)

// NewDeadLetters creates the dead letters.
func NewDeadLetters(p DeadLetterParams) *DeadLetters { return &DeadLetters{p: p} }

// Add stores a failure and truncates its error.
func (d *DeadLetters) Add(ctx context.Context, f events.Failure) error {
	f.Error = strings.ReplaceAll(strings.ToValidUTF8(f.Error, "?"), "\x00", "?")
	if len(f.Error) > system.MaxDeadLetterError {
		f.Error = strings.ToValidUTF8(f.Error[:system.MaxDeadLetterError], "")
	}
	l := system.DeadLetter{ID: d.p.IDs.New(ids.DeadLetter), Failure: f}
	return d.p.Unit.Do(ctx, func(ctx context.Context) error { return d.p.Store.AddDeadLetter(ctx, l) })
}

// Resolve deletes the letter of a message that was handled.
func (d *DeadLetters) Resolve(ctx context.Context, messageID, subscriber string) error {
	return d.p.Unit.Do(ctx, func(ctx context.Context) error {
		return d.p.Store.ResolveDeadLetter(ctx, messageID, subscriber)
	})
}

// ListDeadLetters returns a window of the letters and their total number.
func (d *DeadLetters) ListDeadLetters(ctx context.Context, w page.Window) ([]system.DeadLetter, int, error) {
	return d.p.Store.ListDeadLetters(ctx, w)
}

// RetryDeadLetter sends the message to its subscriber again.
func (d *DeadLetters) RetryDeadLetter(ctx context.Context, id string) (l system.DeadLetter, err error) {
	err = d.p.Unit.Do(ctx, func(ctx context.Context) error {
		if l, err = d.p.Store.DeadLetterByID(ctx, id); err != nil {
			return err
		}
		m := l.Message
		m.To, m.Redelivered = l.Subscriber, true
		if err := d.p.Outbox.Redeliver(ctx, m); err != nil {
			return err
		}
		return d.record(ctx, audit.DeadLetterRetry, l)
	})
	return l, err
}

// DeleteDeadLetter deletes the message for good.
func (d *DeadLetters) DeleteDeadLetter(ctx context.Context, id string, attempts int64) error {
	return d.p.Unit.Do(ctx, func(ctx context.Context) error {
		l, err := d.p.Store.DeadLetterByID(ctx, id)
		if err != nil {
			return err
		}
		if err := d.p.Store.DeleteDeadLetter(ctx, id, attempts); err != nil {
			return err
		}
		return d.record(ctx, audit.DeadLetterDelete, l)
	})
}

func (d *DeadLetters) record(ctx context.Context, a audit.Action, l system.DeadLetter) error {
	return d.p.Recorder.Record(ctx, audit.Entry{
		Action: a, Object: audit.Object{Kind: "dead_letter", ID: l.ID, Name: l.Message.Name},
		Detail: map[string]any{
			"event": l.Message.Name, "message_id": l.Message.ID, "subscriber": l.Subscriber, "attempts": l.Attempts,
		},
	})
}

// DeadLetterCheck reports messages that a subscriber did not handle.
type DeadLetterCheck struct{ store system.DeadLetterStore }

var _ system.Check = (*DeadLetterCheck)(nil)

// NewDeadLetterCheck creates the check over a store.
func NewDeadLetterCheck(s system.DeadLetterStore) *DeadLetterCheck { return &DeadLetterCheck{store: s} }

// Name returns the name of the check.
func (*DeadLetterCheck) Name() string { return "dead_letters" }

// Examine reports the letters that failed last.
func (c *DeadLetterCheck) Examine(ctx context.Context) (system.Examination, error) {
	list, _, err := c.store.ListDeadLetters(ctx, page.Window{})
	found := system.Examination{Examined: len(list)}
	for _, l := range list {
		found.Findings = append(found.Findings, system.Finding{
			Severity: system.Error, Object: system.Subject{Kind: "dead_letter", ID: l.ID, Name: l.Message.Name},
			Problem: fmt.Sprintf("the subscriber %s did not handle the event in %d attempts: %s", l.Subscriber, l.Attempts,
				clip(l.Error)),
			Fix:  "repair the cause and retry it with 'writ dead-letter retry " + l.ID + "', or delete it",
			Link: "/v1/dead-letters",
		})
	}
	return found, err
}
