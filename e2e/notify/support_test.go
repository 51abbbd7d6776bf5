package notify

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

// awhile bounds waits for background work.
const awhile = 100 * time.Second

type obj = harness.Body

// fixture is a server with the requests of these tests.
type fixture struct {
	*harness.Server
	t *testing.T
}

// newFixture starts a server that may deliver to the receivers of this machine.
func newFixture(t *testing.T, o harness.Options) *fixture {
	t.Helper()
	o.Flags = append(o.Flags, "--allow-private-egress", "127.0.0.0/8")
	return newBareFixture(t, o)
}

// newBareFixture starts a server without further options.
func newBareFixture(t *testing.T, o harness.Options) *fixture {
	t.Helper()
	return &fixture{Server: harness.Start(t, o), t: t}
}

// again starts another process over the same data.
func (w *fixture) again() {
	w.t.Helper()
	w.Server = w.Again()
}

// want sends a request and ends the test if the status differs.
func (w *fixture) want(status int, method, path string, body any) obj {
	w.t.Helper()
	return decoded(w.t, w.answer(status, method, path, body).Body)
}

func (w *fixture) answer(status int, method, path string, body any) harness.Answer {
	w.t.Helper()
	a := w.Do(method, path, body)
	if a.Status != status {
		w.t.Fatalf("%s %s: %d, want %d: %s", method, path, a.Status, status, a.Body)
	}
	return a
}

func decoded(t *testing.T, raw []byte) obj {
	t.Helper()
	out := obj{}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&out); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	return out
}

// id makes an object and returns its id.
func (w *fixture) id(path string, body obj) string {
	w.t.Helper()
	id, _ := w.want(http.StatusCreated, http.MethodPost, path, body)["id"].(string)
	return id
}

// somebody creates an account and returns its id and a client with its token.
func (w *fixture) somebody(name, role string) (string, harness.Client) {
	w.t.Helper()
	id := w.id("/v1/users", obj{"username": name, "role": role})
	token, _ := w.want(http.StatusCreated, http.MethodPost, "/v1/tokens",
		obj{"name": name, "user_id": id})["token"].(string)
	return id, w.As(token)
}

// script returns a request for a run with targets.
func script(command string, targets ...obj) obj {
	return obj{"tool": "bash", "command": command, "notifications": targets}
}

func hook(url string) obj { return obj{"kind": "webhook", "url": url} }

// failing returns a target that receives only failed runs.
func failing(n obj) obj {
	n["on_failure"] = true
	return n
}

// notification is a row of GET /v1/runs/{id}/notifications.
type notification struct {
	ID, Event, Origin, Kind, Target, Status, Reason string
	Attempts                                        int
	CreatedAt                                       time.Time  `json:"created_at"`
	EndedAt                                         *time.Time `json:"ended_at"`
}

// brief returns the row in a few words.
func (n notification) brief() string {
	return strings.Join([]string{n.Event, n.Origin, n.Kind, n.Status, fmt.Sprint(n.Attempts)}, " ")
}

// notifications reads the notifications of a run.
func (w *fixture) notifications(run string) []notification {
	w.t.Helper()
	list, _ := w.counted(run)
	return list
}

// counted reads the notifications of a run and their total. There may be fewer of them while they are planned.
func (w *fixture) counted(run string) (rows []notification, total int) {
	w.t.Helper()
	var list struct {
		Notifications []notification
		Count, Total  int
	}
	w.answer(http.StatusOK, http.MethodGet, "/v1/runs/"+run+"/notifications", nil).JSON(w.t, &list)
	if list.Count != len(list.Notifications) || list.Notifications == nil {
		w.t.Errorf("the count is %d of %d rows", list.Count, len(list.Notifications))
	}
	return list.Notifications, list.Total
}

// settled waits until there are n rows and none is pending.
func (w *fixture) settled(run string, n int) []notification {
	w.t.Helper()
	var list []notification
	harness.Eventually(w.t, awhile, fmt.Sprintf("%d notifications of %s have ended", n, run), func() bool {
		rows, total := w.counted(run)
		list = rows
		return len(list) >= n && total == len(list) && !slices.ContainsFunc(list, func(x notification) bool {
			return x.Status == "pending"
		})
	})
	if len(list) != n {
		w.t.Errorf("%s: %d notifications, want %d: %+v", run, len(list), n, list)
	}
	for _, x := range list {
		if x.EndedAt == nil || x.EndedAt.Before(x.CreatedAt) || !strings.HasPrefix(x.ID, "nty_") ||
			(x.Status == "delivered") != (x.Reason == "") {
			w.t.Errorf("%s: %+v", run, x)
		}
	}
	return list
}

// summary waits for the rows like settled and returns each in a few words, sorted.
func (w *fixture) summary(run string, n int) []string {
	w.t.Helper()
	var out []string
	for _, x := range w.settled(run, n) {
		out = append(out, x.brief())
	}
	slices.Sort(out)
	return out
}

// same compares two lists of texts.
func same(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// ends waits for the end of a run and checks its status.
func (w *fixture) ends(run, status string) harness.Run {
	w.t.Helper()
	r := w.Await(run)
	if r.Status != status {
		w.t.Errorf("%s is %s, want %s: %s", run, r.Status, status, r.Error)
	}
	return r
}
