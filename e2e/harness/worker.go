package harness

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"
)

// WorkerToken is the worker token of servers under test.
const WorkerToken = "a-worker-token-of-the-tests-0123456789"

// WorkerOptions are options of a worker under test. Server or DB is required.
type WorkerOptions struct {
	Server string   // the address of a server, for a worker over the relay
	DB     string   // a database, for a worker over that
	Dir    string   // the worker's directory, kept over restarts; empty makes one
	Token  string   // the worker token; empty is WorkerToken
	Flags  []string // more flags of worker
	Env    []string // more environment, KEY=value
	Tags   []string // build tags, or Release
	Wrap   []string // a program, with its arguments, that turns itself into the worker
}

// Worker is a running worker process.
type Worker struct {
	*Process
	WorkerOptions
	t testing.TB
}

var workerReady = regexp.MustCompile(`msg=ready .*?name=(\S+)`)

// StartWorker starts a worker and waits until it is ready. The test's end stops it.
func StartWorker(t testing.TB, o WorkerOptions) *Worker {
	t.Helper()
	w := LaunchWorker(t, o)
	if err := w.Ready(startLimit); err != nil {
		t.Fatal(err)
	}
	return w
}

// LaunchWorker starts a worker without waiting.
func LaunchWorker(t testing.TB, o WorkerOptions) *Worker {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	if o.Token == "" {
		o.Token = WorkerToken
	}
	line := append(slices.Clone(o.Wrap), BinaryOf(t, "", o.Tags...), "worker", "--data-dir", filepath.Join(o.Dir, "data"))
	env := o.Env
	if o.Server != "" {
		line = append(line, "--server", o.Server)
		env = append(slices.Clone(env), "WRIT_WORKER_TOKEN="+o.Token)
	} else {
		line = append(line, "--db", o.DB)
	}
	p, err := launch(t, "worker", o.Dir, env, append(append(line, showShared()...), o.Flags...))
	if err != nil {
		t.Fatal(err)
	}
	return &Worker{Process: p, WorkerOptions: o, t: t}
}

// Ready waits until the worker reports that it is ready.
func (w *Worker) Ready(limit time.Duration) error {
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); {
		if w.Name() != "" {
			return nil
		}
		select {
		case <-w.done:
			return fmt.Errorf("the worker ended before it was ready: %w\n%s", errors.Join(w.err, errors.New("exit")), w.Output())
		case <-time.After(10 * time.Millisecond):
		}
	}
	return fmt.Errorf("the worker was not ready in %s\n%s", limit, w.Output())
}

// Name returns the worker's name in the fleet, empty before it is ready.
func (w *Worker) Name() string {
	if found := workerReady.FindStringSubmatch(w.Output()); found != nil {
		return found[1]
	}
	return ""
}

// Again starts another worker over the same directory.
func (w *Worker) Again() *Worker {
	w.t.Helper()
	return StartWorker(w.t, w.WorkerOptions)
}
