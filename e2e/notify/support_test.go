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

// awhile is how long something may take that happens beside what a test does.
const awhile = 100 * time.Second

type obj = harness.Body

// fixture is a server with what these tests ask of it.
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

// newBareFixture starts a server as it is.
func newBareFixture(t *testing.T, o harness.Options) *fixture {
	t.Helper()
	return &fixture{Server: harness.Start(t, o), t: t}
}

// again starts another process over the same data.
func (w *fixture) again() {
	w.t.Helper()
	w.Server = w.Again()
}

// want sends a request and ends the test where the status is another one.
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

// somebody makes an account and returns its id and a client of it.
func (w *fixture) somebody(name, role string) (string, harness.Client) {
	w.t.Helper()
	id := w.id("/v1/users", obj{"username": name, "role": role})
	token, _ := w.want(http.StatusCreated, http.MethodPost, "/v1/tokens",
		obj{"name": name, "user_id": id})["token"].(string)
	return id, w.As(token)
}

// script is a request for a run that tells some targets.
func script(command string, targets ...obj) obj {
	return obj{"tool": "bash", "command": command, "notifications": targets}
}

func hook(url string) obj { return obj{"kind": "webhook", "url": url} }

// failing is a target that hears of failed runs alone.
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

// brief is the row in few words.
func (n notification) brief() string {
	return strings.Join([]string{n.Event, n.Origin, n.Kind, n.Status, fmt.Sprint(n.Attempts)}, " ")
}

// notifications reads who was told of a run.
func (w *fixture) notifications(run string) []notification {
	w.t.Helper()
	list, _ := w.counted(run)
	return list
}

// counted reads who was told of a run, and how many they are said to be. While they are planned that may be fewer.
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

// settled waits until that many rows are there and none is pending.
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

// summary waits for the rows as settled does and returns each in few words, sorted.
func (w *fixture) summary(run string, n int) []string {
	w.t.Helper()
	var out []string
	for _, x := range w.settled(run, n) {
		out = append(out, x.brief())
	}
	slices.Sort(out)
	return out
}

// same compares lists of words.
func same(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// ends awaits a run and checks how it ended.
func (w *fixture) ends(run, status string) harness.Run {
	w.t.Helper()
	r := w.Await(run)
	if r.Status != status {
		w.t.Errorf("%s is %s, want %s: %s", run, r.Status, status, r.Error)
	}
	return r
}
