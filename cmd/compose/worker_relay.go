package compose

import (
	"context"
	"log/slog"
	"net/url"
	"time"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/anchor"
	"github.com/writ-automation/writ/adapters/relayclient"
	catalogmodule "github.com/writ-automation/writ/modules/catalog"
	"github.com/writ-automation/writ/modules/execution"
	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/ports/catalog"
	portclock "github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/events"
	portexecution "github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secrets"
)

// headsDir is the directory for signed heads of the audit trail, in a worker's data directory.
const headsDir = "heads"

// askEvery is the interval between claims while no run waits.
const askEvery = 100 * time.Millisecond

// leaveTime is how long a worker that stops waits for the server to take it off the list.
const leaveTime = 5 * time.Second

// relayOptions lists the parts of a worker over the relay: execution, and a client of the server for all other parts.
func relayOptions(s *WorkerSettings, dir *dataDir) (fx.Option, error) {
	executing, err := s.executionConfig(dir)
	if err != nil {
		return nil, err
	}
	if s.bound() {
		executing.Worker = s.Name // the token is good for this name alone
	}
	peer := portexecution.RelayPeer{Name: executing.Worker, Version: executing.Version, Labels: s.Labels,
		Executors: executing.Executors}
	executing.Worker, executing.Kind, executing.Labels = portexecution.RelayPrefix+executing.Worker,
		portexecution.RelayWorker, s.Labels
	// The interval between two waits at the server. If it does not answer, reach claims less often.
	executing.Poll = askEvery
	// A run with an expired lease counts as interrupted and may be started again, so it must stop here.
	executing.LossGrace = runs.LeaseTTL
	config := relayclient.Config{
		Server: s.Server, Token: s.Token, Worker: peer, Queues: s.Queues, StateDir: dir.root,
		Heads:  anchor.NewHeadStore(dir.path(headsDir)),
		CAFile: s.CAFile, Log: s.Log,
	}
	return fx.Options(
		fx.Supply(executing, config, s.sensitive()),
		fx.Module("platform", fx.Provide(func() portclock.Clock { return clock.New() })),
		tools(), agents(),
		fx.Module("relay", fx.Invoke(s.warnInTheClear), fx.Provide(
			newRelayClient, newReach,
			fx.Annotate(checkouts(dir, "", false), fx.As(new(catalog.Installer))),
			func(c *relayclient.Client) catalog.Materials { return c },
			func(c *relayclient.Client) secrets.Provider { return c.Secrets() },
			func(c *relayclient.Client) catalog.Refreshes { return c.Refreshes() },
			func(c *relayclient.Client) events.Signals { return c.Cancels() },
			func(r *reach) portexecution.ControlPlane { return r },
		)),
		collecting(dir, nil), fx.Supply(catalogmodule.Config{TempDir: dir.path(sourcesDir), Worker: executing.Worker,
			Queues: queuesOf(executing)}),
		execution.RelayWorkerModule, catalogmodule.RelayWorkerModule,
		fx.Module("quiet", fx.Invoke(quietFirst)),
	), nil
}

// warnInTheClear warns if the secrets of runs are sent unencrypted.
func (s *WorkerSettings) warnInTheClear(life fx.Lifecycle, log *slog.Logger) {
	u, err := url.Parse(s.Server)
	if err != nil || !s.Relay.clear(u) {
		return
	}
	life.Append(fx.StartHook(func(ctx context.Context) {
		log.WarnContext(ctx,
			"plain http exposes the worker token and the secrets of runs on the network: use https",
			"server", s.Server)
	}))
}

func newRelayClient(
	life fx.Lifecycle, c relayclient.Config, b portexecution.Boundary, i catalog.Installer,
) (*relayclient.Client, error) {
	c.Worker.Isolation, c.Installer = b.Isolation(), i
	client, err := relayclient.New(c)
	if err != nil {
		return nil, err
	}
	life.Append(fx.StopHook(client.Close))
	return client, nil
}

// newReach makes the source of claims of the executor. It removes the worker from the list when the executor has
// drained.
func newReach(
	life fx.Lifecycle, c *relayclient.Client, k portclock.Clock, x execution.Config, log *slog.Logger,
) *reach {
	r := &reach{
		ControlPlane: c, clock: k, log: log,
		hello:      c.Leave, // a claim that takes no run shows whether the server lets this worker claim
		onAdmitted: func(ctx context.Context) { ready(ctx, log, &x) },
	}
	life.Append(fx.StopHook(func(ctx context.Context) {
		bound, cancel := context.WithTimeout(ctx, leaveTime)
		defer cancel()
		if !r.reached() {
			return
		}
		if err := c.Leave(bound); err != nil {
			log.WarnContext(ctx, "the worker stays on the server's list for a while", "error", err)
		}
	}))
	return r
}

// quietFirst ends the claim that waits before the executor drains.
func quietFirst(life fx.Lifecycle, c *relayclient.Client) {
	life.Append(fx.Hook{OnStop: func(context.Context) error { c.Quiet(); return nil }})
}
