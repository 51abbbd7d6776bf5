package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/events"
)

const (
	batchSize = 200              // messages read at once
	underWay  = 64               // messages with the bus at the same time
	pollEvery = 5 * time.Second  // the net below lost signals
	patience  = 60 * time.Second // how long the bus may take for one message
)

// Relay hands stored messages to the bus.
type Relay struct {
	db      *db.DB
	signals events.Signals
	bus     events.Bus
	log     *slog.Logger
	poll    time.Duration
}

// NewRelay makes a Relay. A nil log discards.
func NewRelay(d *db.DB, signals events.Signals, bus events.Bus, log *slog.Logger) *Relay {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Relay{db: d, signals: signals, bus: bus, log: log, poll: pollEvery}
}

// Run relays until ctx ends. It is woken by signals, and looks by itself every few seconds. What the bus or the
// database refuses stays stored for the next look.
func (r *Relay) Run(ctx context.Context) {
	wake, stop := r.signals.Watch(events.TopicOutbox)
	defer stop()
	poll := time.NewTicker(r.poll)
	defer poll.Stop()
	for {
		if err := r.drain(ctx); err != nil && ctx.Err() == nil {
			r.log.Warn("the outbox is not empty", "error", err)
		}
		select {
		case <-wake:
		case <-poll.C:
		case <-ctx.Done():
			return
		}
	}
}

// drain relays everything that is stored, batch by batch. Messages that the bus refuses are passed over; they are
// tried again at the next look.
func (r *Relay) drain(ctx context.Context) error {
	after := ""
	var refused error
	for ctx.Err() == nil {
		batch, err := r.read(ctx, after)
		if err != nil || len(batch) == 0 {
			return errors.Join(refused, err)
		}
		refused = errors.Join(lastOf(refused), r.relay(ctx, batch))
		after = batch[len(batch)-1].ID
	}
	return ctx.Err()
}

// lastOf keeps one error of those that all batches met: with a bus that is down they are many and alike.
func lastOf(err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all := joined.Unwrap()
		return all[len(all)-1]
	}
	return err
}

func (r *Relay) read(ctx context.Context, after string) ([]row, error) {
	var batch []row
	err := r.db.Read(ctx).NewSelect().Model(&batch).Where("id > ?", after).Order("id").Limit(batchSize).Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the outbox: %w", db.Translate(err))
	}
	return batch, nil
}

// relay sends a batch, several messages at a time, and deletes those that the bus took. No unit of work is open
// while it sends.
func (r *Relay) relay(ctx context.Context, batch []row) error {
	slots := make(chan struct{}, underWay)
	results := make([]error, len(batch))
	var sending sync.WaitGroup
	for i := range batch {
		slots <- struct{}{}
		sending.Go(func() {
			results[i] = r.send(ctx, batch[i])
			<-slots
		})
	}
	sending.Wait()
	var sent []string
	var refused error
	for i, err := range results {
		if err != nil {
			refused = fmt.Errorf("send %s: %w", batch[i].ID, err)
			continue
		}
		sent = append(sent, batch[i].ID)
	}
	return errors.Join(refused, r.forget(ctx, sent))
}

func (r *Relay) send(ctx context.Context, m row) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return r.bus.Send(ctx, events.Message{
		ID: m.ID, Name: m.Name, Version: m.Version, At: m.At.UTC(), Data: json.RawMessage(m.Data),
	})
}

// forget deletes sent messages, also when ctx has ended since: else they would be sent again after every stop.
func (r *Relay) forget(ctx context.Context, sent []string) error {
	if len(sent) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return r.db.Do(ctx, func(ctx context.Context) error {
		write, err := r.db.Write(ctx)
		if err != nil {
			return err
		}
		_, err = write.NewDelete().Model((*row)(nil)).Where("id IN (?)", bun.List(sent)).Exec(ctx)
		return db.Translate(err)
	})
}
