package compose

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"testing"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/platform/httpserver"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secrets"
	"github.com/writ-automation/writ/ports/system"
	"github.com/writ-automation/writ/ports/tx"
)

// everyPort requests every port of a server: a port that nothing requests is not validated.
type everyPort struct {
	fx.In

	Submitter   runs.Submitter
	Controller  runs.Controller
	Approver    runs.Approver
	Reader      runs.Reader
	Streamer    runs.Streamer
	Tickets     runs.Tickets
	Worklist    runs.Worklist
	Journal     runs.Journal
	Live        runs.Live
	Insight     runs.Insight
	RunStore    runs.Store
	Queue       runs.Queue
	Logs        runs.LogStore
	Events      runs.EventStore
	Summaries   runs.SummaryStore
	Keys        runs.KeyStore
	TicketStore runs.TicketStore
	Purger      runs.Purger
	Auth        identity.Authenticator
	Authorizer  identity.Authorizer
	Tokens      identity.Tokens
	Bootstrap   identity.Bootstrap
	Identity    identityPorts
	Fleet       execution.Fleet
	Plane       execution.ControlPlane
	Catalog     execution.Catalog
	Tools       execution.Tools
	Policies    policy.Policies
	Windows     policy.Windows
	PolicyStore policy.Store
	Reaper      execution.Reaper
	Relay       relayPorts
	Health      system.Health
	Probe       system.Probe
	Bus         events.Bus
	Publisher   events.Publisher
	Signals     events.Signals
	Unit        tx.Unit
	Clock       clock.Clock
	IDs         ids.Generator
	Handler     http.Handler
	Metrics     http.Handler          `name:"metrics"`
	Subscribers []events.Subscription `group:"events.subscriptions"`
	Routes      []httpapi.Routes      `group:"httpapi.routes"`
}

// relayPorts are the ports of the relay and those that it serves to workers.
type relayPorts struct {
	fx.In

	Relay     execution.Relay
	Journal   execution.RelayJournal
	Materials execution.RelayMaterials
	Claims    execution.ClaimStore
	Tokens    execution.WorkerTokens
	Gate      execution.WorkerGate
	Heads     audit.Heads
	Provided  catalog.Materials
	Secrets   secrets.Provider
}

// identityPorts are the ports of identity in addition to those that every request uses.
type identityPorts struct {
	fx.In

	Accounts    identity.Accounts
	SignIn      identity.SignIn
	Self        identity.Self
	Preferences identity.OwnPreferences
	Shared      identity.TeamPreferences
	Federation  identity.Federation
	Beginnings  identity.SignInLimiter
	Programs    identity.ProgramSignIn
	Teams       identity.Teams
	Orgs        identity.Orgs
	Grants      identity.Grants
	Objects     identity.Objects
	Guard       access.Guard
	OIDC        identity.Provider `name:"oidc"`
	SAML        identity.Provider `name:"saml"`
}

func sampleSettings(t *testing.T) Settings {
	t.Helper()
	return Settings{
		Executor: Executor{RunsDir: filepath.Join(t.TempDir(), "runs"), Executors: 2, Log: slog.New(slog.DiscardHandler)},
		Install:  Install{DB: t.TempDir() + "/writ.db"},
		OIDC: OIDC{Issuer: "https://id.example.com", ClientID: "writ",
			RedirectURL: "https://writ.example.com" + oidcCallback},
		SAML: SAML{MetadataURL: "https://id.example.com/metadata", BaseURL: "https://writ.example.com"},
		Addr: "127.0.0.1:0", Announce: &bytes.Buffer{},
	}
}

// TestServerGraph validates the server for every store and every bus, in open mode and with tokens.
func TestServerGraph(t *testing.T) {
	t.Parallel()
	addresses := map[string]string{SQLite: "writ.db", Postgres: "postgres://writ@localhost/writ"}
	buses := map[string]string{Memory: "memory", NATS: "nats://localhost:4222"}
	if len(addresses) != len(stores()) || len(buses) != len(busChoices("")) {
		t.Fatal("a choice is not tested")
	}
	for store, address := range addresses {
		for bus, url := range buses {
			for _, open := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/open=%v", store, bus, open), func(t *testing.T) {
					t.Parallel()
					dir, err := openDataDir(t.TempDir())
					if err != nil {
						t.Fatal(err)
					}
					defer func() { _ = dir.close() }()
					s := sampleSettings(t)
					s.DB, s.Events, s.Open, s.MCP = address, url, open, open
					options, err := serverOptions(&s, dir, httpserver.New(httpserver.Config{}, s.Log), func(error) {})
					if err != nil {
						t.Fatal(err)
					}
					all := fx.Invoke(func(everyPort, *httpserver.Server) {})
					if err := fx.ValidateApp(base(&s.Executor, dir), options, all); err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
}

// TestAccountsGraph validates the commands that work on the database directly.
func TestAccountsGraph(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"writ.db", "postgres://writ@localhost/writ"} {
		s := sampleSettings(t)
		s.DB = address
		if err := fx.ValidateApp(accountOptions(&s.Install, s.Log),
			fx.Invoke(func(identity.Tokens, identity.Accounts) {})); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// TestGroupNames compares the tags of this test with the group names of the adapters.
func TestGroupNames(t *testing.T) {
	t.Parallel()
	if events.SubscriptionGroup != `group:"events.subscriptions"` || httpapi.Group != `group:"httpapi.routes"` {
		t.Error("a value group has another name")
	}
}
