package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

const givenToken = "writ_S3cretS3cretS3cretS3cretS3cretS3_abc123"

// signInServer answers the routes of a sign-in, and records which tokens came.
type signInServer struct {
	*httptest.Server
	mu        sync.Mutex
	tokens    []string // of requests that had one
	challenge string
	oidc      bool
	exchanged int
}

func newSignInServer(t *testing.T, start func(http.Handler) *httptest.Server) *signInServer {
	t.Helper()
	s := &signInServer{}
	problem := func(w http.ResponseWriter, status int, reason string) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"error":"refused","reason":%q}`, reason)
	}
	session := func(w http.ResponseWriter) { _, _ = io.WriteString(w, `{"token":"`+givenToken+`"}`) }
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/auth/login", func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Username, Password string }
		if _ = json.NewDecoder(r.Body).Decode(&in); in.Username != "ada" || in.Password != "correct horse" {
			problem(w, http.StatusUnauthorized, "bad_login")
			return
		}
		session(w)
	})
	mux.HandleFunc("GET /auth/{protocol}/login", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		switch {
		case !s.oidc || r.PathValue("protocol") != "oidc":
			problem(w, http.StatusNotFound, "sign_in_disabled")
		case q.Get("cli") == "0":
			problem(w, http.StatusBadRequest, "invalid")
		default:
			s.mu.Lock()
			s.challenge = q.Get("challenge")
			s.mu.Unlock()
			http.Redirect(w, r, "http://127.0.0.1:"+q.Get("cli")+"/?code=c0de&state="+q.Get("state"), http.StatusSeeOther)
		}
	})
	mux.HandleFunc("POST /v1/auth/exchange", func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Code, Verifier string }
		_ = json.NewDecoder(r.Body).Decode(&in)
		sum := sha256.Sum256([]byte(in.Verifier))
		s.mu.Lock()
		defer s.mu.Unlock()
		s.exchanged++
		if in.Code != "c0de" || base64.RawURLEncoding.EncodeToString(sum[:]) != s.challenge {
			problem(w, http.StatusUnauthorized, "bad_sign_in")
			return
		}
		session(w)
	})
	mux.HandleFunc("POST /v1/auth/logout", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /v1/runs", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"runs":[],"total":0}`)
	})
	mux.HandleFunc("GET /v1/auth/me", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+givenToken {
			problem(w, http.StatusUnauthorized, "bad_token")
			return
		}
		_, _ = io.WriteString(w, `{"user":{"id":"usr_1","username":"ada","role":"operator"},"role":"operator",
			"token":{"id":"tok_1","kind":"session","name":"session","expires_at":"2036-01-05T20:30:00Z","scopes":["read"]}}`)
	})
	s.Server = start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if token := r.Header.Get("Authorization"); token != "" {
			s.mu.Lock()
			s.tokens = append(s.tokens, r.URL.Path+" "+token)
			s.mu.Unlock()
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// sent returns the tokens that came since the last call.
func (s *signInServer) sent() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := strings.Join(s.tokens, "\n")
	s.tokens = nil
	return all
}

// home is the home directory of a user with a configuration of its own.
type home struct {
	t       *testing.T
	dir     string
	keyring keyring
}

func (u home) run(ctx context.Context, env []string, in string, args ...string) (code int, out, errs string) {
	u.t.Helper()
	var o, e bytes.Buffer
	w := environment{out: &o, err: &e, in: strings.NewReader(in), keyring: u.keyring,
		environ: append([]string{"XDG_CONFIG_HOME=" + u.dir, "HOME=" + u.dir}, env...)}
	code = execute(ctx, w, args)
	if all := o.String() + e.String(); strings.Contains(all, givenToken) || strings.Contains(all, "correct horse") {
		u.t.Errorf("%q prints a secret: %s", args, all)
	}
	return code, o.String(), e.String()
}

// must runs a command that succeeds.
func (u home) must(in string, args ...string) string {
	u.t.Helper()
	code, out, errs := u.run(u.t.Context(), nil, in, args...)
	if code != exitDone {
		u.t.Fatalf("%q: exit %d, %q, %q", args, code, out, errs)
	}
	return out + errs
}

func newHome(t *testing.T) home {
	t.Helper()
	// configDir differs on other systems; HOME is below the folder there as well.
	return home{t: t, dir: t.TempDir()}
}

// store is where the user's contexts are.
func (u home) store() contextStore {
	return openContexts(environment{environ: []string{"XDG_CONFIG_HOME=" + u.dir, "HOME=" + u.dir}, keyring: u.keyring})
}

