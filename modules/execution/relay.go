package execution

import (
	"cmp"
	"context"
	"log/slog"

	"github.com/writ-automation/writ/modules/execution/internal/admission"
	"github.com/writ-automation/writ/modules/execution/internal/masking"
	"github.com/writ-automation/writ/modules/execution/internal/relay"
	"github.com/writ-automation/writ/modules/execution/internal/work"
	"github.com/writ-automation/writ/ports/execution"
)

// Relay is the server's side of workers without a database. It implements execution.Relay, RelayJournal,
// RelayMaterials and RelayWorks.
type Relay struct {
	*relay.Relay
	*work.Works
}

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
	gate := admission.NewGate(p.Tokens, admission.Rights{Guard: p.Guard, Versions: p.Rights}, p.Clock, c.Relay.Queues)
	deps := relay.Deps{
		Gate:  gate,
		Plane: p.Plane, Claims: p.Claims, Workers: p.Workers, Records: relay.Records{Runs: p.Runs, Events: p.Events,
			Summaries: p.Summaries}, Secrets: p.Secrets, Redactor: p.Redactor, Materials: p.Materials,
		Requirements: p.Requirements,
		Masks:        masking.New(p.ClaimSecrets, p.Sealer, p.Unit),
		Heads:        p.Heads, Signals: p.Signals, Unit: p.Unit, Clock: p.Clock, Log: p.Log,
	}
	return &Relay{
		Relay: relay.New(deps, relay.Config{MaxEvents: c.MaxEvents, ScratchDir: c.Relay.ScratchDir}),
		Works: work.New(work.Deps{Gate: gate, Refreshes: p.Refreshes, Queue: p.RefreshQueue, Sealer: p.Sealer,
			Signals: p.Signals, Unit: p.Unit, Log: p.Log, ScratchDir: c.Relay.ScratchDir}),
	}, nil
}

// Claim leases a run, or work if the claim asks for that.
func (r *Relay) Claim(ctx context.Context, c execution.RelayClaim) (*execution.Grant, string, error) {
	if !c.Work {
		return r.Relay.Claim(ctx, c)
	}
	if err := relay.CheckClaim(&c); err != nil {
		return nil, "", err
	}
	g, err := r.Works.Claim(ctx, &c)
	return g, "", err
}

// Close ends every wait and accepts no more claims. Reports of workers are still accepted. It returns when every
// goroutine of the relay has ended.
func (r *Relay) Close() {
	r.Works.Close()
	r.Relay.Close()
}
