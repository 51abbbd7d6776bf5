package policies

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/system"
)

// parked is a queue that no executor of the server serves.
const parked = "parked"

// fixture is a server with one executor, and accounts.
type fixture struct {
	*harness.Server
	t        *testing.T
	dir      string // shared with runs
	accounts map[string]harness.Client
	ids      map[string]string // of accounts and teams
	slot     *slot
	model    *harness.Model
	// hookSecret signs the deliveries to the trigger of paths.
	hookSecret string
}

func newFixture(t *testing.T, url string) *fixture {
	t.Helper()
	file := filepath.Join(t.TempDir(), "license.json")
	if err := os.WriteFile(file, harness.Licence(t, system.Team, time.Hour), 0o600); err != nil {
		t.Fatal(err)
	}
	w := &fixture{t: t, dir: harness.Shared(t), accounts: map[string]harness.Client{}, ids: map[string]string{},
		model: harness.NewModel(t)}
	w.Server = harness.Start(t, harness.Options{DB: url, Flags: append(w.model.Flags(),
		"--license", file, "--executors", "1", "--worker-token", harness.WorkerToken)})
	for name, role := range map[string]string{"ann": "admin", "bob": "admin", "oto": "operator", "eve": "operator",
		"vic": "viewer", "mia": "viewer"} {
		w.ids[name] = w.made("/v1/users", harness.Body{"username": name, "role": role})
		w.accounts[name] = w.As(w.token(name, harness.Body{}))
	}
	w.accounts["operating"] = w.As(w.token("ann", harness.Body{"scopes": []string{"operate"}}))
	w.accounts["nobody"] = w.As("")
	w.ids["network"] = w.made("/v1/teams", harness.Body{"name": "network"})
	for _, name := range []string{"eve", "mia"} {
		w.want(http.StatusCreated, w.Client, "POST", "/v1/teams/"+w.ids["network"]+"/members",
			harness.Body{"user_id": w.ids[name]})
	}
	return w
}

// at returns the fixture for another test of the same server.
func (w *fixture) at(t *testing.T) *fixture {
	c := *w
	c.t = t
	return &c
}

// token makes a token of an account.
func (w *fixture) token(name string, body harness.Body) string {
	w.t.Helper()
	body["user_id"], body["name"] = w.ids[name], "test"
	var out struct{ Token string }
	w.want(http.StatusCreated, w.Client, "POST", "/v1/tokens", body).JSON(w.t, &out)
	return out.Token
}

// want sends a request and checks the status of its answer.
func (w *fixture) want(status int, c harness.Client, method, path string, body any, header ...string) harness.Answer {
	w.t.Helper()
	a := c.Do(method, path, body, header...)
	if a.Status != status {
		w.t.Fatalf("%s %s: %d, want %d: %.600s", method, path, a.Status, status, a.Body)
	}
	return a
}

// made creates an object and returns its id.
func (w *fixture) made(path string, body harness.Body) string {
	w.t.Helper()
	var out struct{ ID string }
	w.want(http.StatusCreated, w.Client, "POST", path, body).JSON(w.t, &out)
	return out.ID
}

// policy makes a policy for the runs with a label.
func (w *fixture) policy(label, effect string, more harness.Body) string {
	w.t.Helper()
	body := harness.Body{"name": label + " " + effect, "effect": effect,
		"match": harness.Body{"labels": harness.Body{"case": label}}}
	for k, v := range more {
		body[k] = v
	}
	return w.made("/v1/policies", body)
}

// script is a run with a label that adds a line to a shared file.
func (w *fixture) script(label string, more harness.Body) harness.Body {
	body := harness.Body{"tool": "bash", "command": "echo ran >> " + w.file(label),
		"labels": harness.Body{"case": label}}
	for k, v := range more {
		body[k] = v
	}
	return body
}

// file is where the runs of a label leave that they were executed.
func (w *fixture) file(label string) string { return filepath.Join(w.dir, label) }

func (w *fixture) exists(label string) bool {
	_, err := os.Stat(w.file(label))
	return err == nil
}

// write makes a file that runs read.
func (w *fixture) write(label, text string) string {
	w.t.Helper()
	if err := os.WriteFile(w.file(label), []byte(text), 0o644); err != nil { //nolint:gosec // for runs
		w.t.Fatal(err)
	}
	return w.file(label)
}

