package work_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	sqlcatalog "github.com/writ-automation/writ/adapters/sqlstore/catalog"
	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	"github.com/writ-automation/writ/modules/execution/internal/work"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secret"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// canary is a secret that must be in no place but a grant.
const canary = "CANARYzQ8mJ4v7Xw2Lk9Rt5Nb3"

// fixture has works on real stores, with a source that has a credential.
type fixture struct {
	*refreshes
	t     *testing.T
	works *work.Works
}

func each(t *testing.T, fn func(t *testing.T, w *fixture)) {
	t.Helper()
	dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) { fn(t, build(t, d)) })
}

func build(t *testing.T, d *db.DB) *fixture {
	t.Helper()
	w := &fixture{t: t, refreshes: &refreshes{Store: sqlcatalog.New(d), d: d}}
	w.works = work.New(work.Deps{Gate: gate{}, Refreshes: w.refreshes, Queue: w.Store, Sealer: sealer{},
		Signals: d.Signals(), Unit: d, Log: slog.New(slog.DiscardHandler), ScratchDir: t.TempDir()})
	t.Cleanup(w.works.Close)
	s := catalog.InventorySource{Kind: catalog.ScriptSource, InventoryID: "inv_1"}
	s.ID, s.Name, s.Revision = "src_1", "s", 1
	s.CreatedAt = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	s.UpdatedAt = s.CreatedAt
	w.must(w.do(func(ctx context.Context) error { return w.InsertSource(ctx, s) }))
	return w
}

func (w *fixture) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// gate lets every worker in.
type gate struct{}

func (gate) MayClaim(context.Context, string, []string) error { return nil }
func (gate) MayReport(context.Context, runs.Lease) error      { return nil }

// sealer turns texts around, for one record each.
type sealer struct{}

func (sealer) Seal(_ context.Context, record string, plain []byte) ([]byte, error) {
	out := []byte(record + " ")
	for _, b := range plain {
		out = append(out, ^b)
	}
	return out, nil
}

func (s sealer) Open(ctx context.Context, record string, sealed []byte) ([]byte, error) {
	rest, ok := bytes.CutPrefix(sealed, []byte(record+" "))
	if !ok {
		return nil, errors.New("it is of another record")
	}
	out, err := s.Seal(ctx, "", rest)
	return out[1:], err
}

// refreshes are those of a store.
type refreshes struct {
	*sqlcatalog.Store
	d     *db.DB
	fails error
	open  atomic.Int32 // accesses that were not given back
}

func (r *refreshes) Claim(context.Context, string, []string) (catalog.ClaimedRefresh, bool, error) {
	panic("the relay claims by the queue")
}

func (r *refreshes) Prepare(
	context.Context, catalog.ClaimedRefresh, string,
) (catalog.Collection, func(), error) {
	if r.fails != nil {
		return catalog.Collection{}, func() {}, r.fails
	}
	r.open.Add(1)
	return catalog.Collection{Kind: catalog.ScriptSource, Path: "hosts.py", Config: catalog.SourceConfig{Content: "#!"},
		Access: catalog.Access{Env: map[string]secret.Text{"TOKEN": canary}}}, func() { r.open.Add(-1) }, nil
}

func (r *refreshes) Checkout(_ context.Context, _ catalog.RefreshLease, dir string) error {
	return errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "hosts.py"), []byte("program"), 0o600))
}

func (r *refreshes) do(fn func(ctx context.Context) error) error {
	return r.d.Do(context.Background(), fn)
}

func (r *refreshes) Renew(_ context.Context, l catalog.RefreshLease) error {
	return r.do(func(ctx context.Context) error { return r.RenewRefresh(ctx, l, runs.LeaseTTL) })
}

func (r *refreshes) Report(_ context.Context, l catalog.RefreshLease, result catalog.RefreshResult) error {
	return r.do(func(ctx context.Context) error { return r.ReportRefresh(ctx, l, result) })
}

func (r *refreshes) Release(_ context.Context, l catalog.RefreshLease) error {
	return r.do(func(ctx context.Context) error { return r.ReleaseRefresh(ctx, l) })
}

func (w *fixture) ask() (round int64) {
	w.t.Helper()
	w.must(w.do(func(ctx context.Context) (err error) {
		if round, err = w.AskRefresh(ctx, "src_1", 1, "default"); err != nil {
			return err
		}
		return w.d.Signals().Signal(ctx, events.TopicRefresh, "src_1")
	}))
	return round
}

// claim claims work, nil if there is none.
func (w *fixture) claim(wait int, queues ...string) *execution.Grant {
	w.t.Helper()
	g, err := w.works.Claim(w.t.Context(), &execution.RelayClaim{Worker: execution.RelayPeer{Name: "w"}, Queues: queues,
		WaitSeconds: wait, Work: true})
	w.must(err)
	return g
}

