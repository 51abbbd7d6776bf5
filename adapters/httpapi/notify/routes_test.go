package notify_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/fx"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/adapters/httpapi/httpapitest"
	notifyapi "github.com/writ-automation/writ/adapters/httpapi/notify"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
)

// TestMain checks that no server outlives the tests.
func TestMain(m *testing.M) { httpapitest.Main(m) }

var at = time.Date(2026, 5, 1, 12, 0, 0, 123000, time.UTC)

// fakeReader is a reader that has one run.
type fakeReader struct {
	fails error
	asked page.Window
}

func (d *fakeReader) List(_ context.Context, id string, w page.Window) ([]notify.Delivery, int, error) {
	d.asked = w
	if id != "run_1" {
		return nil, 0, runs.RunNotFound.New("no run %q", id)
	}
	if d.fails != nil {
		return nil, 0, d.fails
	}
	return []notify.Delivery{
		{
			ID: "nty_1", RunID: "run_1", Event: notify.Finished, Origin: notify.OfServer, Kind: "slack", Digest: "D1GEST",
			Status: notify.Delivered,
			Target: runs.Notification{Kind: "slack", URL: "https://hooks.test/S3CRET"}, Attempts: 2, CreatedAt: at,
			EndedAt: at.Add(time.Second),
		},
		{
			ID: "nty_2", RunID: "run_1", Event: notify.Held, Origin: notify.OfRun, Position: 1, Kind: "email",
			Status: notify.Pending, Reason: "it took too long",
			Target: runs.Notification{Kind: "email", To: "a@example.org", Ref: "ntg_1"}, Attempts: 1, CreatedAt: at,
		},
		{
			ID: "nty_3", RunID: "run_1", Event: notify.Finished, Origin: notify.OfRun, Kind: "pagerduty", Status: notify.Skipped,
			Reason: "why",
			Target: runs.Notification{Kind: "pagerduty", Key: "S3CRET"}, CreatedAt: at, EndedAt: at,
		},
		{ID: "nty_4", RunID: "run_1", Event: notify.Finished, Origin: notify.OfExtension, Kind: "siem", Status: notify.Failed,
			Reason: "no", Attempts: 3, CreatedAt: at, EndedAt: at},
	}, 9, nil
}

func serve(t *testing.T, d *fakeReader, change ...func(*httpapi.Config)) *httpapitest.Server {
	t.Helper()
	config := httpapi.Config{Version: "1"}
	for _, c := range change {
		c(&config)
	}
	return httpapitest.Serve(t, config, notifyapi.New(d))
}

func TestList(t *testing.T) {
	t.Parallel()
	d := &fakeReader{}
	s := serve(t, d)
	a := s.Call(http.MethodGet, "/v1/runs/run_1/notifications?offset=2&limit=5000", "viewer", "").
		Is(200, `{"notifications":[
		{"id":"nty_1","event":"run.finished","origin":"server","kind":"slack","target":"https://hooks.test/***","status":"delivered","attempts":2,
			"created_at":"2026-05-01T12:00:00.000123Z","ended_at":"2026-05-01T12:00:01.000123Z"},
		{"id":"nty_2","event":"run.held","origin":"run","kind":"email","target":"a@example.org","status":"pending","reason":"it took too long","attempts":1,
			"created_at":"2026-05-01T12:00:00.000123Z"},
		{"id":"nty_3","event":"run.finished","origin":"run","kind":"pagerduty","target":"***","status":"skipped","reason":"why","attempts":0,
			"created_at":"2026-05-01T12:00:00.000123Z","ended_at":"2026-05-01T12:00:00.000123Z"},
		{"id":"nty_4","event":"run.finished","origin":"extension","kind":"siem","status":"failed","reason":"no","attempts":3,
			"created_at":"2026-05-01T12:00:00.000123Z","ended_at":"2026-05-01T12:00:00.000123Z"}],
		"count":4,"total":9,"limit":1000}`)
	if d.asked != (page.Window{Offset: 2, Limit: 1000}) {
		t.Errorf("asked for %+v", d.asked)
	}
	for _, hidden := range []string{"S3CRET", "D1GEST", "ntg_1"} {
		if strings.Contains(a.Body, hidden) {
			t.Errorf("%s in %s", hidden, a.Body)
		}
	}
}

