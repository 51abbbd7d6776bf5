package compose

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"go.uber.org/dig"
	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/adapters/metrics"
	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	"github.com/writ-automation/writ/adapters/tools/proc"
	"github.com/writ-automation/writ/platform/background"
	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/httpserver"
	"github.com/writ-automation/writ/platform/ids"
	"github.com/writ-automation/writ/platform/telemetry"
	"github.com/writ-automation/writ/ports/access"
	portai "github.com/writ-automation/writ/ports/ai"
	"github.com/writ-automation/writ/ports/audit"
	portclock "github.com/writ-automation/writ/ports/clock"
	portestate "github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/identity"
	portids "github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/system"
	"github.com/writ-automation/writ/ports/tx"
)

// openTimeout bounds how long the database may take to answer at the start.
const openTimeout = 30 * time.Second

// platform provides the database with its roles, the clock and the ids.
func platform() fx.Option {
	return fx.Module("platform", fx.Provide(
		openDatabase,
		func(d *db.DB) tx.Unit { return crashing(d) },
		func(d *db.DB) system.Probe { return d },
		func(d *db.DB) events.Signals { return d.Signals() },
		func() portclock.Clock { return clock.New() },
		func(c portclock.Clock) portids.Generator { return ids.New(c) },
	))
}

func openDatabase(life fx.Lifecycle, i *Install, log *slog.Logger) (*db.DB, error) {
	ctx, cancel := context.WithTimeout(context.Background(), openTimeout)
	defer cancel()
	d, err := db.Open(ctx, db.Config{URL: i.DB, Log: log})
	if err != nil {
		return nil, fmt.Errorf("db: %w; check that this is the database of the install, and that it can be reached",
			oneLine{err})
	}
	life.Append(fx.Hook{OnStop: func(context.Context) error { return d.Close() }})
	return d, nil
}

// tools provides the tools that execute runs, and the list of them for readers.
func tools() fx.Option {
	return fx.Module("tools", fx.Provide(
		newGroups, newBoundary, newPlugins, newRunner, newTools,
		func(r *proc.Runner) execution.Boundary { return r },
		func(r *proc.Runner) execution.Reaper { return r },
		func(t execution.Tools) execution.Catalog { return t },
	))
}

// plane is the control plane of executors with a database.
func plane(w runs.Worklist, j runs.Journal, p runs.Planner) execution.ControlPlane {
	return struct {
		runs.Worklist
		runs.Journal
		runs.Planner
	}{w, j, p}
}

// observation provides the metrics.
func observation() fx.Option {
	return fx.Module("observation",
		fx.Provide(
			telemetry.New, metrics.NewEnded, fx.Annotate(metrics.NewBackground, fx.As(fx.Self()),
				fx.As(new(background.Observer))),
			fx.Annotate(metrics.NewAI, fx.As(fx.Self()), fx.As(new(portai.Meter))),
			func(t *telemetry.Telemetry) httpapi.Observer { return t },
			fx.Annotate((*telemetry.Telemetry).Handler, fx.ResultTags(`name:"metrics"`)),
			fx.Annotate(observeEnded, fx.ResultTags(events.SubscriptionGroup)),
			fx.Annotate(logHeld, fx.ResultTags(events.SubscriptionGroup)),
		),
		fx.Invoke(func(t *telemetry.Telemetry, e *metrics.Ended, n *metrics.Notifications, b *metrics.Background,
			a *metrics.AI, store runs.Store, w execution.WorkerStore, o identity.ObjectStore, trail audit.Trail,
			l system.DeadLetterStore,
			c portclock.Clock, d *db.DB, x execution.Boundary, f portestate.FleetStore,
			drift portestate.DriftStore, s *Settings) error {
			names := declaredQueues(w, o)
			if s.MetricsAuth {
				names = nil
			}
			return t.Register(metrics.NewIsolation(x), e, n, b, a, metrics.NewRuns(store, names, c), metrics.NewWorkers(w),
				metrics.NewHosts(f), metrics.NewDrift(drift),
				metrics.NewTrail(trail),
				metrics.NewDeadLetters(l),
				metrics.NewDatabase(d.Stats))
		}),
	)
}

