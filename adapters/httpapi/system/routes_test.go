package system_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/adapters/httpapi/httpapitest"
	systemapi "github.com/writ-automation/writ/adapters/httpapi/system"
	"github.com/writ-automation/writ/ports/events"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/system"
)

// TestMain checks that no server outlives the tests.
func TestMain(m *testing.M) { httpapitest.Main(m) }

// letters has one letter, and records its calls.
type letters struct {
	window   page.Window
	attempts int64
	calls    int
}

var failed = time.Date(2026, time.May, 1, 12, 0, 0, 0, time.UTC)

func (l *letters) ListDeadLetters(_ context.Context, w page.Window) ([]system.DeadLetter, int, error) {
	l.calls++
	l.window = w
	return []system.DeadLetter{letter()}, 7, nil
}

func letter() system.DeadLetter {
	return system.DeadLetter{ID: "dlt_1", Failure: events.Failure{
		Message: events.Message{ID: "msg_1", Name: "runs.run_finished", Data: []byte(`{"hidden":1}`)}, Subscriber: "notify",
		Attempts: 4, Error: "no <such> thing", FirstAt: failed, LastAt: failed.Add(time.Second),
	}}
}

func (l *letters) RetryDeadLetter(_ context.Context, id string) (system.DeadLetter, error) {
	l.calls++
	if id != "dlt_1" {
		return system.DeadLetter{}, system.DeadLetterNotFound.New("no dead letter %q", id)
	}
	return letter(), nil
}

func (l *letters) DeleteDeadLetter(_ context.Context, id string, attempts int64) error {
	l.calls++
	l.attempts = attempts
	if attempts == 3 {
		return system.RevisionChanged.New("the dead letter failed again meanwhile")
	}
	_, err := l.RetryDeadLetter(context.Background(), id)
	return err
}

const shown = `{"id":"dlt_1","event":"runs.run_finished","subscriber":"notify","attempts":4,"error":"no <such> thing",
	"first_at":"2026-05-01T12:00:00Z","last_at":"2026-05-01T12:00:01Z"}`

func TestDeadLetters(t *testing.T) {
	t.Parallel()
	l := &letters{}
	s := httpapitest.Serve(t, httpapi.Config{Version: "1"}, systemapi.New(l, plugins{}))
	s.Call(http.MethodGet, "/v1/dead-letters?offset=2&limit=5", "admin", "").Is(200,
		`{"dead_letters":[`+shown+`],"count":1,"total":7,"limit":5}`)
	if l.window != (page.Window{Offset: 2, Limit: 5}) {
		t.Errorf("the window is %+v", l.window)
	}
	s.Call(http.MethodPost, "/v1/dead-letters/dlt_1/retry", "admin", "").Is(200, shown)
	s.Call(http.MethodPost, "/v1/dead-letters/dlt_2/retry", "admin", "").Problem(404, "dead_letter_not_found")
	s.Call(http.MethodDelete, "/v1/dead-letters/dlt_1", "admin", "", "If-Match", `"3"`).Problem(412, "precondition_failed")
	if a := s.Call(http.MethodDelete, "/v1/dead-letters/dlt_1", "admin", "", "If-Match", `"4"`); a.Status != 204 ||
		l.attempts != 4 {
		t.Errorf("%d, for %d attempts", a.Status, l.attempts)
	}
	if a := s.Call(http.MethodDelete, "/v1/dead-letters/dlt_1", "admin", ""); a.Status != 204 || l.attempts != 0 {
		t.Errorf("%d, for %d attempts", a.Status, l.attempts)
	}
	s.Call(http.MethodDelete, "/v1/dead-letters/dlt_2", "admin", "").Problem(404, "dead_letter_not_found")
}

// plugins are three extensions.
type plugins struct{}

func (plugins) Extensions(context.Context) []system.Extension {
	return []system.Extension{
		{Name: "a", Kinds: []system.ExtensionKind{system.ToolExtension, system.EngineExtension}, Version: "v1.0.0",
			State: system.ExtensionRunning, Restarts: 2},
		{Name: "b", State: system.ExtensionFailed, Error: "it provides nothing"},
		{Name: "c", State: system.ExtensionCompiled},
	}
}

func TestExtensions(t *testing.T) {
	t.Parallel()
	s := httpapitest.Serve(t, httpapi.Config{Version: "1"}, systemapi.New(&letters{}, plugins{}))
	const second = `{"name":"b","kinds":[],"version":"","state":"failed","restarts":0,"error":"it provides nothing"}`
	s.Call(http.MethodGet, "/v1/extensions?limit=2", "admin", "").Is(200, `{"extensions":[{"name":"a",
		"kinds":["tool","secret_engine"],"version":"v1.0.0","state":"running","restarts":2,"error":""},`+second+`],
		"count":2,"total":3,"limit":2}`)
	s.Call(http.MethodGet, "/v1/extensions?offset=1&limit=1", "admin", "").Is(200,
		`{"extensions":[`+second+`],"count":1,"total":3,"limit":1}`)
	s.Call(http.MethodGet, "/v1/extensions?offset=9", "admin", "").Is(200,
		`{"extensions":[],"count":0,"total":3,"limit":1000}`)
	s.Call(http.MethodGet, "/v1/extensions", "operator", "").Problem(403, "forbidden")
	s.Call(http.MethodGet, "/v1/extensions", "", "").Problem(401, "bad_token")
}

func TestDeadLettersAreForAdmins(t *testing.T) {
	t.Parallel()
	l := &letters{}
	s := httpapitest.Serve(t, httpapi.Config{Version: "1"}, systemapi.New(l, plugins{}))
	for _, r := range [][2]string{
		{http.MethodGet, "/v1/dead-letters"}, {http.MethodPost, "/v1/dead-letters/dlt_1/retry"},
		{http.MethodDelete, "/v1/dead-letters/dlt_1"},
	} {
		for _, who := range []string{"viewer", "operator"} {
			if a := s.Call(r[0], r[1], who, ""); a.Status != http.StatusForbidden {
				t.Errorf("%s %s as %s: %d", r[0], r[1], who, a.Status)
			}
		}
		s.Call(r[0], r[1], "", "").Problem(401, "bad_token")
	}
	if l.calls != 0 {
		t.Errorf("%d calls went through", l.calls)
	}
}
