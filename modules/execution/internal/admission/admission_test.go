package admission_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	sqlexecution "github.com/writ-automation/writ/adapters/sqlstore/execution"
	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	"github.com/writ-automation/writ/modules/execution/internal/admission"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/platform/ids"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/audit/audittest"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secret"
)

// grants are the queues that carry some; nobody whom these tests know has one.
type grants map[string]bool

func (g grants) May(ctx context.Context, want access.Level, objects ...string) (bool, error) {
	p, known := identity.From(ctx)
	if !known || want != access.Use || p.User.ID != "" || p.User.Role != identity.Operator || p.Version != version {
		return false, fmt.Errorf("asked for %v of %+v", want, p)
	}
	return !g[objects[0]], nil
}

// version is the newest one of rights.
const version = 7

func (grants) RightsVersion(context.Context) (int64, error) { return version, nil }

func (grants) Scope(context.Context) (access.Scope, error) { return access.Scope{}, nil }

// rights are those where these queues carry grants.
func rights(queues ...string) admission.Rights {
	g := grants{}
	for _, q := range queues {
		g[access.Queue(q)] = true
	}
	return admission.Rights{Guard: g, Versions: g}
}

type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.now }

func (c *clock) advance(d time.Duration) { c.mu.Lock(); defer c.mu.Unlock(); c.now = c.now.Add(d) }

type fixture struct {
	*admission.Tokens
	*admission.Gate
	t     *testing.T
	d     *db.DB
	store *sqlexecution.Store
	clock *clock
	trail *audittest.Recorder
}

func each(t *testing.T, test func(t *testing.T, f *fixture)) {
	t.Helper()
	t.Parallel()
	dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
		f := &fixture{t: t, d: d, store: sqlexecution.New(d), trail: &audittest.Recorder{FillBy: true},
			clock: &clock{now: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}}
		f.Tokens = admission.NewTokens(admission.Deps{Store: f.store, Unit: d, Recorder: f.trail, Signals: d.Signals(),
			Clock: f.clock, IDs: ids.New(f.clock), Log: slog.New(slog.DiscardHandler)})
		f.Gate = admission.NewGate(f.store, rights("secret", "named"), f.clock, []string{"named"})
		test(t, f)
	})
}

func (f *fixture) ctx() context.Context {
	return actor.With(f.t.Context(), actor.Actor{Type: actor.User, ID: "usr_1", Name: "ada"})
}

func (f *fixture) mint(name string, ttl time.Duration, queues ...string) (execution.WorkerToken, secret.Text) {
	f.t.Helper()
	t, text, err := f.Mint(f.ctx(), name, queues, ttl)
	if err != nil {
		f.t.Fatal(err)
	}
	return t, text
}

// as returns the context of the worker with a token; "" is the shared one.
func (f *fixture) as(text secret.Text) context.Context {
	f.t.Helper()
	if text == "" {
		return execution.WithPeer(f.t.Context(), execution.Peer{})
	}
	p, err := f.Admit(f.t.Context(), text)
	if err != nil {
		f.t.Fatal(err)
	}
	return execution.WithPeer(f.t.Context(), p)
}

func TestTokens(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		edge, text := f.mint("edge", time.Hour, "dmz", "lab")
		if len(text.Reveal()) < 60 || !strings.HasPrefix(text.Reveal(), execution.WorkerTokenPrefix) ||
			edge.CreatedBy != "usr_1" ||
			!edge.ExpiresAt.Equal(f.clock.Now().Add(time.Hour)) {
			t.Errorf("%+v %s", edge, text.Reveal())
		}
		plain, other := f.mint("plain", 0)
		if other == text || !plain.ExpiresAt.IsZero() || cmp.Diff([]string{runs.DefaultQueue}, plain.Queues) != "" {
			t.Errorf("%+v", plain)
		}
		if _, _, err := f.Mint(f.ctx(), "edge", nil, 0); !access.NameTaken.Is(err) {
			t.Errorf("the name is taken: %v", err)
		}
		list, total, err := f.List(t.Context(), page.Window{Limit: 10})
		if diff := cmp.Diff([]execution.WorkerToken{edge, plain}, list); err != nil || total != 2 || diff != "" {
			t.Errorf("%d, %v, %s", total, err, diff)
		}
		if got, err := f.Get(t.Context(), edge.ID); err != nil || cmp.Diff(edge, got) != "" {
			t.Errorf("%+v, %v", got, err)
		}
		// The text is nowhere in the database, its SHA-256 is.
		var hash []byte
		err = f.d.Read(t.Context()).NewSelect().TableExpr("worker_tokens").Column("hash").Where("id = ?", edge.ID).
			Scan(t.Context(), &hash)
		if sum := sha256.Sum256([]byte(text.Reveal())); err != nil || string(hash) != string(sum[:]) {
			t.Errorf("%x, %v", hash, err)
		}
		wake, end := f.d.Signals().Watch(events.TopicWorker)
		defer end()
		if err := f.Revoke(f.ctx(), edge.ID); err != nil {
			t.Fatal(err)
		}
		<-wake
		_, gone := f.Get(t.Context(), edge.ID)
		for _, err := range []error{f.Revoke(f.ctx(), edge.ID), gone} {
			if !execution.WorkerTokenNotFound.Is(err) {
				t.Errorf("it is gone: %v", err)
			}
		}
		f.mint("edge", 0)
		var actions []string
		for _, e := range f.trail.Entries() {
			actions = append(actions, string(e.Action)+" "+e.Object.Name)
			if whole := fmt.Sprintf("%+v", e); strings.Contains(whole, text.Reveal()) {
				t.Errorf("the entry tells the token: %s", whole)
			}
		}
		want := []string{"worker.token_create edge", "worker.token_create plain", "worker.token_revoke edge",
			"worker.token_create edge"}
		if diff := cmp.Diff(want, actions); diff != "" {
			t.Error(diff)
		}
		if e := f.trail.Entries()[0]; e.Action != audit.WorkerMint || len(e.Detail["queues"].([]any)) != 2 ||
			e.Detail["expires_at"] == nil {
			t.Errorf("%+v", e)
		}
	})
}

