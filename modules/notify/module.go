package notify

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/modules/notify/internal/deliver"
	"github.com/writ-automation/writ/modules/notify/internal/plan"
	"github.com/writ-automation/writ/modules/notify/internal/query"
	"github.com/writ-automation/writ/modules/notify/internal/send"
	"github.com/writ-automation/writ/modules/notify/internal/servertargets"
	"github.com/writ-automation/writ/modules/notify/internal/targets"
	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secrets"
	"github.com/writ-automation/writ/ports/tx"
)

// Module provides the driving ports of the context and its subscriptions in the group of the bus, and delivers while
// the application runs.
var Module = fx.Module("notify", fx.Provide(NewTargets, provide))

// Targets are the targets of notifications. Their secret parts are sealed, and opened for a delivery.
type Targets struct {
	fx.Out

	Targets notify.Targets
	Opener  notify.TargetOpener
}

// NewTargets returns the service that seals the secret parts of targets. It is separate since runs and templates need
// it first.
func NewTargets(s notify.TargetStore, sealer secrets.Sealer, d secrets.Digester, g ids.Generator) Targets {
	k := targets.New(s, sealer, d, g)
	return Targets{Targets: k, Opener: k}
}

// These bound deliveries. A try, with the queries before and after it, ends before its claim expires.
const (
	pollEvery = 10 * time.Second
	leaseTime = 30 * time.Second
	tryTime   = 10 * time.Second
	tryGrace  = time.Second
	pool      = 8
	perTarget = 2
	maxStrays = 64
)

func pauses() []time.Duration { return []time.Duration{2 * time.Second, 10 * time.Second} }

// Params are the dependencies of the context. Log may be nil.
type Params struct {
	fx.In

	Config   Config
	Store    notify.Store
	Runs     runs.Store
	Objects  runs.ObjectStore
	Guard    access.Guard
	Opener   notify.TargetOpener
	Renderer notify.Renderer
	// Channels has at most one channel of each kind. Targets of other kinds are refused.
	Channels []notify.Channel `group:"notify.channels"`
	// Notifiers are the notifiers of extensions by name.
	Notifiers map[string]extension.Notifier `optional:"true"`
	Meter     notify.Meter                  `optional:"true"`
	Unit      tx.Unit
	Signals   events.Signals
	IDs       ids.Generator
	Log       *slog.Logger
	Observer  background.Observer `optional:"true"`
}

// Result is what New provides. Background has to be started.
type Result struct {
	fx.Out

	Reader     notify.Reader
	Finished   events.Subscription `group:"events.subscriptions"`
	Held       events.Subscription `group:"events.subscriptions"`
	Drift      events.Subscription `group:"events.subscriptions"`
	Background Background
}

// Background makes deliveries that are due. When it is stopped it claims no more deliveries, and it ends when the
// running tries have ended. A read-only process delivers nothing.
type Background struct{ background.Group }

func provide(life fx.Lifecycle, p Params) (Result, error) {
	r, err := New(p)
	if err == nil {
		life.Append(fx.StartStopHook(r.Background.Start, r.Background.Stop))
	}
	return r, err
}

// New constructs the context and starts nothing. It returns an error if two channels have the same kind, and an Invalid
// fault for invalid settings.
func New(p Params) (Result, error) {
	if err := p.Config.Validate(); err != nil {
		return Result{}, err
	}
	p.Log = cmp.Or(p.Log, slog.New(slog.DiscardHandler))
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
	all := servertargets.New(p.Config.Server, p.Config.OnFailure)
	planner := &plan.Planner{
		Runs: p.Runs, Store: p.Store, ServerTargets: all, Notifiers: slices.Sorted(maps.Keys(p.Notifiers)),
		Unit: p.Unit, Signals: p.Signals, IDs: p.IDs, Meter: p.Meter,
	}
	sender := &send.Sender{Runs: p.Runs, Opener: p.Opener, Renderer: p.Renderer, ServerTargets: all, Channels: channels,
		Notifiers: p.Notifiers, PublicURL: p.Config.PublicURL}
	engine := deliver.New(p.Store, sender, p.Signals, p.Meter, p.Log, deliver.Settings{
		Topic: plan.Topic, Poll: pollEvery, LeaseTime: leaseTime, Try: tryTime, Grace: tryGrace, Pauses: pauses(),
		Pool: pool, PerLane: perTarget, Strays: maxStrays,
	})
	engine.Log, engine.Observer = p.Log, p.Observer
	res := Result{Reader: query.New(p.Store, p.Guard, p.Objects)}
	if !p.Config.ReadOnly {
		res.Background = Background{background.Group{engine.Loop}}
	}
	res.Finished, res.Held, res.Drift = planner.Subscriptions()
	return res, nil
}

// nobody is a metric without effect.
type nobody struct{}

func (nobody) Count(notify.Origin, string, notify.Status) {}
