package git_test

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/git"
	"github.com/writ-automation/writ/platform/egress"
	"github.com/writ-automation/writ/platform/egress/egresstest"
	"github.com/writ-automation/writ/platform/sshtest"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/secret"
)

const canary = "c4nary/p@ss:word"

// gitServer is git http-backend over TLS as example.com, a name that only the test's resolver knows.
type gitServer struct {
	*httptest.Server
	port  string
	ca    string
	front atomic.Value // func(http.ResponseWriter, *http.Request) bool, true if it responded
}

func newGitServer(t *testing.T, root string) *gitServer {
	t.Helper()
	out, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	backend := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(out)), "git-http-backend"), Dir: root, Stderr: io.Discard,
		Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_COUNT=1",
			"GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"},
	}
	f := &gitServer{ca: filepath.Join(t.TempDir(), "ca.pem")}
	f.front.Store(func(http.ResponseWriter, *http.Request) bool { return false })
	f.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !f.front.Load().(func(http.ResponseWriter, *http.Request) bool)(w, r) {
			backend.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(f.Close)
	f.Config.ErrorLog = nil
	_, f.port, _ = net.SplitHostPort(f.Listener.Addr().String())
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.Certificate().Raw})
	if err := os.WriteFile(f.ca, block, 0o600); err != nil {
		t.Fatal(err)
	}
	return f
}

// login requires a name and the canary as password.
func (f *gitServer) login(name string) {
	f.front.Store(func(w http.ResponseWriter, r *http.Request) bool {
		user, password, _ := r.BasicAuth()
		if user == name && password == canary {
			return false
		}
		w.Header().Set("WWW-Authenticate", "Basic")
		http.Error(w, "who are you? "+password, http.StatusUnauthorized)
		return true
	})
}

func overTLS(t *testing.T) (*fixture, *gitServer, *repo) {
	t.Helper()
	root := t.TempDir()
	r := newRepo(t, filepath.Join(root, "a.git"))
	r.write("site.yml", "x")
	r.commit("first")
	f := newGitServer(t, root)
	w := newFixture(t, func(c *git.Config) {
		c.CAFile = f.ca
		c.Resolver = egresstest.NewNames(t, map[string][]string{
			"example.com": {"127.0.0.1"}, "metadata.example.com": {"169.254.169.254"}, "inside.example.net": {"127.0.0.1"},
		}).Resolver()
	})
	return w, f, r
}

func TestFetchOverTLS(t *testing.T) {
	t.Parallel()
	w, f, r := overTLS(t)
	address := "https://example.com:" + f.port + "/a.git"
	want := r.git("rev-parse", "HEAD")
	if got := w.fetch(catalog.Repository{ProjectID: "open", URL: address}); got != want {
		t.Errorf("%s, not %s", got, want)
	}
	f.login("someone")
	_, err := w.Fetch(t.Context(), catalog.Repository{ProjectID: "open", URL: address})
	syncFailed(t, err, canary)
	for name, c := range map[string]struct {
		user  string
		url   string
		login catalog.Login
	}{
		"a name and a password": {"someone", address, catalog.Login{Username: "someone", Password: canary}},
		"a name in the address": {"someone", strings.Replace(address, "//", "//someone@", 1),
			catalog.Login{Password: canary}},
		"a token without any name": {"git", address, catalog.Login{Password: canary}},
	} {
		f.login(c.user)
		if got := w.fetch(catalog.Repository{ProjectID: "p", URL: c.url, Login: c.login}); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
	_, err = w.Fetch(t.Context(), catalog.Repository{ProjectID: "p", URL: address,
		Login: catalog.Login{Username: "other", Password: canary}})
	syncFailed(t, err, canary, "c4nary")
	none := catalog.Repository{ProjectID: "none", URL: address + "x",
		Login: catalog.Login{Username: "git", Password: canary}}
	syncFailed(t, second(w.Fetch(t.Context(), none)), canary)
	for _, path := range []string{"config", "FETCH_HEAD"} {
		b, err := os.ReadFile(filepath.Join(w.mirror("p"), path))
		if err == nil && (strings.Contains(string(b), "c4nary") || strings.Contains(string(b), "example.com")) {
			t.Errorf("%s holds where it came from: %s", path, b)
		}
	}
}

// TestLoginStaysHome uses a server that redirects the client to another server.
func TestLoginStaysHome(t *testing.T) {
	t.Parallel()
	w, f, _ := overTLS(t)
	var hits atomic.Int32
	other := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		hits.Add(1)
	})) // its certificate is trusted too
	t.Cleanup(other.Close)
	for _, to := range []string{other.URL, f.URL + "/elsewhere", "file:///etc", "http://169.254.169.254/latest"} {
		f.front.Store(func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, to+r.URL.Path+"?"+r.URL.RawQuery, http.StatusFound)
			return true
		})
		_, err := w.Fetch(t.Context(), catalog.Repository{
			ProjectID: "p", URL: "https://example.com:" + f.port + "/a.git",
			Login: catalog.Login{Username: "someone", Password: canary},
		})
		syncFailed(t, err, canary)
	}
	if hits.Load() > 0 {
		t.Error("a redirect was followed")
	}
}

