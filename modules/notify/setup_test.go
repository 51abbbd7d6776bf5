package notify_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	sqlnotify "github.com/writ-automation/writ/adapters/sqlstore/notify"
	sqlruns "github.com/writ-automation/writ/adapters/sqlstore/runs"
	module "github.com/writ-automation/writ/modules/notify"
	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/platform/ids"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/extension"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var start = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// sent is one call of a channel.
type sent struct {
	To      notify.Target
	Message notify.Message
}

// fixture has fakes of everything around the context: channels, notifiers, the sealer and the permissions. Parts that a
// case does not set succeed.
type fixture struct {
	mu     sync.Mutex
	sent   []sent
	ended  []extension.EndedRun
	count  map[string]int
	opens  map[string]error // by ref
	fails  func(to notify.Target) error
	levels map[string]access.Level
	scope  access.Scope
}

func newFixture() *fixture {
	return &fixture{count: map[string]int{}, opens: map[string]error{}, levels: map[string]access.Level{}}
}

func (w *fixture) set(fn func()) { w.mu.Lock(); defer w.mu.Unlock(); fn() }

func (w *fixture) heard() []sent {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]sent(nil), w.sent...)
}

// channel is the fake channel of one kind.
type channel struct {
	*fixture
	kind string
}

func (c channel) Kind() string { return c.kind }

func (c channel) Deliver(_ context.Context, to notify.Target, m notify.Message) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent = append(c.sent, sent{to, m})
	if to.Kind != c.kind {
		return fmt.Errorf("a target of the kind %s", to.Kind)
	}
	if c.fails != nil {
		return c.fails(to)
	}
	return nil
}

func (w *fixture) Notify(_ context.Context, r extension.EndedRun) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = append(w.ended, r)
	return nil
}

// Open returns targets whose addresses contain their refs.
func (w *fixture) Open(_ context.Context, n runs.Notification) (notify.Target, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n.URL != "" && !strings.HasSuffix(n.URL, "***") {
		return notify.Target{}, fmt.Errorf("no mask: %s", n.URL)
	}
	return notify.Target{Kind: n.Kind, URL: secretOf("https://opened.example/" + n.Ref), To: n.To}, w.opens[n.Ref]
}

func (w *fixture) Record(r *runs.Run) (json.RawMessage, error) { return json.Marshal(r) }

func (w *fixture) Count(o notify.Origin, kind string, s notify.Status) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count[fmt.Sprint(o, " ", kind, " ", s)]++
}

func (w *fixture) May(_ context.Context, want access.Level, objects ...string) (bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, o := range objects {
		if l, ok := w.levels[o]; ok && !l.Covers(want) {
			return false, nil
		}
	}
	return true, nil
}

func (w *fixture) Scope(context.Context) (access.Scope, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.scope, nil
}

type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) { l.mu.Lock(); defer l.mu.Unlock(); return l.b.Write(p) }

func (l *lines) String() string { l.mu.Lock(); defer l.mu.Unlock(); return l.b.String() }

type bundle struct {
	module.Result
	t       *testing.T
	d       *db.DB
	store   *sqlnotify.Store
	runs    *sqlruns.Store
	fixture *fixture
	log     *lines
	params  module.Params
	n       int
}

// Every kind but one has a channel.
const without = "grafana"

func setup(t *testing.T, d *db.DB, edit func(*module.Params)) *bundle {
	t.Helper()
	b := &bundle{t: t, d: d, store: sqlnotify.New(d), runs: sqlruns.New(d), fixture: newFixture(), log: &lines{}}
	b.params = module.Params{
		Unit: d, Signals: d.Signals(), IDs: ids.New(clock.New()), Log: slog.New(slog.NewTextHandler(b.log, nil)),
		Store: b.store, Runs: b.runs, Objects: b.runs, Guard: b.fixture, Opener: b.fixture, Renderer: b.fixture,
		Meter: b.fixture,
	}
	for _, k := range notify.Kinds() {
		if k.Name != without {
			b.params.Channels = append(b.params.Channels, channel{b.fixture, k.Name})
		}
	}
	if edit != nil {
		edit(&b.params)
	}
	var err error
	if b.Result, err = module.New(b.params); err != nil {
		t.Fatal(err)
	}
	return b
}

