package system

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/system"
)

// Store implements the stores of ports/system. It is safe for concurrent use.
type Store struct{ d *db.DB }

var _ system.DeadLetterStore = (*Store)(nil)

// New creates a Store on a migrated database.
func New(d *db.DB) *Store { return &Store{d: d} }

// row is a dead letter.
type row struct {
	bun.BaseModel `bun:"table:dead_letters,alias:l"`

	ID         string  `bun:"id,pk"`
	MessageID  string  `bun:"message_id"`
	Subscriber string  `bun:"subscriber"`
	Name       string  `bun:"name"`
	Version    int     `bun:"version"`
	At         db.Time `bun:"at"`
	Data       string  `bun:"data"`
	Attempts   int     `bun:"attempts"`
	Error      string  `bun:"error"`
	FirstAt    db.Time `bun:"first_at"`
	LastAt     db.Time `bun:"last_at"`
}

func (r *row) letter() system.DeadLetter {
	return system.DeadLetter{ID: r.ID, Failure: events.Failure{
		Message: events.Message{
			ID: r.MessageID, Name: r.Name, Version: r.Version, At: r.At.Time, Data: json.RawMessage(r.Data),
		},
		Subscriber: r.Subscriber, Attempts: r.Attempts, Error: r.Error, FirstAt: r.FirstAt.Time, LastAt: r.LastAt.Time,
	}}
}

// AddDeadLetter stores a letter, or updates the stored one of the message.
func (s *Store) AddDeadLetter(ctx context.Context, l system.DeadLetter) error {
	q, err := s.d.Write(ctx)
	if err != nil {
		return err
	}
	_, err = q.NewInsert().Model(&row{
		ID: l.ID, MessageID: l.Message.ID, Subscriber: l.Subscriber, Name: l.Message.Name, Version: l.Message.Version,
		At: db.At(l.Message.At), Data: string(l.Message.Data), Attempts: l.Attempts, Error: l.Error,
		FirstAt: db.At(l.FirstAt), LastAt: db.At(l.LastAt),
	}).On("CONFLICT (message_id, subscriber) DO UPDATE").Set("attempts = l.attempts + excluded.attempts").
		Set("error = excluded.error").Set("last_at = excluded.last_at").Exec(ctx)
	if err != nil {
		return fmt.Errorf("store a dead letter: %w", db.Translate(err))
	}
	return nil
}

// DeadLetterByID returns a letter.
func (s *Store) DeadLetterByID(ctx context.Context, id string) (system.DeadLetter, error) {
	var found []row
	err := s.d.Read(ctx).NewSelect().Model(&found).Where("l.id = ?", id).Scan(ctx)
	switch {
	case err != nil:
		return system.DeadLetter{}, fmt.Errorf("read a dead letter: %w", db.Translate(err))
	case len(found) == 0:
		return system.DeadLetter{}, missing(id)
	}
	return found[0].letter(), nil
}

func missing(id string) error { return system.DeadLetterNotFound.New("no dead letter %q", id) }

// ListDeadLetters returns a window of the letters and their total number.
func (s *Store) ListDeadLetters(ctx context.Context, w page.Window) ([]system.DeadLetter, int, error) {
	var found []row
	q := s.d.Read(ctx)
	total, err := q.NewSelect().Model(&found).Count(ctx)
	if err != nil {
		return nil, 0, fmt.Errorf("count dead letters: %w", db.Translate(err))
	}
	err = q.NewSelect().Model(&found).Order("l.last_at DESC", "l.id").Limit(int64(w.Rows())).Offset(int64(w.Offset)).
		Scan(ctx)
	if err != nil {
		return nil, 0, fmt.Errorf("list dead letters: %w", db.Translate(err))
	}
	list := make([]system.DeadLetter, 0, len(found))
	for i := range found {
		list = append(list, found[i].letter())
	}
	return list, int(total), nil
}

// DeleteDeadLetter deletes a letter with that many attempts, 0 for any number.
func (s *Store) DeleteDeadLetter(ctx context.Context, id string, attempts int64) error {
	n, err := s.remove(ctx, func(q *bun.DeleteQuery) *bun.DeleteQuery {
		return q.Where("l.id = ?", id).Where("? = 0 OR l.attempts = ?", attempts, attempts)
	})
	if err != nil || n > 0 {
		return err
	}
	if _, err := s.DeadLetterByID(ctx, id); err != nil {
		return err
	}
	return system.RevisionChanged.New("the dead letter failed again meanwhile")
}

// ResolveDeadLetter deletes the letter of a message and a subscriber.
func (s *Store) ResolveDeadLetter(ctx context.Context, messageID, subscriber string) error {
	_, err := s.remove(ctx, func(q *bun.DeleteQuery) *bun.DeleteQuery {
		return q.Where("l.message_id = ?", messageID).Where("l.subscriber = ?", subscriber)
	})
	return err
}

func (s *Store) remove(ctx context.Context, which func(*bun.DeleteQuery) *bun.DeleteQuery) (rows int64, err error) {
	q, err := s.d.Write(ctx)
	if err != nil {
		return 0, err
	}
	result, err := which(q.NewDelete().Model((*row)(nil))).Exec(ctx)
	if err == nil {
		rows, err = result.RowsAffected()
	}
	if err != nil {
		return 0, fmt.Errorf("delete a dead letter: %w", db.Translate(err))
	}
	return rows, nil
}
