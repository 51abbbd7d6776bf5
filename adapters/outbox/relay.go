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

	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/events"
)

const (
	batchSize   = 200             // messages read at once
	inFlight    = 64              // messages of a subscriber with the bus at the same time
	pollEvery   = 5 * time.Second // finds messages whose signal was lost
	sendTimeout = 5 * time.Minute // how long the bus may take for one message
)

// Relay hands stored messages to the bus. Each subscriber has its own loop, so that one that fails or hangs delays no
// other.
type Relay struct {
	db       *db.DB
	signals  events.Signals
	bus      events.Bus
	audience *Audience
	log      *slog.Logger
	observer background.Observer
	poll     time.Duration
	loops    background.Group
}

// NewRelay makes a Relay. A nil log discards, and a nil observer observes nothing.
func NewRelay(d *db.DB, signals events.Signals, bus events.Bus, a *Audience, log *slog.Logger, o background.Observer,
) *Relay {
	return &Relay{db: d, signals: signals, bus: bus, audience: a, log: log, observer: o, poll: pollEvery}
}

// filter selects the messages of one loop.
type filter func(*bun.SelectQuery) *bun.SelectQuery

// Start begins to relay to the subscribers that the audience then has, and returns at once. It is called once.
func (r *Relay) Start() {
	names := r.audience.All()
	for _, name := range names {
		l := r.loop(name, func(q *bun.SelectQuery) *bun.SelectQuery { return q.Where("subscriber = ?", name) })
		l.Watch = func() (<-chan string, func()) { return r.signals.Watch(events.TopicOutbox) }
		r.loops = append(r.loops, l)
	}
	// Another binary may write messages without a subscriber, or for one that this binary does not have.
	r.loops = append(r.loops, r.loop("others", func(q *bun.SelectQuery) *bun.SelectQuery {
		if len(names) == 0 {
			return q
		}
		return q.Where("subscriber NOT IN (?)", bun.List(names))
	}))
	r.loops.Start()
}

// Stop ends the loops and returns when all have ended, or with the error of ctx when that ends first.
func (r *Relay) Stop(ctx context.Context) error { return r.loops.Stop(ctx) }

func (r *Relay) loop(subscriber string, of filter) *background.Loop {
	return &background.Loop{
		Name: "outbox of " + subscriber, Every: r.poll, Log: r.log, Observer: r.observer,
		Pass: func(ctx context.Context) error { return r.drain(ctx, of) },
	}
}

// drain relays everything that is stored, batch by batch. Messages that the bus refuses stay stored for the next pass.
func (r *Relay) drain(ctx context.Context, of filter) error {
	last := row{}
	var refused error
	for ctx.Err() == nil {
		batch, err := r.read(ctx, of, last)
		if err != nil || len(batch) == 0 {
			return errors.Join(refused, err)
		}
		refused = errors.Join(lastOf(refused), r.relay(ctx, batch))
		if len(batch) < batchSize {
			return refused // what was stored meanwhile has signaled
		}
		last = batch[len(batch)-1]
	}
	return ctx.Err()
}

// lastOf returns the last of the joined errors: with a bus that is down, all batches fail with the same one.
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

// forget deletes sent messages, also after ctx has ended: otherwise they would be sent again after every stop. A
// message that was redelivered meanwhile stays.
func (r *Relay) forget(ctx context.Context, sent []row) error {
	keys := make(map[row][]string) // ids by their common columns
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
