package install_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	sqlaudit "github.com/writ-automation/writ/adapters/sqlstore/audit"
	"github.com/writ-automation/writ/modules/audit/internal/install"
	"github.com/writ-automation/writ/modules/audit/internal/record"
	"github.com/writ-automation/writ/modules/audit/internal/treelog"
	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/ids"
	"github.com/writ-automation/writ/ports/audit"
)

// file is an in-memory head file.
type file struct {
	note string
	fail error
}

func (f *file) Load() (string, error)  { return f.note, f.fail }
func (f *file) Save(note string) error { f.note = note; return f.fail }

// server is the state of one process of an install.
type server struct {
	*install.Install
	store *sqlaudit.Store
	rec   *record.Recorder
	d     *db.DB
	warns *warnings
}

// warnings counts the logged warnings.
type warnings struct {
	slog.Handler
	n int
}

func (w *warnings) Handle(context.Context, slog.Record) error { w.n++; return nil }

func (w *warnings) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

// serve makes a server on a store.
func serve(d *db.DB, pem []byte, head *file) *server {
	store, c := sqlaudit.New(d), clock.New()
	gen := ids.New(c)
	s := &server{store: store, d: d, rec: record.New(record.Params{Chain: store, IDs: gen}), warns: &warnings{}}
	cfg := install.Config{Site: "writ", SigningPEM: pem}
	if head != nil {
		cfg.HeadFile = head
	}
	s.Install = install.New(install.Params{
		Unit: d, Identity: store, Chain: store, Reader: store, Anchors: store, Tree: treelog.New(store, store),
		Recorder: s.rec, Clock: c, IDs: gen,
		Log: slog.New(s.warns), Config: cfg,
	})
	return s
}

func pemOf(t *testing.T) []byte {
	t.Helper()
	pem, err := install.GenerateKeys()
	if err != nil {
		t.Fatal(err)
	}
	return pem
}

// grow records n entries, one per unit.
func (s *server) grow(t *testing.T, n int) {
	t.Helper()
	for range n {
		err := s.d.Do(t.Context(), func(ctx context.Context) error {
			return s.rec.Record(ctx, audit.Entry{Action: audit.AuthLogin})
		})
		if err != nil {
			t.Error(errors.Join(errors.New("record"), err))
		}
	}
}

func (s *server) head(t *testing.T) install.Head {
	t.Helper()
	h, err := s.Checkpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return h
}
