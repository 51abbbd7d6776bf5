package harness

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	"github.com/writ-automation/writ/platform/db/dbtest"
)

// Options of a server under test. The zero value is SQLite in a fresh directory with the default settings.
type Options struct {
	DB    string      // a postgres:// address; empty is SQLite below Dir
	Dir   string      // the server's directory, kept over restarts; empty makes one
	Flags []string    // more flags of serve
	Env   []string    // more environment, KEY=value
	Tags  []string    // build tags, or Release
	Main  string      // the import path of another main that calls cli.Execute; empty is the stock binary
	Admin string      // the admin token of an earlier start
	TLS   *tls.Config // what clients trust; the server was given a certificate by Flags
	Wrap  []string    // a program, with its arguments, that turns itself into the server, such as prlimit
}

// WithoutPrograms is an environment in which the server finds no program, so that its doctor starts none.
const WithoutPrograms = "PATH=/none"

// Server is one running writ process.
type Server struct {
	Client
	Options
	*Process
	t testing.TB
}

// Start starts a server and waits until it is ready. The test's end stops it.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	s, err := Launch(t, o)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return s
}

// Launch is Start for tests that expect the server not to come up.
func Launch(t testing.TB, o Options) (*Server, error) {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
		if o.DB == "" { // its migrations are a quarter of a first start
			dbtest.Copy(t, filepath.Join(o.Dir, "writ.db"), migrations.FS)
		}
	}
	if o.DB == "" {
		o.DB = filepath.Join(o.Dir, "writ.db")
	}
	// The port is 0 and is read from the server's output: a port chosen beforehand may be taken by another server
	// meanwhile.
	args := append([]string{"serve", "--addr", "127.0.0.1:0", "--db", o.DB, "--data-dir", filepath.Join(o.Dir, "data")},
		append(showShared(), o.Flags...)...)
	line := append(append(slices.Clone(o.Wrap), BinaryOf(t, o.Main, o.Tags...)), args...)
	p, err := launch(t, "server", o.Dir, o.Env, line)
	if err != nil {
		return nil, err
	}
	s := &Server{Options: o, Process: p, t: t}
	s.Client = Client{Token: o.Admin, t: t}
	if o.TLS != nil {
		transport := &http.Transport{TLSClientConfig: o.TLS, ForceAttemptHTTP2: true}
		t.Cleanup(transport.CloseIdleConnections)
		s.Via = &http.Client{Transport: transport}
	}
	if err := s.waitReady(startLimit); err != nil {
		return s, err
	}
	if s.Token == "" {
		s.Token = tokenForm.FindString(s.Output())
		s.Admin = s.Token
	}
	return s, nil
}

var readyForm = regexp.MustCompile(`msg=ready address=(https?://[^\s]+)`)

var tokenForm = regexp.MustCompile(`writ_[0-9A-Za-z]{32}_[0-9A-Za-z]{6}`)

// startLimit is how long a server or worker may take to be ready. Under the race detector, beside dozens of others, a
// start takes more than a minute.
const startLimit = 5 * time.Minute

func (s *Server) waitReady(limit time.Duration) error {
	start := time.Now()
	for time.Since(start) < limit {
		select {
		case <-s.done:
			return fmt.Errorf("writ ended before it was ready: %w\n%s", errors.Join(s.err, errors.New("exit")), s.Output())
		case <-time.After(min(max(time.Since(start)/16, time.Millisecond), 10*time.Millisecond)):
		}
		found := readyForm.FindStringSubmatch(s.Output())
		if found == nil {
			continue
		}
		s.URL = found[1]
		resp, err := s.via().Get(s.URL + "/readyz")
		if err != nil {
			continue
		}
		_ = resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return nil
		}
	}
	return fmt.Errorf("writ was not ready in %s\n%s", limit, s.Output())
}

// Again starts another process over the same directory and database.
func (s *Server) Again() *Server {
	s.t.Helper()
	return Start(s.t, s.Options)
}
