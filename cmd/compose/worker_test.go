package compose

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/secrets"
	"github.com/writ-automation/writ/ports/waittest"
)

// workerPort requests every port of a worker.
type workerPort struct {
	fx.In

	Plane     execution.ControlPlane
	Tools     execution.Tools
	Reaper    execution.Reaper
	Materials catalog.Materials
	Secrets   secrets.Provider
	Agents    secrets.Agents
}

// logBuffer is a log that is read while it is written.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *logBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *logBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func (s *logBuffer) log() *slog.Logger { return slog.New(slog.NewTextHandler(s, nil)) }

const sampleToken = "c4nary-token-of-workers-0123456789"

// databaseWorker are the settings of a worker next to a server.
func databaseWorker(t *testing.T, s Settings) WorkerSettings {
	t.Helper()
	return WorkerSettings{
		Executor: Executor{
			DataDir: filepath.Join(t.TempDir(), "worker"), RunsDir: filepath.Join(t.TempDir(), "runs"), Executors: 2,
			Log: slog.New(slog.DiscardHandler),
		},
		Install: Install{DB: s.DB},
		Labels:  map[string]string{"site": "north"},
	}
}

// TestWorkerGraph validates a worker over each store, and one over the relay.
func TestWorkerGraph(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*WorkerSettings){
		SQLite:   func(s *WorkerSettings) { s.DB = "writ.db" },
		Postgres: func(s *WorkerSettings) { s.DB = "postgres://writ@localhost/writ" },
		"relay":  func(s *WorkerSettings) { s.Server, s.Token = "https://writ.example.com", sampleToken },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := databaseWorker(t, Settings{})
			change(&s)
			if err := s.Validate(); err != nil {
				t.Fatal(err)
			}
			dir, err := openDataDir(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = dir.close() }()
			options, err := s.options(dir)
			if err != nil {
				t.Fatal(err)
			}
			if err := fx.ValidateApp(base(&s.Executor, dir), options, fx.Invoke(func(workerPort) {})); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestDatabaseWorker executes the runs of a server that executes nothing, also with its credentials.
func TestDatabaseWorker(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{SQLite, Postgres} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s := sampleSettings(t)
			s.OIDC, s.SAML, s.Open, s.Executors = OIDC{}, SAML{}, true, 0
			s.DataDir = filepath.Join(t.TempDir(), "data")
			s.DB = dbtest.Fresh(t, db.Engine(engine), migrations.FS)
			srv := start(t, s)
			defer srv.stop(t)
			var log logBuffer
			w := databaseWorker(t, s)
			w.Log, w.EncryptionKeyFile = log.log(), filepath.Join(s.DataDir, "encryption.key")
			defer startWorker(t, w)()
			if text := log.String(); !strings.Contains(text, "msg=ready name=wkr_") ||
				!strings.Contains(text, "kind=worker queues=[default] executors=2") {
				t.Errorf("it says %q", text)
			}
			cred := srv.post(t, "/v1/credentials",
				`{"name": "c", "kind": "token", "secret": {"token": "correct horse battery"}}`)
			id := srv.post(t, "/v1/runs",
				`{"tool": "bash", "command": "test \"$TOKEN\" = 'correct horse battery' && echo fine", "credential_ids": ["`+
					cred+`"]}`)
			if got := srv.ended(t, id); !strings.Contains(got, `"succeeded"`) {
				t.Errorf("%s", got)
			}
			// A worker reports itself beside its runs.
			waittest.Eventually(t, 30*time.Second, "the fleet has the worker", func() bool {
				_, fleet := srv.get(t, "/v1/workers", "")
				return strings.Contains(fleet, `"kind":"worker"`) && strings.Contains(fleet, `"site":"north"`)
			})
			if _, err := os.Stat(filepath.Join(w.DataDir, "encryption.key")); err == nil {
				t.Error("a worker made a key")
			}
			if _, err := NewWorker(w); err == nil || !strings.Contains(err.Error(), "another writ process uses") {
				t.Errorf("a second worker over the directory: %v", err)
			}
		})
	}
}

