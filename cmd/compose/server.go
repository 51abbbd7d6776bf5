package compose

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"go.uber.org/fx"
	"go.uber.org/fx/fxevent"

	"github.com/writ-automation/writ/adapters/httpapi"
	httpaudit "github.com/writ-automation/writ/adapters/httpapi/audit"
	httpexecution "github.com/writ-automation/writ/adapters/httpapi/execution"
	httpidentity "github.com/writ-automation/writ/adapters/httpapi/identity"
	"github.com/writ-automation/writ/adapters/httpapi/ops"
	httpruns "github.com/writ-automation/writ/adapters/httpapi/runs"
	auditmodule "github.com/writ-automation/writ/modules/audit"
	"github.com/writ-automation/writ/modules/execution"
	"github.com/writ-automation/writ/modules/identity"
	"github.com/writ-automation/writ/modules/runs"
	"github.com/writ-automation/writ/modules/system"
	portidentity "github.com/writ-automation/writ/ports/identity"
)

// startTimeout leaves room for a long migration of a large database.
const startTimeout = 30 * time.Minute

// stopSlack is what a stop may take beyond the drain time and the kill grace.
const stopSlack = 30 * time.Second

// Server is the serve process, assembled. It is started once.
type Server struct {
	app    *fx.App
	dir    *dataDir
	failed chan error
	addr   func() string
}

// NewServer locks the data directory, opens the database and assembles everything; nothing runs yet. The errors name
// the flag where one is to blame.
func NewServer(s Settings) (*Server, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	root, err := s.dataDir()
	if err != nil {
		return nil, err
	}
	dir, err := openDataDir(root)
	if err != nil {
		return nil, err
	}
	srv := &Server{dir: dir, failed: make(chan error, 1)}
	options, err := serverOptions(&s, dir, srv.fail)
	if err != nil {
		return nil, errors.Join(err, dir.close())
	}
	var l *listener
	srv.app = fx.New(options, fx.Populate(&l))
	if err := srv.app.Err(); err != nil {
		return nil, errors.Join(rootCause(err), dir.close())
	}
	srv.addr = l.address
	return srv, nil
}

// Start brings everything up in order and returns when the address is served.
func (s *Server) Start(ctx context.Context) error {
	if err := s.app.Start(ctx); err != nil {
		return errors.Join(err, s.dir.close())
	}
	return nil
}

// Stop takes everything down in the reverse order: it drains the executor and closes the database last.
func (s *Server) Stop(ctx context.Context) error {
	err := s.app.Stop(ctx)
	s.dir.tidy()
	return errors.Join(err, s.dir.close())
}

// Failed tells of an error that makes going on senseless; the caller then stops.
func (s *Server) Failed() <-chan error { return s.failed }

// Addr returns the address that is listened on, for a port that the kernel chose.
func (s *Server) Addr() string { return s.addr() }

// StopTimeout returns how long Stop may take with these settings.
func (s *Settings) StopTimeout() time.Duration { return s.DrainTimeout + s.KillGrace + stopSlack }

func (s *Server) fail(err error) {
	select {
	case s.failed <- err:
	default:
	}
}

// serverOptions lists what a server is made of. The stages at the end start in their order and stop in the reverse
// one: the schema and the first account, the bus and the relay, the contexts' own background work, the executor with
// its recovery, and last the address.
func serverOptions(s *Settings, dir *dataDir, fail func(error)) (fx.Option, error) {
	store, bus, err := s.chosen()
	if err != nil {
		return nil, err
	}
	worker, err := dir.worker(s.Name)
	if err != nil {
		return nil, err
	}
	runsDir, err := s.runsDir(dir)
	if err != nil {
		return nil, err
	}
	return fx.Options(
		fx.WithLogger(quiet),
		fx.StartTimeout(startTimeout), fx.StopTimeout(s.StopTimeout()),
		fx.Supply(s, dir, s.Log),
		platform(),
		store, passwords(), authorizer(s.StrictGrants), tools(),
		fx.Supply(s.identityConfig(), s.runsConfig(), s.executionConfig(worker, runsDir, dir.path("spool")), s.surfaceConfig(), s.Info,
			s.auditConfig(dir.root)),
		auditmodule.Module, identity.Module, system.Module,
		fx.Module("first", fx.Invoke(migrate, openTrail, openVault, firstAccount)),
		sealing(), credentials(s), notifications(s), launching(s, dir), examination(s, dir, runsDir), auditmodule.Upkeep, observation(), bus, relay(), runs.Module,
		httpapi.Module, httpaudit.Module, httpruns.Module, httpidentity.Module, httpexecution.Module, ops.Module, providers(s),
		fx.Module("connections", fx.Provide(newListener), fx.Invoke(endLast)),
		execution.Module,
		fx.Module("address", fx.Supply(failure(fail)), fx.Invoke(listenLast)),
	), nil
}

// failure is where a part of the server tells that it cannot go on.
type failure func(error)

func (s *Settings) identityConfig() identity.Config {
	rules := map[portidentity.Protocol]identity.RoleRule{}
	for by, r := range map[portidentity.Protocol]Roles{portidentity.OIDC: s.OIDC.Roles, portidentity.SAML: s.SAML.Roles} {
		rules[by] = identity.RoleRule{Groups: r.Groups, Default: r.Default}
	}
	return identity.Config{Open: s.Open, SessionTTL: s.SessionTTL, Rules: rules, ReadOnly: s.ReadOnly}
}

func (s *Settings) runsConfig() runs.Config {
	return runs.Config{LogCap: s.LogCap, RetainRuns: s.RetainRuns, RetainEvents: s.RetainEvents}
}

func (s *Settings) executionConfig(worker, runsDir, spoolDir string) execution.Config {
	return execution.Config{
		Worker: worker, Version: s.Info.Version, Queues: s.Queues, Executors: s.Executors, RunTimeout: s.RunTimeout, KillGrace: s.KillGrace,
		DrainTimeout: s.DrainTimeout, RunsDir: runsDir, SpoolDir: spoolDir, WorkDir: s.WorkDir, LogCap: s.LogCap,
		Crash: crash(),
	}
}

func (s *Settings) surfaceConfig() httpapi.Config {
	return httpapi.Config{
		PublicURL: s.public(), TrustedProxies: s.TrustedProxies, Open: s.Open, ReadOnly: s.ReadOnly, InsecureCookies: s.InsecureCookies,
		Version: s.Info.Version, MetricsAuth: s.MetricsAuth,
	}
}

// quiet keeps the assembly's own story to the debug level; its errors are returned anyway.
func quiet(log *slog.Logger) fxevent.Logger {
	l := &fxevent.SlogLogger{Logger: log}
	l.UseLogLevel(slog.LevelDebug - 4)
	l.UseErrorLevel(slog.LevelDebug)
	return l
}
