package cli

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/e2e/harness"
)

var tokenForm = regexp.MustCompile(`writ_[0-9A-Za-z]{32}_[0-9A-Za-z]{6}`)

// serveOnce starts a server in a directory that is expected to fail, and returns how it ended.
func serveOnce(t *testing.T, dir string, args ...string) (code int, out, errs string) {
	t.Helper()
	p := serverIn(t, dir, args...)
	return p.end(), p.out.String(), p.err.String()
}

func serverIn(t *testing.T, dir string, args ...string) *process {
	t.Helper()
	u := user{t: t}
	cmd := u.command(append([]string{"serve"}, args...)...)
	cmd.Dir = dir
	return u.run(cmd)
}

// listing is every path below a directory, without the files that SQLite makes beside the database of another program.
func listing(t *testing.T, dir string) (paths []string) {
	t.Helper()
	if err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if !strings.Contains(path, "foreign.db") {
			paths = append(paths, path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return paths
}

// TestFailingStarts shows that a start that fails names the flag and what to do, prints no token and leaves nothing
// behind.
func TestFailingStarts(t *testing.T) {
	t.Parallel()
	var lc net.ListenConfig
	taken, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	silent, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0") // accepts connections and never answers
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	closed, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	for name, c := range map[string]struct {
		args  []string
		code  int
		wants []string
	}{
		"a port in use": {[]string{"--addr", taken.Addr().String()}, 1, []string{"addr: ", "in use", "another port"}},
		"a TLS pair": {[]string{"--tls-cert", "bad.pem", "--tls-key", "bad.pem"}, 1,
			[]string{"tls-cert, tls-key: ", "both PEM"}},
		"no TLS pair": {[]string{"--tls-cert", "none.pem", "--tls-key", "none.pem"}, 1,
			[]string{"tls-cert, tls-key: ", "none.pem"}},
		"a policy file": {[]string{"--policy-file", "bad.yaml"}, 1, []string{"policy-file: bad.yaml: "}},
		"a licence":     {[]string{"--license", "bad.pem"}, 1, []string{"license: "}},
		"a configuration": {[]string{"--config", "bad.yaml"}, 2,
			[]string{"bad.yaml line 1: ", `"no-such-key"`}},
		"a directory":            {[]string{"--data-dir", "bad.pem/data"}, 1, []string{"data-dir: ", "this user can write"}},
		"a database's directory": {[]string{"--db", "none/writ.db"}, 1, []string{"db: ", "make the directory"}},
		"a database":             {[]string{"--db", "bad.pem"}, 1, []string{"db: "}},
		"no Postgres": {[]string{"--db", "postgres://u:canary@" + closed.Addr().String() + "/w", "--data-dir", "new"}, 1,
			[]string{"db: ", "refused"}},
		"a foreign database": {[]string{"--db", "foreign.db", "--data-dir", "data"}, 1, []string{"migrate the database: "}},
		"an existing directory": {[]string{"--db", "foreign.db", "--data-dir", "old"}, 1,
			[]string{"git: ", "not a directory"}},
		"a silent Postgres": {[]string{"--db", "postgres://u:canary@" + silent.Addr().String() + "/w?connect_timeout=1"}, 1,
			[]string{"db: "}},
		"a signing key":     {[]string{"--signing-key-file", "bad.pem"}, 1, []string{"signing-key-file: "}},
		"an encryption key": {[]string{"--encryption-key-file", "bad.pem"}, 1, []string{"encryption-key-file: "}},
		"SAML metadata": {[]string{"--saml-idp-metadata-file", "bad.pem", "--saml-base-url", "https://writ.example.com"}, 1,
			[]string{"saml-idp-metadata-file: "}},
		"a password for others": {[]string{"--admin-password-file", "open.txt"}, 1,
			[]string{"admin-password-file: ", "chmod 600"}},
		"a short password": {[]string{"--admin-password-file", "bad.pem"}, 1,
			[]string{"admin-password-file: ", "expected 12 to"}},
		"several flags": {[]string{"--trusted-proxies", "x", "--audit-witness-key", "y", "--addr", "z", "--log-level",
			"x"}, 2,
			[]string{"trusted-proxies: ", "audit-witness-key: ", "addr: ", "log-level: "}},
		"several files": {[]string{"--policy-file", "none.yaml", "--signing-key-file", "none.key"}, 1,
			[]string{"policy-file: ", "signing-key-file: "}},
		"a profile": {[]string{"--isolation-profile", "none"}, 2, []string{"isolation-profile: "}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for file, mode := range map[string]os.FileMode{"bad.pem": 0o600, "open.txt": 0o644, "bad.yaml": 0o600} {
				text := "canary\n"
				if file == "bad.yaml" {
					text = "no-such-key: 1\n"
				}
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), mode); err != nil {
					t.Fatal(err)
				}
			}
			existing(t, dir)
			before := listing(t, dir)
			args := c.args
			if c.args[0] != "--addr" {
				args = append([]string{"--addr", "127.0.0.1:0"}, args...)
			}
			code, out, errs := serveOnce(t, dir, args...)
			if code != c.code || out != "" || tokenForm.MatchString(errs) || strings.Contains(errs, "canary") {
				t.Errorf("exit %d, %q, %q", code, out, errs)
			}
			for _, want := range c.wants {
				if strings.Count(errs, want) != 1 {
					t.Errorf("%q does not say %q once", errs, want)
				}
			}
			if diff := cmp.Diff(before, listing(t, dir)); diff != "" {
				t.Errorf("it left: %s", diff)
			}
		})
	}
}

