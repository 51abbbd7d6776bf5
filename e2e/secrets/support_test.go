package secrets_test

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

// awhile bounds waits for background work.
const awhile = 60 * time.Second

// obj is a JSON object.
type obj = harness.Body

// fixture is a server with helpers for these tests.
type fixture struct {
	*harness.Server
	t *testing.T
}

func newFixture(t *testing.T, o harness.Options) *fixture {
	t.Helper()
	return &fixture{Server: harness.Start(t, o), t: t}
}

// again starts another process over the same data.
func (w *fixture) again() *fixture {
	w.t.Helper()
	return &fixture{Server: w.Again(), t: w.t}
}

func (w *fixture) dataDir() string { return filepath.Join(w.Dir, "data") }

// want sends a request and ends the test if the status differs.
func (w *fixture) want(status int, method, path string, body any, header ...string) obj {
	w.t.Helper()
	a := w.Do(method, path, body, header...)
	if a.Status != status {
		w.t.Fatalf("%s %s: %d, want %d: %s", method, path, a.Status, status, a.Body)
	}
	out := obj{}
	if len(a.Body) > 0 && strings.Contains(a.Header.Get("Content-Type"), "json") {
		a.JSON(w.t, &out)
	}
	return out
}

// refused expects a status and a reason, and returns the message.
func (w *fixture) refused(status int, reason string, a harness.Answer) string {
	w.t.Helper()
	var p struct{ Reason, Error string }
	if a.JSON(w.t, &p); a.Status != status || p.Reason != reason {
		w.t.Errorf("%d %s, want %d %s", a.Status, a.Body, status, reason)
	}
	return p.Error
}

// id makes an object and returns its id.
func (w *fixture) id(path string, body obj) string {
	w.t.Helper()
	id, _ := w.want(http.StatusCreated, http.MethodPost, path, body)["id"].(string)
	return id
}

// credential stores a credential under a unique name.
func (w *fixture) credential(kind string, secret, settings obj) string {
	w.t.Helper()
	return w.id("/v1/credentials", obj{"name": kind + " " + fresh(8), "kind": kind, "secret": secret,
		"settings": settings})
}

// sourced stores a credential whose secret comes from an engine.
func (w *fixture) sourced(kind, engine string, config obj) string {
	w.t.Helper()
	return w.id("/v1/credentials", obj{"name": kind + " " + fresh(8), "kind": kind,
		"source": obj{"engine": engine, "config": config}})
}

// bash submits a script with credentials.
func (w *fixture) bash(script string, credentials ...string) harness.Run {
	w.t.Helper()
	return w.Submit(obj{"tool": "bash", "command": script, "credential_ids": credentials})
}

// ends waits until a run has the status and returns its record and log.
func (w *fixture) ends(id, status string) (harness.Run, string) {
	w.t.Helper()
	r := w.Await(id)
	log := w.Log(id)
	if r.Status != status {
		w.t.Fatalf("%s is %s, want %s: %s\n%.4000s", id, r.Status, status, r.Error, log)
	}
	return r, log
}

// scriptOutput runs a script with credentials and returns what it printed.
func (w *fixture) scriptOutput(script string, credentials ...string) string {
	w.t.Helper()
	_, log := w.ends(w.bash(script, credentials...).ID, "succeeded")
	return log
}

// somebody makes an account and returns its id and a client with its token.
func (w *fixture) somebody(name, role string) (string, *fixture) {
	w.t.Helper()
	id := w.id("/v1/users", obj{"username": name, "role": role})
	token, _ := w.want(http.StatusCreated, http.MethodPost, "/v1/tokens",
		obj{"name": name, "user_id": id})["token"].(string)
	s := *w.Server
	s.Client = w.As(token)
	return id, &fixture{Server: &s, t: w.t}
}

func (w *fixture) grant(user, object, level string) {
	w.t.Helper()
	w.id("/v1/grants", obj{"subject": "user:" + user, "object": object, "level": level})
}

// writ runs a command of the binary on the server's data.
func (w *fixture) writ(args ...string) (stdout string, code int) {
	w.t.Helper()
	var out, errs bytes.Buffer
	c := exec.Command(harness.Binary(w.t), append(args, "--db", w.DB, "--data-dir", w.dataDir())...)
	c.Env, c.Dir, c.Stdout, c.Stderr = append(os.Environ(), w.Env...), w.Dir, &out, &errs
	if err := c.Run(); err != nil && c.ProcessState == nil {
		w.t.Fatal(err)
	}
	if c.ProcessState.ExitCode() != 0 {
		return out.String() + errs.String(), c.ProcessState.ExitCode()
	}
	return out.String(), 0
}

func save(t testing.TB, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// saveOpen writes a file that runs read as well, which have accounts of their own.
func saveOpen(t testing.TB, path, text string) string {
	t.Helper()
	if err := os.Chmod(save(t, path, text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// output runs a program and returns what it printed.
func output(t testing.TB, program string, args ...string) string {
	t.Helper()
	var errs bytes.Buffer
	c := exec.Command(program, args...)
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", program, err, &errs)
	}
	return string(out)
}

// keyPair makes a key with a passphrase, empty for none, and returns the path of the private half.
func keyPair(t testing.TB, passphrase string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key")
	output(t, "ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-f", path)
	return path
}

// exists reports whether a file exists.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// needsRoot skips a test that needs to act as another user.
func needsRoot(t *testing.T, why string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatalf("run this test as root: %s", why)
	}
}
