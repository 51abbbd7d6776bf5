package access

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/system"
)

// shownPolicy has the members of a policy that tests use.
type shownPolicy struct {
	ID, Name, Effect string
	Enabled          bool
	Needed           int `json:"approvals_needed"`
}

// policiesOf reads a list of policies by their names.
func policiesOf(t *testing.T, a harness.Answer) map[string]shownPolicy {
	t.Helper()
	var list struct{ Policies []shownPolicy }
	a.JSON(t, &list)
	out := map[string]shownPolicy{}
	for _, p := range list.Policies {
		out[p.Name] = p
	}
	return out
}

func holding(name string, more ...any) harness.Body {
	out := harness.Body{"name": name, "effect": "require_approval"}
	for i := 0; i+1 < len(more); i += 2 {
		out[more[i].(string)] = more[i+1]
	}
	return out
}

// licence writes a licence file and returns the flag that names it.
func licence(t *testing.T, tier system.Tier) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "license.json")
	if err := os.WriteFile(file, harness.Licence(t, tier, time.Hour), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"--license", file}
}

// TestPolicies manages policies under a licence of the highest tier, on each engine. Workers read what is in force.
func TestPolicies(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, url string) {
		s := harness.Start(t, harness.Options{DB: url, Flags: append(licence(t, system.Team), "--executors", "0",
			"--worker-token", harness.WorkerToken)})
		team := made(t, s.Client, "/v1/teams", harness.Body{"name": "Approvers"})
		accounts := map[string]account{}
		for _, role := range []string{"viewer", "operator"} {
			accounts[role] = join(t, s, role, role)
		}
		id := made(t, s.Client, "/v1/policies", holding("production", "distinct_approver", true, "risk_at_least", "high",
			"actors", []string{"user:" + accounts["operator"].ID, "team:" + team}, "approver_teams", []string{team},
			"approvals_needed", 2, "match", harness.Body{"labels": harness.Body{"env": "*"}, "hosts_over": 0}))
		made(t, s.Client, "/v1/policies", harness.Body{"name": "never", "effect": "deny", "enabled": false})
		path := "/v1/policies/" + id

		// Everybody reads, administrators alone write, and a worker's token is of no use here.
		for who, c := range map[string]harness.Client{
			"viewer": accounts["viewer"].Client, "operator": accounts["operator"].Client,
			"nobody": s.As(""), "worker": s.As(harness.WorkerToken),
		} {
			read, write := 200, 403
			if who == "nobody" || who == "worker" {
				read, write = 401, 401
			}
			a := want(t, c, "GET", path, nil, read)
			want(t, c, "GET", "/v1/policies", nil, read)
			want(t, c, "POST", "/v1/policies", holding("x"), write)
			want(t, c, "PUT", path, holding("x"), write)
			want(t, c, "DELETE", path, nil, write)
			want(t, c, "GET", "/relay/v1/policies", nil, map[bool]int{true: 200, false: 401}[who == "worker"])
			if read == 200 && (!strings.Contains(string(a.Body), `"hosts_over":0`) || a.Header.Get("ETag") != `"1"`) {
				t.Errorf("%v %s", a.Header, a.Body)
			}
		}

		// Who does not exist, a taken name, another revision.
		absent := "00000000000000000000000000"
		for field, body := range map[string]harness.Body{
			"actors":         holding("x", "actors", []string{"user:usr_" + absent}),
			"approver_teams": holding("x", "approver_teams", []string{"team_" + absent}),
		} {
			a := want(t, s.Client, "POST", "/v1/policies", body, 404)
			if !strings.Contains(string(a.Body), `"location":"`+field+`"`) {
				t.Errorf("%s: %s", field, a.Body)
			}
		}
		for field, body := range map[string]harness.Body{
			"match.playbook":       holding("x", "match", harness.Body{"playbook": "["}),
			"match.queues[0]":      holding("x", "match", harness.Body{"queues": []string{"a b"}}),
			"match.project_ids[1]": holding("x", "match", harness.Body{"project_ids": []string{"prj_" + absent, "x"}}),
			"approver_teams":       {"name": "x", "effect": "deny", "approver_teams": []string{team}},
		} {
			a := want(t, s.Client, "POST", "/v1/policies", body, 400)
			if !strings.Contains(string(a.Body), `"location":"`+field+`"`) {
				t.Errorf("%s: %s", field, a.Body)
			}
		}
		if a := want(t, s.Client, "POST", "/v1/policies", holding("never"), 409); reason(t, a) != "name_taken" {
			t.Errorf("%s", a.Body)
		}
		want(t, s.Client, "PUT", path, holding("production"), 412, "If-Match", `"2"`)

		// Workers see each change that was answered.
		worker := s.As(harness.WorkerToken)
		a := want(t, worker, "GET", "/relay/v1/policies", nil, 200)
		if got := policiesOf(t, a); len(got) != 1 || got["production"].Needed != 2 {
			t.Errorf("%+v", got)
		}
		tag := a.Header.Get("ETag")
		want(t, worker, "GET", "/relay/v1/policies", nil, 304, "If-None-Match", tag)
		claim := harness.Body{"worker": harness.Body{"name": "edge", "executors": 1}, "queues": []string{"edge"}}
		s.Submit(harness.Body{"tool": "bash", "command": "true", "queue": "edge"})
		var claimed struct {
			Tag string `json:"policies_etag"`
		}
		want(t, worker, "POST", "/relay/v1/claim", claim, 200).JSON(t, &claimed)
		if claimed.Tag != tag {
			t.Errorf("a claim has %s, the policies %s", claimed.Tag, tag)
		}
		a = want(t, s.Client, "PUT", path, harness.Body{"name": "production", "effect": "deny"}, 200, "If-Match", `"1"`)
		if a.Header.Get("ETag") != `"2"` || a.Header.Get("Audit-Receipt") == "" {
			t.Errorf("%v", a.Header)
		}
		a = want(t, worker, "GET", "/relay/v1/policies", nil, 200, "If-None-Match", tag)
		if got := policiesOf(t, a); a.Header.Get("ETag") == tag || got["production"].Effect != "deny" {
			t.Errorf("%v %s", a.Header, a.Body)
		}
		want(t, s.Client, "DELETE", path, nil, 412, "If-Match", `"1"`)
		want(t, s.Client, "DELETE", path, nil, 204)
		want(t, s.Client, "GET", path, nil, 404)
		got := policiesOf(t, want(t, s.Client, "GET", "/v1/policies?name=never", nil, 200))
		if len(got) != 1 || got["never"].Enabled {
			t.Errorf("%+v", got)
		}
		entries := string(want(t, s.Client, "GET", "/v1/audit?limit=20", nil, 200).Body)
		for _, action := range []string{"policy.create", "policy.update", "policy.delete"} {
			if !strings.Contains(entries, `"`+action+`"`) {
				t.Errorf("no entry of %s", action)
			}
		}
	})
}

