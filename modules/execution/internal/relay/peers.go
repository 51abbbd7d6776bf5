package relay

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
)

const (
	// maxPeers is how many workers are told to the fleet at once. Those beyond may claim and are not listed.
	maxPeers = 10_000
	// touchEvery is how often a worker that beats is noted, which is below its beats, so that none is left out for
	// coming early.
	touchEvery = execution.ReportEvery / 2
	// headCheckTime is how long a head that a worker showed is not looked at again. For longer than that no worker is
	// told a newer one.
	headCheckTime = time.Minute
)

// peers remembers when workers were last told to the fleet, and which heads they showed.
type peers struct {
	mu    sync.Mutex
	known map[string]*peer
}

type peer struct {
	reportedAt   time.Time // all that it says of itself
	seenAt       time.Time // at least that it is there
	checkedHeads map[[32]byte]time.Time
}

func newPeers() *peers { return &peers{known: make(map[string]*peer)} }

// within reports whether a moment is less than a time ago. A clock that was set back makes nothing last longer.
func within(since, now time.Time, d time.Duration) bool {
	ago := now.Sub(since)
	return ago >= 0 && ago < d
}

// peer returns the one of a name, nil where there are too many.
func (p *peers) peer(name string, now time.Time) *peer {
	if one := p.known[name]; one != nil {
		return one
	}
	if len(p.known) >= maxPeers {
		for other, one := range p.known {
			if !within(one.seenAt, now, execution.WorkerTTL) {
				delete(p.known, other)
			}
		}
	}
	if len(p.known) >= maxPeers {
		return nil
	}
	one := &peer{checkedHeads: make(map[[32]byte]time.Time)}
	p.known[name] = one
	return one
}

// reportDue reports whether all that a worker says of itself is to be told again, and takes it for told.
func (p *peers) reportDue(name string, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.peer(name, now)
	if one == nil || within(one.reportedAt, now, execution.ReportEvery) {
		return false
	}
	one.reportedAt, one.seenAt = now, now
	return true
}

// touchDue reports whether it is time to tell that a worker is there, and takes it for told.
func (p *peers) touchDue(name string, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.peer(name, now)
	if one == nil || within(one.seenAt, now, touchEvery) {
		return false
	}
	one.seenAt = now
	return true
}

func (p *peers) forget(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.known, name)
}

// uncheckedHeads returns those of the heads that the worker did not show lately.
func (p *peers) uncheckedHeads(name string, notes []string, now time.Time) (out []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.peer(name, now)
	for _, n := range notes {
		if one == nil || !within(one.checkedHeads[sha256.Sum256([]byte(n))], now, headCheckTime) {
			out = append(out, n)
		}
	}
	return out
}

// markChecked notes heads that were looked at, in place of those from long ago.
func (p *peers) markChecked(name string, notes []string, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.peer(name, now)
	if one == nil {
		return
	}
	for n, at := range one.checkedHeads {
		if !within(at, now, headCheckTime) {
			delete(one.checkedHeads, n)
		}
	}
	for _, n := range notes {
		if len(one.checkedHeads) < 4*execution.RelayHeads {
			one.checkedHeads[sha256.Sum256([]byte(n))] = now
		}
	}
}

// report tells the fleet what a worker says of itself, unless that was done just now.
func (r *Relay) report(ctx context.Context, w execution.Worker) {
	if !r.peers.reportDue(w.Name, r.Clock.Now()) {
		return
	}
	r.bestEffort(ctx, "report a worker", w.Name, func(ctx context.Context) error {
		leased, err := r.Plane.Leased(ctx, w.Name)
		if err != nil {
			return err
		}
		w.Running = len(leased)
		return r.Unit.Do(ctx, func(ctx context.Context) error { return r.Workers.ReportWorker(ctx, w) })
	})
}

// touch notes that a worker was heard of, unless that was done just now.
func (r *Relay) touch(ctx context.Context, worker string) {
	if !r.peers.touchDue(worker, r.Clock.Now()) {
		return
	}
	r.bestEffort(ctx, "note that a worker was heard of", worker, func(ctx context.Context) error {
		leased, err := r.Plane.Leased(ctx, worker)
		if err != nil {
			return err
		}
		return r.Unit.Do(ctx, func(ctx context.Context) error { return r.Workers.TouchWorker(ctx, worker, len(leased)) })
	})
}

// removeWorker takes a worker off the list.
func (r *Relay) removeWorker(ctx context.Context, worker string) {
	r.peers.forget(worker)
	r.bestEffort(ctx, "take a worker off the list", worker, func(ctx context.Context) error {
		return r.Unit.Do(ctx, func(ctx context.Context) error { return r.Workers.RemoveWorker(ctx, worker) })
	})
}

// bestEffort does what a worker does not wait for long and is not refused for.
func (r *Relay) bestEffort(ctx context.Context, what, worker string, do func(ctx context.Context) error) {
	bound, cancel := context.WithTimeout(ctx, sideTime)
	defer cancel()
	if err := do(bound); err != nil && ctx.Err() == nil {
		r.Log.WarnContext(ctx, what, "worker", worker, "error", err)
	}
}

// checkHeads holds the heads that a worker keeps against the chain. Nothing that comes of it stops a claim: it is for
// those who verify. It is false where some could not be looked at.
func (r *Relay) checkHeads(ctx context.Context, worker string, notes []string) bool {
	now := r.Clock.Now()
	if r.Heads == nil || len(notes) == 0 {
		return true
	}
	if notes = r.peers.uncheckedHeads(worker, notes, now); len(notes) == 0 {
		return true
	}
	bound, cancel := context.WithTimeout(ctx, sideTime)
	defer cancel()
	err := r.Heads.Show(bound, worker, notes)
	if !audit.ForeignHead.Is(err) || len(notes) == 1 {
		return r.recordHeads(ctx, worker, notes, err)
	}
	all := true // one of them is foreign: it does not hide the others
	for _, n := range notes {
		ok := r.recordHeads(ctx, worker, []string{n}, r.Heads.Show(bound, worker, []string{n}))
		all = all && ok
	}
	return all
}

// recordHeads remembers what was looked at, and reports whether it was. A foreign head stays one.
func (r *Relay) recordHeads(ctx context.Context, worker string, notes []string, err error) bool {
	if err != nil {
		r.Log.WarnContext(ctx, "hold the heads that a worker keeps against the chain", "worker", worker, "error", err)
	}
	if err != nil && !fault.Is(err, fault.Invalid) {
		return false
	}
	r.peers.markChecked(worker, notes, r.Clock.Now())
	return true
}

// newest returns the newest signed head, empty where there is none or it cannot be read. It is asked for anew each
// time: a worker that has just shown what the chain does not satisfy is told none.
func (r *Relay) newest(ctx context.Context) string {
	if r.Heads == nil {
		return ""
	}
	bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), sideTime)
	defer cancel()
	note, err := r.Heads.Newest(bound)
	if err != nil {
		r.Log.WarnContext(ctx, "read the newest head", "error", err)
		return ""
	}
	return note
}