// TestAddressesAreValidated uses names with forbidden addresses, and an untrusted certificate authority.
// Keeps T11, T14.
func TestAddressesAreValidated(t *testing.T) {
	t.Parallel()
	w, f, _ := overTLS(t)
	for _, address := range []string{
		"https://metadata.example.com/a.git", "https://169.254.169.254/a.git", "ssh://git@metadata.example.com/a",
		"git@169.254.169.254:a", "git://169.254.1.1/a",
		"https://[::ffff:169.254.169.254]/a.git", "https://[64:ff9b::a9fe:a9fe]/a", "git@metadata.example.com:a",
		"https://100.100.100.200/a", "git://[fe80::1]/a",
	} {
		_, err := w.Fetch(t.Context(), catalog.Repository{ProjectID: "p", URL: address})
		syncFailed(t, err)
		if !errors.Is(err, egress.ErrRefused) && !strings.Contains(err.Error(), "not allowed") {
			t.Errorf("%s: %v", address, err)
		}
	}
	_, err := w.Fetch(t.Context(), catalog.Repository{ProjectID: "p",
		URL: "https://inside.example.net:" + f.port + "/a.git"})
	syncFailed(t, err) // the certificate is for another name
	strict := newFixture(t, func(c *git.Config) { c.Egress = egress.Policy{}; c.CAFile = f.ca })
	_, err = strict.Fetch(t.Context(), catalog.Repository{ProjectID: "p", URL: "https://127.0.0.1:" + f.port + "/a.git"})
	syncFailed(t, err)
	distrustful := newFixture(t, nil)
	_, err = distrustful.Fetch(t.Context(),
		catalog.Repository{ProjectID: "p", URL: "https://127.0.0.1:" + f.port + "/a.git"})
	syncFailed(t, err)
}

// sshd starts a server that accepts one key, and returns its port and the private key.
func sshd(t *testing.T) (port, key string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "client")
	if err := sshtest.WriteKey(path, "client"); err != nil {
		t.Fatal(err)
	}
	s := sshtest.New(t, sshtest.Config{Lines: []string{"AuthorizedKeysFile " + path + ".pub"}})
	return fmt.Sprint(s.Port()), read(t, path)
}

func TestFetchOverSSH(t *testing.T) {
	t.Parallel()
	port, key := sshd(t)
	w := newFixture(t, func(c *git.Config) {
		c.Resolver = egresstest.NewNames(t, map[string][]string{"forge.example.com": {"127.0.0.1"}}).Resolver()
	})
	r := newRepo(t, filepath.Join(t.TempDir(), "with a 'quote'"))
	r.write("site.yml", "x")
	want := r.commit("first")
	me, err := exec.Command("id", "-un").Output()
	if err != nil {
		t.Fatal(err)
	}
	user := strings.TrimSpace(string(me))
	at := func(login string) string {
		return fmt.Sprintf("ssh://%sforge.example.com:%s%s", login, port, (&url.URL{Path: r.dir}).EscapedPath())
	}
	login := catalog.Login{Key: secret.Text(strings.ReplaceAll(strings.TrimSpace(key), "\n", "\r\n"))}
	if got := w.fetch(catalog.Repository{ProjectID: "p", URL: at(user + "@"), Login: login}); got != want {
		t.Errorf("%s, not %s", got, want)
	}
	login.Username = user
	if got := w.fetch(catalog.Repository{ProjectID: "q", URL: at(""), Login: login}); got != want {
		t.Errorf("%s, not %s", got, want)
	}
	hosts := filepath.Join(w.dir, "known_hosts")
	if known := read(t, hosts); !strings.HasPrefix(known, "[forge.example.com]:"+port+" ssh-ed25519 ") {
		t.Errorf("known hosts: %q", known)
	}
	_, err = w.Fetch(t.Context(), catalog.Repository{ProjectID: "p", URL: at(user + "@")})
	syncFailed(t, err, w.dir)
	if !strings.Contains(err.Error(), "Permission denied") {
		t.Errorf("without a key: %v", err)
	}
	_, err = w.Fetch(t.Context(), catalog.Repository{ProjectID: "p", URL: at(user + "@"),
		Login: catalog.Login{Key: "no key at all c4nary"}})
	syncFailed(t, err, w.dir, "c4nary")
	other, _ := sshd(t)
	if err := os.WriteFile(hosts, []byte(strings.ReplaceAll(read(t, hosts), "]:"+port+" ", "]:"+other+" ")),
		0o600); err != nil {
		t.Fatal(err)
	}
	_, err = w.Fetch(t.Context(), catalog.Repository{
		ProjectID: "p", URL: fmt.Sprintf("ssh://%s@forge.example.com:%s/x", user, other), Login: login,
	})
	syncFailed(t, err)
	if !strings.Contains(err.Error(), "Host key verification failed") {
		t.Errorf("another key of the host: %v", err)
	}
}

