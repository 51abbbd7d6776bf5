package relay_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/modules/execution/internal/masking"
	"github.com/writ-automation/writ/modules/execution/internal/relay"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secrets"
)

// memoryStore stores all data of the relay in memory, since databases do not follow the time of a bubble.
type memoryStore struct {
	execution.ControlPlane // nil: nothing else is called
	execution.ClaimSecretStore

	mu       sync.Mutex
	waiting  []*runs.Run
	leased   int
	beats    []runs.Beat // answers, the last one for good
	renewed  int
	released []string
	ended    []runs.Ending
	reports  []execution.Worker
	touches  []int
	removed  []string
	away     error // what hosts are answered with
}

func (s *memoryStore) SaveHosts(context.Context, runs.Lease, []runs.HostSummary) error { return s.away }

func (s *memoryStore) Do(ctx context.Context, fn func(ctx context.Context) error) error {
	return fn(ctx)
}

func (s *memoryStore) Claim(_ context.Context, r runs.ClaimRequest) (*runs.Assignment, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) == 0 {
		return nil, nil
	}
	run := s.waiting[0]
	s.waiting = s.waiting[1:]
	return &runs.Assignment{Run: run, Lease: runs.Lease{RunID: run.ID, Worker: r.Worker, Epoch: 1}, NextSeq: 2}, nil
}

func (s *memoryStore) Beat(context.Context, string, []runs.Lease) ([]runs.Beat, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := runs.Beat{}
	if len(s.beats) > 0 {
		b = s.beats[min(s.renewed, len(s.beats)-1)]
	}
	s.renewed++
	return []runs.Beat{b}, nil
}

func (s *memoryStore) Release(_ context.Context, l runs.Lease) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.released = append(s.released, l.RunID)
	return nil
}

func (s *memoryStore) Finish(_ context.Context, _ runs.Lease, e runs.Ending) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = append(s.ended, e)
	return nil
}

func (s *memoryStore) Leased(context.Context, string) ([]*runs.Run, error) {
	return make([]*runs.Run, s.leased), nil
}

func (s *memoryStore) PutClaim(context.Context, [32]byte, runs.Lease) error { return nil }
func (s *memoryStore) ClaimOf(context.Context, [32]byte) (runs.Lease, bool, error) {
	return runs.Lease{RunID: "run_1", Worker: "relay/w", Epoch: 1}, true, nil
}

func (s *memoryStore) PutSecrets(context.Context, runs.Lease, []byte) error  { return nil }
func (s *memoryStore) SecretsOf(context.Context, runs.Lease) ([]byte, error) { return nil, nil }

func (s *memoryStore) ReportWorker(_ context.Context, w execution.Worker) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reports = append(s.reports, w)
	return nil
}

func (s *memoryStore) TouchWorker(_ context.Context, _ string, running int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.touches = append(s.touches, running)
	return nil
}

func (s *memoryStore) RemoveWorker(_ context.Context, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removed = append(s.removed, name)
	return nil
}
func (s *memoryStore) ForgetWorkers(context.Context, time.Duration) error { return nil }
func (s *memoryStore) Workers(context.Context, page.Window) ([]execution.Worker, int, error) {
	return nil, 0, nil
}

// fakeClock is the bubble's own time.
type fakeClock struct{ back time.Duration }

func (w *fakeClock) Now() time.Time { return time.Now().Add(-w.back) }

type still struct {
	*memoryStore
	relay *relay.Relay
	vault *vault
	heads *heads
	wall  *fakeClock
	log   *lines
}

// bubble runs a test with a fake time of its own.
func bubble(t *testing.T, fn func(t *testing.T, s *still)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &still{memoryStore: &memoryStore{}, vault: &vault{}, heads: &heads{}, wall: &fakeClock{}, log: &lines{}}
		s.relay = relay.New(relay.Deps{
			Gate:  &gate{},
			Plane: s.memoryStore, Claims: s.memoryStore, Workers: s.memoryStore, Unit: s.memoryStore, Secrets: s.vault,
			Masks: masking.New(s.memoryStore, &box{}, s.memoryStore), Heads: s.heads, Clock: s.wall,
			Log: slog.New(slog.NewTextHandler(s.log, nil)),
		}, relay.Config{})
		defer s.relay.Close()
		fn(t, s)
	})
}