// TestTiersOfPolicies writes policies under a licence and goes on without it: what exists stays in force and may be
// disabled, and more needs the licence again.
func TestTiersOfPolicies(t *testing.T) {
	t.Parallel()
	refused := func(s *harness.Server, method, path string, body harness.Body, feature, tier string) {
		t.Helper()
		a := want(t, s.Client, method, path, body, http.StatusForbidden)
		if !strings.Contains(string(a.Body), `"feature":"`+feature+`"`) || !strings.Contains(string(a.Body), `"tier":"`+tier+`"`) ||
			reason(t, a) != "license_required" {
			t.Errorf("%s: %s", feature, a.Body)
		}
	}
	s := harness.Start(t, harness.Options{Flags: append(licence(t, system.Pro), "--executors", "0")})
	refused(s, "POST", "/v1/policies", harness.Body{"name": "x", "effect": "deny"}, "policy_deny", "team")
	ids := []string{}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		ids = append(ids, made(t, s.Client, "/v1/policies", holding(name)))
	}
	refused(s, "POST", "/v1/policies", holding("f"), "policies_unlimited", "team")
	s.Kill()

	s.Options.Flags = []string{"--executors", "0", "--worker-token", harness.WorkerToken}
	s = s.Again()
	if got := policiesOf(t, want(t, s.As(harness.WorkerToken), "GET", "/relay/v1/policies", nil, 200)); len(got) != 5 {
		t.Errorf("%d policies are in force without the licence", len(got))
	}
	refused(s, "PUT", "/v1/policies/"+ids[0], holding("a", "message", "x"), "policies_up_to_five", "pro")
	refused(s, "POST", "/v1/policies", holding("f", "risk_at_least", "low"), "policy_risk", "team")
	refused(s, "POST", "/v1/policies", holding("f", "distinct_approver", true), "policy_distinct_approver", "team")
	refused(s, "POST", "/v1/policies", holding("f", "actors", []string{"user:usr_00000000000000000000000000"}),
		"policy_actors", "team")
	for _, id := range ids[1:] {
		want(t, s.Client, "PUT", "/v1/policies/"+id, holding(id, "enabled", false), 200)
	}
	want(t, s.Client, "PUT", "/v1/policies/"+ids[0], holding("a", "message", "x"), 200)
	refused(s, "PUT", "/v1/policies/"+ids[1], holding("b"), "policies_up_to_five", "pro")
	want(t, s.Client, "DELETE", "/v1/policies/"+ids[1], nil, 204)
}