func bearer(id string, capability secret.Text) execution.Leaseholder {
	return execution.Leaseholder{RunID: id, Capability: capability}
}

// TestWork hands a refresh to a worker and stores its result without the secrets that it got.
// Keeps T43.
func TestWork(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *fixture) {
		if g := w.claim(0); g != nil {
			t.Fatalf("nobody asked: %+v", g)
		}
		round := w.ask()
		if g := w.claim(0, "elsewhere"); g != nil {
			t.Fatalf("the queue is not its own: %+v", g)
		}
		g := w.claim(30)
		if g == nil || g.Work.ID != "src_1" || g.Work.Source.Path != "hosts.py" || g.Access.Env["TOKEN"].Reveal() != canary {
			t.Fatalf("%+v", g)
		}
		h := bearer("src_1", g.Capability)
		if b, err := w.works.BeatWork(t.Context(), h); err != nil || b.LeaseSeconds != 30 {
			t.Error(b, err)
		}
		var archive bytes.Buffer
		if err := w.works.WorkProject(t.Context(), h, func() (io.Writer, error) { return &archive, nil }); err != nil ||
			!strings.Contains(archive.String(), "project/hosts.py") {
			t.Error(err)
		}
		for _, wrong := range []execution.Leaseholder{bearer("src_2", g.Capability), bearer("src_1", "other")} {
			_, beat := w.works.BeatWork(t.Context(), wrong)
			if done := w.works.FinishWork(t.Context(), wrong, execution.RelayWorkResult{Error: "x"}); !runs.LeaseLost.Is(beat) ||
				!runs.LeaseLost.Is(done) {
				t.Error(beat, done)
			}
		}
		result := execution.RelayWorkResult{Format: catalog.INI,
			Content: base64.StdEncoding.EncodeToString([]byte("h a=" + canary + "\n"))}
		w.must(w.works.FinishWork(t.Context(), h, result))
		state, err := w.RefreshState(t.Context(), "src_1", round)
		if err != nil || !state.Done || string(state.Result.Content) != "h a=***\n" || w.open.Load() != 0 {
			t.Errorf("%+v %v, %d are held", state, err, w.open.Load())
		}
		if err := w.works.FinishWork(t.Context(), h, result); !runs.LeaseLost.Is(err) {
			t.Error(err)
		}
	})
}

// TestWorkFails covers a refresh that cannot be provided, results that are none, and one that was not done.
func TestWorkFails(t *testing.T) {
	t.Parallel()
	w := build(t, dbtest.Open(t, db.SQLite, migrations.FS))
	for fails, want := range map[error]string{
		&fault.Error{Kind: fault.Conflict, Message: "the door is shut"}: "the door is shut",
		errors.New(canary): "the source could not be read",
	} {
		w.fails = fails
		round := w.ask()
		if g := w.claim(0); g != nil {
			t.Fatalf("%+v", g)
		}
		if state, err := w.RefreshState(t.Context(), "src_1", round); err != nil || state.Result.Failure != want {
			t.Errorf("%+v %v", state, err)
		}
		w.must(w.do(func(ctx context.Context) error { _, err := w.EndRefresh(ctx, "src_1", round, true); return err }))
	}
	w.fails = nil
	round := w.ask()
	g := w.claim(0)
	h := bearer("src_1", g.Capability)
	for _, bad := range []execution.RelayWorkResult{
		{}, {Format: "toml"}, {Format: catalog.INI, Content: "%"}, {Error: "two\nlines"}, {Error: strings.Repeat("x", 4097)},
		{Error: "x", Content: "YQ=="},
	} {
		if err := w.works.FinishWork(t.Context(), h, bad); !fault.Is(err, fault.Invalid) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	w.must(w.works.FinishWork(t.Context(), h, execution.RelayWorkResult{Released: true}))
	if g = w.claim(0); g == nil {
		t.Fatal("what was released is gone")
	}
	w.must(w.works.FinishWork(t.Context(), bearer("src_1", g.Capability),
		execution.RelayWorkResult{Error: "it failed with " + canary}))
	if state, err := w.RefreshState(t.Context(), "src_1", round); err != nil ||
		state.Result.Failure != "it failed with ***" {
		t.Errorf("%+v %v", state, err)
	}
	round = w.ask()
	if w.claim(0) != nil { // done, and not taken yet
		t.Error("a refresh was done twice")
	}
	w.must(w.do(func(ctx context.Context) error { _, err := w.EndRefresh(ctx, "src_1", round, true); return err }))
	w.ask()
	w.claim(0)
	w.works.Close()
	if w.open.Load() != 0 {
		t.Errorf("%d are held after the end", w.open.Load())
	}
}