func (s *still) claim(t *testing.T, c execution.RelayClaim) (*execution.Grant, string) {
	t.Helper()
	g, note, err := s.relay.Claim(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return g, note
}

func secretive(id string) *runs.Run {
	return &runs.Run{ID: id, Status: runs.Running, Spec: runs.Spec{CredentialIDs: []string{"crd_1"}, Queue: "default"}}
}

// TestTheLeaseIsKeptMeanwhile checks that the lease is renewed during a slow engine, and that the worker gets a cancel
// from that time.
func TestTheLeaseIsKeptMeanwhile(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *still) {
		s.waiting, s.beats = []*runs.Run{secretive("run_1")}, []runs.Beat{{CancelRequested: true}}
		s.vault.does(func(context.Context, secrets.Owner, []string) error { time.Sleep(15 * time.Second); return nil })
		g, _ := s.claim(t, asks("w"))
		if g == nil || s.renewed != 1 || !g.Run.CancelRequested {
			t.Errorf("%+v after %d beats", g, s.renewed)
		}
	})
}

// TestALeaseThatIsLostMeanwhile brings nothing and tells nothing.
func TestALeaseThatIsLostMeanwhile(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *still) {
		s.waiting, s.beats = []*runs.Run{secretive("run_1")}, []runs.Beat{{Lost: true}}
		s.vault.does(func(ctx context.Context, _ secrets.Owner, _ []string) error { <-ctx.Done(); return nil })
		if g, _ := s.claim(t, asks("w")); g != nil || len(s.ended)+len(s.released) != 0 {
			t.Errorf("%+v %v %v", g, s.ended, s.released)
		}
		synctest.Wait()
		if !s.vault.let(secrets.Owner{ID: "run_1", Epoch: 1}) {
			t.Error("what was made for the run is not let go")
		}
	})
}

// TestAnEngineThatHangs checks that its run ends after a bounded time, and the claim too.
func TestAnEngineThatHangs(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *still) {
		for range 10 {
			s.waiting = append(s.waiting, secretive("run_1"))
		}
		s.vault.does(func(ctx context.Context, _ secrets.Owner, _ []string) error { <-ctx.Done(); return ctx.Err() })
		begun := time.Now()
		g, _ := s.claim(t, asks("w"))
		if g != nil || time.Since(begun) != 20*time.Second || len(s.ended) != 1 {
			t.Fatalf("%v after %s with %v", g, time.Since(begun), s.ended)
		}
		if e := s.ended[0]; e.Status != runs.Failed || !strings.HasSuffix(e.Error, "its secrets did not come in time") {
			t.Errorf("%+v", e)
		}
	})
}

// TestPresence checks that a claiming, waiting or beating worker is reported periodically to the fleet, and its end at
// once.
func TestPresence(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *still) {
		c := asks("w", "a", "b")
		c.Worker.Labels, s.leased = map[string]string{"site": "north"}, 3
		for range 5 {
			s.claim(t, c)
		}
		want := execution.Worker{
			Name: "relay/w", Kind: execution.RelayWorker, Queues: []string{"a", "b"}, Executors: 2, Running: 3, Version: "1",
			Labels: c.Worker.Labels,
		}
		if diff := cmp.Diff([]execution.Worker{want}, s.reports); diff != "" {
			t.Error(diff)
		}
		c.WaitSeconds = 30
		s.claim(t, c)
		if len(s.reports) != 1 || len(s.touches) < 2 || s.touches[0] != 3 {
			t.Errorf("while it waits: %d reports, %v", len(s.reports), s.touches)
		}
		c.WaitSeconds, c.Worker.Version = 0, "2"
		s.claim(t, c)
		if len(s.reports) != 2 || s.reports[1].Version != "2" {
			t.Errorf("what changed is not told: %+v", s.reports)
		}
		s.touches = nil
		for range 30 {
			if _, err := s.relay.Beat(t.Context(), execution.Leaseholder{RunID: "run_1"}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		if n := len(s.touches); n < 5 || n > 6 {
			t.Errorf("%d words in 30 beats", n)
		}
		s.wall.back = time.Hour // somebody sets the clock
		s.claim(t, c)
		c.Worker.Executors = 0
		s.claim(t, c)
		if len(s.reports) != 3 || !cmp.Equal(s.removed, []string{"relay/w"}) {
			t.Errorf("%d reports, removed %v", len(s.reports), s.removed)
		}
		c.Worker.Executors = 1
		s.claim(t, c)
		if len(s.reports) != 4 {
			t.Error("one that comes back is not told at once")
		}
	})
}

