package stream

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/writ-automation/writ/ports/runs"
)

// pageSize is how many events a follower reads at a time.
const pageSize = 500

// Times are the intervals of a follower.
type Times struct {
	Poll time.Duration // between two reads of the store, in case a signal is lost
	Beat time.Duration // without an update before a beat
}

// Streamer follows runs.
type Streamer struct {
	hub    *Hub
	store  runs.Store
	events runs.EventStore
	logs   runs.LogStore
	deltas Deltas
	times  Times
}

// Deltas returns the changes of a run's matrix since a revision and an order, including at least the first upTo of
// its own events. It returns nil if there are none.
type Deltas interface {
	Delta(ctx context.Context, r *runs.Run, rev, order, upTo int64) (*runs.MatrixDelta, error)
}

var _ runs.Streamer = (*Streamer)(nil)

// NewStreamer returns a streamer over the stores and the hub.
func NewStreamer(hub *Hub, store runs.Store, events runs.EventStore, logs runs.LogStore, t Times) *Streamer {
	return &Streamer{hub: hub, store: store, events: events, logs: logs, times: t}
}

// WithMatrix makes the streamer send the matrix's changes too, and returns it.
func (s *Streamer) WithMatrix(d Deltas) *Streamer {
	s.deltas = d
	return s
}

func (s *Streamer) Follow(ctx context.Context, id string, after, offset int64, emit func(runs.Update) error) error {
	sub := s.hub.Subscribe(id)
	defer sub.Close()
	f := &follower{Streamer: s, id: id, sub: sub, out: emit, after: max(after, 0), offset: max(offset, 0)}
	f.beat = time.NewTimer(s.times.Beat)
	defer f.beat.Stop()
	f.poll = time.NewTimer(s.times.Poll)
	defer f.poll.Stop()
	f.matrix = newDeltaTimer(max(after, 0))
	defer f.matrix.stop()
	for {
		ended, err := f.catchUp(ctx)
		if ended || err != nil {
			return cmp.Or(err, f.send(false))
		}
		if err := f.live(ctx); err != nil {
			return err
		}
	}
}

// follower is the state of one call of Follow.
type follower struct {
	*Streamer
	id     string
	sub    *Sub
	out    func(runs.Update) error
	after  int64 // the last event sent
	offset int64 // the next byte to take
	carry  []byte
	last   *runs.Run
	read   int64        // the number of the reading of last
	held   *runs.Update // is sent when it is known whether another one follows
	beat   *time.Timer
	poll   *time.Timer
	matrix *deltaTimer
}

func (f *follower) emit(u runs.Update) error {
	f.beat.Reset(f.times.Beat)
	if err := f.send(true); err != nil {
		return err
	}
	f.held = &u
	return nil
}

// send sends the update that is held, if there is one.
func (f *follower) send(more bool) error {
	if f.held == nil {
		return nil
	}
	u := *f.held
	u.More, f.held = more, nil
	return f.out(u)
}

// catchUp sends everything from the store. It reads the record first: if that says that the run has ended, all its
// output and events are stored already.
func (f *follower) catchUp(ctx context.Context) (ended bool, err error) {
	f.poll.Reset(f.times.Poll)
	now, err := f.sub.record(ctx, f.store, f.read)
	if err != nil {
		return false, err
	}
	r := now.run
	f.read = now.n
	first := f.last == nil
	changed := !first && (f.last.Status != r.Status || f.last.CancelRequested != r.CancelRequested ||
		!sameSteps(f.last.Graph, r.Graph))
	f.last = r
	if first {
		if err := f.emit(runs.Update{Run: now.shown, Text: now.text}); err != nil {
			return false, err
		}
	}
	if r.Kind.Parent() {
		f.matrix.children(first)
	}
	if err := f.storedEvents(ctx, r); err != nil {
		return false, err
	}
	if err := f.storedLog(ctx, r); err != nil {
		return false, err
	}
	if r.Status.Terminal() {
		if err := f.flush(); err != nil {
			return false, err
		}
		if err := f.sendMatrix(ctx); err != nil {
			return false, err
		}
	}
	if changed {
		if err := f.emit(runs.Update{Run: now.shown, Text: now.text}); err != nil {
			return false, err
		}
	}
	if r.Status.Terminal() {
		return true, f.emit(runs.Update{End: true})
	}
	return false, nil
}

// sameSteps reports whether the steps of a pipeline have the same states and runs.
func sameSteps(a, b *runs.Graph) bool {
	if a == nil || b == nil {
		return a == b
	}
	return slices.EqualFunc(a.Steps, b.Steps, func(x, y runs.StepState) bool {
		return x.Status == y.Status && x.RunID == y.RunID
	})
}

func (f *follower) storedEvents(ctx context.Context, r *runs.Run) error {
	for f.after < r.EventCount {
		page, err := f.events.Events(ctx, f.id, f.after, pageSize)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			return nil
		}
		if err := f.sendEvents(page); err != nil {
			return err
		}
	}
	return nil
}

func (f *follower) storedLog(ctx context.Context, r *runs.Run) error {
	if f.offset >= r.LogBytes {
		return nil
	}
	return f.logs.ReadLog(ctx, f.id, f.offset, r.LogBytes, f.sendLog)
}

func (f *follower) sendEvents(events []runs.Event) error {
	for i := range events {
		e := events[i]
		size := 256 + len(e.Message) + len(e.Stdout) + len(e.Stderr) + len(e.Diff) + len(e.Facts) + len(e.Outputs)
		text := f.sub.text(textKey{kind: eventText, to: e.Seq}, size)
		if err := f.emit(runs.Update{Event: &e, Text: text}); err != nil {
			return err
		}
		f.after = e.Seq
		f.matrix.observe(&e)
	}
	return nil
}

// live sends from the hub until the store has to be read again.
func (f *follower) live(ctx context.Context) error {
	for {
		log, events, gap := f.sub.take(f.after, f.offset)
		if err := f.sendEvents(events); err != nil {
			return err
		}
		for _, c := range join(log) {
			if err := f.sendLog(c); err != nil {
				return err
			}
		}
		if err := f.send(false); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-f.sub.C():
			if gap || f.sub.TakeStale() {
				return nil
			}
		case <-f.poll.C:
			return nil
		case <-f.matrix.C():
			if err := f.sendMatrix(ctx); err != nil {
				return err
			}
		case <-f.beat.C:
			if err := f.emit(runs.Update{Beat: true}); err != nil {
				return err
			}
		}
	}
}
