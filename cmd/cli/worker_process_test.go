package cli

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// worker starts one in a directory of its own, with the token of these tests.
func worker(t *testing.T, args ...string) *process {
	t.Helper()
	cmd := command(t, t.TempDir(), append([]string{"worker"}, args...)...)
	cmd.Env = append(cmd.Env, "WRIT_WORKER_TOKEN="+sampleToken)
	return spawn(t, cmd)
}

// TestWorkers executes runs of a server that executes none, over its relay and over its database, and drains.
func TestWorkers(t *testing.T) {
	t.Parallel()
	dir, shared := t.TempDir(), sharedDir(t)
	p := serve(t, dir, "--executors", "0", "--worker-token", sampleToken, "--worker-queue", "far")
	env := []string{"WRIT_SERVER=" + p.url, "WRIT_TOKEN=" + p.token(t)}
	for queue, w := range map[string]*process{
		"far": worker(t, "--server", p.url, "--queue", "far", "--name", "edge", "--isolation-show", shared+":rw"),
		"near": worker(t, "--db", filepath.Join(dir, "install.db"), "--queue", "near", "--isolation-show",
			shared+":rw"),
	} {
		w.awaitText(t, &w.err, "msg=ready name=")
		if code, out, errs := writ(t, dir, env, "run", "--tool", "bash", "-c", "echo from the worker", "--queue", queue,
			"--follow", "--log"); code != exitDone ||
			!strings.Contains(out, "from the worker\n") {
			t.Errorf("%s: exit %d, %q, %q", queue, code, out, errs)
		}
		mark := filepath.Join(shared, queue)
		code, id, errs := writ(t, dir, env, "run", "--tool", "bash", "-c", "touch "+mark+"; sleep 1; echo the end",
			"--queue", queue)
		if code != exitDone {
			t.Fatalf("%s: exit %d, %q", queue, code, errs)
		}
		w.await(t, "the run runs", func() bool { _, err := os.Stat(mark); return err == nil })
		w.signal(t, syscall.SIGTERM)
		if code := w.exit(t); code != exitDone || !strings.Contains(w.err.String(), "msg=draining") ||
			!strings.Contains(w.err.String(), "msg=stopped") {
			t.Errorf("%s: a drained worker: exit %d\n%s", queue, code, w.err.String())
		}
		if _, out, _ := writ(t, dir, env, "logs", strings.TrimSpace(id)); !strings.Contains(out, "the end") {
			t.Errorf("%s: the run that was drained said %q", queue, out)
		}
		if strings.Contains(w.err.String()+w.out.String()+p.err.String(), sampleToken) {
			t.Errorf("%s: a log holds the worker token", queue)
		}
	}
}

// TestWorkersWait checks that a worker waits for a missing server or schema, and that a signal ends it.
func TestWorkersWait(t *testing.T) {
	t.Parallel()
	closed, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := closed.Addr().String()
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(t.TempDir(), "empty.db")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for message, w := range map[string]*process{
		"the server cannot be reached": worker(t, "--server", "http://"+address),
		"waits for a server":           worker(t, "--db", empty),
	} {
		w.awaitText(t, &w.err, message)
		w.signal(t, syscall.SIGTERM)
		if code := w.exit(t); code != exitDone || strings.Contains(w.err.String(), "msg=ready") {
			t.Errorf("exit %d\n%s", code, w.err.String())
		}
	}
	w := worker(t, "--db", filepath.Join(t.TempDir(), "none.db"))
	if code := w.exit(t); code != exitFailed || !strings.Contains(w.err.String(), "writ: db: ") {
		t.Errorf("a database that does not exist: exit %d\n%s", code, w.err.String())
	}
}