// TestAWorkerThatEndsGetsNothing, also where a run waits.
func TestAWorkerThatEndsGetsNothing(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *still) {
		s.waiting, s.heads.newest = []*runs.Run{secretive("run_1")}, "note"
		c := asks("w")
		c.Worker.Executors, c.WaitSeconds = 0, 30
		begun := time.Now()
		if g, note := s.claim(t, c); g != nil || note != "note" || time.Since(begun) != 0 || len(s.reports) != 0 {
			t.Errorf("%v %q after %s, told %v", g, note, time.Since(begun), s.reports)
		}
	})
}

// TestHeads checks that heads are checked once a minute, and that no result stops a claim.
func TestHeads(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *still) {
		c := asks("w")
		c.Heads = []string{"one", "two"}
		s.claim(t, c)
		s.claim(t, c)
		c.Heads = []string{"two", "three"}
		s.claim(t, c)
		time.Sleep(61 * time.Second)
		s.claim(t, c)
		other := asks("v")
		other.Heads = []string{"two"}
		s.claim(t, other)
		if diff := cmp.Diff([][]string{{"one", "two"}, {"three"}, {"two", "three"}, {"two"}},
			s.heads.recorded()); diff != "" {
			t.Error(diff)
		}
	})
}

// TestHeadsThatAreRefused checks that a foreign head hides no other and is logged once a minute; unchecked heads are
// checked again.
func TestHeadsThatAreRefused(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *still) {
		s.heads.validate = func(notes []string) error {
			for _, n := range notes {
				if n == "foreign" {
					return audit.ForeignHead.New("no key of this install signed it")
				}
			}
			return nil
		}
		c := asks("w")
		c.Heads = []string{"foreign", "mine"}
		s.claim(t, c)
		s.claim(t, c)
		if diff := cmp.Diff([][]string{{"foreign", "mine"}, {"foreign"}, {"mine"}}, s.heads.recorded()); diff != "" {
			t.Error(diff)
		}
		if n := strings.Count(s.log.text(), "no key of this install signed it"); n != 1 {
			t.Errorf("it is told %d times", n)
		}
		s.heads.validate = func([]string) error { return &fault.Error{Kind: fault.Unavailable, Message: "the store is away"} }
		c.Heads, s.heads.newest = []string{"later"}, "newer"
		for _, executors := range []int{1, 0} {
			c.Worker.Executors = executors
			if _, note := s.claim(t, c); note != "" {
				t.Errorf("a worker gets %q in the place of a head that nobody looked at", note)
			}
		}
		if n := len(s.heads.recorded()); n != 5 {
			t.Errorf("%d calls", n)
		}
	})
}

// TestTheNewestHead checks that every claim reads the newest head, and returns none if it cannot be read.
func TestTheNewestHead(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *still) {
		for _, want := range []string{"one", "two", ""} {
			s.heads.newest = want
			if _, note := s.claim(t, asks("w")); note != want {
				t.Errorf("%q, want %q", note, want)
			}
		}
		s.heads.newest, s.heads.err = "three", errors.New("the store is away")
		if _, note := s.claim(t, asks("w")); note != "" {
			t.Errorf("where it cannot be read it is %q", note)
		}
	})
}
