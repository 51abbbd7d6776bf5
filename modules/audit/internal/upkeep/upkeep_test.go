package upkeep_test

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	sqlaudit "github.com/writ-automation/writ/adapters/sqlstore/audit"
	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	"github.com/writ-automation/writ/modules/audit/internal/install"
	"github.com/writ-automation/writ/modules/audit/internal/record"
	"github.com/writ-automation/writ/modules/audit/internal/treelog"
	"github.com/writ-automation/writ/modules/audit/internal/upkeep"
	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/platform/ids"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/proof/checkpoint"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// file is an in-memory head file.
type file struct {
	mu   sync.Mutex
	note string
	fail error
}

func (f *file) Load() (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.note, f.fail
}

func (f *file) Save(note string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.note = note
	return f.fail
}

func (f *file) size() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	parsed, err := checkpoint.Parse([]byte(f.note))
	if err != nil {
		return 0
	}
	return parsed.Size
}

// messages counts the logged messages by level.
type messages struct {
	slog.Handler
	mu sync.Mutex
	n  map[slog.Level]int
}

func (m *messages) Enabled(context.Context, slog.Level) bool { return true }

func (m *messages) Handle(_ context.Context, r slog.Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.n[r.Level]++
	return nil
}

func (m *messages) of(l slog.Level) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.n[l]
}

// server is one process with its background work.
type server struct {
	*upkeep.Background
	in    *install.Install
	store *sqlaudit.Store
	rec   *record.Recorder
	d     *db.DB
	file  *file
	log   *messages
}

func serve(t *testing.T, d *db.DB, pem []byte, cfg upkeep.Config) *server {
	t.Helper()
	store, c := sqlaudit.New(d), clock.New()
	gen, over := ids.New(c), treelog.New(store, store)
	s := &server{store: store, d: d, rec: record.New(record.Params{Chain: store, IDs: gen}), file: &file{},
		log: &messages{n: make(map[slog.Level]int)}}
	s.in = install.New(install.Params{
		Unit: d, Identity: store, Chain: store, Reader: store, Anchors: store, Tree: over, Recorder: s.rec, Clock: c,
		IDs: gen,
		Log: slog.New(slog.DiscardHandler), Config: install.Config{Site: "writ", SigningPEM: pem, HeadFile: s.file},
	})
	if err := s.in.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Background = upkeep.New(upkeep.Params{
		Install: s.in, Chain: store, Reader: store, Tree: over, Recorder: s.rec, Unit: d, Clock: c, Log: slog.New(s.log),
		Config: cfg,
	})
	return s
}

