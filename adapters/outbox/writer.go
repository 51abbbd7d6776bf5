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

// row is a message that waits.
type row struct {
	bun.BaseModel `bun:"table:outbox"`

	ID      string    `bun:"id,pk"`
	Name    string    `bun:"name"`
	Version int       `bun:"version"`
	At      time.Time `bun:"at"`
	Data    string    `bun:"data"`
}

// Writer implements events.Publisher by a row in the unit of work that the context carries.
type Writer struct {
	db      *db.DB
	signals events.Signals
	clock   clock.Clock
	ids     ids.Generator
}

var _ events.Publisher = (*Writer)(nil)

// NewWriter makes a Writer on a database whose schema has the table outbox.
func NewWriter(d *db.DB, signals events.Signals, c clock.Clock, gen ids.Generator) *Writer {
	return &Writer{db: d, signals: signals, clock: c, ids: gen}
}

// Publish implements events.Publisher. Outside of a unit of work it is an Internal fault.
func (w *Writer) Publish(ctx context.Context, e events.Event) error {
	data, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode %s: %w", e.EventName(), err)
	}
	write, err := w.db.Write(ctx)
	if err != nil {
		return err
	}
	// Plain SQL: every run passes here twice, and a text that is always the same stays prepared.
	_, err = write.ExecContext(ctx, "INSERT INTO outbox (id, name, version, at, data) VALUES (?, ?, ?, ?, ?)",
		w.ids.New(ids.Message), e.EventName(), e.EventVersion(), w.clock.Now(), string(data))
	if err != nil {
		return fmt.Errorf("publish %s: %w", e.EventName(), db.Translate(err))
	}
	return w.signals.Signal(ctx, events.TopicOutbox, "")
}
