package relayclient_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/writ-automation/writ/adapters/relayclient"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/runs"
)

// reach is the environment variable that makes this binary a worker which claims once: address, file of authorities
// and state directory.
const reach = "WRIT_TEST_REACH"

func TestMain(m *testing.M) {
	if with := strings.Split(os.Getenv(reach), "|"); len(with) == 3 {
		os.Exit(claimOnce(with[0], with[1], with[2]))
	}
	goleak.VerifyTestMain(m)
}

func claimOnce(server, ca, dir string) int {
	c, err := relayclient.New(relayclient.Config{Server: server, CAFile: ca, StateDir: dir, Token: token, Worker: peer(),
		Wait: time.Millisecond})
	if err == nil {
		defer c.Close()
		_, err = c.Claim(context.Background(), runs.ClaimRequest{})
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

const (
	token  = "the-worker-token-0123456789"
	worker = execution.RelayPrefix + "w1"
)

func peer() execution.RelayPeer {
	return execution.RelayPeer{Name: "w1", Version: "1.0.0", Executors: 4}
}

// logged gathers what a client logs.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// fixture is a worker's client and the server that it reaches.
type fixture struct {
	*relayclient.Client
	t    *testing.T
	fake *fake
	dir  string
	log  *logged
	cfg  relayclient.Config
}

// newFixture starts a server and makes a client whose claims do not wait, unless change says so.
func newFixture(t *testing.T, change func(*relayclient.Config)) *fixture {
	t.Helper()
	w := &fixture{t: t, fake: newFake(t), dir: t.TempDir(), log: &logged{}}
	w.cfg = relayclient.Config{
		Server: w.fake.URL, Token: token, Worker: peer(), Wait: time.Millisecond, StateDir: w.dir,
		Log: slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if change != nil {
		change(&w.cfg)
	}
	w.Client = w.life()
	t.Cleanup(func() {
		if text := w.log.String(); strings.Contains(text, token) || strings.Contains(text, "capability-of-") {
			t.Errorf("the log tells a proof: %s", text)
		}
	})
	return w
}

// life is another client over the same directory, as after a kill.
func (w *fixture) life() *relayclient.Client {
	w.t.Helper()
	c, err := relayclient.New(w.cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(c.Close)
	return c
}

// again kills the client and starts the next one.
func (w *fixture) again() { w.Client = w.life() }

// claim takes the run that waits.
func (w *fixture) claim() *runs.Assignment {
	w.t.Helper()
	a, err := w.Claim(w.t.Context(), runs.ClaimRequest{Worker: worker, Queues: []string{"q"}})
	if err != nil || a == nil {
		w.t.Fatalf("no run waits: %v", err)
	}
	return a
}

// claimed submits a run and takes it.
func (w *fixture) claimed(change ...func(*execution.RelayRun)) *runs.Assignment {
	w.t.Helper()
	w.fake.submit(runs.Single, "q", change...)
	return w.claim()
}

// begun is claimed, and began.
func (w *fixture) begun() *runs.Assignment {
	w.t.Helper()
	a := w.claimed()
	w.must(w.Begin(w.t.Context(), a.Lease))
	return a
}

func (w *fixture) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// files lists what is in the directory of claims.
func (w *fixture) files() []string {
	w.t.Helper()
	entries, err := os.ReadDir(filepath.Join(w.dir, "claims"))
	w.must(err)
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// kept fails unless the files of claims are those of the runs.
func (w *fixture) kept(ids ...string) {
	w.t.Helper()
	var want []string
	for _, id := range ids {
		want = append(want, id+".json")
	}
	if got := w.files(); strings.Join(got, " ") != strings.Join(want, " ") {
		w.t.Errorf("the claims on disk are %v, not %v", got, want)
	}
}
