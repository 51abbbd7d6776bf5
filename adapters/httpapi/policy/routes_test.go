package policy_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/adapters/httpapi/httpapitest"
	policyapi "github.com/writ-automation/writ/adapters/httpapi/policy"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/system"
)

func TestMain(m *testing.M) { httpapitest.Main(m) }

// fakePolicies is a policy.Policies with one policy. It keeps what was last written.
type fakePolicies struct {
	kept policy.Policy
	err  error
}

func number(n int) *int { return &n }

func full() policy.Policy {
	return policy.Policy{
		Record: object.Record{ID: "known", Name: "a", CreatedBy: "usr_1", CreatedAt: httpapi.ExampleTime(),
			UpdatedAt: httpapi.ExampleTime(), Revision: 7},
		Effect: policy.RequireApproval, Enabled: true,
		Match: policy.Match{Tools: []string{"bash"}, CommandContains: "rm", Playbook: "*.yml", InventoryIDs: []string{"i"},
			TemplateIDs: []string{"t"}, ProjectIDs: []string{"p"}, Queues: []string{"q"}, Sources: []runs.Source{runs.FromAPI},
			CredentialIDs: []string{"c"}, Labels: map[string]string{"env": "*"}, HostsOver: number(0),
			InventoryShareOver: number(50), LimitMissing: true, ChangeMissing: true},
		ExcludeDryRun: true, RiskAtLeast: runs.HighRisk, Actors: []string{"user:u"}, DistinctApprover: true, Message: "m",
		ApprovalsNeeded: 2, ApproverTeams: []string{"team"},
	}
}

func (b *fakePolicies) Create(_ context.Context, p policy.Policy) (policy.Policy, error) {
	b.kept = p
	p.ID, p.Revision = "pol_new", 1
	return p, b.err
}

func (b *fakePolicies) Get(_ context.Context, id string) (policy.Policy, error) {
	if id != "known" {
		return policy.Policy{}, policy.PolicyNotFound.New("no policy %q", id)
	}
	return full(), nil
}

func (b *fakePolicies) List(_ context.Context, f policy.Filter, w page.Window) ([]policy.Policy, int, error) {
	b.kept = policy.Policy{Record: object.Record{Name: f.Name, Revision: int64(w.Offset)}}
	return []policy.Policy{full()}, 3, b.err
}

func (b *fakePolicies) Update(_ context.Context, id string, revision int64, p policy.Policy) (policy.Policy, error) {
	b.kept = p
	p.ID, p.Revision = id, revision+1
	return p, b.err
}

func (b *fakePolicies) Delete(_ context.Context, id string, revision int64) error {
	b.kept = policy.Policy{Record: object.Record{ID: id, Revision: revision}}
	return b.err
}

func (b *fakePolicies) Simulate(_ context.Context, p policy.Policy, from, to time.Time) (policy.Simulation, error) {
	b.kept = p
	b.kept.CreatedAt, b.kept.UpdatedAt = from, to
	return policy.Simulation{From: from, To: to, Scanned: 3, Matched: 1, Denied: 1, ByActor: map[string]int{"usr_1": 1},
		ByTemplate: map[string]int{}, Sample: []string{"run_1"}, Truncated: true}, b.err
}

func (b *fakePolicies) InForce(context.Context) ([]policy.Policy, string, error) {
	return []policy.Policy{full()}, "abc", b.err
}

func setup(t *testing.T) (*httpapitest.Server, *fakePolicies) {
	t.Helper()
	b := &fakePolicies{}
	return httpapitest.Serve(t, httpapi.Config{Version: "1", WorkerToken: "worker"},
		policyapi.New(policyapi.Params{Policies: b, Windows: &fakeWindows{}})), b
}

