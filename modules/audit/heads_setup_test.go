package audit_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sqlaudit "github.com/writ-automation/writ/adapters/sqlstore/audit"
	"github.com/writ-automation/writ/adapters/sqlstore/audit/tampertest"
	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	auditmodule "github.com/writ-automation/writ/modules/audit"
	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/platform/ids"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/proof"
	"github.com/writ-automation/writ/ports/system"
)

// site is a database and a signing key that several processes use.
type site struct {
	url   string
	key   *signing
	clock *steps
}

// steps is the system clock, or a fixed one, with an offset that a test sets.
type steps struct {
	still time.Time
	lead  atomic.Int64
}

func (s *steps) Now() time.Time {
	now := s.still
	if now.IsZero() {
		now = clock.New().Now()
	}
	return now.Add(time.Duration(s.lead.Load()))
}

func (s *steps) later(d time.Duration) { s.lead.Add(int64(d)) }

// asked counts the reads of a store.
type asked struct {
	*sqlaudit.Store
	n atomic.Int64
}

func (a *asked) Tip(ctx context.Context) (audit.Tip, error) { a.n.Add(1); return a.Store.Tip(ctx) }

func (a *asked) Epochs(ctx context.Context) ([]audit.Epoch, error) {
	a.n.Add(1)
	return a.Store.Epochs(ctx)
}

func (a *asked) FindAnchors(ctx context.Context, f audit.AnchorFilter) ([]audit.Anchor, error) {
	a.n.Add(1)
	return a.Store.FindAnchors(ctx, f)
}

// complaints counts the logged errors.
type complaints struct {
	slog.Handler
	mu   sync.Mutex
	last map[string]any
	n    int
}

func (c *complaints) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelError }

func (c *complaints) Handle(_ context.Context, r slog.Record) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n, c.last = c.n+1, make(map[string]any)
	r.Attrs(func(a slog.Attr) bool { c.last[a.Key] = a.Value.Any(); return true })
	return nil
}

func (c *complaints) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// eachSite calls fn with a new database of each engine.
func eachSite(t *testing.T, fn func(t *testing.T, s *site)) {
	t.Helper()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			fn(t, &site{url: dbtest.Fresh(t, engine, migrations.FS), key: &signing{m: &memory{}}, clock: &steps{}})
		})
	}
}

// process is a trail with its Heads.
type process struct {
	trail
	log   *complaints
	asked *asked
}

// joins makes a process with or without the signing key that has not compared the chain with any head.
func (s *site) joins(t *testing.T, key *signing) *process {
	t.Helper()
	d := dbtest.Connect(t, db.Config{URL: s.url, UnitTimeout: 2 * time.Minute, BusyTimeout: time.Minute})
	store, logged := &asked{Store: sqlaudit.New(d)}, &complaints{}
	cfg := auditmodule.Config{Site: "audit.example.org", Version: "1", Beat: time.Hour}
	if key != nil {
		cfg.Keys = key
	}
	r, err := auditmodule.New(auditmodule.Params{
		Chain: store, Reader: store, Tiles: store, Anchors: store, Identity: store,
		Unit: d, Clock: s.clock, IDs: ids.New(clock.New()), Log: slog.New(logged), Config: cfg,
	})
	must(t, err)
	must(t, r.Opening.Join(t.Context()))
	return &process{
		trail: trail{Result: r, Tamperer: tampertest.New(d), prover: auditmodule.NewProver(r.Core, nil), store: store.Store,
			d: d}, log: logged, asked: store,
	}
}

// starts makes a server with the signing key and without a head file.
func (s *site) starts(t *testing.T) *process {
	t.Helper()
	p := s.joins(t, s.key)
	must(t, p.Opening.Open(t.Context()))
	return p
}

// refuses checks that no server starts.
func (s *site) refuses(t *testing.T) {
	t.Helper()
	if err := s.joins(t, s.key).Opening.Open(t.Context()); !audit.RolledBack.Is(err) {
		t.Errorf("a server starts over it: %v", err)
	}
}

// accepts accepts the rollback like the command, and checks that the next server starts with an intact chain.
func (s *site) accepts(t *testing.T) *process {
	t.Helper()
	if _, err := s.joins(t, s.key).Admin.AcceptRollback(t.Context(), "restored on purpose"); err != nil {
		t.Fatal(err)
	}
	p := s.starts(t)
	p.checkHead(t, "")
	return p
}

// head signs and stores the present head and returns its note.
func (p *process) head(t *testing.T) string {
	t.Helper()
	made, err := p.Admin.Anchor(t.Context(), audit.AnchorRequest{})
	must(t, err)
	return made[0].Note
}

// to grows the chain to a size and returns its head.
func (p *process) to(t *testing.T, size int64) string {
	t.Helper()
	p.grow(t, int(size-p.size(t)))
	return p.head(t)
}

func (p *process) show(t *testing.T, worker string, notes ...string) {
	t.Helper()
	if err := p.Heads.Show(t.Context(), worker, notes); err != nil {
		t.Errorf("%s: %v", worker, err)
	}
}

// presented returns the stored heads of workers.
func (p *process) presented(t *testing.T) []audit.Anchor {
	t.Helper()
	list, err := p.store.NewestAnchors(t.Context(), audit.KindWorker, 100)
	must(t, err)
	return list
}

// checkHead checks that the verdict lists exactly these problems, and that the doctor finds as many.
func (p *process) checkHead(t *testing.T, want string) {
	t.Helper()
	v := p.verify(t)
	if got := problems(v.AnchorProblems); got != want || v.OK != (want == "") ||
		want != "" && v.Reason != proof.AnchorUnsatisfied {
		t.Errorf("problems %q, want %q: %+v", got, want, v.Verdict)
	}
	x, err := auditmodule.NewHeadCheck(p.Core).Examine(t.Context())
	if err != nil || len(x.Findings) != len(v.AnchorProblems) || x.Examined < len(x.Findings) {
		t.Errorf("the doctor finds %+v, %v", x, err)
	}
	for _, f := range x.Findings {
		if f.Severity != system.Error || !strings.Contains(f.Problem, "the worker ") || f.Fix == "" {
			t.Errorf("the doctor finds %+v", f)
		}
	}
}

// restored cuts the chain and deletes every stored head, like a restored older copy.
func (p *process) restored(t *testing.T, size int64) {
	t.Helper()
	must(t, p.CutAfter(t.Context(), size))
	p.sql(t, "DELETE FROM audit_anchors")
	p.sql(t, "DELETE FROM audit_tiles")
}
