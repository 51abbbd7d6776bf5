package estate_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/adapters/httpapi"
	estateapi "github.com/writ-automation/writ/adapters/httpapi/estate"
	"github.com/writ-automation/writ/adapters/httpapi/httpapitest"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
)

type wall struct{}

func (wall) Now() time.Time { return httpapi.ExampleTime() }

// fakeChanges has the change CHG/1. It keeps the window that was asked for.
type fakeChanges struct {
	audit.Reporter
	asked page.Window
}

func example() estate.Change {
	return estate.Change{Change: "CHG/1", Outcome: estate.ChangePartial, Runs: 3, FirstAt: httpapi.ExampleTime(),
		LastAt: httpapi.ExampleTime().Add(time.Hour), Actors: []string{"ada"}, Hosts: 2}
}

func (f *fakeChanges) List(_ context.Context, w page.Window) (estate.ChangeList, error) {
	f.asked = w
	return estate.ChangeList{Changes: []estate.Change{example()}, Total: 4, Scanned: 9, Partial: true}, nil
}

func (f *fakeChanges) Get(_ context.Context, name string, w page.Window) (estate.ChangeDetail, error) {
	if name != "CHG/1" {
		return estate.ChangeDetail{}, estate.ChangeNotFound.New("no change %q", name)
	}
	f.asked = w
	return estate.ChangeDetail{Change: example(), Members: []*runs.Run{{ID: "run_1", Kind: runs.Single,
		Status: runs.Canceled, Change: "CHG/1"}}, Touched: []string{"b", "a"}, Withheld: 5}, nil
}

func (f *fakeChanges) Change(_ context.Context, name string) ([]byte, error) {
	if name != "CHG/1" {
		return nil, estate.ChangeNotFound.New("no change %q", name)
	}
	return []byte("<!doctype html><html><head><style>p{}</style></head><p>report</p></html>"), nil
}

func setup(t *testing.T) (*httpapitest.Server, *fakeChanges) {
	t.Helper()
	f := &fakeChanges{}
	return httpapitest.Serve(t, httpapi.Config{Version: "1"},
		estateapi.New(estateapi.Params{Ignores: &fakeIgnores{}, Changes: f, Reporter: f, Clock: wall{}})), f
}

const summaryJSON = `"change":"CHG/1","outcome":"partial","first_at":"2026-01-05T08:30:00Z",` +
	`"last_at":"2026-01-05T09:30:00Z","actors":["ada"],"hosts":2`

func TestChanges(t *testing.T) {
	t.Parallel()
	f, b := setup(t)
	f.Call("GET", "/v1/changes", "viewer", "").Is(200, `{"changes":[{`+summaryJSON+`,"runs":3}],"count":1,"total":4,`+
		`"limit":1000,"scanned":9,"partial":true}`)
	f.Call("GET", "/v1/changes?limit=5000&offset=7", "operator", "")
	if d := cmp.Diff(page.Window{Offset: 7, Limit: 1000}, b.asked); d != "" {
		t.Error(d)
	}
	f.Call("GET", "/v1/changes", "", "").Problem(401, "bad_token")
	for _, query := range []string{"?limit=-1", "?offset=x", "?status=failed"} {
		f.Call("GET", "/v1/changes"+query, "admin", "").Problem(400, "invalid")
	}
}

func TestChange(t *testing.T) {
	t.Parallel()
	f, b := setup(t)
	a := f.Call("GET", "/v1/changes/CHG%2F1?limit=2&offset=1", "viewer", "").Has("Content-Type", "application/json")
	if !strings.HasPrefix(a.Body, `{`+summaryJSON+`,"touched":["b","a"],"runs":[{"id":"run_1",`) ||
		!strings.HasSuffix(a.Body, `],"count":1,"total":3,"limit":2,"withheld":5,"partial":false}`+"\n") {
		t.Error(a.Body)
	}
	if d := cmp.Diff(page.Window{Offset: 1, Limit: 2}, b.asked); d != "" {
		t.Error(d)
	}
	f.Call("GET", "/v1/changes/other", "viewer", "").Problem(404, "change_not_found")
	f.Call("GET", "/v1/changes/CHG%2F1", "", "").Problem(401, "bad_token")
	f.Call("GET", "/v1/changes/CHG%2F1?limit=x", "viewer", "").Problem(400, "invalid")
	f.Call("GET", "/v1/changes/CHG%2F1?q=x", "viewer", "").Problem(400, "invalid")
}

// TestChangeAsAPage answers a browser with the report.
func TestChangeAsAPage(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	browser := []string{"Accept", "text/html,application/xhtml+xml,*/*;q=0.8"}
	a := f.Call("GET", "/v1/changes/CHG%2F1", "viewer", "", browser...).Has("Content-Type", "text/html; charset=utf-8")
	policy := a.Header.Get("Content-Security-Policy")
	if a.Status != http.StatusOK || !strings.Contains(a.Body, "report") ||
		!strings.Contains(policy, "sandbox") || !strings.Contains(policy, "default-src 'none'") {
		t.Errorf("%d %s %s", a.Status, policy, a.Body)
	}
	f.Call("GET", "/v1/changes/other", "viewer", "", browser...).Problem(404, "change_not_found")
	f.Call("GET", "/v1/changes/CHG%2F1", "", "", browser...).Problem(401, "bad_token")
	for _, accept := range []string{"*/*", "application/json, text/html", "text/html;q=0"} {
		f.Call("GET", "/v1/changes/CHG%2F1", "viewer", "", "Accept", accept).Has("Content-Type", "application/json")
	}
}
