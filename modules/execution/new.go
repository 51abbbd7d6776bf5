package execution

import (
	"context"
	"log/slog"

	"github.com/writ-automation/writ/modules/execution/internal/engine"
	"github.com/writ-automation/writ/ports/execution"
)

// Executor claims and executes runs between Start and Stop. It is started once.
type Executor struct {
	engine *engine.Engine
	config Config
	log    *slog.Logger
}

// New makes an executor that does nothing yet. An Invalid fault names a setting that cannot work.
func New(p Params) (*Executor, error) {
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
	deps := engine.Deps{
		Plane: p.Plane, Tools: p.Tools, Reaper: p.Reaper, Materials: p.Materials, Secrets: p.Secrets, Agents: p.Agents,
		Live: p.Live, Signals: p.Signals, Clock: p.Clock, Log: p.Log,
	}
	return &Executor{engine: engine.New(deps, c.options()), config: c, log: p.Log}, nil
}

// self is what the fleet is told of this executor.
func (x *Executor) self() execution.Worker {
	return execution.Worker{
		Name: x.config.Worker, Kind: x.config.Kind, Queues: x.config.Queues, Executors: x.config.Executors,
		Running: x.engine.Running(), Version: x.config.Version, Labels: x.config.Labels,
	}
}

// Start begins to work and returns at once. Before the first claim, the runs that an earlier life of this worker
// held are settled: given back where no process was started, else ended with what was kept on disk, or as
// interrupted. An error tells that the runs' directory cannot be used.
func (x *Executor) Start(context.Context) error { return x.engine.Start() }

// Stop drains: nothing more is claimed, what has not begun is given back, and what runs may end until the drain time
// is over, ctx ends, or Stop or Halt is called once more. The rest is killed and ends as interrupted. Stop returns
// when every goroutine has ended, or with an error when some run could not be ended or stored in time; the next start
// settles it. It takes at most the drain time, the kill grace and ten seconds.
func (x *Executor) Stop(ctx context.Context) error { return x.engine.Stop(ctx) }

// Halt cuts a drain short: what still runs is killed now.
func (x *Executor) Halt() { x.engine.Halt() }