const fullJSON = `{"id":"known","created_at":"2026-01-05T08:30:00Z","updated_at":"2026-01-05T08:30:00Z","created_by":"usr_1",
"name":"a","effect":"require_approval","enabled":true,"match":{"tools":["bash"],"command_contains":"rm","playbook":"*.yml",
"inventory_ids":["i"],"template_ids":["t"],"project_ids":["p"],"queues":["q"],"sources":["api"],"credential_ids":["c"],
"labels":{"env":"*"},"hosts_over":0,"inventory_share_over":50,"limit_missing":true,"change_missing":true},
"exclude_dry_run":true,"risk_at_least":"high","actors":["user:u"],"distinct_approver":true,"message":"m",
"approvals_needed":2,"approver_teams":["team"]}`

// TestPolicyRoutes reads and writes every member.
func TestPolicyRoutes(t *testing.T) {
	t.Parallel()
	f, b := setup(t)
	f.Call("GET", "/v1/policies/known", "viewer", "").Is(200, fullJSON).Has("ETag", `"7"`)
	f.Call("GET", "/v1/policies/other", "viewer", "").Problem(404, "policy_not_found")
	f.Call("GET", "/v1/policies?name=a&offset=2", "viewer", "").
		Is(200, `{"policies":[`+fullJSON+`],"count":1,"total":3,"limit":1000}`)
	if b.kept.Name != "a" || b.kept.Revision != 2 {
		t.Errorf("asked %+v", b.kept)
	}
	f.Call("PUT", "/v1/policies/known", "admin", fullJSON, "If-Match", `"7"`).Has("ETag", `"8"`)
	want := full()
	want.Record = object.Record{Name: "a"}
	if d := cmp.Diff(want, b.kept); d != "" {
		t.Error(d)
	}
	f.Call("POST", "/v1/policies", "admin", `{"name":"b","effect":"deny"}`).Has("Location", "/v1/policies/pol_new")
	want = policy.Policy{Record: object.Record{Name: "b"}, Effect: policy.Deny, Enabled: true}
	if d := cmp.Diff(want, b.kept); d != "" {
		t.Error(d)
	}
	f.Call("POST", "/v1/policies", "admin", `{"name":"b","effect":"deny","enabled":false}`)
	if b.kept.Enabled {
		t.Error("enabled")
	}
	f.Call("DELETE", "/v1/policies/known", "admin", "", "If-Match", `"7"`)
	if b.kept.Revision != 7 {
		t.Errorf("%+v", b.kept)
	}
	f.PutsBack()
	for body, at := range map[string]string{
		`{"effect":"deny"}`: "name", `{"name":"a"}`: "effect", `{"name":"a","effect":"x"}`: "effect",
		`{"name":"a","effect":"deny","x":1}`:                                        "x",
		`{"name":"a","effect":"deny","match":{"x":1}}`:                              "match.x",
		`{"name":"a","effect":"deny","match":{"sources":["x"]}}`:                    "match.sources[0]",
		`{"name":"a","effect":"deny","match":{"hosts_over":-1}}`:                    "match.hosts_over",
		`{"name":"a","effect":"deny","match":{"inventory_share_over":101}}`:         "match.inventory_share_over",
		`{"name":"a","effect":"deny","risk_at_least":"x"}`:                          "risk_at_least",
		`{"name":"a","effect":"require_approval","approvals_needed":11}`:            "approvals_needed",
		`{"name":"a","effect":"deny","message":"` + strings.Repeat("a", 501) + `"}`: "message",
	} {
		if got := f.Call("POST", "/v1/policies", "admin", body).Problem(400, "invalid"); len(got) == 0 || got[0] != at {
			t.Errorf("%s: %v", body, got)
		}
	}
	b.err = policy.PoliciesInFile.New("in a file")
	f.Call("POST", "/v1/policies", "admin", `{"name":"b","effect":"deny"}`).Problem(409, "policies_in_file")
	f.Call("DELETE", "/v1/policies/known", "admin", "").Problem(409, "policies_in_file")
	b.err = system.Unlicensed(policy.FeatureDeny)
	if a := f.Call("POST", "/v1/policies", "admin", `{"name":"b","effect":"deny"}`); !strings.Contains(string(a.Body),
		`"feature":"policy_deny"`) {
		t.Errorf("%s", a.Body)
	}
}