// memory is a keyring.
type memory map[string]string

func (m memory) Get(service, user string) (string, error) {
	if s, ok := m[service+"/"+user]; ok {
		return s, nil
	}
	return "", errNoSecret
}
func (m memory) Set(service, user, secret string) error { m[service+"/"+user] = secret; return nil }
func (m memory) Delete(service, user string) error {
	if _, err := m.Get(service, user); err != nil {
		return err
	}
	delete(m, service+"/"+user)
	return nil
}

// TestLoginByPassword stores a context that later commands use, and a token in a file of the user.
func TestLoginByPassword(t *testing.T) {
	t.Parallel()
	s, u := newSignInServer(t, httptest.NewServer), newHome(t)
	host := strings.TrimPrefix(s.URL, "http://")
	printed := u.must("correct horse\n", "login", s.URL, "--user", "ada")
	if !strings.Contains(printed, "as ada (operator)") || !strings.Contains(printed, u.store().tokens()) ||
		!strings.Contains(printed, "there is no keyring") {
		t.Errorf("%q", printed)
	}
	for name, mode := range map[string]os.FileMode{
		u.store().dir: 0o700, u.store().file(): 0o600, u.store().tokens(): 0o600,
	} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v %v", name, info.Mode(), err)
		}
	}
	if raw, err := os.ReadFile(u.store().file()); err != nil || bytes.Contains(raw, []byte(givenToken)) {
		t.Errorf("%s %v", raw, err)
	}
	s.sent()
	u.must("", "runs")
	if sent := s.sent(); sent != "/v1/runs Bearer "+givenToken {
		t.Errorf("sent %q", sent)
	}
	if out := u.must("", "whoami"); !strings.Contains(out, "ada, operator") || !strings.Contains(out, host) ||
		!strings.Contains(out, "password") || !strings.Contains(out, "read") || !strings.Contains(out, "2036") {
		t.Errorf("%s", out)
	}
	for what, c := range map[string]struct {
		in   string
		args []string
		code int
		err  string
	}{
		"wrong password":   {"wrong\n", []string{"login", s.URL, "--user", "ada"}, exitFailed, "refused"},
		"no password":      {"", []string{"login", s.URL, "--user", "ada"}, exitFailed, "empty"},
		"no way":           {"", []string{"login", s.URL}, exitUsage, "--with-token"},
		"no token":         {" \n", []string{"login", s.URL, "--with-token"}, exitUsage, "one token"},
		"a wrong token":    {"writ_other", []string{"login", s.URL, "--with-token"}, exitFailed, "refused"},
		"two ways":         {"", []string{"login", s.URL, "--with-token", "--user", "ada"}, exitUsage, "user"},
		"a wrong name":     {"", []string{"login", s.URL, "--context", "../x"}, exitUsage, "expected letters"},
		"another server":   {"", []string{"login", "http://other.test", "--context", host}, exitUsage, host},
		"a protocol":       {"", []string{"login", s.URL, "--browser", "ldap"}, exitUsage, "oidc or saml"},
		"with a password":  {"", []string{"login", "http://ada:pw@other.test"}, exitUsage, "without a user"},
		"an authority":     {"", []string{"login", s.URL, "--ca-file", "/nowhere"}, exitUsage, "--ca-file"},
		"no such context":  {"", []string{"runs", "--context", "prod"}, exitUsage, host},
		"no such default":  {"", []string{"context", "use", "prod"}, exitUsage, host},
		"nothing to show":  {"", []string{"context", "show", "prod"}, exitUsage, host},
		"no such deletion": {"", []string{"context", "delete", "prod"}, exitUsage, host},
	} {
		if code, _, errs := u.run(t.Context(), nil, c.in, c.args...); code != c.code || !strings.Contains(errs, c.err) {
			t.Errorf("%s: exit %d, %q", what, code, errs)
		}
	}
	u.must("", "runs") // the refusals changed nothing
	s.sent()
	if out := u.must("", "logout"); !strings.Contains(out, "signed out") {
		t.Errorf("%s", out)
	}
	if sent := s.sent(); sent != "/v1/auth/logout Bearer "+givenToken {
		t.Errorf("signing out sent %q", sent)
	}
	u.must("", "runs")
	if sent := s.sent(); sent != "" {
		t.Errorf("after signing out: %q", sent)
	}
	if raw, err := os.ReadFile(u.store().tokens()); err != nil || bytes.Contains(raw, []byte(givenToken)) {
		t.Errorf("%s %v", raw, err)
	}
}

