package execution

import (
	"context"
	"log/slog"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/modules/execution/internal/presence"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secrets"
	"github.com/writ-automation/writ/ports/tx"
)

// Module runs an executor for the life of the application and provides the fleet. The application's stop timeout must
// be longer than the drain time, the kill grace and ten seconds together.
var Module = fx.Module("execution", fx.Provide(fx.Annotate(NewFleet, fx.As(new(execution.Fleet)))), fx.Invoke(run))

type inputs struct {
	fx.In

	Plane     execution.ControlPlane
	Tools     execution.Tools
	Reaper    execution.Reaper
	Materials catalog.Materials `optional:"true"`
	Secrets   secrets.Provider  `optional:"true"`
	Agents    secrets.Agents    `optional:"true"`
	Live      runs.Live         `optional:"true"`
	Signals   events.Signals    `optional:"true"`
	Clock     clock.Clock
	Log       *slog.Logger `optional:"true"`
	Config    Config

	Workers execution.WorkerStore
	Unit    tx.Unit
}

func run(lc fx.Lifecycle, in inputs) error {
	x, err := New(Params{
		Plane: in.Plane, Tools: in.Tools, Reaper: in.Reaper, Materials: in.Materials, Secrets: in.Secrets, Agents: in.Agents,
		Live: in.Live, Signals: in.Signals, Clock: in.Clock, Log: in.Log, Config: in.Config,
	})
	if err != nil {
		return err
	}
	here := presence.New(in.Workers, in.Unit, x.log, x.self)
	lc.Append(fx.Hook{OnStart: x.Start, OnStop: x.Stop})
	lc.Append(fx.Hook{
		OnStart: func(context.Context) error { here.Start(); return nil },
		OnStop:  func(context.Context) error { here.Stop(); return nil },
	})
	return nil
}