// blocked occupies the server's only executor until the returned function is called.
func (w *fixture) blocked() (release func()) {
	w.t.Helper()
	name := "release-" + strings.ReplaceAll(w.t.Name(), "/", "-")
	id := w.Submit(harness.Body{"tool": "bash", "command": waitFor(w.file(name))}).ID
	w.Until(id, time.Minute, func(r harness.Run) bool { return r.Status == "running" })
	return func() { w.t.Helper(); w.write(name, "") }
}

// waitFor is a command that ends when a file exists.
func waitFor(file string) string { return "until test -e " + file + "; do sleep 0.05; done" }

// held is the record of a held run.
type held struct {
	harness.Run
	HeldBy    struct{ ID, Name string } `json:"held_by"`
	Risk      struct{ Level string }
	Digest    string `json:"approval_digest"`
	Changed   []string
	Decision  *struct{ Reason, Verdict string }
	Approvals struct {
		Needed     int
		Refreshing bool
		Hosts      struct {
			Count   int
			Names   []string
			Unknown bool
		}
		Given []struct {
			By     struct{ Name string }
			Reason string
		}
		Holds []struct {
			Name    string
			Message string
			Needed  int
			Given   int
		}
	}
}

// look reads a held run and its ETag.
func (w *fixture) look(id string) (h held, tag string) {
	w.t.Helper()
	a := w.want(http.StatusOK, w.Client, "GET", "/v1/runs/"+id, nil)
	a.JSON(w.t, &h)
	return h, a.Header.Get("ETag")
}

// hold submits a run that has to be held.
func (w *fixture) hold(path string, body harness.Body) held {
	w.t.Helper()
	var h held
	a := w.want(http.StatusCreated, w.Client, "POST", path, body)
	if a.JSON(w.t, &h); h.Status != "pending_approval" || a.Header.Get("ETag") != `"`+h.Digest+`"` {
		w.t.Fatalf("the run is %s, its ETag %s, its digest %q", h.Status, a.Header.Get("ETag"), h.Digest)
	}
	return h
}

// decide approves or rejects a run and returns the answer.
func (w *fixture) decide(who, verb, id string, header ...string) harness.Answer {
	w.t.Helper()
	return w.accounts[who].Do("POST", "/v1/runs/"+id+"/"+verb, harness.Body{"reason": who + " looked"}, header...)
}

// decided checks the answer to a decision: its status and its reason. A conflict explains itself.
func (w *fixture) decided(a harness.Answer, status int, reason string) {
	w.t.Helper()
	var p struct {
		Reason  string
		Reasons []struct{ Code, Text, Object, Since, Next string }
	}
	a.JSON(w.t, &p)
	if a.Status != status || reason != "" && p.Reason != reason {
		w.t.Errorf("%d, want %d %s: %s", a.Status, status, reason, a.Body)
	}
	explained := len(p.Reasons) > 0 && p.Reasons[0].Code != "" && p.Reasons[0].Text != "" && p.Reasons[0].Next != "" &&
		p.Reasons[0].Object != "" && p.Reasons[0].Since != ""
	if (status == http.StatusConflict || reason == "distinct_approver") && !explained {
		w.t.Errorf("the reasons of %s: %s", reason, a.Body)
	}
}

// entry is an entry of the audit trail.
type entry struct {
	Seq     int64
	At      time.Time
	Action  string
	Outcome string
	Object  struct{ Kind, ID string }
	Actor   struct{ Type, ID, Name string }
	Details map[string]any
	Reason  string
}

// entries returns the newest entries of the trail, newest first.
func (w *fixture) entries() []entry { return w.about("") }

// about returns the newest entries about an object, or about any.
func (w *fixture) about(object string) []entry {
	w.t.Helper()
	var p struct{ Entries []entry }
	w.want(http.StatusOK, w.Client, "GET", "/v1/audit?limit=1000&object="+object, nil).JSON(w.t, &p)
	return p.Entries
}

// count counts the entries that meet a condition.
func count(list []entry, ok func(entry) bool) (n int) {
	for _, e := range list {
		if ok(e) {
			n++
		}
	}
	return n
}

func sign(secret, body string) string {
	m := hmac.New(sha256.New, []byte(secret))
	m.Write([]byte(body))
	return "sha256=" + hex.EncodeToString(m.Sum(nil))
}
