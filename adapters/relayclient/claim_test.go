package relayclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/adapters/relayclient"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/waittest"
)

// waits makes claims wait for long.
func waits(c *relayclient.Config) { c.Wait = 20 * time.Second }

// later claims in a goroutine and returns where its answer comes.
func (w *fixture) later() <-chan *runs.Assignment {
	out := make(chan *runs.Assignment, 1)
	go func() {
		a, err := w.Claim(context.Background(), runs.ClaimRequest{Worker: worker, Queues: []string{"q"}})
		if err != nil {
			w.t.Error(err)
		}
		out <- a
	}()
	waittest.Eventually(w.t, 20*time.Second, "no claim waits", func() bool {
		n := 0
		w.fake.set(func() { n = w.fake.waiting })
		return n == 1
	})
	return out
}

func (w *fixture) nothing() {
	w.t.Helper()
	if a, err := w.Claim(w.t.Context(), runs.ClaimRequest{Worker: worker, Queues: []string{"q"}}); a != nil || err != nil {
		w.t.Fatalf("claimed %+v %v", a, err)
	}
}

// TestOneClaimWaits checks that only one claim waits at the server, however many slots are idle; each claim that finds
// a run lets the next one start.
func TestOneClaimWaits(t *testing.T) {
	t.Parallel()
	w := newFixture(t, waits)
	var idle []<-chan *runs.Assignment
	for range 8 {
		idle = append(idle, w.later())
	}
	if n := len(w.fake.calls("/claim")); n != 1 {
		t.Fatalf("%d claims reached the server", n)
	}
	ids := map[string]bool{}
	for range 5 {
		ids[w.fake.submit(runs.Single, "q")] = true
	}
	waittest.Eventually(t, 20*time.Second, "the runs are not claimed by those who wait", func() bool {
		n := 0
		for _, c := range idle {
			n += len(c)
		}
		return n == 5
	})
	waittest.Eventually(t, 20*time.Second, "nobody asks for the next run", func() bool {
		return len(w.fake.calls("/claim")) == 6
	})
	w.Quiet()
	for _, c := range idle {
		if a := <-c; a != nil {
			delete(ids, a.Lease.RunID)
		}
	}
	if len(ids) > 0 {
		t.Errorf("nobody has %v", ids)
	}
}

// TestOneEmptyAnswerServesAll checks that the claims behind a claim without a run make no request of their own.
func TestOneEmptyAnswerServesAll(t *testing.T) {
	t.Parallel()
	w := newFixture(t, func(c *relayclient.Config) { c.Wait = time.Second })
	var idle []<-chan *runs.Assignment
	for range 8 {
		idle = append(idle, w.later())
	}
	for _, c := range idle {
		if a := <-c; a != nil {
			t.Errorf("claimed %+v", a)
		}
	}
	if n := len(w.fake.calls("/claim")); n > 2 { // the last ones may have come when the first had ended
		t.Errorf("%d claims reached the server", n)
	}
}

func TestQuietEndsTheClaimThatWaits(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*relayclient.Client){
		"quiet": (*relayclient.Client).Quiet, "close": (*relayclient.Client).Close,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, waits)
			held := w.claimed()
			first := w.later()
			end(w.Client)
			if a := <-first; a != nil {
				t.Fatalf("claimed %+v", a)
			}
			calls := len(w.fake.calls("/claim"))
			w.fake.submit(runs.Single, "q")
			w.nothing()
			if n := len(w.fake.calls("/claim")); n != calls {
				t.Error("a quiet client claims")
			}
			waittest.Eventually(t, 20*time.Second, "the server does not see that nobody waits", func() bool {
				n := 0
				w.fake.set(func() { n = w.fake.waiting })
				return n == 0
			})
			w.must(w.Begin(t.Context(), held.Lease))
			w.Close()
		})
	}
}

// store is a HeadShelf in memory.
type store struct {
	mu    sync.Mutex
	notes []string
	reads int
	fail  error
	kept  func(note string)
}

func (s *store) Notes() ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	return slices.Clone(s.notes), s.fail
}

