package audit_test

import (
	"context"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	sqlaudit "github.com/writ-automation/writ/adapters/sqlstore/audit"
	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	auditmodule "github.com/writ-automation/writ/modules/audit"
	"github.com/writ-automation/writ/modules/audit/internal/treelog"
	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/platform/ids"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/proof"
)

// fixture is the context on a real database.
type fixture struct {
	auditmodule.Result
	d      *db.DB
	store  *sqlaudit.Store
	prover audit.Prover
	size   int64
}

// memory replaces the files of an install.
type memory struct {
	mu         sync.Mutex
	key        []byte
	checkpoint string
}

func (m *memory) Load() (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.checkpoint, nil
}

func (m *memory) Save(note string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.checkpoint = note
	return nil
}

// signing is the memory as the store of the signing key.
type signing struct{ m *memory }

func (s signing) Load() ([]byte, error) {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	return s.m.key, nil
}

func (s signing) Save(pem []byte) error {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	s.m.key = pem
	return nil
}

func newFixture(t testing.TB, engine db.Engine) *fixture {
	t.Helper()
	d := dbtest.Connect(t, db.Config{URL: dbtest.Fresh(t, engine, migrations.FS), UnitTimeout: 10 * time.Minute})
	w := &fixture{d: d, store: sqlaudit.New(d)}
	kept := &memory{}
	var err error
	w.Result, err = auditmodule.New(auditmodule.Params{
		Chain: w.store, Reader: w.store, Tiles: w.store, Anchors: w.store, Identity: w.store,
		Unit: d, Clock: clock.New(), IDs: ids.New(clock.New()),
		Config: auditmodule.Config{Site: "bench.example.org", Version: "1", HeadFile: kept, Keys: signing{kept},
			Beat: time.Hour},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Opening.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.prover = auditmodule.NewProver(w.Core, nil)
	return w
}

// runOf is the id of the n-th run.
func runOf(n int64) string { return fmt.Sprintf("run_%026d", n) }

// grow records runs until the chain has at least n entries: each is submitted, started and ended, in units of a
// thousand runs. The entries are realistic and have private parts.
func (w *fixture) grow(t testing.TB, n int64) {
	t.Helper()
	user := actor.With(t.Context(), actor.Actor{Type: actor.User, ID: "usr_01hzy3v7k8m9n0p1q2r3s4t5v6",
		Name: "Ada Example", IP: "192.0.2.1"})
	user = actor.WithRequest(user, actor.Request{ID: "01hzy3v7k8m9n0p1q2r3s4t5v6", Method: "POST", Path: "/v1/runs",
		Agent: "curl/8.5.0"})
	worker := &actor.Actor{Type: actor.Worker, ID: "wkr_01hzy3v7k8m9n0p1q2r3s4t5v6", Name: "worker-1"}
	for next := w.size / 3; w.size < n; {
		err := w.d.Do(user, func(ctx context.Context) error {
			for range min(1000, (n-w.size+2)/3) {
				next++
				run := runOf(next)
				e := audit.Entry{Action: audit.RunSubmit, Object: audit.Object{Kind: "run", ID: run, Name: "deploy"}, Run: run}
				e.Detail = map[string]any{"tool": "bash", "command": "true", "queue": "default", "forks": 5}
				if err := w.Recorder.Record(ctx, e); err != nil {
					return err
				}
				of := actor.WithRequest(actor.With(ctx, *worker), actor.Request{})
				e.Action, e.Detail = audit.RunStart, map[string]any{"worker": "worker-1", "epoch": 1}
				if err := w.Recorder.Record(of, e); err != nil {
					return err
				}
				e.Action, e.Detail = audit.RunFinal,
					map[string]any{"v": 1, "id": run, "kind": "single", "tool": "bash", "status": "succeeded", "exit_code": "0"}
				if err := w.Recorder.Record(of, e); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		tip, err := w.store.Tip(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		w.size = tip.Size
	}
	if err := treelog.New(w.store, w.store).Grow(t.Context(), w.d, w.size); err != nil {
		t.Fatal(err)
	}
}

// verify verifies the whole chain, which must be intact.
func (w *fixture) verify(t testing.TB) {
	t.Helper()
	v, err := w.prover.Verify(t.Context(), proof.Trust{})
	if err != nil || !v.OK || v.Count != w.size {
		t.Fatalf("%d entries of %d: %+v, %v", v.Count, w.size, v.Verdict, err)
	}
}

// bundle streams a bundle of the whole chain and returns its size.
func (w *fixture) bundle(t testing.TB, q audit.BundleQuery) int64 {
	t.Helper()
	doc, err := w.prover.Bundle(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	out := &counted{w: io.Discard}
	if err := doc.WriteTo(t.Context(), out); err != nil {
		t.Fatal(err)
	}
	return out.n
}

// counted counts the written bytes.
type counted struct {
	w io.Writer
	n int64
}

func (c *counted) Write(b []byte) (int, error) {
	c.n += int64(len(b))
	return c.w.Write(b)
}
