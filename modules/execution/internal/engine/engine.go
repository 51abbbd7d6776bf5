package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/writ-automation/writ/modules/execution/internal/rundir"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secrets"
)

// Deps are the engine's dependencies. Live and Signals may be nil.
type Deps struct {
	Plane  execution.ControlPlane
	Tools  execution.Tools
	Reaper execution.Reaper
	// Boundary keeps the runs apart; nil keeps nothing apart.
	Boundary execution.Boundary
	// Materials provides the projects and inventories of runs; nil: no run may name any.
	Materials catalog.Materials
	// Secrets provides the secrets of the runs' credentials, Agents serves their keys; without Secrets no run may name
	// a credential, without Agents none with a key.
	Secrets secrets.Provider
	Agents  secrets.Agents
	// Redactor hides secrets in the records of runs; nil for an executor over a relay.
	Redactor runs.Redactor
	Live     runs.Live
	Signals  events.Signals
	Clock    clock.Clock
	Log      *slog.Logger
}

// Options are the settings; see the module's Config, which checks them.
type Options struct {
	Worker       string
	Queues       []string
	Executors    int
	RunTimeout   time.Duration
	KillGrace    time.Duration
	DrainTimeout time.Duration
	LossGrace    time.Duration
	Poll         time.Duration
	RunsDir      string
	SpoolDir     string
	WorkDir      string
	KnownHosts   string
	LogCap       int64
	MaxEvents    int64
	EventSpool   int64
	Env          []string
	Environ      []string
	Crash        func(point string)
}

// Engine executes runs. It is started and stopped once.
type Engine struct {
	Deps
	opt    Options
	base   map[string]string // the base environment of every run
	hidden []string          // secrets of that environment

	claiming, hard context.Context // ends when the engine stops claiming; when it stops retrying
	drain, abandon context.CancelFunc
	halted         chan struct{}
	halt           sync.Once
	stopped        atomic.Bool
	settled        atomic.Bool // the runs from before the start are settled
	claimUnknown   atomic.Bool // a claim failed with an unknown result

	mu   sync.Mutex
	jobs map[string]*job

	wake       chan struct{} // a token lets one idle slot look for a run
	round      atomic.Int64  // counts the reasons to look
	emptyRound atomic.Int64  // the last round with an empty queue
	beatNow    chan struct{}
	grace      *time.Timer // fires when the plane was unreachable for too long

	slots sync.WaitGroup // slots that execute runs
	aux   sync.WaitGroup // beats, watchers, poll, recovery
}

// New makes an engine that does nothing yet.
func New(d Deps, o Options) *Engine {
	base := rundir.Base(o.Environ, o.Env)
	e := &Engine{
		Deps: d, opt: o, base: base, hidden: rundir.BaseSecrets(base), halted: make(chan struct{}),
		jobs: make(map[string]*job),
		wake: make(chan struct{}, max(1, o.Executors)), beatNow: make(chan struct{}, 1),
	}
	e.round.Store(1)
	e.claiming, e.drain = context.WithCancel(context.Background())
	e.hard, e.abandon = context.WithCancel(context.Background())
	return e
}

// Start begins to work and returns at once: it first settles the runs from before the start, then claims runs. Its
// error reports an unusable runs' directory.
func (e *Engine) Start() error {
	for _, dir := range []string{e.opt.RunsDir, e.opt.SpoolDir} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("make the runs' directory: %w", err)
		}
	}
	e.grace = time.AfterFunc(e.opt.LossGrace, e.outOfReach)
	e.aux.Add(1)
	go e.live()
	return nil
}

// Running returns how many runs the engine holds.
func (e *Engine) Running() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.jobs)
}

func (e *Engine) root() rundir.Root {
	return rundir.Root{Runs: e.opt.RunsDir, Spool: e.opt.SpoolDir}
}

// live settles earlier runs and then executes runs until the engine stops.
func (e *Engine) live() {
	defer e.aux.Done()
	if !e.recover() {
		return
	}
	e.settled.Store(true)
	e.watch()
	e.aux.Add(1)
	go e.beats()
	for range e.opt.Executors {
		e.slots.Add(1)
		go e.slot()
	}
	<-e.claiming.Done()
	e.slots.Wait()
	e.abandon()
}

// Stop stops claiming and lets running jobs end for the drain time, until ctx ends or Stop is called again. It then
// kills the remaining ones, which end as interrupted. It returns when all jobs are done; if a tool does not end, or an
// ending cannot be stored in time, it returns an error and the next start settles the run.
func (e *Engine) Stop(ctx context.Context) error {
	if e.grace == nil {
		return nil // never started
	}
	if e.stopped.Swap(true) {
		e.halt.Do(func() { close(e.halted) })
	}
	e.drain()
	e.releaseUnbegun()
	if !e.settled.Load() {
		e.abandon() // the next start settles earlier runs
	}
	done := make(chan struct{})
	go func() { e.aux.Wait(); close(done) }()
	if !e.await(ctx, done, e.opt.DrainTimeout, true) {
		e.endAll(errStopped)
		e.await(context.WithoutCancel(ctx), done, e.opt.KillGrace+storeGrace, false)
	}
	e.abandon()
	ok := e.await(context.WithoutCancel(ctx), done, storeGrace, false)
	e.grace.Stop()
	if !ok {
		return errors.New("some runs did not end in time and are left to the next start")
	}
	return nil
}

// storeGrace is the time for killed jobs to store their endings.
const storeGrace = 5 * time.Second

// await waits for done and reports whether it came within the time.
func (e *Engine) await(ctx context.Context, done <-chan struct{}, limit time.Duration, untilHalt bool) bool {
	t := time.NewTimer(limit)
	defer t.Stop()
	halted := e.halted
	if !untilHalt {
		halted = nil
	}
	select {
	case <-done:
		return true
	case <-t.C:
	case <-ctx.Done():
	case <-halted:
	}
	return false
}

func (e *Engine) crash(point string) {
	if e.opt.Crash != nil {
		e.opt.Crash(point)
	}
}