func TestBadTokens(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		for _, c := range []struct {
			name   string
			queues []string
			ttl    time.Duration
			field  string
		}{
			{"", nil, 0, "name"}, {"a b", nil, 0, "name"}, {"-a", nil, 0, "name"}, {"relay/a", nil, 0, "name"},
			{strings.Repeat("a", 129), nil, 0, "name"}, {"a\n", nil, 0, "name"}, {"a", []string{""}, 0, "queues[0]"},
			{"a", []string{"q", "*"}, 0, "queues[1]"}, {"a", []string{"q", "q"}, 0, "queues[1]"},
			{"a", make([]string, 65), 0, "queues"}, {"a", nil, -1, "expires_in"},
			{"a", nil, 101 * 365 * 24 * time.Hour, "expires_in"},
		} {
			_, _, err := f.Mint(f.ctx(), c.name, c.queues, c.ttl)
			var is *fault.Error
			if !errors.As(err, &is) || is.Kind != fault.Invalid || is.Fields[0].Location != c.field {
				t.Errorf("%q %q %v: %v", c.name, c.queues, c.ttl, err)
			}
		}
		if _, n, err := f.List(t.Context(), page.Window{Limit: 1}); err != nil || n != 0 || len(f.trail.Entries()) != 0 {
			t.Errorf("%d tokens, %v", n, err)
		}
	})
}

// TestAdmit: without any token there is no relay; a token is good until it expires or is revoked.
func TestAdmit(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		invented := secret.Text(execution.WorkerTokenPrefix + strings.Repeat("A", 52))
		for _, text := range []secret.Text{"", "x", invented} {
			if _, err := f.Admit(t.Context(), text); !execution.RelayDisabled.Is(err) {
				t.Errorf("%q without tokens: %v", text.Reveal(), err)
			}
		}
		edge, text := f.mint("edge", time.Hour, "dmz")
		p, err := f.Admit(t.Context(), text)
		want := execution.Peer{TokenID: edge.ID, Name: "edge", Queues: []string{"dmz"}}
		if diff := cmp.Diff(want, p); err != nil || diff != "" {
			t.Errorf("%v %s", err, diff)
		}
		for _, text := range []secret.Text{"", "x", invented, text[:len(text)-1], text + "x", secret.Text(edge.ID)} {
			if _, err := f.Admit(t.Context(), text); !execution.BadWorkerToken.Is(err) {
				t.Errorf("%q: %v", text.Reveal(), err)
			}
		}
		f.clock.advance(time.Hour)
		if _, err := f.Admit(t.Context(), text); !execution.BadWorkerToken.Is(err) {
			t.Errorf("it has expired: %v", err)
		}
		// Its name is free again, and a new token takes its place.
		anew, fresh := f.mint("edge", 0)
		if _, err := f.Get(t.Context(), edge.ID); !execution.WorkerTokenNotFound.Is(err) {
			t.Errorf("the expired one: %v", err)
		}
		if err := f.Revoke(f.ctx(), anew.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Admit(t.Context(), fresh); !execution.RelayDisabled.Is(err) {
			t.Errorf("the last one is revoked: %v", err)
		}
	})
}

