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
	// maxPeers is how many workers are reported to the fleet at once. Further workers may claim and are not listed.
	maxPeers = 10_000
	// touchEvery is the minimum interval between records of a worker's heartbeats. It is shorter than the interval of
	// its beats, so that none is omitted for coming early.
	touchEvery = execution.ReportEvery / 2
	// headCheckTime is how long a checked head of a worker is not checked again. After a mismatch, the audit trail
	// returns no newer head for longer than that.
	headCheckTime = time.Minute
)

// peers records when workers were last reported to the fleet, and which heads they sent.
type peers struct {
	mu    sync.Mutex
	known map[string]*peer
}

type peer struct {
	reportedAt   time.Time // of the full report
	seenAt       time.Time // of the last sign of life
	checkedHeads map[[32]byte]time.Time
}

func newPeers() *peers { return &peers{known: make(map[string]*peer)} }

// within reports whether less than d has passed since a moment. A clock that was set back does not extend the period.
func within(since, now time.Time, d time.Duration) bool {
	ago := now.Sub(since)
	return ago >= 0 && ago < d
}

// peer returns the peer with a name, nil if there are too many.
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

// reportDue reports whether the full report of a worker is due, and records it as done. first reports that there was
// none before.
func (p *peers) reportDue(name string, now time.Time) (due, first bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.peer(name, now)
	if one == nil || within(one.reportedAt, now, execution.ReportEvery) {
		return false, false
	}
	first = one.reportedAt.IsZero()
	one.reportedAt, one.seenAt = now, now
	return true, first
}

// touchDue reports whether a sign of life of a worker is due, and records it as done.
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

// forget removes a worker and reports whether it has claimed or sent a beat. A worker leaves at its start too, which
// shows it whether it may claim.
func (p *peers) forget(name string) (heard bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.known[name]
	delete(p.known, name)
	return one != nil && !one.seenAt.IsZero()
}

// uncheckedHeads returns the heads that were not checked recently for the worker.
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

// markChecked records checked heads, in place of old ones.
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

// report sends a worker's description to the fleet, unless that was done recently.
func (r *Relay) report(ctx context.Context, w execution.Worker) {
	due, first := r.peers.reportDue(w.Name, r.Clock.Now())
	if !due {
		return
	}
	if first {
		r.Log.InfoContext(ctx, "worker connected", "worker", execution.ShownName(w.Name), "version", w.Version, "queues",
			w.Queues)
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

// touch records a sign of life of a worker, unless that was done recently.
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

// removeWorker removes a worker from the list.
func (r *Relay) removeWorker(ctx context.Context, worker string) {
	if r.peers.forget(worker) {
		r.Log.InfoContext(ctx, "worker left", "worker", execution.ShownName(worker))
	}
	r.bestEffort(ctx, "take a worker off the list", worker, func(ctx context.Context) error {
		return r.Unit.Do(ctx, func(ctx context.Context) error { return r.Workers.RemoveWorker(ctx, worker) })
	})
}

// bestEffort makes a call whose delay or failure must not affect the worker.
func (r *Relay) bestEffort(ctx context.Context, what, worker string, do func(ctx context.Context) error) {
	bound, cancel := context.WithTimeout(ctx, sideTime)
	defer cancel()
	if err := do(bound); err != nil && ctx.Err() == nil {
		r.Log.WarnContext(ctx, what, "worker", execution.ShownName(worker), "error", err)
	}
}

// checkHeads compares the heads that a worker keeps with the chain. No result stops a claim: the results are for
// verification. It returns false if some could not be checked.
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
	all := true // one foreign head does not hide the others
	for _, n := range notes {
		ok := r.recordHeads(ctx, worker, []string{n}, r.Heads.Show(bound, worker, []string{n}))
		all = all && ok
	}
	return all
}

// recordHeads records checked heads, and reports whether that succeeded. A foreign head stays foreign.
func (r *Relay) recordHeads(ctx context.Context, worker string, notes []string, err error) bool {
	if err != nil {
		r.Log.WarnContext(ctx, "hold the heads that a worker keeps against the chain", "worker",
			execution.ShownName(worker), "error", err)
	}
	if err != nil && !fault.Is(err, fault.Invalid) {
		return false
	}
	r.peers.markChecked(worker, notes, r.Clock.Now())
	return true
}

// newest returns the newest signed head, empty if there is none or it cannot be read. It is read anew each time: a
// worker whose head did not match the chain must get none.
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