// TestWorkerWaitsForTheSchema: a worker migrates nothing; it waits for a server to.
func TestWorkerWaitsForTheSchema(t *testing.T) {
	t.Parallel()
	s := sampleSettings(t)
	s.OIDC, s.SAML, s.Open = OIDC{}, SAML{}, true
	w := databaseWorker(t, s)
	if _, err := NewWorker(w); err == nil || !strings.Contains(err.Error(), "db: ") {
		t.Errorf("over a file that does not exist: %v", err)
	}
	if err := os.WriteFile(s.DB, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var log logBuffer
	w.Log = log.log()
	worker, err := NewWorker(w)
	if err != nil {
		t.Fatal(err)
	}
	began := make(chan error, 1)
	go func() { began <- worker.Start(t.Context()) }()
	waittest.Eventually(t, 30*time.Second, "it waits", func() bool {
		return strings.Contains(log.String(), "waits for a server")
	})
	srv := start(t, s)
	defer srv.stop(t)
	if err := <-began; err != nil {
		t.Fatal(err)
	}
	stopWorker(t, worker)
}

// TestBorrowedKeys finds the keys of the servers.
func TestBorrowedKeys(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	own, server := filepath.Join(dir, ".writ-worker"), filepath.Join(dir, ".writ")
	for _, d := range []string{own, server} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	i := Install{DB: filepath.Join(dir, "writ.db")}
	look := func(what, file, in string) {
		t.Helper()
		from, err := i.serverKeys(own)
		if err != nil || from.File != file || from.Dir != in || !from.Existing {
			t.Errorf("%s: %+v %v", what, from, err)
		}
	}
	look("there is none", "", own)
	key := []byte("k\n")
	if err := os.WriteFile(filepath.Join(server, "encryption.key"), key, 0o600); err != nil {
		t.Fatal(err)
	}
	look("the server's", filepath.Join(server, "encryption.key"), own)
	if err := os.WriteFile(filepath.Join(own, "encryption.key"), key, 0o600); err != nil {
		t.Fatal(err)
	}
	look("its own", "", own)
	i.EncryptionKeyFile = "given"
	look("as told", "given", own)
}

// TestWorkerDirectories: a worker never takes the directory of a server.
func TestWorkerDirectories(t *testing.T) {
	t.Parallel()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ dir, db, server, want string }{
		{"", "/a/prod.db", "", "/a/.prod-worker"}, {"", "postgres://x/writ", "", filepath.Join(here, ".writ-worker")},
		{"", "", "https://x", filepath.Join(here, ".writ-worker")}, {"/b", "/a/prod.db", "", "/b"},
		{"/b", "", "https://x", "/b"},
	} {
		s := WorkerSettings{Executor: Executor{DataDir: c.dir}, Install: Install{DB: c.db}, Relay: Relay{Server: c.server}}
		if got, err := s.dataDir(); err != nil || got != c.want {
			t.Errorf("%+v: %s %v", c, got, err)
		}
	}
}

// startWorker starts a worker; the returned function stops it.
func startWorker(t *testing.T, s WorkerSettings) (stop func()) {
	t.Helper()
	w, err := NewWorker(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return func() { stopWorker(t, w) }
}

func stopWorker(t *testing.T, w *Worker) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := w.Stop(ctx); err != nil {
		t.Errorf("stop: %v", err)
	}
}

// post creates something on an open install and returns its id.
func (s started) post(t *testing.T, path, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	var made struct{ ID string }
	if err = errors.Join(err, json.Unmarshal(raw, &made)); err != nil || resp.StatusCode != http.StatusCreated {
		t.Fatalf("%s: %d %s %v", path, resp.StatusCode, raw, err)
	}
	return made.ID
}

// ended waits for the end of a run on an open install and returns its record.
func (s started) ended(t *testing.T, id string) (record string) {
	t.Helper()
	waittest.Eventually(t, 30*time.Second, id+" ends", func() bool {
		_, record = s.get(t, "/v1/runs/"+id, "")
		return strings.Contains(record, `"ended_at"`)
	})
	return record
}
