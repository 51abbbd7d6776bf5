package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/writ-automation/writ/cmd/compose"
)

const sampleToken = "c4nary-token-of-workers-0123456789"

// workerOf applies a command line and an environment.
func workerOf(t *testing.T, environ []string, flags ...string) (compose.WorkerSettings, error) {
	t.Helper()
	f := &workerFlags{}
	fs := pflag.NewFlagSet("worker", pflag.ContinueOnError)
	f.register(fs)
	if err := fs.Parse(flags); err != nil {
		t.Fatalf("%v: %v", flags, err)
	}
	w := environment{out: &bytes.Buffer{}, err: &bytes.Buffer{}, environ: environ}
	if err := f.load(fs, w); err != nil {
		return compose.WorkerSettings{}, err
	}
	return f.settings(w)
}

// TestWorkerConfigsLoad loads and validates every file of configs for a worker.
func TestWorkerConfigsLoad(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("..", "..", "configs", "worker-*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%v %v", files, err)
	}
	for _, file := range files {
		s, err := workerOf(t, []string{"WRIT_CONFIG=" + file, "WRIT_WORKER_TOKEN=" + sampleToken})
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if s.Server != "https://writ.example.com:8443" || s.CAFile == "" || s.DrainTimeout != 5*time.Minute ||
			s.Executors != 8 {
			t.Errorf("%s: %+v", file, s)
		}
		if diff := cmp.Diff(map[string]string{"site": "north", "zone": "dmz"}, s.Labels); diff != "" {
			t.Error(diff)
		}
	}
}

// TestWorkerPlace checks how a worker reaches the runs: the command line decides.
func TestWorkerPlace(t *testing.T) {
	t.Parallel()
	client := []string{"WRIT_SERVER=http://127.0.0.1:1", "WRIT_WORKER_TOKEN=" + sampleToken}
	for name, c := range map[string]struct {
		env        []string
		args       []string
		db, server string
	}{
		"a database": {nil, []string{"--db", "a.db"}, "a.db", ""},
		"a server": {client[1:], []string{"--server", "http://127.0.0.1:2/"}, "",
			"http://127.0.0.1:2"},
		"by the environment":         {client, nil, "", "http://127.0.0.1:1"},
		"a database beside a client": {client, []string{"--db", "a.db"}, "a.db", ""},
		"a server beside a database": {append([]string{"WRIT_DB=b.db"}, client...),
			[]string{"--server", "https://writ.example.com"}, "", "https://writ.example.com"},
		"plain http that somebody asks for": {client, []string{"--server", "http://writ.example.com", "--insecure-http"}, "",
			"http://writ.example.com"},
	} {
		s, err := workerOf(t, c.env, c.args...)
		if err != nil || s.DB != c.db || s.Server != c.server {
			t.Errorf("%s: db %q, server %q, %v", name, s.DB, s.Server, err)
		}
		if c.server != "" && s.Token.Reveal() != sampleToken {
			t.Errorf("%s: the token is another one", name)
		}
	}
	s, err := workerOf(t, []string{encryptionKeyEnv + "=k"}, "--db", "a.db", "--queue", "a,b", "--queue", "c", "--labels",
		"x=1,y=a=b", "--labels", "z=",
		"--executors", "3", "--run-timeout", "90", "--name", "edge", "--local-projects", "repos", "--signing-key-file",
		"sign.pem")
	want := map[string]string{"x": "1", "y": "a=b", "z": ""}
	if err != nil || len(s.Queues) != 2 || s.Executors != 3 || s.RunTimeout != 90*time.Second || s.Name != "edge" ||
		!filepath.IsAbs(s.LocalProjects) || s.EncryptionKey.Reveal() != "k" || s.SigningKeyFile != "sign.pem" ||
		!cmp.Equal(want, s.Labels) {
		t.Errorf("%+v %v", s, err)
	}
}

