package compose

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/relayclient"
	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	runsmodule "github.com/writ-automation/writ/modules/runs"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/platform/httpserver"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/execution/executiontest"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/waittest"
)

// bareNames names workers like the suite, without the prefix of the relay.
type bareNames struct{ *relayclient.Client }

func (b bareNames) Claim(ctx context.Context, r runs.ClaimRequest) (*runs.Assignment, error) {
	a, err := b.Client.Claim(ctx, r)
	if a != nil {
		a.Lease.Worker = strings.TrimPrefix(a.Lease.Worker, execution.RelayPrefix)
	}
	return a, err
}

// behind holds the parts of a server that the suite inspects besides the relay.
type behind struct {
	fx.In

	DB     *db.DB
	Store  runs.Store
	Logs   runs.LogStore
	Events runs.EventStore
}

// TestRelayIsAControlPlane runs the suite of every control plane against a whole server over each engine, which a
// worker reaches by HTTP.
func TestRelayIsAControlPlane(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{SQLite, Postgres} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			executiontest.Run(t, func(t *testing.T) executiontest.Fixture { return relayFixture(t, engine) })
		})
	}
}

func relayFixture(t *testing.T, engine string) executiontest.Fixture {
	t.Helper()
	s := sampleSettings(t)
	s.OIDC, s.SAML, s.Open, s.Executors, s.WorkerToken = OIDC{}, SAML{}, true, 0, sampleToken
	s.DB = dbtest.Fresh(t, db.Engine(engine), migrations.FS)
	front := httpserver.New(httpserver.Config{Addr: s.Addr}, s.Log)
	if err := front.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	var b behind
	p, err := assemble(&s.Executor, t.TempDir(), func(dir *dataDir, fail failure) (fx.Option, error) {
		return serverOptions(&s, dir, front, fail)
	},
		fx.Replace(runsmodule.Config{SweepEvery: 20 * time.Millisecond}), fx.Invoke(func(in behind) { b = in }))
	if err != nil {
		t.Fatal(err)
	}
	srv := started{Server: &Server{process: p, front: front}}
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.stop(t) })
	srv.url = "http://" + srv.Addr()
	client, err := relayclient.New(relayclient.Config{
		Server: srv.url, Token: sampleToken, Worker: execution.RelayPeer{Name: "w1", Executors: 1}, Wait: time.Millisecond,
		StateDir: t.TempDir(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return executiontest.Fixture{
		Plane: bareNames{client},
		Submit: func(t *testing.T, kind runs.Kind, queue string) string {
			body := map[runs.Kind]string{runs.Single: `{"tool": "bash", "command": "true", "queue": "`,
				runs.Split: `{"playbook": "site.yml", "shards": 2, "queue": "`}
			return srv.post(t, "/v1/runs", body[kind]+queue+`"}`)
		},
		SubmitDry: func(t *testing.T, queue string) string {
			return srv.post(t, "/v1/runs", `{"tool": "bash", "command": "true", "dry_run": true, "queue": "`+queue+`"}`)
		},
		Run:    b.run,
		Log:    b.log,
		Events: b.events,
		Expire: b.expire,
	}
}

func (b behind) run(t *testing.T, id string) *runs.Run {
	t.Helper()
	r, err := b.Store.ByID(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (b behind) log(t *testing.T, id string) (out []byte) {
	t.Helper()
	err := b.Logs.ReadLog(t.Context(), id, 0, 1<<40, func(c runs.LogChunk) error {
		out = append(out, make([]byte, c.Offset-int64(len(out)))...)
		out = append(out, c.Data...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (b behind) events(t *testing.T, id string) (out []runs.Event) {
	t.Helper()
	list, err := b.Events.Events(t.Context(), id, 0, 5000)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if e.Type != runs.EventStatus {
			out = append(out, e)
		}
	}
	return out
}

// expire lets a lease end, which the server notices by itself.
func (b behind) expire(t *testing.T, id string) {
	t.Helper()
	err := b.DB.Do(t.Context(), func(ctx context.Context) error {
		write, err := b.DB.Write(ctx)
		if err != nil {
			return err
		}
		_, err = write.ExecContext(ctx, "UPDATE runs SET lease_expires_at = ? WHERE id = ?",
			b.DB.Dialect().LeaseNow().Add(-time.Minute), id)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	waittest.Eventually(t, 30*time.Second, "the lease is noticed to have ended", func() bool {
		return b.run(t, id).Status != runs.Running
	})
}