// TestLoginByToken keeps a given token in the keyring, and does not revoke it when the user signs out.
func TestLoginByToken(t *testing.T) {
	t.Parallel()
	s, u, held := newSignInServer(t, httptest.NewServer), newHome(t), memory{}
	u.keyring = held
	if printed := u.must(givenToken+"\n", "login", s.URL, "--with-token", "--context", "prod"); !strings.Contains(printed,
		"in the keyring") || len(held) != 1 {
		t.Errorf("%q, %d kept", printed, len(held))
	}
	if _, err := os.Stat(u.store().tokens()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a token is in a file as well: %v", err)
	}
	u.must("", "runs")
	if sent := s.sent(); !strings.HasSuffix(sent, "/v1/runs Bearer "+givenToken) {
		t.Errorf("sent %q", sent)
	}
	u.must("", "logout")
	if sent := s.sent(); sent != "" || len(held) != 0 {
		t.Errorf("signing out sent %q, %d kept", sent, len(held))
	}
	u.must(givenToken, "login", "--context", "prod", "--with-token")
	if out := u.must("", "context", "list", "-o", "json"); !strings.Contains(out, `"token_stored_in": "keyring"`) {
		t.Errorf("%s", out)
	}
	u.must("", "context", "delete", "--yes", "prod")
	if out := u.must("", "context", "list", "--jq", ".count"); out != "0\n" || len(held) != 0 {
		t.Errorf("%q, %d kept", out, len(held))
	}
}

// stuck is a keyring that never answers.
type stuck chan struct{}

func (s stuck) Get(string, string) (string, error) { <-s; return "", nil }
func (s stuck) Set(string, string, string) error   { <-s; return nil }
func (s stuck) Delete(string, string) error        { <-s; return nil }

// TestStuckKeyring: a keyring that hangs does not hang a command.
func TestStuckKeyring(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		hang := make(stuck)
		defer close(hang)
		s := contextStore{dir: dir, keyring: hang}
		begun := time.Now()
		where, cause, err := s.hold(t.Context(), "prod", "https://writ.test", givenToken, false)
		if where != inFile || cause == nil || err != nil || time.Since(begun) > keyringTimeout {
			t.Errorf("%s %v %v after %s", where, cause, err, time.Since(begun))
		}
		c := savedContext{Server: "https://writ.test", Token: inKeyring}
		if _, err := s.token(t.Context(), "prod", c); err == nil || !strings.Contains(err.Error(), "WRIT_TOKEN") {
			t.Errorf("%v", err)
		}
		if c.Token = inFile; !errors.Is(s.drop(t.Context(), "prod", c), nil) {
			t.Error("a token of the file needs the keyring")
		}
	})
}

// TestLoginsRace lets eight sign-ins change the contexts at once: none is lost.
func TestLoginsRace(t *testing.T) {
	t.Parallel()
	s, u := newSignInServer(t, httptest.NewServer), newHome(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() { u.must(givenToken, "login", s.URL, "--with-token", "--context", fmt.Sprint("c", i)) })
	}
	wg.Wait()
	held := map[string]heldToken{}
	if err := readYAML(u.store().tokens(), &held); err != nil || len(held) != 8 {
		t.Errorf("%d tokens, %v", len(held), err)
	}
	if out := u.must("", "context", "list", "--jq", ".count"); out != "8\n" {
		t.Errorf("%s contexts", out)
	}
	left, err := filepath.Glob(filepath.Join(u.store().dir, ".writ-*"))
	if len(left) != 0 || err != nil {
		t.Errorf("left behind: %q %v", left, err)
	}
}

// TestPrivateAuthority trusts an authority for its context only.
func TestPrivateAuthority(t *testing.T) {
	t.Parallel()
	s, u := newSignInServer(t, httptest.NewTLSServer), newHome(t)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := os.WriteFile(ca, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := u.run(t.Context(), nil, givenToken, "login", s.URL, "--with-token"); code != exitFailed ||
		!strings.Contains(errs, "--ca-file") {
		t.Errorf("exit %d, %q", code, errs)
	}
	u.must(givenToken, "login", s.URL, "--with-token", "--ca-file", ca)
	u.must("", "runs")
	other := newHome(t)
	if code, _, errs := other.run(t.Context(), []string{"WRIT_CA_FILE=" + ca, "WRIT_SERVER=" + s.URL}, "", "runs"); code !=
		exitDone {
		t.Errorf("exit %d, %q", code, errs)
	}
	if code, _, _ := other.run(t.Context(), nil, "", "runs", "--server", s.URL, "--ca-file", ca+"x"); code != exitUsage {
		t.Errorf("exit %d", code)
	}
}
