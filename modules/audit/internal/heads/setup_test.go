package heads_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/writ-automation/writ/adapters/sqlstore/migrations"

	sqlaudit "github.com/writ-automation/writ/adapters/sqlstore/audit"
	"github.com/writ-automation/writ/modules/audit/internal/heads"
	"github.com/writ-automation/writ/modules/audit/internal/install"
	"github.com/writ-automation/writ/modules/audit/internal/record"
	"github.com/writ-automation/writ/modules/audit/internal/treelog"
	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/platform/ids"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/proof/checkpoint"
	"github.com/writ-automation/writ/ports/proof/keys"
)

// file is an in-memory head file.
type file struct{ note string }

func (f *file) Load() (string, error)  { return f.note, nil }
func (f *file) Save(note string) error { f.note = note; return nil }

// server is the state of one process of an install.
type server struct {
	*install.Install
	admin *heads.Admin
	store *sqlaudit.Store
	rec   *record.Recorder
	d     *db.DB
	file  *file
}

// serve makes a server on a store.
func serve(d *db.DB, pem []byte, head *file) *server {
	store := sqlaudit.New(d)
	c := clock.New()
	gen := ids.New(c)
	rec := record.New(record.Params{Chain: store, IDs: gen})
	over := treelog.New(store, store)
	cfg := install.Config{Site: "audit.example.org", SigningPEM: pem}
	if head != nil {
		cfg.HeadFile = head
	}
	in := install.New(install.Params{
		Unit: d, Identity: store, Chain: store, Reader: store, Anchors: store, Tree: over, Recorder: rec, Clock: c, IDs: gen,
		Log: slog.New(slog.DiscardHandler), Config: cfg,
	})
	k := heads.NewAdmin(heads.AdminParams{
		Install: in, Stores: heads.AdminStores{Chain: store, Identity: store, Anchors: store, Tiles: store}, Tree: over,
		Recorder: rec, Unit: d, Clock: c,
	})
	return &server{Install: in, admin: k, store: store, rec: rec, d: d, file: head}
}

func pemOf(t *testing.T) []byte {
	t.Helper()
	pem, err := install.GenerateKeys()
	if err != nil {
		t.Fatal(err)
	}
	return pem
}

// fresh returns an opened server on a new SQLite file.
func fresh(t *testing.T, pem []byte) *server {
	t.Helper()
	s := serve(dbtest.Open(t, db.SQLite, migrations.FS), pem, &file{})
	if err := s.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// entries records n entries, and returns the signed head and the trusted keys.
func (s *server) entries(t *testing.T, n int) install.Head {
	t.Helper()
	for range n {
		s.do(t, func(ctx context.Context) error {
			return s.rec.Record(ctx, audit.Entry{Action: audit.AuthLogin, Detail: map[string]any{"n": n}, Text: "private"})
		})
	}
	h, err := s.Checkpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func (s *server) do(t *testing.T, fn func(ctx context.Context) error) {
	t.Helper()
	if err := s.d.Do(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

func (s *server) identity(t *testing.T) install.Identity {
	t.Helper()
	id, err := s.Identity(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// opens verifies a note for a reader who trusts only the first checkpoint key.
func (s *server) opens(t *testing.T, note string) {
	t.Helper()
	var checkpoints []keys.Key
	id := s.identity(t)
	for _, k := range id.Keys {
		if k.Use == keys.Checkpoint {
			checkpoints = append(checkpoints, k)
		}
	}
	ring, err := keys.NewRing(checkpoints[0])
	if err != nil {
		t.Fatal(err)
	}
	if ring, err = checkpoint.Follow(ring, checkpoints); err != nil || len(ring.Keys()) != len(checkpoints) {
		t.Fatalf("%d of %d keys are reached: %v", len(ring.Keys()), len(checkpoints), err)
	}
	parsed, err := checkpoint.Parse([]byte(note))
	if err != nil {
		t.Fatal(err)
	}
	var need []string
	for _, k := range ring.Keys() {
		if k.Status == keys.Active && k.Admit(parsed.Size) == nil {
			need = append(need, k.ID)
		}
	}
	if _, err := checkpoint.Open([]byte(note), ring, need...); err != nil {
		t.Errorf("the head of %d entries does not verify: %v", parsed.Size, err)
	}
}

// cut deletes the entries beyond a size, like a restored copy.
func (s *server) cut(t *testing.T, size int64) {
	t.Helper()
	s.do(t, func(ctx context.Context) error {
		q, err := s.d.Write(ctx)
		if err != nil {
			return err
		}
		for _, query := range []string{
			"DELETE FROM audit_private WHERE seq > ?", "DELETE FROM audit_entries WHERE seq > ?",
			"DELETE FROM audit_anchors WHERE size > ?",
		} {
			if _, err := q.ExecContext(ctx, query, size); err != nil {
				return err
			}
		}
		_, err = q.ExecContext(ctx, "UPDATE audit_head SET size = ?, hash = (SELECT hash FROM audit_entries WHERE seq = ?)",
			size, size)
		return err
	})
}