func (s *server) grow(t *testing.T, n int) {
	t.Helper()
	err := s.d.Do(t.Context(), func(ctx context.Context) error {
		for range n {
			if err := s.rec.Record(ctx, audit.Entry{Action: audit.AuthLogin}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (s *server) anchors(t *testing.T) int64 {
	t.Helper()
	n, err := s.store.CountAnchors(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return n[audit.KindCheckpoint]
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

func pemOf(t *testing.T) []byte {
	t.Helper()
	pem, err := install.GenerateKeys()
	if err != nil {
		t.Fatal(err)
	}
	return pem
}

func TestHeadsAndTilesFollowTheChain(t *testing.T) {
	t.Parallel()
	dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
		pem := pemOf(t)
		cfg := upkeep.Config{Every: 10 * time.Millisecond, Anchor: time.Hour, Beat: time.Hour}
		signs := serve(t, d, pem, cfg)
		keyless := serve(t, d, nil, cfg)
		signs.Start()
		signs.Start()
		signs.grow(t, 600)
		eventually(t, "the head file", func() bool { return signs.file.size() == 601 })
		keyless.Start()
		eventually(t, "tiles", func() bool { n, err := signs.store.TileCount(t.Context(), 0); return err == nil && n == 2 })
		eventually(t, "an anchor", func() bool { return signs.anchors(t) == 1 })
		signs.grow(t, 5)
		eventually(t, "the next head", func() bool { return signs.file.size() == 606 })
		if n := signs.anchors(t); n != 1 {
			t.Errorf("%d anchors within the hour", n)
		}
		signs.grow(t, 1)
		for range 2 {
			if err := errors.Join(signs.Stop(t.Context()), keyless.Stop(t.Context())); err != nil {
				t.Error(err)
			}
		}
		if n, size := signs.anchors(t), signs.file.size(); n != 2 || size != 607 || keyless.file.size() != 0 {
			t.Errorf("%d anchors and a head of %d at the end", n, size)
		}
		if signs.log.of(slog.LevelError)+keyless.log.of(slog.LevelError) > 0 {
			t.Error("something failed")
		}
	})
}

// TestOneBeatHoweverManyServers counts the entries between two beats of several servers that beat often.
func TestOneBeatHoweverManyServers(t *testing.T) {
	t.Parallel()
	dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
		const every = 300 * time.Millisecond
		cfg := upkeep.Config{Every: time.Millisecond, Anchor: time.Hour, Beat: every}
		servers := []*server{serve(t, d, nil, cfg), serve(t, d, nil, cfg), serve(t, d, pemOf(t), cfg)}
		for _, s := range servers {
			s.Start()
		}
		id, err := servers[0].in.Identity(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var beats []audit.Stored
		eventually(t, "three beats", func() bool {
			servers[0].grow(t, 2)
			beats, _, err = servers[0].store.Page(t.Context(), audit.Filter{Object: "beat/" + id.InstallID, Limit: 100})
			return err == nil && len(beats) >= 3
		})
		for _, s := range servers {
			if err := s.Stop(t.Context()); err != nil {
				t.Error(err)
			}
			if s.log.of(slog.LevelError) > 0 {
				t.Error("something failed")
			}
		}
		for i := range len(beats) - 1 {
			newer, err1 := record.Line(&beats[i])
			older, err2 := record.Line(&beats[i+1])
			if err := errors.Join(err1, err2); err != nil {
				t.Fatal(err)
			}
			want := newer.Seq - older.Seq - 1
			if newer.At.Sub(older.At) < every || string(newer.Details) != `{"count":`+number(want)+`}` {
				t.Errorf("a beat after %s with %s, want %d", newer.At.Sub(older.At), newer.Details, want)
			}
		}
	})
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// TestNoBeatWithoutAFirstEntry deletes the first entry: the time of the last beat is unknown then.
func TestNoBeatWithoutAFirstEntry(t *testing.T) {
	t.Parallel()
	dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
		s := serve(t, d, pemOf(t), upkeep.Config{Every: time.Millisecond, Anchor: time.Hour, Beat: time.Hour})
		s.grow(t, 3)
		if err := d.Do(t.Context(), func(ctx context.Context) error {
			_, err := d.InUnit(ctx).ExecContext(ctx, "DELETE FROM audit_entries WHERE seq = 1")
			return err
		}); err != nil {
			t.Fatal(err)
		}
		s.Start()
		eventually(t, "the missing entry is logged", func() bool { return s.log.of(slog.LevelError) == 1 })
		if err := s.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		entries, _, err := s.store.Page(t.Context(), audit.Filter{Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Action == string(audit.AuditBeat) {
				t.Errorf("entry %d is a beat", e.Seq)
			}
		}
	})
}

func TestAFailureIsLoggedOnceUntilItPasses(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, db.SQLite, migrations.FS)
	s := serve(t, d, pemOf(t), upkeep.Config{Every: time.Millisecond, Anchor: time.Nanosecond, Beat: time.Hour})
	s.file.mu.Lock()
	s.file.fail = errors.New("input/output error")
	s.file.mu.Unlock()
	s.Start()
	for i := range 5 {
		s.grow(t, 1)
		// An anchor of each size shows that a pass was made.
		eventually(t, "an anchor", func() bool { return s.anchors(t) >= int64(i)+1 })
	}
	if n := s.log.of(slog.LevelError); n != 1 {
		t.Errorf("%d errors were told", n)
	}
	s.file.mu.Lock()
	s.file.fail = nil
	s.file.mu.Unlock()
	eventually(t, "the head file", func() bool { return s.file.size() >= 6 })
	eventually(t, "that it works again", func() bool { return s.log.of(slog.LevelInfo) == 1 })
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Stop(ended); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestStopWithADatabaseThatDoesNotAnswer must end in time, and leave time for other parts.
func TestStopWithADatabaseThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	url := dbtest.Fresh(t, db.Postgres, migrations.FS)
	const unit = 30 * time.Second // a stop that waited for its units would take this long
	d := dbtest.Connect(t, db.Config{URL: url, UnitTimeout: unit})
	blocks := dbtest.Connect(t, db.Config{URL: url, UnitTimeout: 2 * time.Minute})
	s := serve(t, d, pemOf(t), upkeep.Config{Every: time.Hour})
	s.Start()
	s.grow(t, 1)
	held, release := make(chan struct{}), make(chan struct{})
	var holder sync.WaitGroup
	holder.Go(func() {
		_ = blocks.Do(t.Context(), func(ctx context.Context) error {
			q, err := blocks.Write(ctx)
			if err == nil {
				_, err = q.ExecContext(ctx,
					"LOCK TABLE audit_head, audit_install, audit_keys, audit_anchors IN ACCESS EXCLUSIVE MODE")
			}
			close(held)
			<-release
			return err
		})
	})
	<-held
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	began := time.Now()
	if err := s.Stop(ctx); err != nil || time.Since(began) >= unit {
		t.Errorf("stopped after %s: %v", time.Since(began), err)
	}
	close(release)
	holder.Wait()
}
