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
	batchSize   = 200             // messages read at once
	inFlight    = 64              // messages of a subscriber with the bus at the same time
	pollEvery   = 5 * time.Second // finds messages whose signal was lost
	sendTimeout = 5 * time.Minute // how long the bus may take for one message
)

// Relay hands stored messages to the bus. Each subscriber has a loop of its own, so that one that fails or hangs holds
// up nobody else.
type Relay struct {
	db       *db.DB
	signals  events.Signals
	bus      events.Bus
	audience *Audience
	log      *slog.Logger
	poll     time.Duration
}

// NewRelay makes a Relay. A nil log discards.
func NewRelay(d *db.DB, signals events.Signals, bus events.Bus, a *Audience, log *slog.Logger) *Relay {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Relay{db: d, signals: signals, bus: bus, audience: a, log: log, poll: pollEvery}
}

// filter narrows a reading to the messages of one loop.
type filter func(*bun.SelectQuery) *bun.SelectQuery

// Run relays until ctx ends.
func (r *Relay) Run(ctx context.Context) {
	names := r.audience.All()
	var loops sync.WaitGroup
	for _, name := range names {
		wake, stop := r.signals.Watch(events.TopicOutbox)
		defer stop()
		loops.Go(func() {
			r.loop(ctx, wake, func(q *bun.SelectQuery) *bun.SelectQuery { return q.Where("subscriber = ?", name) })
		})
	}
	// What another binary wrote comes without a subscriber, or for one that this binary does not have.
	loops.Go(func() {
		r.loop(ctx, nil, func(q *bun.SelectQuery) *bun.SelectQuery {
			if len(names) == 0 {
				return q
			}
			return q.Where("subscriber NOT IN (?)", bun.List(names))
		})
	})
	loops.Wait()
}

// loop relays what a filter admits. It is woken by signals, and looks by itself every few seconds. What the bus or the
// database refuses stays stored for the next look.
func (r *Relay) loop(ctx context.Context, wake <-chan string, of filter) {
	poll := time.NewTicker(r.poll)
	defer poll.Stop()
	for {
		if err := r.drain(ctx, of); err != nil && ctx.Err() == nil {
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
func (r *Relay) drain(ctx context.Context, of filter) error {
	last := row{}
	var refused error
	for ctx.Err() == nil {
		batch, err := r.read(ctx, of, last)
		if err != nil || len(batch) == 0 {
			return errors.Join(refused, err)
		}
		refused = errors.Join(lastOf(refused), r.relay(ctx, batch))
		last = batch[len(batch)-1]
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

func (r *Relay) read(ctx context.Context, of filter, after row) ([]row, error) {
	var batch []row
	q := r.db.Read(ctx).NewSelect().Model(&batch).Where("(subscriber, id) > (?, ?)", after.Subscriber, after.ID)
	if err := of(q).Order("subscriber", "id").Limit(batchSize).Scan(ctx); err != nil {
		return nil, fmt.Errorf("read the outbox: %w", db.Translate(err))
	}
	return batch, nil
}

// relay sends a batch, several messages at a time, and deletes those that the bus took. No unit of work is open
// while it sends.
func (r *Relay) relay(ctx context.Context, batch []row) error {
	slots := make(chan struct{}, inFlight)
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
	var sent []row
	var refused error
	for i, err := range results {
		if err != nil {
			refused = fmt.Errorf("send %s: %w", batch[i].ID, err)
			continue
		}
		sent = append(sent, batch[i])
	}
	return errors.Join(refused, r.forget(ctx, sent))
}

func (r *Relay) send(ctx context.Context, m row) error {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	return r.bus.Send(ctx, events.Message{
		ID: m.ID, Name: m.Name, Version: m.Version, At: m.At.UTC(), Data: json.RawMessage(m.Data),
		To: m.Subscriber, Redelivered: m.Redelivered,
	})
}

// forget deletes sent messages, also when ctx has ended since: else they would be sent again after every stop. One that
// somebody sent again meanwhile stays.
func (r *Relay) forget(ctx context.Context, sent []row) error {
	keys := make(map[row][]string) // ids by what they share
	for _, m := range sent {
		group := row{Subscriber: m.Subscriber, Redelivered: m.Redelivered}
		keys[group] = append(keys[group], m.ID)
	}
	if len(keys) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return r.db.Do(ctx, func(ctx context.Context) error {
		write, err := r.db.Write(ctx)
		if err != nil {
			return err
		}
		for group, ids := range keys {
			_, err := write.NewDelete().Model((*row)(nil)).Where("subscriber = ?", group.Subscriber).
				Where("id IN (?)", bun.List(ids)).Where("redelivered = ?", group.Redelivered).Exec(ctx)
			if err != nil {
				return fmt.Errorf("delete from the outbox: %w", db.Translate(err))
			}
		}
		return nil
	})
}
