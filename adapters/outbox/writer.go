package outbox

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/ids"
)

// row is a message that waits for a subscriber. An older binary wrote rows with an empty subscriber, which means all.
type row struct {
	bun.BaseModel `bun:"table:outbox"`

	Subscriber  string    `bun:"subscriber,pk"`
	ID          string    `bun:"id,pk"`
	Name        string    `bun:"name"`
	Version     int       `bun:"version"`
	At          time.Time `bun:"at"`
	Data        string    `bun:"data"`
	Redelivered bool      `bun:"redelivered"`
}

// Writer publishes events. It stores a row for each subscriber in the unit of work that the context carries.
type Writer struct {
	db       *db.DB
	rows     db.Model[row]
	signals  events.Signals
	audience *Audience
	clock    clock.Clock
	ids      ids.Generator
}

var (
	_ events.Publisher   = (*Writer)(nil)
	_ events.Redeliverer = (*Writer)(nil)
)

// NewWriter makes a Writer on a database whose schema has the table outbox.
func NewWriter(d *db.DB, signals events.Signals, a *Audience, c clock.Clock, gen ids.Generator) *Writer {
	return &Writer{db: d, rows: db.ModelOf[row](d), signals: signals, audience: a, clock: c, ids: gen}
}

// Publish stores an event that has subscribers. Outside of a unit of work it is an Internal fault.
func (w *Writer) Publish(ctx context.Context, e events.Event) error {
	if _, err := w.db.Write(ctx); err != nil {
		return err
	}
	names := w.audience.Of(e.EventName())
	if len(names) == 0 {
		return nil
	}
	data, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode %s: %w", e.EventName(), err)
	}
	id, now := w.ids.New(ids.Message), w.clock.Now()
	rows := make([]row, len(names))
	for i, name := range names {
		rows[i] = row{Subscriber: name, ID: id, Name: e.EventName(), Version: e.EventVersion(), At: now, Data: string(data)}
	}
	if err := w.rows.InsertAtEnd(ctx, w.db, rows...); err != nil {
		return fmt.Errorf("publish %s: %w", e.EventName(), err)
	}
	return w.signals.Signal(ctx, events.TopicOutbox, "")
}

// Redeliver stores a message for the subscriber that it names. A message that already waits for it is not stored twice.
func (w *Writer) Redeliver(ctx context.Context, m events.Message) error {
	write, err := w.db.Write(ctx)
	if err != nil {
		return err
	}
	_, err = write.NewInsert().Model(&row{
		Subscriber: m.To, ID: m.ID, Name: m.Name, Version: m.Version, At: m.At, Data: string(m.Data), Redelivered: true,
	}).On("CONFLICT (subscriber, id) DO UPDATE").Set("redelivered = TRUE").Exec(ctx)
	if err != nil {
		return fmt.Errorf("send %s again: %w", m.ID, db.Translate(err))
	}
	return w.signals.Signal(ctx, events.TopicOutbox, "")
}
