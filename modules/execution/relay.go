package execution

import (
	"cmp"
	"log/slog"

	"github.com/writ-automation/writ/modules/execution/internal/admission"
	"github.com/writ-automation/writ/modules/execution/internal/masking"
	"github.com/writ-automation/writ/modules/execution/internal/relay"
)

// Relay is the server's side of workers without a database. It implements execution.Relay, RelayJournal,
// RelayMaterials and RelayWorks.
type Relay = relay.Relay

// RelayConfig holds the settings of the relay.
type RelayConfig struct {
	// Queues are open to the token that all workers share, besides those without grants; "*" opens every queue.
	Queues     []string
	ScratchDir string // private, absolute parent of work trees for archives; "relay" below SpoolDir
}

// NewRelay makes a relay, which the caller closes. An Invalid fault names a wrong setting.
func NewRelay(p RelayParams) (*Relay, error) {
	if err := p.Config.Validate(); err != nil {
		return nil, err
	}
	c, err := p.Config.filled()
	if err != nil {
		return nil, err
	}
	p.Log = cmp.Or(p.Log, slog.New(slog.DiscardHandler))
	deps := relay.Deps{
		Gate:  admission.NewGate(p.Tokens, admission.Rights{Guard: p.Guard, Versions: p.Rights}, p.Clock, c.Relay.Queues),
		Plane: p.Plane, Claims: p.Claims, Workers: p.Workers, Records: relay.Records{Runs: p.Runs, Events: p.Events,
			Summaries: p.Summaries}, Secrets: p.Secrets, Redactor: p.Redactor, Materials: p.Materials,
		Masks:     masking.New(p.ClaimSecrets, p.Sealer, p.Unit),
		Refreshes: p.Refreshes, RefreshQueue: p.RefreshQueue, Sealer: p.Sealer,
		Heads: p.Heads, Signals: p.Signals, Unit: p.Unit, Clock: p.Clock, Log: p.Log,
	}
	return relay.New(deps, relay.Config{MaxEvents: c.MaxEvents, ScratchDir: c.Relay.ScratchDir}),
		nil
}
