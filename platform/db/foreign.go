package db

import (
	"context"
	"sync"
	"time"

	"github.com/writ-automation/writ/platform/db/internal/filewatch"
	"github.com/writ-automation/writ/ports/events"
)

// A commit becomes visible a little after its bytes were written. The file is checked soon after a write, and then at
// growing intervals.
const (
	foreignFirst = 5 * time.Millisecond
	foreignLast  = 640 * time.Millisecond
	// foreignPause is the least time between two wake-ups.
	foreignPause = 50 * time.Millisecond
)

// foreign wakes the watchers of runs and of messages when another process has committed to the SQLite file. The
// watchers of other topics poll: they must not write after each write of another process.
type foreign struct {
	owner *DB
	path  string                                  // of the file that each commit writes to
	ask   func(ctx context.Context) (int64, bool) // a number that only commits of other processes change

	once   sync.Once
	ctx    context.Context
	cancel context.CancelFunc
	done   sync.WaitGroup
}

func newForeign(d *DB, path string, w *writer) *foreign {
	f := &foreign{owner: d, path: path + "-wal", ask: w.version}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	return f
}

func (f *foreign) start() { f.once.Do(func() { f.done.Go(f.loop) }) }

func (f *foreign) close() error {
	f.once.Do(func() {}) // nothing starts any more
	f.cancel()
	f.done.Wait()
	return nil
}

func (f *foreign) loop() {
	hints, stop := filewatch.Open(f.path)
	defer stop()
	last, _ := f.ask(f.ctx)
	for f.pause(hints, -1) {
		for pause := foreignFirst; pause <= foreignLast && f.ctx.Err() == nil; pause *= 2 {
			if f.pause(hints, pause) { // written again
				f.pause(nil, foreignFirst)
				pause = foreignFirst
			}
			if now, ok := f.ask(f.ctx); ok && now != last {
				last = now
				f.owner.signals.hub.wake(events.TopicQueue, "")
				f.owner.signals.hub.wake(events.TopicOutbox, "")
				f.owner.signals.hub.wake(events.TopicRefresh, "")
				f.pause(nil, foreignPause)
			}
		}
	}
}

// pause waits for a hint, at most for a time unless it is negative, and reports whether one came.
func (f *foreign) pause(hints <-chan struct{}, d time.Duration) bool {
	var over <-chan time.Time
	if d >= 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		over = t.C
	}
	select {
	case <-hints:
		return true
	case <-over:
	case <-f.ctx.Done():
	}
	return false
}
