package execution

import (
	"errors"
	"log/slog"

	"github.com/writ-automation/writ/modules/execution/internal/relay"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secrets"
	"github.com/writ-automation/writ/ports/tx"
)

// Relay is the server's side of workers without a database. It implements execution.Relay, RelayJournal and RelayMaterials.
type Relay = relay.Relay

// RelayConfig holds the settings of the relay.
type RelayConfig struct {
	Queues     []string // the queues whose runs are given to workers over the relay; empty: every one
	ScratchDir string   // where work trees are made to be sent; its own, absolute; "relay" below SpoolDir
}

// RelayRecords is what the relay reads of runs to judge what workers say.
type RelayRecords struct {
	Runs      runs.Store
	Events    runs.EventStore
	Summaries runs.SummaryStore
}

// RelayParams is what a relay works with.
type RelayParams struct {
	Plane   execution.ControlPlane
	Claims  execution.ClaimStore
	Workers execution.WorkerStore
	Records RelayRecords
	// Secrets gives what the credentials of runs open; nil: a run that names one fails.
	Secrets secrets.Provider
	// Materials gives what runs name; nil: there is nothing of it.
	Materials catalog.Materials
	// Heads takes and gives signed heads; nil: there are none.
	Heads audit.Heads
	// Signals tell of runs that wait; nil: they are looked for each second.
	Signals events.Signals
	Unit    tx.Unit
	Clock   clock.Clock
	Log     *slog.Logger // nil: nothing is logged
	Config  Config
}

// NewRelay makes a relay, which is to be closed. An Invalid fault names a setting that cannot work.
func NewRelay(p RelayParams) (*Relay, error) {
	if p.Plane == nil || p.Claims == nil || p.Workers == nil || p.Unit == nil || p.Clock == nil ||
		p.Records.Runs == nil || p.Records.Events == nil || p.Records.Summaries == nil {
		return nil, errors.New("a relay needs a control plane, its stores, a unit of work and a clock")
	}
	if err := p.Config.Validate(); err != nil {
		return nil, err
	}
	c, err := p.Config.filled()
	if err != nil {
		return nil, err
	}
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	deps := relay.Deps{
		Plane: p.Plane, Claims: p.Claims, Workers: p.Workers, Records: relay.Records(p.Records), Secrets: p.Secrets, Materials: p.Materials,
		Heads: p.Heads, Signals: p.Signals, Unit: p.Unit, Clock: p.Clock, Log: p.Log,
	}
	return relay.New(deps, relay.Config{Queues: c.Relay.Queues, MaxEvents: c.MaxEvents, ScratchDir: c.Relay.ScratchDir}), nil
}
