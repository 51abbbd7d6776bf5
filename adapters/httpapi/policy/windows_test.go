package policy_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/adapters/httpapi/httpapitest"
	policyapi "github.com/writ-automation/writ/adapters/httpapi/policy"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/policy"
)

// fakeWindows is a policy.Windows with one window. It keeps what was last written.
type fakeWindows struct {
	kept policy.Window
	err  error
}

func fullWindow() policy.Window {
	return policy.Window{Record: full().Record, Mode: policy.AllowWindow, Enabled: true,
		Match: policy.Match{Tools: []string{"bash"}}, Cron: "0 1 * * *", Duration: 3600, From: "f", To: "t", Timezone: "UTC",
		Outside: policy.OutsideDeny}
}

func (b *fakeWindows) Create(_ context.Context, w policy.Window) (policy.Window, error) {
	b.kept = w
	w.ID, w.Revision = "win_new", 1
	return w, b.err
}

func (b *fakeWindows) Get(_ context.Context, id string) (policy.Window, error) {
	if id != "known" {
		return policy.Window{}, policy.WindowNotFound.New("no window %q", id)
	}
	return fullWindow(), nil
}

func (b *fakeWindows) List(_ context.Context, f policy.Filter, w page.Window) ([]policy.Window, int, error) {
	b.kept = policy.Window{Record: object.Record{Name: f.Name, Revision: int64(w.Offset)}}
	return []policy.Window{fullWindow()}, 3, b.err
}

func (b *fakeWindows) Update(_ context.Context, id string, revision int64, w policy.Window) (policy.Window, error) {
	b.kept = w
	w.ID, w.Revision = id, revision+1
	return w, b.err
}

func (b *fakeWindows) Delete(_ context.Context, id string, revision int64) error {
	b.kept = policy.Window{Record: object.Record{ID: id, Revision: revision}}
	return b.err
}

const fullWindowJSON = `{"id":"known","created_at":"2026-01-05T08:30:00Z","updated_at":"2026-01-05T08:30:00Z",
"created_by":"usr_1","name":"a","mode":"allow","match":{"tools":["bash"]},"cron":"0 1 * * *","duration":3600,"from":"f",
"to":"t","timezone":"UTC","outside":"deny","enabled":true}`

// TestWindowRoutes reads and writes every member.
func TestWindowRoutes(t *testing.T) {
	t.Parallel()
	b := &fakeWindows{}
	f := httpapitest.Serve(t, httpapi.Config{Version: "1"},
		policyapi.New(policyapi.Params{Policies: &fakePolicies{}, Windows: b}))
	f.Call("GET", "/v1/windows/known", "viewer", "").Is(200, fullWindowJSON).Has("ETag", `"7"`)
	f.Call("GET", "/v1/windows/other", "viewer", "").Problem(404, "window_not_found")
	f.Call("GET", "/v1/windows?name=a&offset=2", "viewer", "").
		Is(200, `{"windows":[`+fullWindowJSON+`],"count":1,"total":3,"limit":1000}`)
	if b.kept.Name != "a" || b.kept.Revision != 2 {
		t.Errorf("asked %+v", b.kept)
	}
	f.Call("PUT", "/v1/windows/known", "admin", fullWindowJSON, "If-Match", `"7"`).Has("ETag", `"8"`)
	want := fullWindow()
	want.Record = object.Record{Name: "a"}
	if d := cmp.Diff(want, b.kept); d != "" {
		t.Error(d)
	}
	const least = `{"name":"b","mode":"deny","outside":"wait"}`
	f.Call("POST", "/v1/windows", "admin", least).Has("Location", "/v1/windows/win_new")
	want = policy.Window{Record: object.Record{Name: "b"}, Mode: policy.DenyWindow, Outside: policy.OutsideWait,
		Enabled: true}
	if d := cmp.Diff(want, b.kept); d != "" {
		t.Error(d)
	}
	f.Call("DELETE", "/v1/windows/known", "admin", "", "If-Match", `"7"`)
	if b.kept.Revision != 7 {
		t.Errorf("%+v", b.kept)
	}
	for body, at := range map[string]string{
		`{"mode":"deny","outside":"wait"}`: "name", `{"name":"a","outside":"wait"}`: "mode",
		`{"name":"a","mode":"deny"}`:                                        "outside",
		`{"name":"a","mode":"hold","outside":"wait"}`:                       "mode",
		`{"name":"a","mode":"deny","outside":"hold"}`:                       "outside",
		`{"name":"a","mode":"deny","outside":"wait","x":1}`:                 "x",
		`{"name":"a","mode":"deny","outside":"wait","duration":59}`:         "duration",
		`{"name":"a","mode":"deny","outside":"wait","duration":"1h"}`:       "duration",
		`{"name":"a","mode":"deny","outside":"wait","match":{"hosts":1}}`:   "match.hosts",
		`{"name":"a","mode":"deny","outside":"wait","enabled":"yes"}`:       "enabled",
		`{"name":"a","mode":"deny","outside":"wait","cron":["* * * * *"]}`:  "cron",
		`{"name":"a","mode":"deny","outside":"wait","timezone":{"name":1}}`: "timezone",
	} {
		if got := f.Call("POST", "/v1/windows", "admin", body).Problem(400, "invalid"); len(got) == 0 || got[0] != at {
			t.Errorf("%s: %v", body, got)
		}
	}
	b.err = policy.TooManyWindows.New("too many")
	f.Call("POST", "/v1/windows", "admin", least).Problem(409, "too_many_windows")
	b.err = fault.BadField("cron", "wrong")
	f.Call("PUT", "/v1/windows/known", "admin", least).Problem(400, "invalid")
	for _, who := range []string{"", "viewer", "operator"} {
		status := map[string]int{"": 401}[who]
		if status == 0 {
			status = 403
		}
		for _, call := range [][2]string{{"POST", "/v1/windows"}, {"PUT", "/v1/windows/known"},
			{"DELETE", "/v1/windows/known"}} {
			if a := f.Call(call[0], call[1], who, least); a.Status != status {
				t.Errorf("%v as %q: %d", call, who, a.Status)
			}
		}
	}
}