func TestFetchOverGit(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	r := newRepo(t, filepath.Join(root, "a"))
	want := r.commit("first")
	port := gitDaemon(t, root)
	w := newFixture(t, func(c *git.Config) {
		c.Resolver = egresstest.NewNames(t, map[string][]string{"forge.example.com": {"127.0.0.1"}}).Resolver()
	})
	if got := w.fetch(catalog.Repository{ProjectID: "p",
		URL: fmt.Sprintf("git://forge.example.com:%d/a", port)}); got != want {
		t.Errorf("%s, not %s", got, want)
	}
}

// gitDaemon serves the repositories below a directory by the git protocol, with one process per connection. It returns
// the port.
func gitDaemon(t *testing.T, root string) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var served sync.WaitGroup
	t.Cleanup(func() {
		_ = l.Close()
		served.Wait()
	})
	served.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			served.Go(func() {
				defer func() { _ = c.Close() }()
				f, err := c.(*net.TCPConn).File()
				if err != nil {
					return
				}
				defer func() { _ = f.Close() }()
				cmd := exec.Command("git", "-c", "safe.directory=*", "daemon", "--inetd", "--export-all", "--base-path="+root)
				cmd.Stdin, cmd.Stdout = f, f
				_ = cmd.Run() // the client reports errors
			})
		}
	})
	return l.Addr().(*net.TCPAddr).Port
}

// TestCancelledFetch cancels a fetch during a response.
func TestCancelledFetch(t *testing.T) {
	t.Parallel()
	w, f, r := overTLS(t)
	at := catalog.Repository{ProjectID: "p", URL: "https://example.com:" + f.port + "/a.git"}
	w.fetch(at)
	want := r.commit("next")
	reached := make(chan struct{}, 8)
	f.front.Store(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPost {
			return false
		}
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		reached <- struct{}{}
		<-r.Context().Done()
		return true
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- second(w.Fetch(ctx, at)) }()
	<-reached
	waiting := make(chan error, 1)
	go func() { waiting <- second(w.Fetch(ctx, at)) }() // waits for the first fetch
	cancel()
	for _, c := range []chan error{done, waiting} {
		if err := <-c; !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	}
	if left := processes(t, w.dir); len(left) > 0 {
		t.Errorf("processes: %v", left)
	}
	locks, err := filepath.Glob(filepath.Join(w.mirror("p"), "*.lock"))
	if err != nil || len(locks) > 0 {
		t.Errorf("%v %v", locks, err)
	}
	f.front.Store(func(http.ResponseWriter, *http.Request) bool { return false })
	if got := w.fetch(at); got != want {
		t.Errorf("afterwards it is at %s, not %s", got, want)
	}
}

// processes returns the command lines of processes with the directory in their arguments or environment.
func processes(t *testing.T, dir string) []string {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, path := range all {
		line, err := os.ReadFile(filepath.Join(path, "cmdline"))
		env, envErr := os.ReadFile(filepath.Join(path, "environ"))
		if err == nil && envErr == nil && strings.Contains(string(line)+string(env), dir) {
			out = append(out, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return out
}

// TestSlowServer reaches the time limit of a fetch.
func TestSlowServer(t *testing.T) {
	t.Parallel()
	_, f, _ := overTLS(t)
	f.front.Store(func(_ http.ResponseWriter, r *http.Request) bool { <-r.Context().Done(); return true })
	w := newFixture(t, func(c *git.Config) { c.CAFile, c.Timeout = f.ca, 300*time.Millisecond })
	_, err := w.Fetch(t.Context(), catalog.Repository{ProjectID: "p", URL: "https://127.0.0.1:" + f.port + "/a.git"})
	syncFailed(t, err)
	if !strings.Contains(err.Error(), "within 300ms") {
		t.Error(err)
	}
}