// existing makes two data directories, one of them with a file where a directory has to be, and a database of another
// program.
func existing(t *testing.T, dir string) {
	t.Helper()
	foreign, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "foreign.db"))
	if err == nil {
		_, err = foreign.ExecContext(t.Context(), "CREATE TABLE runs (id INTEGER)")
		err = errors.Join(err, foreign.Close())
	}
	err = errors.Join(err, os.Mkdir(filepath.Join(dir, "data"), 0o700), os.Mkdir(filepath.Join(dir, "old"), 0o700),
		os.WriteFile(filepath.Join(dir, "old", "projects"), nil, 0o600))
	if err != nil {
		t.Fatal(err)
	}
}

// TestFirstStart prints the token once, when the server answers already.
func TestFirstStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "password"), []byte("correct horse battery\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"--addr", "127.0.0.1:0", "--admin-password-file", "password"}
	p := serverIn(t, dir, args...)
	p.shows(p.out, "\n")
	p.shows(p.err, "msg=ready") // which another pipe carries
	token := tokenForm.FindString(p.out.String())
	address := regexp.MustCompile(`address=(\S+)`).FindStringSubmatch(p.err.String())
	if token == "" || address == nil || strings.Count(p.out.String(), token) != 1 {
		t.Fatalf("it printed %q and said %q", p.out, p.err)
	}
	if code := reads(t, http.MethodGet, address[1]+"/readyz", ""); code != http.StatusOK {
		t.Errorf("the server answers %d when the token is printed", code)
	}
	login := `{"username": "admin", "password": "correct horse battery"}`
	if code := reads(t, http.MethodPost, address[1]+"/v1/auth/login", login); code != http.StatusOK {
		t.Errorf("the password opens nothing: %d", code)
	}
	if strings.Contains(p.err.String(), token) || strings.Contains(p.err.String(), "correct horse") {
		t.Errorf("the log holds a secret: %s", p.err)
	}
	if err := p.cmd.Process.Kill(); err != nil { // as a crash
		t.Fatal(err)
	}
	<-p.done
	if err := os.WriteFile(filepath.Join(dir, "password"), []byte("another password\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	again := serverIn(t, dir, args...)
	again.shows(again.err, "ready")
	if out, log := again.out.String(), again.err.String(); out != "" ||
		strings.Count(log, "--admin-password-file") != 1 {
		t.Errorf("the second start prints %q and says %q", out, log)
	}
}

// TestTokenBeforeReady: whoever waits for the line that a server is ready has the first token, if both outputs are one.
func TestTokenBeforeReady(t *testing.T) {
	t.Parallel()
	p := user{t: t}.command("serve", "--addr", "127.0.0.1:0")
	p.Dir = t.TempDir()
	var all screenText
	p.Stdout, p.Stderr = &all, &all
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, waitTimeout, "it is ready", func() bool { return strings.Contains(all.String(), "msg=ready") })
	if before, _, _ := strings.Cut(all.String(), "msg=ready"); !tokenForm.MatchString(before) {
		t.Errorf("it says that it is ready before it prints the token:\n%s", all.String())
	}
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err != nil {
		t.Error(err)
	}
}

// TestServerLog tells what became of a run and of a sign-in, once and without what users wrote, and no request.
func TestServerLog(t *testing.T) {
	t.Parallel()
	p := serverIn(t, t.TempDir(), "--addr", "127.0.0.1:0", "--log-format", "json")
	p.shows(p.out, "\n")
	p.shows(p.err, `"msg":"ready"`) // which another pipe carries
	address := regexp.MustCompile(`"address":"([^"]+)"`).FindStringSubmatch(p.err.String())
	if address == nil {
		t.Fatalf("it said %q", p.err)
	}
	u := user{t: t, url: address[1], env: []string{"WRIT_TOKEN=" + tokenForm.FindString(p.out.String())}}
	id := u.submit("--tool", "bash", "-c", "echo canary; exit 3")
	for _, name := range []string{"oal", "canary for a name"} {
		login := `{"username": "` + name + `", "password": "canary canary"}`
		if code := reads(t, http.MethodPost, address[1]+"/v1/auth/login", login); code != http.StatusUnauthorized {
			t.Errorf("a wrong sign-in: %d", code)
		}
	}
	p.shows(p.err, `"msg":"run ended"`)
	var records []string
	for line := range strings.Lines(p.err.String()) {
		var r map[string]any
		if err := json.Unmarshal([]byte(line), &r); err != nil || r["time"] == nil || r["level"] == nil {
			t.Fatalf("%q: %v", line, err)
		}
		switch msg := r["msg"]; msg {
		case "run started", "run ended":
			records = append(records, fmt.Sprint(msg, " ", r["run"] == id, " ", r["status"], " ", r["by"]))
		case "sign-in refused":
			records = append(records, fmt.Sprint(msg, " ", r["user"], " ", r["address"]))
		case "request":
			t.Errorf("a request at the level info: %s", line)
		}
	}
	slices.Sort(records)
	want := []string{"run ended true failed admin", "run started true <nil> <nil>", "sign-in refused  127.0.0.1",
		"sign-in refused oal 127.0.0.1"}
	if diff := cmp.Diff(want, records); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(p.err.String(), "canary") {
		t.Errorf("the log has what a user wrote: %s", p.err)
	}
}

func reads(t *testing.T, method, url, body string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewBufferString(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}
