package audit_test

import (
	"log/slog"
	"sync"
	"testing"
	"time"

	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"

	auditmodule "github.com/writ-automation/writ/modules/audit"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/proof/checkpoint"
)

// ledge is an in-memory store of one log.
type ledge struct {
	mu   sync.Mutex
	note string
}

func (l *ledge) Notes() ([]string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.note == "" {
		return nil, nil
	}
	return []string{l.note}, nil
}

func (l *ledge) Save(note string) error {
	made, err := checkpoint.Parse([]byte(note))
	if err == nil && made.Size > l.size() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.note = note
	}
	return err
}

func (l *ledge) size() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	made, err := checkpoint.Parse([]byte(l.note))
	if err != nil {
		return 0
	}
	return made.Size
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for range 1500 {
		if holds() {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("%s: it did not come to that", what)
}

// works runs the background work of a worker on the database until fn returns.
func (p *process) works(t *testing.T, store audit.HeadStore, fn func()) {
	t.Helper()
	app := fxtest.New(t, auditmodule.HeadCopies, fx.Supply(auditmodule.WorkerName("worker-1")), fx.Provide(
		func() audit.Heads { return p.Heads }, func() audit.HeadStore { return store }, func() *slog.Logger {
			return slog.New(p.log)
		},
	))
	app.RequireStart()
	fn()
	app.RequireStop()
}

// TestAWorkerStoresHeads covers restarts of a worker and the restore of its database.
func TestAWorkerStoresHeads(t *testing.T) {
	t.Parallel()
	eachSite(t, func(t *testing.T, s *site) {
		server, store := s.starts(t), &ledge{}
		server.to(t, 12)
		s.joins(t, nil).works(t, store, func() { eventually(t, "a head is held", func() bool { return store.size() == 12 }) })
		server.to(t, 15)
		s.joins(t, nil).works(t, store, func() {
			eventually(t, "a newer head is held", func() bool { return store.size() == 15 })
		})
		server.restored(t, 7)
		server = s.starts(t)
		server.to(t, 30)
		worker := s.joins(t, nil)
		worker.works(t, store, func() {
			eventually(t, "the head is told of", func() bool { return worker.log.count() == 1 && len(server.presented(t)) == 1 })
		})
		server.checkHead(t, "worker/15/root_mismatch")
		if store.size() != 15 {
			t.Errorf("the head of 15 entries was let go of for one of %d", store.size())
		}
		if a := server.presented(t)[0]; a.Source != "worker-1" {
			t.Errorf("%+v", a)
		}
		s.refuses(t)
		s.accepts(t)
		again := s.joins(t, nil)
		again.works(t, store, func() {
			eventually(t, "a head of the new epoch is held", func() bool { return store.size() > 30 })
		})
		if again.log.count() != 0 {
			t.Error("it is told again")
		}
	})
}