func (s *store) Save(note string) error {
	if s.kept != nil {
		s.kept(note)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail == nil {
		s.notes = append(s.notes, note)
	}
	return s.fail
}

// A run that the server grants while the client becomes quiet is not lost: its answer has begun and is read to its
// end.
func TestAnAnswerThatHasBegunIsRead(t *testing.T) {
	t.Parallel()
	onAnswer := make(chan struct{})
	w := newFixture(t, func(c *relayclient.Config) {
		waits(c)
		c.Heads = &store{kept: func(string) { close(onAnswer) }}
	})
	rest := make(chan struct{})
	w.fake.set(func() {
		w.fake.instead = func(rw http.ResponseWriter, r *http.Request, _ []byte) bool {
			rw.Header().Set("Content-Type", "application/json")
			rw.Header().Set(execution.HeadHeader, "aGVhZA==")
			rw.WriteHeader(http.StatusOK)
			rw.(http.Flusher).Flush()
			<-rest
			_ = json.NewEncoder(rw).Encode(execution.RelayGrant{
				Run: execution.RelayRun{ID: "run_1", Epoch: 1, Worker: worker, Status: runs.Running}, Capability: "capability-of-1",
			})
			return true
		}
	})
	out := make(chan *runs.Assignment, 1)
	go func() {
		a, err := w.Claim(context.Background(), runs.ClaimRequest{})
		if err != nil {
			t.Error(err)
		}
		out <- a
	}()
	<-onAnswer
	w.Quiet()
	close(rest)
	if a := <-out; a == nil || a.Lease.RunID != "run_1" {
		t.Errorf("claimed %+v", a)
	}
}

func TestClaimsAreWhatTheServerGives(t *testing.T) {
	t.Parallel()
	w := newFixture(t, func(c *relayclient.Config) {
		c.Queues, c.Worker.Labels = []string{"mine"}, map[string]string{"site": "berlin"}
		c.Wait = 20 * time.Second
	})
	at := time.Date(2026, time.January, 5, 8, 30, 0, 0, time.UTC)
	id := w.fake.submit(runs.Shard, "mine", func(r *execution.RelayRun) {
		r.Spec = runs.Spec{Tool: "ansible", Playbook: "site.yml", ProjectID: "prj_1", InventoryID: "inv_1",
			LimitHosts: []string{"a"}}
		r.ExtraVars, r.Commit, r.CreatedAt = runs.Vars{"n": json.RawMessage("12345678901234567890.10")}, "c0ffee", at
	})
	ctx, cancel := context.WithTimeout(t.Context(), 27*time.Second)
	defer cancel()
	a, err := w.Claim(ctx, runs.ClaimRequest{})
	w.must(err)
	want := &runs.Assignment{
		Run: &runs.Run{
			ID: id, Kind: runs.Shard, Status: runs.Running, Worker: worker, Epoch: 1, Commit: "c0ffee", CreatedAt: at,
			Spec: runs.Spec{Tool: "ansible", Playbook: "site.yml", ProjectID: "prj_1", InventoryID: "inv_1",
				LimitHosts: []string{"a"}},
			Vars: runs.Vars{"n": json.RawMessage("12345678901234567890.10")},
		},
		Lease: runs.Lease{RunID: id, Worker: worker, Epoch: 1}, NextSeq: 3,
	}
	if diff := cmp.Diff(want, a); diff != "" {
		t.Error(diff)
	}
	var sent execution.RelayClaim
	w.must(json.Unmarshal(w.fake.calls("/claim")[0].body, &sent))
	if sent.WaitSeconds < 5 || sent.WaitSeconds > 7 { // what the caller has, less what the answer takes
		t.Errorf("the claim waits for %d s", sent.WaitSeconds)
	}
	sent.WaitSeconds = 0
	peer := execution.RelayPeer{Name: "w1", Version: "1.0.0", Executors: 4, Labels: map[string]string{"site": "berlin"}}
	if diff := cmp.Diff(execution.RelayClaim{Worker: peer, Queues: []string{"mine"}}, sent); diff != "" {
		t.Error(diff)
	}
}

func TestGrantsThatCannotBeTaken(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*execution.RelayGrant)
		back   bool
	}{
		"an id that leads elsewhere": {func(g *execution.RelayGrant) { g.Run.ID = "../../etc/x" }, false},
		"an id with a slash":         {func(g *execution.RelayGrant) { g.Run.ID = "a/b" }, false},
		"a hidden id":                {func(g *execution.RelayGrant) { g.Run.ID = ".." }, false},
		"no id":                      {func(g *execution.RelayGrant) { g.Run.ID = "" }, false},
		"no epoch":                   {func(g *execution.RelayGrant) { g.Run.Epoch = 0 }, false},
		"no capability":              {func(g *execution.RelayGrant) { g.Capability = "" }, false},
		"a capability of two lines":  {func(g *execution.RelayGrant) { g.Capability = "capability-of-\r\nX: y" }, false},
		"another worker's":           {func(g *execution.RelayGrant) { g.Run.Worker = "relay/w2" }, true},
		"a database worker's":        {func(g *execution.RelayGrant) { g.Run.Worker = "w1" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, nil)
			w.fake.set(func() { w.fake.grant = c.change })
			id := w.fake.submit(runs.Single, "q")
			a, err := w.Claim(t.Context(), runs.ClaimRequest{Worker: worker, Queues: []string{"q"}})
			if a != nil || !fault.Is(err, fault.Unavailable) || strings.Contains(fmt.Sprintf("%+v", err), "capability-of-") {
				t.Errorf("claimed %+v, %v", a, err)
			}
			if back := w.fake.see(id).run.Status == runs.Pending; back != c.back {
				t.Errorf("given back: %v", back)
			}
			w.kept()
		})
	}
}

