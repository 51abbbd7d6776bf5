package compose

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/httpapi"
	httpaudit "github.com/writ-automation/writ/adapters/httpapi/audit"
	httpexecution "github.com/writ-automation/writ/adapters/httpapi/execution"
	httpidentity "github.com/writ-automation/writ/adapters/httpapi/identity"
	"github.com/writ-automation/writ/adapters/httpapi/ops"
	httprelay "github.com/writ-automation/writ/adapters/httpapi/relay"
	httpruns "github.com/writ-automation/writ/adapters/httpapi/runs"
	httpsystem "github.com/writ-automation/writ/adapters/httpapi/system"
	auditmodule "github.com/writ-automation/writ/modules/audit"
	"github.com/writ-automation/writ/modules/execution"
	"github.com/writ-automation/writ/modules/identity"
	"github.com/writ-automation/writ/modules/runs"
	"github.com/writ-automation/writ/modules/system"
	"github.com/writ-automation/writ/platform/httpserver"
	portidentity "github.com/writ-automation/writ/ports/identity"
)

// Server is the serve process, assembled. It is started once.
type Server struct {
	*process
	front *httpserver.Server
}

// NewServer proves the settings, locks the data directory, takes the address, opens the database and assembles
// everything; nothing runs yet. The errors name the flag at fault, if any, and then nothing new is left on the disk.
// After the start, the address is served.
func NewServer(s Settings) (*Server, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	root, err := s.dataDir()
	if err != nil {
		return nil, err
	}
	if err := s.proveFiles(root); err != nil {
		return nil, err
	}
	front := httpserver.New(httpserver.Config{Addr: s.Addr, TLSCert: s.TLSCert, TLSKey: s.TLSKey}, s.Log)
	p, err := assemble(&s.Executor, root, func(dir *dataDir, fail failure) (fx.Option, error) {
		if err := front.Open(context.Background()); err != nil {
			return nil, err
		}
		return serverOptions(&s, dir, front, fail)
	})
	if err != nil {
		return nil, errors.Join(err, front.Close())
	}
	return &Server{process: p, front: front}, nil
}

// Start brings everything up in order.
func (s *Server) Start(ctx context.Context) error {
	if err := s.process.Start(ctx); err != nil {
		return errors.Join(err, s.front.Close())
	}
	return nil
}

// Addr returns the address that is listened on, for a port that the kernel chose.
func (s *Server) Addr() string { return s.front.Addr().String() }

// serverOptions lists the parts of a server. What may fail on this machine is assembled first. The stages at the end
// start in their order and stop in the reverse order: the schema, the bus and the relay, the contexts' own background
// work, the executor with its recovery, and last the first account and the listener.
func serverOptions(s *Settings, dir *dataDir, front *httpserver.Server, fail failure) (fx.Option, error) {
	store, bus, err := s.chosen()
	if err != nil {
		return nil, err
	}
	executing, err := s.executionConfig(dir)
	if err != nil {
		return nil, err
	}
	executing.Relay = execution.RelayConfig{Queues: s.WorkerQueues, ScratchDir: dir.path("relay")}
	return fx.Options(
		fx.Supply(s, &s.Install, s.sensitive(), front), proveParts(),
		platform(),
		store, passwords(), authorizer(s.StrictGrants), tools(),
		fx.Supply(s.identityConfig(), s.runsConfig(), executing, s.surfaceConfig(), s.Info,
			s.auditConfig(dir.root)),
		fx.Provide(s.licenseSource),
		auditmodule.Module, identity.Module, system.Module,
		fx.Module("first", fx.Invoke(migrate, openTrail, openVault)),
		s.content(), s.signInByLink(),
		sealing(), credentials(s), policies(s), estate(s), notifications(s), launching(s, dir, executing), importing(),
		advising(),
		doctorChecks(s, dir, executing.RunsDir),
		auditmodule.Upkeep, fx.Module("audience", fx.Provide(newAudience)), observation(),
		bus, carrying(), relay(), runs.Module,
		httpapi.Module, httpaudit.Module, httpruns.Module, httpidentity.Module, httpexecution.Module, httprelay.Module,
		httpsystem.Module, ops.Module, pages(s.Docs), agentAccess(s),
		providers(s),
		fx.Module("connections", fx.Invoke(endLast)),
		fx.Module("plane", fx.Provide(plane)), execution.Module,
		s.goOn(),
		fx.Module("address", fx.Supply(fail), fx.Provide(newFirst), fx.Invoke(serveLast)),
	), nil
}

func (s *Settings) identityConfig() identity.Config {
	rules := map[portidentity.Protocol]identity.RoleRule{}
	for by, r := range map[portidentity.Protocol]Roles{portidentity.OIDC: s.OIDC.Roles, portidentity.SAML: s.SAML.Roles} {
		rules[by] = identity.RoleRule{Groups: r.Groups, Default: r.Default}
	}
	return identity.Config{Open: s.Open, SessionTTL: s.SessionTTL, Rules: rules, ReadOnly: s.ReadOnly,
		AdminPassword: s.adminPassword}
}

// runsConfig keeps everything on a read-only server.
func (s *Settings) runsConfig() runs.Config {
	if s.frozen() {
		return runs.Config{LogCap: s.LogCap, ReadOnly: true}
	}
	c := runs.Config{LogCap: s.LogCap, RetainRuns: s.RetainRuns, RetainEvents: s.RetainEvents,
		ApprovalTTL: s.ApprovalTTL}
	if s.Executors > 0 {
		c.Serves = queuesOf(execution.Config{Queues: s.Queues})
	}
	return c
}

// executionConfig returns the settings of an executor. Its name is the one in the data directory.
func (x *Executor) executionConfig(dir *dataDir) (execution.Config, error) {
	worker, err := dir.worker(x.Name)
	return execution.Config{
		Worker: worker, Version: x.Info.Version, Queues: x.Queues, Executors: x.Executors, RunTimeout: x.RunTimeout,
		KillGrace: x.KillGrace, DrainTimeout: x.DrainTimeout, RunsDir: x.runsDir(dir), SpoolDir: dir.path("spool"),
		WorkDir: x.WorkDir, LogCap: x.LogCap, KnownHosts: accountKnownHosts(), Crash: crash(),
	}, err
}

// accountKnownHosts returns the path of the host keys that the account of the process trusts, empty for an account
// without a home.
func accountKnownHosts() string {
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".ssh", "known_hosts")
}

func (s *Settings) surfaceConfig() httpapi.Config {
	return httpapi.Config{
		PublicURL: s.public(), TrustedProxies: s.TrustedProxies, Open: s.Open, ReadOnly: s.ReadOnly,
		InsecureCookies: s.InsecureCookies,
		Version:         s.Info.Version, MetricsAuth: s.MetricsAuth, WorkerToken: s.WorkerToken,
	}
}