func eachEngine(t *testing.T, edit func(*module.Params), test func(t *testing.T, b *bundle)) {
	t.Helper()
	t.Parallel()
	dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) { test(t, setup(t, d, edit)) })
}

// run starts the background until the test ends.
func (b *bundle) run() {
	b.Background.Start()
	b.t.Cleanup(func() {
		if err := b.Background.Stop(context.Background()); err != nil {
			b.t.Error(err)
		}
	})
}

// add stores a run with targets.
func (b *bundle) add(s runs.Status, list []runs.Notification, edit ...func(*runs.Run)) *runs.Run {
	b.t.Helper()
	b.n++
	r := &runs.Run{
		ID: fmt.Sprintf("run_%026d", b.n), Kind: runs.Single, Status: s,
		Spec:  runs.Spec{Tool: "bash", Command: "true", Queue: runs.DefaultQueue, Notifications: list},
		Actor: actor.Actor{Type: actor.User, ID: "usr_1", Name: "ada"}, CreatedAt: start, StartedAt: start,
		EndedAt: start.Add(time.Minute),
		Objects: []string{access.Queue(runs.DefaultQueue)},
	}
	for _, fn := range edit {
		fn(r)
	}
	if err := b.d.Do(b.t.Context(), func(ctx context.Context) error { return b.runs.Insert(ctx, r) }); err != nil {
		b.t.Fatal(err)
	}
	return r
}

// ends publishes that a run has ended.
func (b *bundle) ends(r *runs.Run) {
	b.t.Helper()
	b.tell(b.Finished, runs.Finished{RunID: r.ID, Kind: r.Kind, Tool: r.Spec.Tool, Status: r.Status,
		TopLevel: r.ParentID == "", At: start, NoTargets: len(r.Spec.Notifications) == 0})
}

// owns publishes that a run is held.
func (b *bundle) owns(r *runs.Run) {
	b.t.Helper()
	b.tell(b.Held, runs.Held{RunID: r.ID, At: start})
}

// drifts publishes that a run found new drift.
func (b *bundle) drifts(r *runs.Run, message string) {
	b.t.Helper()
	b.message(b.Drift, message, estate.DriftFound{RunID: r.ID, TargetID: "a&b", New: 3, HostCount: 2,
		Hosts: []string{"web1", "web-S3CRET"}, At: start})
}

func (b *bundle) tell(s events.Subscription, e events.Event) {
	b.t.Helper()
	b.message(s, "msg_1", e)
}

func (b *bundle) message(s events.Subscription, id string, e events.Event) {
	b.t.Helper()
	raw, err := json.Marshal(e)
	if err != nil {
		b.t.Fatal(err)
	}
	if s.Event != e.EventName() {
		b.t.Fatalf("it subscribes to %s", s.Event)
	}
	if err := s.Handle(b.t.Context(), events.Message{ID: id, Name: s.Event, Data: raw}); err != nil {
		b.t.Fatal(err)
	}
}

// list returns the stored notifications of a run, without times.
func (b *bundle) list(r *runs.Run) []notify.Delivery {
	b.t.Helper()
	list, _, err := b.store.ListDeliveries(context.Background(), r.ID, page.Window{})
	if err != nil {
		b.t.Fatal(err)
	}
	for i := range list {
		list[i].CreatedAt, list[i].EndedAt = time.Time{}, time.Time{}
	}
	return list
}

// settled waits until no notification of a run is pending, and returns the result of each.
func (b *bundle) settled(r *runs.Run) (out []string) {
	b.t.Helper()
	limit := time.NewTimer(60 * time.Second)
	defer limit.Stop()
	look := time.NewTicker(2 * time.Millisecond)
	defer look.Stop()
	for {
		pending := false
		out = nil
		for _, d := range b.list(r) {
			pending = pending || d.Status == notify.Pending
			out = append(out, strings.TrimSpace(fmt.Sprint(d.Origin, " ", d.Kind, " ", d.Status, " ", d.Reason)))
		}
		if !pending {
			return out
		}
		select {
		case <-look.C:
		case <-limit.C:
			b.t.Fatalf("still pending: %q", out)
		}
	}
}

func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}