// declaredQueues lists the names of queues that whoever runs the install chose: those of workers and those of grants.
// Every other name is the text of a user.
func declaredQueues(w execution.WorkerStore, o identity.ObjectStore) metrics.QueueNames {
	return func(ctx context.Context) (map[string]bool, error) {
		names := map[string]bool{}
		workers, _, err := w.Workers(ctx, page.Window{})
		if err != nil {
			return nil, err
		}
		for _, one := range workers {
			for _, queue := range one.Queues {
				names[queue] = true
			}
		}
		granted, _, err := o.Readable(ctx, identity.KindQueue, access.Everything(), page.Window{})
		for _, object := range granted {
			queue, _ := access.QueueName(object)
			names[queue] = true
		}
		return names, err
	}
}

// migrate brings the schema up to date. From then on the install exists, and its data directory is kept.
func migrate(life fx.Lifecycle, d *db.DB, dir *dataDir) {
	life.Append(fx.Hook{OnStart: func(ctx context.Context) error {
		if err := d.Migrate(ctx, migrations.FS); err != nil {
			return fmt.Errorf("migrate the database: %w", err)
		}
		dir.keep()
		return nil
	}})
}

// first is the first account of an install.
type first struct {
	s        *Settings
	admin    identity.Bootstrap
	accounts identity.Accounts
	tokens   identity.Tokens
}

func newFirst(s *Settings, b identity.Bootstrap, a identity.Accounts, t identity.Tokens) *first {
	return &first{s: s, admin: b, accounts: a, tokens: t}
}

// ensure creates the account at a first start and returns its token, which a start in open mode does not make.
func (f *first) ensure(ctx context.Context) (secret string, err error) {
	mint := !f.s.Open && f.s.links == nil // a link signs in as well
	if secret, err = f.admin.EnsureAdmin(ctx, mint); err != nil {
		return "", fmt.Errorf("make the first account: %w", err)
	}
	if secret == "" && mint {
		return "", f.warnLockedOut(ctx)
	}
	return secret, nil
}

// announce prints the first token. It is never shown again.
func (f *first) announce(secret string) error {
	if secret == "" {
		return nil
	}
	if _, err := fmt.Fprintf(f.s.Announce, "Admin token, shown only now: %s\n", secret); err != nil {
		return fmt.Errorf("print the admin token; make another with 'writ token reset-admin --db DATABASE': %w", err)
	}
	return nil
}

// warnLockedOut warns that no account can sign in, for example after a first start in open mode, or that perhaps none
// can: a first start that was killed before it printed the token leaves one that nobody has seen.
func (f *first) warnLockedOut(ctx context.Context) error {
	tokens, total, err := f.tokens.List(ctx, page.Window{Limit: 1})
	if err != nil {
		return fmt.Errorf("read the tokens: %w", err)
	}
	if total == 0 {
		f.s.Log.WarnContext(ctx, "no token exists: make one with 'writ token reset-admin --db DATABASE' on this machine")
	}
	if total != 1 || !tokens[0].LastUsedAt.IsZero() {
		return nil
	}
	accounts, total, err := f.accounts.List(ctx, page.Window{Limit: 1})
	if err != nil {
		return fmt.Errorf("read the accounts: %w", err)
	}
	if total == 1 && !accounts[0].HasPassword && len(accounts[0].Identities) == 0 {
		f.s.Log.WarnContext(ctx, "no use of the only token is recorded: if nobody has it, make another with "+
			"'writ token reset-admin --db DATABASE' on this machine", "token_id", tokens[0].ID)
	}
	return nil
}

// endLast ends the remaining connections after the executor has drained, so that followers of a run receive its end.
// The handler and what it needs are assembled before the executor, and so stop after it.
func endLast(life fx.Lifecycle, front *httpserver.Server, _ http.Handler) {
	life.Append(fx.Hook{OnStop: func(ctx context.Context) error { return front.End(ctx) }})
}

// serveLast answers requests after everything else has started, and stops first. The token of a first start is printed
// after everything that can fail.
func serveLast(life fx.Lifecycle, s *Settings, front *httpserver.Server, h http.Handler, f *first, fail failure) {
	started := clock.Start()
	life.Append(fx.Hook{
		OnStart: func(ctx context.Context) error {
			secret, err := f.ensure(ctx)
			if err != nil {
				return err
			}
			front.Serve(h, fail)
			if err := f.announce(secret); err != nil {
				return err
			}
			s.Log.InfoContext(ctx, "ready", "address", front.Scheme()+"://"+front.Addr().String(), "open", s.Open,
				"start_ms", started.Elapsed().Milliseconds())
			return nil
		},
		OnStop: func(context.Context) error { return front.Close() },
	})
}

// rootCause removes the errors of the assembly around an error, for a readable message.
func rootCause(err error) error { return dig.RootCause(err) }