// TestWorkerUsage is refused with the name of the flag and without the token.
func TestWorkerUsage(t *testing.T) {
	t.Parallel()
	bad := filepath.Join(t.TempDir(), "bad.yaml")
	if err := os.WriteFile(bad, []byte("db: a.db\naddr: 127.0.0.1:0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	token := "WRIT_WORKER_TOKEN=" + sampleToken
	over := []string{"--server", "https://writ.example.com"}
	for _, c := range []struct {
		env  []string
		args []string
		want string
	}{
		{nil, nil, "db, server: one of the two"},
		{[]string{token}, []string{"--db", "a.db", "--server", "https://x"}, "db, server: set only one"},
		{[]string{token, "WRIT_DB=a.db", "WRIT_SERVER=https://x"}, nil, "db, server: set only one"},
		{nil, over, "worker-token: is required with server"},
		{[]string{"WRIT_WORKER_TOKEN=c4nary-short"}, over, "worker-token: expected at least 32 characters"},
		{nil, append([]string{"--worker-token", "c4nary with spaces in it, and long enough"}, over...),
			"worker-token: expected"},
		{[]string{"WRIT_WORKER_TOKEN=writ_worker_" + sampleToken}, over, "name: is required with the token of one worker"},
		{[]string{token}, []string{"--server", "http://writ.example.com"}, "--insecure-http"},
		{[]string{token}, []string{"--server", "http://10.0.0.1:8080"}, "--insecure-http"},
		{[]string{token}, []string{"--server", "writ.example.com"}, "server: expected an http or https address"},
		{[]string{token}, []string{"--server", "https://a:c4nary@writ.example.com"},
			"server: expected an address without a user"},
		{[]string{token}, append([]string{"--executors", "0"}, over...), "executors"},
		{[]string{token}, append([]string{"--executors", "-1"}, over...), "executors"},
		{[]string{token}, append([]string{"--encryption-key-file", "k"}, over...), "encryption-key-file"},
		{[]string{token}, append([]string{"--signing-key-file", "k"}, over...), "signing-key-file: needs db"},
		{[]string{token}, append([]string{"--local-projects", "k"}, over...), "local-projects"},
		{[]string{token}, append([]string{"--secret-env", "k"}, over...), "secret-env"},
		{nil, []string{"--db", "a.db", "--ca-file", "x"}, "ca-file"},
		{nil, []string{"--db", "a.db", "--insecure-http"}, "insecure-http"},
		{[]string{encryptionKeyEnv + "=c4nary"}, []string{"--db", "a.db", "--encryption-key-file", "x"},
			"encryption-key-file"},
		{nil, []string{"--db", "a.db", "--labels", "site"}, "labels"},
		{nil, []string{"--db", "a.db", "--log-level", "loud"}, "log-level"},
		{nil, []string{"--config", bad}, `bad.yaml line 2: unknown key "addr"`},
		{nil, []string{"--addr", "x"}, "unknown flag"},
		{nil, []string{"extra"}, "unknown command"},
	} {
		var out, errs bytes.Buffer
		w := environment{out: &out, err: &errs, environ: c.env}
		code := execute(t.Context(), w, append([]string{"worker"}, c.args...))
		if code != exitUsage || !strings.Contains(errs.String(), c.want) || out.Len() > 0 ||
			strings.Contains(errs.String(), "c4nary") {
			t.Errorf("%v %v: exit %d, %q, want %q", c.env, c.args, code, errs.String(), c.want)
		}
	}
}

// TestServeWorkerToken: an invalid token is refused without being printed, and the help does not contain it.
func TestServeWorkerToken(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		env  []string
		args []string
		want string
	}{
		{[]string{"WRIT_WORKER_TOKEN=c4nary"}, nil, "worker-token: expected at least 32 characters"},
		{nil, []string{"--worker-token", "c4nary c4nary c4nary c4nary c4nary"}, "worker-token: expected"},
		{nil, []string{"--worker-token", "c4nary-c4näry-c4nary-c4nary-c4nary"}, "worker-token: expected"},
		{nil, []string{"--worker-token", "writ_worker_" + sampleToken}, "worker-token: must not begin with writ_worker_"},
		{nil, []string{"--worker-queue", "a"}, "worker-queue: has no effect without worker-token"},
		{nil, []string{"--worker-token", sampleToken, "--worker-queue", ""},
			"worker-queue: expected the name of a queue, not an empty text"},
	} {
		var out, errs bytes.Buffer
		w := environment{out: &out, err: &errs, environ: c.env}
		args := append([]string{"serve", "--db", filepath.Join(t.TempDir(), "writ.db")}, c.args...)
		if code := execute(t.Context(), w, args); code != exitUsage || !strings.Contains(errs.String(), c.want) ||
			strings.Contains(errs.String(), "c4nary") {
			t.Errorf("%v %v: exit %d, %q", c.env, c.args, code, errs.String())
		}
	}
	for _, command := range []string{"serve", "worker"} {
		var out, errs bytes.Buffer
		w := environment{out: &out, err: &errs, environ: []string{"WRIT_WORKER_TOKEN=" + sampleToken}}
		if code := execute(t.Context(), w, []string{command, "--help"}); code != exitDone ||
			strings.Contains(out.String()+errs.String(), "c4nary") ||
			!strings.Contains(out.String(), "WRIT_WORKER_TOKEN") {
			t.Errorf("%s --help: exit %d, %q", command, code, out.String())
		}
	}
	fs, f := serveFlagSet()
	w := environment{out: &bytes.Buffer{}, err: &bytes.Buffer{},
		environ: []string{"WRIT_WORKER_TOKEN=" + sampleToken, "WRIT_WORKER_QUEUE=dmz,edge"}}
	if err := f.load(fs, w); err != nil {
		t.Fatal(err)
	}
	s, err := f.settings(w)
	if err != nil || s.WorkerToken.Reveal() != sampleToken || len(s.WorkerQueues) != 2 {
		t.Errorf("%v %v", s.WorkerQueues, err)
	}
}