func TestByRole(t *testing.T) {
	t.Parallel()
	s := serve(t, &fakeReader{}, func(c *httpapi.Config) { c.ReadOnly = true })
	const path = "/v1/runs/run_1/notifications"
	s.Call(http.MethodGet, path, "", "").Problem(401, "bad_token")
	s.Call(http.MethodGet, path, "nobody", "").Problem(401, "bad_token")
	for _, who := range []string{"viewer", "operator", "admin"} {
		if a := s.Call(http.MethodGet, path, who, ""); a.Status != 200 {
			t.Errorf("%s: %d %s", who, a.Status, a.Body)
		}
		s.Call(http.MethodGet, "/v1/runs/run_2/notifications", who, "").Problem(404, "run_not_found")
	}
	if n := len(s.Recorder.Entries()); n != 0 {
		t.Errorf("%d entries in the trail", n)
	}
	for _, op := range s.Operations() {
		if op.Extensions["x-mutates"] != false || op.Responses["404"] == nil {
			t.Errorf("%s is declared as %+v", op.OperationID, op)
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	d := &fakeReader{}
	s := serve(t, d)
	for _, q := range []string{"limit=-1", "offset=x", "limit=1.5"} {
		if where := s.Call(http.MethodGet, "/v1/runs/run_1/notifications?"+q, "viewer", "").
			Problem(400, "invalid"); len(where) != 1 {
			t.Errorf("%s: %v", q, where)
		}
	}
	d.fails = fault.Wrap(fault.Unavailable, errors.New("S3CRET"), "try again")
	s.Call(http.MethodGet, "/v1/runs/run_1/notifications", "viewer", "").Problem(503, "unavailable")
	d.fails = errors.New("S3CRET")
	if a := s.Call(http.MethodGet, "/v1/runs/run_1/notifications", "viewer", ""); a.Status != 500 ||
		strings.Contains(a.Body, "S3CRET") {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

type hands time.Time

func (h hands) Now() time.Time { return time.Time(h) }

func TestModule(t *testing.T) {
	t.Parallel()
	var r notify.Renderer
	app := fx.New(fx.NopLogger, notifyapi.Module,
		fx.Provide(func() notify.Reader { return &fakeReader{} }, func() clock.Clock { return hands(at) }), fx.Populate(&r),
		fx.Invoke(fx.Annotate(func(all []httpapi.Routes) {
			if len(all) != 1 || all[0].Name != "notify" {
				t.Errorf("%+v", all)
			}
		}, fx.ParamTags(httpapi.Group))))
	if err := app.Err(); err != nil {
		t.Fatal(err)
	}
}

func TestRecord(t *testing.T) {
	t.Parallel()
	run := &runs.Run{
		ID: "run_1", Kind: runs.Single, Status: runs.Failed,
		Vars: runs.Vars{"version": []byte(`"V4LUE"`), "deep": []byte(`{"x":"V4LUE"}`)},
		Spec: runs.Spec{Tool: "bash", Notifications: []runs.Notification{{Kind: "slack", URL: "https://hooks.test/V4LUE",
			Ref: "ntg_1"}, {Kind: "pagerduty", Key: "V4LUE"}}},
		CreatedAt: at, StartedAt: at, EndedAt: at.Add(90 * time.Second), Outputs: runs.Vars{"n": []byte("1")},
	}
	raw, err := notifyapi.NewRenderer(hands(at.Add(time.Hour))).Record(run)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"id":"run_1"`, `"extra_vars":{"deep":"[redacted]","version":"[redacted]"}`, `"duration_ms":90000`,
		`"https://hooks.test/***"`, `"outputs":{"n":1}`,
		`"status":"failed"`,
	} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("no %s in %s", want, raw)
		}
	}
	if strings.Contains(string(raw), "V4LUE") || strings.Contains(string(raw), "ntg_1") {
		t.Errorf("a secret is in %s", raw)
	}
	if d := cmp.Diff(`"V4LUE"`, string(run.Vars["version"])); d != "" {
		t.Errorf("the run itself was changed: %s", d)
	}
}