// TestPolicyFile lets a file be the only source of policies: a bad one stops a start, and later leaves the last good
// one in force.
func TestPolicyFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "policies.yaml")
	write := func(text string) {
		t.Helper()
		if err := errors.Join(os.WriteFile(file+".new", []byte(text), 0o600), os.Rename(file+".new", file)); err != nil {
			t.Fatal(err)
		}
	}
	write("policies:\n- {name: a, effect: deny, match: {hosts_ower: 1}}\n")
	options := harness.Options{Flags: []string{"--executors", "0", "--worker-token", harness.WorkerToken,
		"--policy-file", file}}
	if _, err := harness.Launch(t, options); err == nil ||
		!strings.Contains(err.Error(), "policy-file: "+file+": policies[0].match.hosts_ower: is not a member") {
		t.Errorf("a bad file: %v", err)
	}
	write("policies:\n- {name: a, effect: deny}\n- {name: b, effect: deny, risk_at_least: high}\n" +
		"- {name: off, effect: deny, enabled: false}\n")
	s := harness.Start(t, options)
	list := policiesOf(t, want(t, s.Client, "GET", "/v1/policies", nil, 200))
	if len(list) != 3 || list["a"].Effect != "deny" {
		t.Errorf("%+v", list)
	}
	path := "/v1/policies/" + list["a"].ID
	want(t, s.Client, "GET", path, nil, 200)
	for _, a := range []harness.Answer{want(t, s.Client, "POST", "/v1/policies", holding("x"), 409),
		want(t, s.Client, "PUT", path, holding("a"), 409), want(t, s.Client, "DELETE", path, nil, 409)} {
		if reason(t, a) != "policies_in_file" {
			t.Errorf("%s", a.Body)
		}
	}
	want(t, s.Client, "POST", "/v1/policies", harness.Body{"name": "x"}, 400)

	worker := s.As(harness.WorkerToken)
	until := func(what string, done func() bool) {
		t.Helper()
		for deadline := time.Now().Add(2 * time.Minute); !done(); time.Sleep(50 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("not %s", what)
			}
		}
	}
	doctor := func() string { return string(s.Do("GET", "/v1/doctor", nil).Body) }
	write("policies: 7\n")
	until("reported", func() bool { return strings.Contains(doctor(), "policies: expected a list") })
	if got := policiesOf(t, want(t, worker, "GET", "/relay/v1/policies", nil, 200)); len(got) != 2 {
		t.Errorf("a bad file left %+v", got)
	}
	write("policies:\n- {name: a, effect: require_approval}\n")
	until("read", func() bool {
		got := policiesOf(t, worker.Do("GET", "/relay/v1/policies", nil))
		return len(got) == 1 && got["a"].Effect == "require_approval" && got["a"].ID == list["a"].ID
	})
	if strings.Contains(doctor(), "expected a list") {
		t.Errorf("the doctor still reports a file that is replaced")
	}
}
