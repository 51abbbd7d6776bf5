package estate_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/adapters/httpapi"
	estateapi "github.com/writ-automation/writ/adapters/httpapi/estate"
	"github.com/writ-automation/writ/adapters/httpapi/httpapitest"
	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/system"
)

func at(n int) time.Time { return time.Date(2026, time.January, 5, 8, 30, n, 0, time.UTC) }

// fakeDrift is an estate.Drift with one finding. It keeps what was last asked.
type fakeDrift struct {
	asked  estate.DriftQuery
	host   string
	target string
	err    error
}

func (d *fakeDrift) Drift(_ context.Context, q estate.DriftQuery) (estate.DriftPage, error) {
	d.asked = q
	f := estate.Finding{ID: "drf_1", Host: "h", Target: estate.Target{ID: "t", TemplateID: "tpl_1", ProjectID: "prj_1",
		Playbook: "p.yml", InventoryID: "inv_1"}, Key: "k", Task: "x", Resource: "file /a", Tasks: []string{"b", "c"},
		Path: "p.yml:3", Diff: []byte(`[{"after":1.50}]`), Confidence: estate.ConfidentDiff, RunID: "run_1", CheckedAt: at(3),
		FirstSeen: at(1), LastSeen: at(2), Unconfirmed: true, ReconcileRunID: "run_2"}
	return estate.DriftPage{Findings: []estate.Finding{f}, Total: 5, Hosts: 6, Ignored: 7, Withheld: 8,
		Coverage: []estate.HostDrift{{Host: "h", Checked: 1, Drifted: 2, Unknown: 3, CheckedAt: at(3)}}}, d.err
}

func (d *fakeDrift) Reconcile(_ context.Context, host, target string) (*runs.Run, error) {
	d.host, d.target = host, target
	return &runs.Run{ID: "run_9", Kind: runs.Single, Status: runs.PendingApproval, CreatedAt: at(0)}, d.err
}

// fakeIgnores is an estate.Ignores with one rule. It keeps what was last written.
type fakeIgnores struct {
	kept estate.Ignore
	err  error
}

func rule() estate.Ignore {
	return estate.Ignore{Record: object.Record{ID: "known", Name: "h file *", CreatedBy: "usr_1", CreatedAt: at(0),
		UpdatedAt: at(0), Revision: 7}, Host: "h", Resource: "file *", Reason: "why", ExpiresAt: at(9)}
}

func (b *fakeIgnores) Create(_ context.Context, i estate.Ignore) (estate.Ignore, error) {
	b.kept = i
	i.ID, i.Revision = "dig_new", 1
	return i, b.err
}

func (b *fakeIgnores) Get(_ context.Context, id string) (estate.Ignore, error) {
	if id != "known" {
		return estate.Ignore{}, estate.IgnoreNotFound.New("no rule %q", id)
	}
	return rule(), nil
}

func (b *fakeIgnores) List(_ context.Context, w page.Window) ([]estate.Ignore, int, error) {
	b.kept = estate.Ignore{Record: object.Record{Revision: int64(w.Offset)}}
	return []estate.Ignore{rule()}, 3, b.err
}

func (b *fakeIgnores) Update(_ context.Context, id string, revision int64, i estate.Ignore) (estate.Ignore, error) {
	b.kept = i
	i.ID, i.Revision = id, revision+1
	return i, b.err
}

func (b *fakeIgnores) Delete(_ context.Context, id string, revision int64) error {
	b.kept = estate.Ignore{Record: object.Record{ID: id, Revision: revision}}
	return b.err
}

const rowJSON = `{"id":"drf_1","host":"h","resource":"file /a","target_id":"t","template_id":"tpl_1","project_id":"prj_1",
"playbook":"p.yml","inventory_id":"inv_1","changed_tasks":["b","c"],"path":"p.yml:3","diff":[{"after":1.50}],
"confidence":"diff","run_id":"run_1","checked_at":"2026-01-05T08:30:03Z","first_seen":"2026-01-05T08:30:01Z",
"last_seen":"2026-01-05T08:30:02Z","unconfirmed":true,"reconcile_run_id":"run_2"}`

const ruleJSON = `{"id":"known","created_at":"2026-01-05T08:30:00Z","updated_at":"2026-01-05T08:30:00Z",
"created_by":"usr_1","host":"h","resource":"file *","reason":"why","expires_at":"2026-01-05T08:30:09Z"}`

