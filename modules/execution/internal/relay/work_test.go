package relay_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	sqlcatalog "github.com/writ-automation/writ/adapters/sqlstore/catalog"
	"github.com/writ-automation/writ/modules/execution/internal/relay"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secret"
)

// refreshes are those of a store, of a source with a credential.
type refreshes struct {
	*sqlcatalog.Store
	w     *fixture
	fails error
	lent  atomic.Int32
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
	r.lent.Add(1)
	return catalog.Collection{Kind: catalog.ScriptSource, Path: "hosts.py", Config: catalog.SourceConfig{Content: "#!"},
		Access: catalog.Access{Env: map[string]secret.Text{"TOKEN": canary}}}, func() { r.lent.Add(-1) }, nil
}

func (r *refreshes) Checkout(_ context.Context, _ catalog.RefreshLease, dir string) error {
	return errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "hosts.py"), []byte("program"), 0o600))
}

func (r *refreshes) do(fn func(ctx context.Context) error) error {
	return r.w.d.Do(context.Background(), fn)
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

// working gives the relay refreshes of a source.
func working(w *fixture) *refreshes {
	r := &refreshes{Store: sqlcatalog.New(w.d), w: w}
	w.deps.Refreshes, w.deps.RefreshQueue, w.deps.Sealer = r, r.Store, w.sealer
	w.relay = relay.New(w.deps, w.cfg)
	w.t.Cleanup(w.relay.Close)
	s := catalog.InventorySource{Kind: catalog.ScriptSource, InventoryID: "inv_1"}
	s.ID, s.Name, s.CreatedAt, s.UpdatedAt, s.Revision = "src_1", "s", now(), now(), 1
	w.must(r.do(func(ctx context.Context) error { return r.InsertSource(ctx, s) }))
	return r
}

func (r *refreshes) ask() (round int64) {
	r.w.t.Helper()
	r.w.must(r.do(func(ctx context.Context) (err error) {
		if round, err = r.AskRefresh(ctx, "src_1", 1, "default"); err != nil {
			return err
		}
		return r.w.d.Signals().Signal(ctx, events.TopicRefresh, "src_1")
	}))
	return round
}

// works claims work, nil if there is none.
func (w *fixture) works(wait int, queues ...string) *execution.Grant {
	w.t.Helper()
	c := asks("w", queues...)
	c.Work, c.WaitSeconds = true, wait
	g, head, err := w.relay.Claim(w.t.Context(), c)
	w.must(err)
	if head != "" {
		w.t.Errorf("a head came with work: %q", head)
	}
	return g
}

// TestWork hands a refresh to a worker and stores its result without the secrets that it got.
// Keeps T43.
func TestWork(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *fixture) {
		r := working(w)
		w.submit() // a claim of work takes no run
		if g := w.works(0); g != nil {
			t.Fatalf("nobody asked: %+v", g)
		}
		round := r.ask()
		if g := w.works(0, "elsewhere"); g != nil {
			t.Fatalf("the queue is not its own: %+v", g)
		}
		g := w.works(30)
		if g == nil || g.Work.ID != "src_1" || g.Work.Source.Path != "hosts.py" || g.Access.Env["TOKEN"].Reveal() != canary {
			t.Fatalf("%+v", g)
		}
		h := bearer("src_1", g.Capability)
		if b, err := w.relay.BeatWork(t.Context(), h); err != nil || b.LeaseSeconds != 30 {
			t.Error(b, err)
		}
		var archive bytes.Buffer
		if err := w.relay.WorkProject(t.Context(), h, func() (io.Writer, error) { return &archive, nil }); err != nil ||
			!strings.Contains(archive.String(), "project/hosts.py") {
			t.Error(err)
		}
		for _, wrong := range []execution.Leaseholder{bearer("src_2", g.Capability), bearer("src_1", "other")} {
			_, beat := w.relay.BeatWork(t.Context(), wrong)
			if done := w.relay.FinishWork(t.Context(), wrong, execution.RelayWorkResult{Error: "x"}); !runs.LeaseLost.Is(beat) ||
				!runs.LeaseLost.Is(done) {
				t.Error(beat, done)
			}
		}
		result := execution.RelayWorkResult{Format: catalog.INI,
			Content: base64.StdEncoding.EncodeToString([]byte("h a=" + canary + "\n"))}
		w.must(w.relay.FinishWork(t.Context(), h, result))
		state, err := r.RefreshState(t.Context(), "src_1", round)
		if err != nil || !state.Done || string(state.Result.Content) != "h a=***\n" || r.lent.Load() != 0 {
			t.Errorf("%+v %v, %d are lent", state, err, r.lent.Load())
		}
		if err := w.relay.FinishWork(t.Context(), h, result); !runs.LeaseLost.Is(err) {
			t.Error(err)
		}
	})
}

// TestWorkFails covers a refresh that cannot be provided, results that are none, and one that was not done.
func TestWorkFails(t *testing.T) {
	t.Parallel()
	w := one(t)
	r := working(w)
	for fails, want := range map[error]string{
		&fault.Error{Kind: fault.Conflict, Message: "the door is shut"}: "the door is shut",
		errors.New(canary): "the source could not be read",
	} {
		r.fails = fails
		round := r.ask()
		if g := w.works(0); g != nil {
			t.Fatalf("%+v", g)
		}
		if state, err := r.RefreshState(t.Context(), "src_1", round); err != nil || state.Result.Failure != want {
			t.Errorf("%+v %v", state, err)
		}
		w.must(r.do(func(ctx context.Context) error { _, err := r.EndRefresh(ctx, "src_1", round, true); return err }))
	}
	r.fails = nil
	round := r.ask()
	g := w.works(0)
	h := bearer("src_1", g.Capability)
	for _, bad := range []execution.RelayWorkResult{
		{}, {Format: "toml"}, {Format: catalog.INI, Content: "%"}, {Error: "two\nlines"}, {Error: strings.Repeat("x", 2000)},
		{Error: "x", Content: "YQ=="},
	} {
		if err := w.relay.FinishWork(t.Context(), h, bad); !fault.Is(err, fault.Invalid) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	w.must(w.relay.FinishWork(t.Context(), h, execution.RelayWorkResult{Released: true}))
	if g = w.works(0); g == nil {
		t.Fatal("what was released is gone")
	}
	w.must(w.relay.FinishWork(t.Context(), bearer("src_1", g.Capability),
		execution.RelayWorkResult{Error: "it said " + canary}))
	if state, err := r.RefreshState(t.Context(), "src_1", round); err != nil || state.Result.Failure != "it said ***" {
		t.Errorf("%+v %v", state, err)
	}
	round = r.ask()
	if w.works(0) != nil { // done, and not taken yet
		t.Error("a refresh was done twice")
	}
	w.must(r.do(func(ctx context.Context) error { _, err := r.EndRefresh(ctx, "src_1", round, true); return err }))
	r.ask()
	w.works(0)
	w.relay.Close()
	if r.lent.Load() != 0 {
		t.Errorf("%d are lent after the end", r.lent.Load())
	}
}