// TestSimulateRoute takes a whole draft, and refuses what no policy has.
func TestSimulateRoute(t *testing.T) {
	t.Parallel()
	f, b := setup(t)
	f.Call("POST", "/v1/policies/simulate", "admin", `{"policy":{"name":"a","effect":"deny","match":{"tools":["bash"]}},
		"from":"2026-01-01T00:00:00Z","to":"2026-01-02T00:00:00Z"}`).Is(200, `{"from":"2026-01-01T00:00:00Z",
		"to":"2026-01-02T00:00:00Z","scanned":3,"matched":1,"held":0,"denied":1,"by_actor":{"usr_1":1},"by_template":{},
		"sample":["run_1"],"truncated":true}`)
	if b.kept.Name != "a" || b.kept.Effect != policy.Deny || len(b.kept.Match.Tools) != 1 {
		t.Errorf("asked %+v", b.kept)
	}
	f.Call("POST", "/v1/policies/simulate", "admin", `{"policy":{"name":"a","effect":"deny"}}`)
	if !b.kept.CreatedAt.IsZero() || !b.kept.UpdatedAt.IsZero() {
		t.Errorf("asked from %s to %s", b.kept.CreatedAt, b.kept.UpdatedAt)
	}
	for body, at := range map[string]string{
		`{}`: "policy", `{"policy":{"effect":"deny"}}`: "policy.name", `{"policy":{"name":"a"},"x":1}`: "policy.effect",
		`{"policy":{"name":"a","effect":"deny"},"x":1}`:               "x",
		`{"policy":{"name":"a","effect":"deny"},"from":"yesterday"}`:  "from",
		`{"policy":{"name":"a","effect":"deny","match":{"queue":1}}}`: "policy.match.queue",
	} {
		got := f.Call("POST", "/v1/policies/simulate", "admin", body).Problem(400, "invalid")
		if len(got) == 0 || got[0] != at {
			t.Errorf("%s: %v", body, got)
		}
	}
}

// TestCallersOfPolicies lets viewers read, administrators write, and workers alone read over the relay.
func TestCallersOfPolicies(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	for _, op := range f.Operations() {
		path := strings.ReplaceAll(op.Path, "{id}", "known")
		worker := op.OperationID == "list-policies-in-force"
		for _, who := range []string{"", "nobody", "viewer", "operator", "admin", "worker"} {
			a := f.Call(op.Method, path, who, httpapitest.Example(t, op))
			known := who == "viewer" || who == "operator" || who == "admin"
			want := http.StatusUnauthorized
			switch {
			case worker && who == "worker", !worker && (who == "admin" || known && op.Method == http.MethodGet):
				want = op.DefaultStatus
			case !worker && known:
				want = http.StatusForbidden
			}
			if a.Status != want {
				t.Errorf("%s as %q: %d, want %d: %s", op.OperationID, who, a.Status, want, a.Body)
			}
		}
		tier, _ := op.Extensions["x-license"].(string)
		writes := op.OperationID == "create-policy" || op.OperationID == "update-policy"
		if (tier == "team, in part") != writes {
			t.Errorf("%s: licence %q", op.OperationID, tier)
		}
	}
}

// TestPoliciesOverTheRelay answers a worker that has the policies with their tag alone.
func TestPoliciesOverTheRelay(t *testing.T) {
	t.Parallel()
	f, _ := setup(t)
	a := f.Call("GET", "/relay/v1/policies", "worker", "").Is(200, `{"policies":[`+fullJSON+`],"count":1}`)
	tag := a.Header.Get("ETag")
	if !strings.HasPrefix(tag, `"`) || !json.Valid([]byte(tag)) {
		t.Errorf("tag %s", tag)
	}
	for have, status := range map[string]int{tag: 304, "W/" + tag: 304, `"x", ` + tag: 304, `"x"`: 200} {
		a := f.Call("GET", "/relay/v1/policies", "worker", "", "If-None-Match", have)
		if a.Status != status || a.Header.Get("ETag") != tag || (len(a.Body) == 0) != (status == 304) {
			t.Errorf("%s: %d %v %s", have, a.Status, a.Header, a.Body)
		}
	}
}