func TestDriftRoutes(t *testing.T) {
	t.Parallel()
	d := &fakeDrift{}
	f := httpapitest.Serve(t, httpapi.Config{Version: "1"},
		estateapi.New(estateapi.Params{Drift: d, Ignores: &fakeIgnores{}, Clock: clock.New()}))
	f.Call("GET", "/v1/drift?host=h&target=t&reconcile_run_id=run_2&limit=3&offset=2", "viewer", "").
		Is(200, `{"resources":[`+rowJSON+`],"coverage":[{"host":"h","checked":1,"drifted":2,"unknown":3,
"checked_at":"2026-01-05T08:30:03Z"}],"count":1,"total":5,"limit":3,"hosts":6,"ignored":7,"withheld":8}`)
	if diff := cmp.Diff(estate.DriftQuery{Host: "h", Target: "t", ReconcileRunID: "run_2",
		Window: page.Window{Offset: 2, Limit: 3}}, d.asked); diff != "" {
		t.Error(diff)
	}
	for query, field := range map[string]string{"limit=x": "limit", "hosts=a": "hosts", "offset=-1": "offset"} {
		if got := f.Call("GET", "/v1/drift?"+query, "viewer", "").Problem(400, "invalid"); len(got) == 0 || got[0] != field {
			t.Errorf("%s: %v", query, got)
		}
	}
	f.Call("POST", "/v1/drift/reconcile", "operator", `{"host":"h","target":"t"}`).Has("Location", "/v1/runs/run_9")
	if d.host != "h" || d.target != "t" {
		t.Errorf("asked for %q of %q", d.host, d.target)
	}
	for body, field := range map[string]string{`{}`: "host", `{"host":""}`: "host", `{"host":"h","limit":1}`: "limit",
		`{"host":["h"]}`: "host"} {
		if got := f.Call("POST", "/v1/drift/reconcile", "operator", body).Problem(400, "invalid"); len(got) == 0 ||
			got[0] != field {
			t.Errorf("%s: %v", body, got)
		}
	}
	d.err = estate.Reconciling.New("busy").With("run_id", "run_3")
	f.Call("POST", "/v1/drift/reconcile", "operator", `{"host":"h"}`).Problem(409, "drift_reconciling")
	d.err = system.Unlicensed(estate.FeatureReconcile)
	unlicensed := f.Call("POST", "/v1/drift/reconcile", "operator", `{"host":"h"}`)
	unlicensed.Problem(403, "license_required")
	if !strings.Contains(unlicensed.Body, `"reasons":[{"code":"license_required","text":"the feature `) ||
		!strings.Contains(unlicensed.Body, `"next":"an administrator installs a licence that has it"`) {
		t.Errorf("%s", unlicensed.Body)
	}
	d.err = estate.HostNotFound.New("no host")
	f.Call("POST", "/v1/drift/reconcile", "operator", `{"host":"h"}`).Problem(404, "host_not_found")
	for who, status := range map[string]int{"": 401, "viewer": 403} {
		if a := f.Call("POST", "/v1/drift/reconcile", who, `{"host":"h"}`); a.Status != status {
			t.Errorf("reconcile as %q: %d", who, a.Status)
		}
	}
	if a := f.Call("GET", "/v1/drift", "", ""); a.Status != 401 {
		t.Errorf("drift for nobody: %d", a.Status)
	}
}

func TestIgnoreRoutes(t *testing.T) {
	t.Parallel()
	b := &fakeIgnores{}
	f := httpapitest.Serve(t, httpapi.Config{Version: "1"},
		estateapi.New(estateapi.Params{Drift: &fakeDrift{}, Ignores: b, Clock: clock.New()}))
	const path = "/v1/drift/ignores"
	f.Call("GET", path+"/known", "viewer", "").Is(200, ruleJSON).Has("ETag", `"7"`)
	f.Call("GET", path+"/other", "viewer", "").Problem(404, "drift_ignore_not_found")
	f.Call("GET", path+"?offset=2", "viewer", "").Is(200, `{"ignores":[`+ruleJSON+`],"count":1,"total":3,"limit":1000}`)
	if b.kept.Revision != 2 {
		t.Errorf("asked %+v", b.kept)
	}
	f.Call("PUT", path+"/known", "operator", ruleJSON, "If-Match", `"7"`).Has("ETag", `"8"`)
	want := estate.Ignore{Host: "h", Resource: "file *", Reason: "why", ExpiresAt: at(9)}
	if d := cmp.Diff(want, b.kept); d != "" {
		t.Error(d)
	}
	const least = `{"host":"*","resource":"b","reason":"c"}`
	f.Call("POST", path, "operator", least).Has("Location", path+"/dig_new")
	if d := cmp.Diff(estate.Ignore{Host: "*", Resource: "b", Reason: "c"}, b.kept); d != "" {
		t.Error(d)
	}
	f.Call("DELETE", path+"/known", "operator", "", "If-Match", `"7"`)
	if b.kept.Revision != 7 {
		t.Errorf("%+v", b.kept)
	}
	for body, field := range map[string]string{
		`{"resource":"b","reason":"c"}`: "host", `{"host":"a","reason":"c"}`: "resource",
		`{"host":"a","resource":"b"}`: "reason", `{"host":"a","resource":"b","reason":"c","x":1}`: "x",
		`{"host":"a","resource":"b","reason":"c","expires_at":"soon"}`: "expires_at",
	} {
		if got := f.Call("POST", path, "operator", body).Problem(400, "invalid"); len(got) == 0 || got[0] != field {
			t.Errorf("%s: %v", body, got)
		}
	}
	b.err = estate.TooManyIgnores.New("too many")
	f.Call("POST", path, "operator", least).Problem(409, "too_many_drift_ignores")
	b.err = fault.BadField("expires_at", "past")
	f.Call("PUT", path+"/known", "operator", least).Problem(400, "invalid")
	for who, status := range map[string]int{"": 401, "viewer": 403} {
		for _, call := range [][2]string{{"POST", path}, {"PUT", path + "/known"}, {"DELETE", path + "/known"}} {
			if a := f.Call(call[0], call[1], who, least); a.Status != status {
				t.Errorf("%v as %q: %d", call, who, a.Status)
			}
		}
	}
}