// TestNamesAndQueues is the table of who may claim what under which name.
func TestNamesAndQueues(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		_, edge := f.mint("edge", time.Hour, "dmz", "secret")
		_, other := f.mint("other", 0)
		none := fault.Code{}
		for _, c := range []struct {
			who    secret.Text
			name   string
			queues []string
			want   fault.Code
		}{
			{edge, "edge", []string{"dmz"}, none}, {edge, "edge", []string{"secret", "dmz"}, none},
			{edge, "edge", nil, execution.QueueDenied}, {edge, "edge", []string{"dmz", "lab"}, execution.QueueDenied},
			{edge, "edge", []string{"named"}, execution.QueueDenied},
			{edge, "other", []string{"dmz"}, execution.WorkerNameDenied}, {edge, "Edge", nil, execution.WorkerNameDenied},
			{edge, "edge-1", []string{"dmz"}, execution.WorkerNameDenied}, {edge, "", nil, execution.WorkerNameDenied},
			{other, "other", nil, none}, {other, "other", []string{"default"}, none},
			{other, "edge", nil, execution.WorkerNameDenied},
			{"", "wkr_1", nil, none}, {"", "wkr_1", []string{"default", "lab", "dmz"}, none}, {"", "edge-1", nil, none},
			{"", "wkr_1", []string{"named"}, none}, {"", "wkr_1", []string{"lab", "secret"}, execution.QueueDenied},
			{"", "far~0a1b2c3d", nil, none}, {edge, "edge~0a1b2c3d", []string{"dmz"}, execution.WorkerNameDenied},
			{"", "edge", nil, execution.WorkerNameDenied}, {"", "other", nil, execution.WorkerNameDenied},
		} {
			err := f.MayClaim(f.as(c.who), c.name, c.queues)
			if c.want == none && err != nil || c.want != none && !c.want.Is(err) {
				t.Errorf("%.15s as %q for %q: %v, want %s", c.who.Reveal(), c.name, c.queues, err, c.want.Name)
			}
			lease := runs.Lease{RunID: "run_1", Worker: execution.RelayPrefix + c.name, Epoch: 1}
			err = f.MayReport(f.as(c.who), lease)
			if taken := c.want == execution.WorkerNameDenied; taken != runs.LeaseLost.Is(err) || !taken && err != nil {
				t.Errorf("%.15s reports as %q: %v", c.who.Reveal(), c.name, err)
			}
		}
		// Nobody is shown by the name of a token, and what runs when it is made is not lost.
		if err := f.MayClaim(f.as(""), "edge~0a1b2c3d", nil); !execution.WorkerNameDenied.Is(err) {
			t.Errorf("shown as another: %v", err)
		}
		if err := f.MayReport(f.as(""), runs.Lease{Worker: "relay/edge~0a1b2c3d"}); err != nil {
			t.Errorf("the run of another: %v", err)
		}
		if err := f.MayClaim(t.Context(), "edge", nil); !execution.BadWorkerToken.Is(err) {
			t.Errorf("nobody: %v", err)
		}
		if err := f.MayReport(t.Context(), runs.Lease{Worker: "relay/edge"}); !execution.BadWorkerToken.Is(err) {
			t.Errorf("nobody: %v", err)
		}
		every := admission.NewGate(f.store, rights("secret"), f.clock, []string{admission.EveryQueue})
		if err := every.MayClaim(f.as(""), "wkr_1", []string{"secret", "lab"}); err != nil {
			t.Errorf("every queue is open: %v", err)
		}
	})
}

// TestRevokedMeanwhile: a worker that was let in is refused at its next question, and its name is free.
func TestRevokedMeanwhile(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		edge, text := f.mint("edge", time.Hour, "dmz")
		brief, briefText := f.mint("brief", time.Minute, "dmz")
		revoked, expired := f.as(text), f.as(briefText)
		if err := f.Revoke(f.ctx(), edge.ID); err != nil {
			t.Fatal(err)
		}
		f.clock.advance(time.Minute)
		for name, ctx := range map[string]context.Context{edge.Name: revoked, brief.Name: expired} {
			if err := f.MayClaim(ctx, name, []string{"dmz"}); !execution.BadWorkerToken.Is(err) {
				t.Errorf("%s claims: %v", name, err)
			}
			if err := f.MayReport(ctx, runs.Lease{Worker: "relay/" + name}); !execution.BadWorkerToken.Is(err) {
				t.Errorf("%s reports: %v", name, err)
			}
			if err := f.MayClaim(f.as(""), name, nil); err != nil {
				t.Errorf("another worker as %s: %v", name, err)
			}
		}
	})
}

// TestOneTokenPerName mints many tokens for one name at once.
func TestOneTokenPerName(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		var group sync.WaitGroup
		made := make(chan string, 20)
		for range cap(made) {
			group.Go(func() {
				tok, _, err := f.Mint(f.ctx(), "edge", nil, 0)
				switch {
				case err == nil:
					made <- tok.ID
				case !access.NameTaken.Is(err):
					t.Errorf("%v", err)
				}
			})
		}
		group.Wait()
		if len(made) != 1 || len(f.trail.Entries()) != 1 {
			t.Errorf("%d tokens, %d entries", len(made), len(f.trail.Entries()))
		}
	})
}
