package compose

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	portexecution "github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/identity"
)

var tokenForm = regexp.MustCompile(`writ_[0-9A-Za-z]{32}_[0-9A-Za-z]{6}`)

type started struct {
	*Server
	url string
	out *bytes.Buffer
}

func start(t *testing.T, s Settings) started {
	t.Helper()
	out := &bytes.Buffer{}
	s.Announce = out
	srv, err := NewServer(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := srv.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return started{Server: srv, url: "http://" + srv.Addr(), out: out}
}

func (s started) stop(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := s.Stop(ctx); err != nil {
		t.Errorf("stop: %v", err)
	}
}

func (s started) get(t *testing.T, path, token string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// TestLifeOfAnInstall starts an install for the first and the second time on both engines.
func TestLifeOfAnInstall(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{SQLite, Postgres} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s := sampleSettings(t)
			s.DataDir = filepath.Join(t.TempDir(), "data")
			if engine == Postgres {
				s.DB = dbtest.Fresh(t, db.Postgres, nil)
			}
			first := start(t, s)
			token := tokenForm.FindString(first.out.String())
			if strings.Count(first.out.String(), "\n") != 1 || token == "" {
				t.Fatalf("the first start prints %q", first.out)
			}
			if code, _ := first.get(t, "/v1/runs", token); code != http.StatusOK {
				t.Errorf("with the token: %d", code)
			}
			if code, _ := first.get(t, "/v1/runs", ""); code != http.StatusUnauthorized {
				t.Errorf("without a token: %d", code)
			}
			if code, body := first.get(t, "/metrics", ""); code != http.StatusOK ||
				!strings.Contains(body, "writ_queue_depth") || !strings.Contains(body, "writ_db_commits_total") {
				t.Errorf("metrics: %d", code)
			}
			accounts(t, s.DB, first)
			worker, err := os.ReadFile(filepath.Join(s.DataDir, workerFile))
			if err != nil {
				t.Fatal(err)
			}
			first.stop(t)
			second := start(t, s)
			defer second.stop(t)
			if second.out.Len() > 0 {
				t.Errorf("the second start prints %q", second.out)
			}
			if code, _ := second.get(t, "/v1/runs", token); code != http.StatusOK {
				t.Errorf("with the token again: %d", code)
			}
			if again, _ := os.ReadFile(filepath.Join(s.DataDir, workerFile)); !bytes.Equal(worker, again) {
				t.Errorf("the worker was %q and is %q", worker, again)
			}
		})
	}
}

// accounts mints and revokes while a server runs, which sees both at once.
func accounts(t *testing.T, url string, s started) {
	t.Helper()
	a, err := OpenAccounts(t.Context(), url, sampleSettings(t).Log)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Close(context.Background()) }()
	admin, err := a.Accounts.ByName(t.Context(), "admin")
	if err != nil {
		t.Fatal(err)
	}
	tok, secret, err := a.Tokens.Mint(t.Context(), identity.NewToken{Name: "ci", UserID: admin.ID, TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if code, _ := s.get(t, "/v1/runs", secret); code != http.StatusOK {
		t.Errorf("a token made beside the server: %d", code)
	}
	if err := a.Tokens.Revoke(t.Context(), tok.ID); err != nil {
		t.Fatal(err)
	}
	if code, _ := s.get(t, "/v1/runs", secret); code != http.StatusUnauthorized {
		t.Errorf("the next request after the revocation: %d", code)
	}
}

func TestOpenInstall(t *testing.T) {
	t.Parallel()
	s := sampleSettings(t)
	s.Open, s.OIDC, s.SAML = true, OIDC{}, SAML{}
	srv := start(t, s)
	defer srv.stop(t)
	if srv.out.Len() > 0 {
		t.Errorf("an open install prints %q", srv.out)
	}
	if code, _ := srv.get(t, "/v1/runs", ""); code != http.StatusOK {
		t.Errorf("without a token: %d", code)
	}
}

func TestOneServerPerDirectory(t *testing.T) {
	t.Parallel()
	s := sampleSettings(t)
	srv := start(t, s)
	if _, err := NewServer(s); err == nil || !strings.Contains(err.Error(), "another writ process uses") {
		t.Errorf("a second server: %v", err)
	}
	info, err := os.Stat(srv.dir.root)
	if err != nil || info.Mode().Perm() != 0o700 || filepath.Base(srv.dir.root) != ".writ" {
		t.Errorf("%s %v %v", srv.dir.root, info.Mode(), err)
	}
	srv.stop(t)
	start(t, s).stop(t)
}

func TestTakenAddress(t *testing.T) {
	t.Parallel()
	s := sampleSettings(t)
	srv := start(t, s)
	defer srv.stop(t)
	other := sampleSettings(t)
	other.Addr = srv.Addr()
	if _, err := NewServer(other); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("%v", err)
	}
}

func TestBadDatabase(t *testing.T) {
	t.Parallel()
	s := sampleSettings(t)
	s.DataDir = t.TempDir()
	s.DB = filepath.Join(t.TempDir(), "corrupt.db")
	if err := os.WriteFile(s.DB, bytes.Repeat([]byte("not a database "), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	srv, err := NewServer(s)
	if err == nil {
		err = srv.Start(t.Context())
	}
	if err == nil || strings.Contains(err.Error(), "fx.") || strings.Contains(err.Error(), "github.com") {
		t.Errorf("%v", err)
	}
	if _, err := OpenAccounts(t.Context(), filepath.Join(t.TempDir(), "none.db"), s.Log); err == nil {
		t.Error("a database that does not exist is opened")
	}
}

func TestDataDirectory(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	d, err := openDataDir(root)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.close() }()
	if info, _ := os.Stat(root); info.Mode().Perm() != 0o700 {
		t.Errorf("others may read it: %v", info.Mode())
	}
	id, err := d.worker("")
	named, err2 := d.worker("edge")
	if err != nil || err2 != nil || named != "edge~"+id[len(id)-8:] ||
		portexecution.ShownName(portexecution.RelayPrefix+named) != "edge" || portexecution.ShownName(id) != id {
		t.Errorf("%q %q %v %v", id, named, err, err2)
	}
	if err := os.WriteFile(d.path(workerFile), []byte("wkr_broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := d.worker(""); err == nil {
		t.Error("a broken id is taken")
	}
	for db, want := range map[string]string{"/a/prod.db": "/a/.prod", "/a/writ.db": "/a/.writ", "/a/plain": "/a/.plain"} {
		if got, err := (&Settings{Install: Install{DB: db}}).dataDir(); err != nil || got != want {
			t.Errorf("beside %s: %s %v", db, got, err)
		}
	}
}
