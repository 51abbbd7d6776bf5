package execution

import (
	"cmp"
	"context"
	"log/slog"

	"github.com/writ-automation/writ/modules/execution/internal/engine"
	"github.com/writ-automation/writ/ports/execution"
)

// Executor claims and executes runs between Start and Stop. It is started once.
type Executor struct {
	engine   *engine.Engine
	config   Config
	boundary execution.Boundary // nil without one
	log      *slog.Logger
}

// New makes an executor without starting it. An Invalid fault names a wrong setting.
func New(p Params) (*Executor, error) {
	if err := p.Config.Validate(); err != nil {
		return nil, err
	}
	c, err := p.Config.filled()
	if err != nil {
		return nil, err
	}
	p.Log = cmp.Or(p.Log, slog.New(slog.DiscardHandler))
	deps := engine.Deps{
		Plane: p.Plane, Tools: p.Tools, Reaper: p.Reaper, Boundary: p.Boundary,
		Materials: p.Materials, Secrets: p.Secrets, Agents: p.Agents, Redactor: p.Redactor,
		Live: p.Live, Signals: p.Signals, Clock: p.Clock, Log: p.Log,
	}
	return &Executor{engine: engine.New(deps, c.options()), config: c, boundary: p.Boundary, log: p.Log}, nil
}

// self returns the fleet's description of this executor.
func (x *Executor) self() execution.Worker {
	return execution.Worker{
		Name: x.config.Worker, Kind: x.config.Kind, Queues: x.config.Queues, Executors: x.config.Executors,
		Running: x.engine.Running(), Version: x.config.Version, Labels: x.config.Labels,
		Isolation: x.isolation(),
	}
}

func (x *Executor) isolation() execution.WorkerIsolation {
	if x.boundary == nil {
		return execution.WorkerIsolation{}
	}
	return x.boundary.Isolation()
}

// Start begins to work and returns at once. Before the first claim it settles the runs that this worker held before a
// restart: it releases them if no process was started, else ends them with the ending on disk, or as interrupted. An
// error reports an unusable runs' directory.
func (x *Executor) Start(context.Context) error { return x.engine.Start() }

// Stop drains: it stops claiming, releases runs that have not begun, and lets the others end until the drain time is
// over, ctx ends, or Stop is called again. It then kills the rest, which end as interrupted. It returns when every
// goroutine has ended, or with an error if a run could not be ended or stored in time; the next start settles it. It
// takes at most the drain time, the kill grace and ten seconds.
func (x *Executor) Stop(ctx context.Context) error { return x.engine.Stop(ctx) }
