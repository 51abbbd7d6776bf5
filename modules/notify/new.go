package notify

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/writ-automation/writ/modules/notify/internal/deliver"
	"github.com/writ-automation/writ/modules/notify/internal/plan"
	"github.com/writ-automation/writ/modules/notify/internal/reading"
	"github.com/writ-automation/writ/modules/notify/internal/send"
	"github.com/writ-automation/writ/modules/notify/internal/standing"
	"github.com/writ-automation/writ/modules/notify/internal/targets"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/secrets"
	"github.com/writ-automation/writ/ports/tx"
)

// What delivering is bounded by. A try with the time for reading and noting beside it ends before its booking does.
const (
	pollEvery = 10 * time.Second
	holdFor   = 30 * time.Second
	tryTime   = 10 * time.Second
	tryGrace  = time.Second
	pool      = 8
	perTarget = 2
	maxStrays = 64
)

func pauses() []time.Duration { return []time.Duration{2 * time.Second, 10 * time.Second} }

// Kernel is what every context needs of the process that it lives in.
type Kernel struct {
	Unit    tx.Unit
	Signals events.Signals
	IDs     ids.Generator
	Log     *slog.Logger
}

// Runs is the part of the store of runs that notifications are made of.
type Runs = plan.Runs

// Objects tells what decides who may read a run.
type Objects = reading.Objects

// Params is all that the context is made of. Notifiers, Channels and Meter may be nil.
type Params struct {
	Kernel
	Config   Config
	Store    notify.Store
	Runs     Runs
	Objects  Objects
	Guard    access.Guard
	Opener   notify.Opener
	Renderer notify.Renderer
	// Channels are at most one for each kind. A kind without one is refused.
	Channels []notify.Channel
	// Notifiers are those of extensions by name.
	Notifiers map[string]extension.Notifier
	Meter     notify.Meter
}

// Result is what the context provides. The subscriptions are for the bus, and Background has to be started.
type Result struct {
	Reader     notify.Reader
	Finished   events.Subscription
	Held       events.Subscription
	Background *Background
}

// Keeper keeps targets and opens them.
type Keeper interface {
	notify.Targets
	notify.Opener
}

// NewTargets makes what keeps the secret parts of targets. It is apart from the rest since runs and templates, which need it, come first.
func NewTargets(s notify.TargetStore, sealer secrets.Sealer, d secrets.Digester, g ids.Generator) Keeper {
	return targets.New(s, sealer, d, g)
}

// New makes the context and starts nothing. It returns an error where a dependency is missing or two channels are of one kind, and an
// Invalid fault for settings that make no sense.
func New(p Params) (Result, error) {
	if p.Store == nil || p.Runs == nil || p.Objects == nil || p.Guard == nil || p.Opener == nil || p.Renderer == nil ||
		p.Unit == nil || p.Signals == nil || p.IDs == nil {
		return Result{}, errors.New("notify: a dependency is missing")
	}
	if err := p.Config.Validate(); err != nil {
		return Result{}, err
	}
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	if p.Meter == nil {
		p.Meter = nobody{}
	}
	channels := make(map[string]notify.Channel, len(p.Channels))
	for _, c := range p.Channels {
		if _, twice := channels[c.Kind()]; twice {
			return Result{}, fmt.Errorf("notify: two channels deliver %s", c.Kind())
		}
		channels[c.Kind()] = c
	}
	all := standing.New(p.Config.Server, p.Config.OnFailure)
	planner := &plan.Planner{
		Runs: p.Runs, Store: p.Store, Standing: all, Notifiers: slices.Sorted(maps.Keys(p.Notifiers)),
		Unit: p.Unit, Signals: p.Signals, IDs: p.IDs, Meter: p.Meter,
	}
	sender := &send.Sender{Runs: p.Runs, Opener: p.Opener, Renderer: p.Renderer, Standing: all, Channels: channels, Notifiers: p.Notifiers}
	engine := deliver.New(p.Store, sender, p.Signals, p.Meter, p.Log, deliver.Settings{
		Topic: plan.Topic, Poll: pollEvery, Hold: holdFor, Try: tryTime, Grace: tryGrace, Pauses: pauses(),
		Pool: pool, PerLane: perTarget, Strays: maxStrays,
	})
	res := Result{Reader: reading.New(p.Store, p.Guard, p.Objects), Background: &Background{engine: engine, readOnly: p.Config.ReadOnly}}
	res.Finished, res.Held = planner.Subscriptions()
	return res, nil
}

// nobody counts nothing.
type nobody struct{}

// Count implements notify.Meter.
func (nobody) Count(notify.Origin, string, notify.Status) {}