// A claim that cannot be stored on disk is released, since a restarted worker would not find it.
func TestAClaimThatCannotBeKept(t *testing.T) {
	t.Parallel()
	w := newFixture(t, nil)
	claims := filepath.Join(w.dir, "claims")
	w.must(os.Remove(claims))
	w.must(os.WriteFile(claims, nil, 0o600))
	id := w.fake.submit(runs.Single, "q")
	if a, err := w.Claim(t.Context(), runs.ClaimRequest{Worker: worker, Queues: []string{"q"}}); a != nil || err == nil {
		t.Fatalf("claimed %+v, %v", a, err)
	}
	if r := w.fake.see(id); r.run.Status != runs.Pending {
		t.Errorf("the run is %s", r.run.Status)
	}
	w.must(os.Remove(claims))
	w.must(os.Mkdir(claims, 0o700))
	if a := w.claim(); a.Lease.RunID != id || a.Lease.Epoch != 2 {
		t.Errorf("claimed %+v", a)
	}
}

func TestLeave(t *testing.T) {
	t.Parallel()
	w := newFixture(t, waits)
	w.Quiet()
	w.must(w.Leave(t.Context()))
	var q execution.RelayClaim
	w.must(json.Unmarshal(w.fake.calls("/claim")[0].body, &q))
	if q.Worker.Name != "w1" || q.Worker.Executors != 0 || q.WaitSeconds != 0 {
		t.Errorf("left with %+v", q)
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(empty, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for field, change := range map[string]func(*relayclient.Config){
		"server":           func(c *relayclient.Config) { c.Server = "" },
		"server ":          func(c *relayclient.Config) { c.Server = "ftp://example.org" },
		"server  ":         func(c *relayclient.Config) { c.Server = "https://me:hunter2@example.org" },
		"server   ":        func(c *relayclient.Config) { c.Server = "https://example.org?a=b" },
		"server    ":       func(c *relayclient.Config) { c.Server = "https://example.org/#f" },
		"server     ":      func(c *relayclient.Config) { c.Server = "https://" },
		"worker-token":     func(c *relayclient.Config) { c.Token = "" },
		"worker-token ":    func(c *relayclient.Config) { c.Token = "hunter2\n" },
		"worker.name":      func(c *relayclient.Config) { c.Worker.Name = "" },
		"worker.name ":     func(c *relayclient.Config) { c.Worker.Name = worker },
		"worker.executors": func(c *relayclient.Config) { c.Worker.Executors = 0 },
		"wait":             func(c *relayclient.Config) { c.Wait = 31 * time.Second },
		"wait ":            func(c *relayclient.Config) { c.Wait = -1 },
		"state-dir":        func(c *relayclient.Config) { c.StateDir = "here" },
		"ca-file":          func(c *relayclient.Config) { c.CAFile = empty },
	} {
		c := relayclient.Config{Server: "https://example.org/writ", Token: token, Worker: peer(), StateDir: t.TempDir()}
		change(&c)
		_, err := relayclient.New(c)
		var f *fault.Error
		if !errors.As(err, &f) || f.Kind != fault.Invalid || f.Fields[0].Location != strings.TrimSpace(field) ||
			strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", field, err)
		}
	}
}
