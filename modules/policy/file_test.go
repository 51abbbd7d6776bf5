package policy_test

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	module "github.com/writ-automation/writ/modules/policy"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/system"
)

// disk is a file that changes.
type disk struct{ now atomic.Pointer[string] }

func on(text string) *disk {
	d := &disk{}
	d.put(text)
	return d
}

func (d *disk) put(text string) { d.now.Store(&text) }

func (d *disk) source() policy.Source {
	return policy.Source{Path: "/etc/writ/policies.yaml", Read: func() ([]byte, time.Time, error) {
		if text := *d.now.Load(); text != "" {
			return []byte(text), noon{}.Now(), nil
		}
		return nil, time.Time{}, os.ErrNotExist
	}}
}

const file = `policies:
  - name: prod
    effect: require_approval
    match:
      tools: [ansible]
      command_contains: rm
      playbook: prod/*.yml
      inventory_ids: [inv_01k0a0000vtx5zk9w2m4n6p8rs]
      template_ids: [tpl_01k0a0000vtx5zk9w2m4n6p8rs]
      project_ids: [prj_01k0a0000vtx5zk9w2m4n6p8rs]
      credential_ids: [crd_01k0a0000vtx5zk9w2m4n6p8rs]
      queues: [a]
      sources: [api, schedule]
      labels: {env: "*"}
      hosts_over: 0
      inventory_share_over: 50
      limit_missing: true
      change_missing: true
    exclude_dry_run: true
    risk_at_least: high
    actors: ["team:team_01k0a0000vtx5zk9w2m4n6p8rs"]
    distinct_approver: true
    message: |
      Ask
      the team.
    approvals_needed: 2
    approver_teams: [team_01k0a0000vtx5zk9w2m4n6p8rs]
  - {name: off, effect: deny, enabled: false}
  - {name: all, effect: deny}
`

// TestPolicyFile reads every member. The file is the only source, whatever the licence.
func TestPolicyFile(t *testing.T) {
	t.Parallel()
	b := onSQLite(t, on(file).source())
	b.tier.tier.Store(system.Free)
	ctx := asViewer(t.Context())
	list, n, err := b.Policies.List(t.Context(), policy.Filter{}, page.Window{})
	if err != nil || n != 3 || len(list) != 3 || list[0].Name != "all" || list[1].Name != "off" || list[2].Name != "prod" {
		t.Fatalf("%+v %d %v", list, n, err)
	}
	at := noon{}.Now()
	want := policy.Policy{
		Record: list[2].Record, Effect: policy.RequireApproval, Enabled: true,
		Match: policy.Match{Tools: []string{"ansible"}, CommandContains: "rm", Playbook: "prod/*.yml",
			InventoryIDs: []string{"inv_" + ulid}, TemplateIDs: []string{"tpl_" + ulid}, ProjectIDs: []string{"prj_" + ulid},
			Queues: []string{"a"}, Sources: []runs.Source{runs.FromAPI, runs.FromSchedule},
			CredentialIDs: []string{"crd_" + ulid},
			Labels:        map[string]string{"env": "*"}, HostsOver: number(0), InventoryShareOver: number(50),
			LimitMissing: true, ChangeMissing: true},
		ExcludeDryRun: true, RiskAtLeast: runs.HighRisk, Actors: []string{"team:team_" + ulid}, DistinctApprover: true,
		Message: "Ask\nthe team.\n", ApprovalsNeeded: 2, ApproverTeams: []string{"team_" + ulid},
	}
	if d := cmp.Diff(want, list[2]); d != "" || !ids.Valid(ids.Policy, want.ID) || !want.CreatedAt.Equal(at) ||
		want.Revision != at.Unix() {
		t.Errorf("%+v %s", list[2].Record, d)
	}
	if d := cmp.Diff([]string{"all", "prod"}, b.names()); d != "" {
		t.Error(d)
	}
	one, err := b.Policies.Get(t.Context(), want.ID)
	if d := cmp.Diff(want, one); d != "" || err != nil {
		t.Error(d, err)
	}
	if one, err = b.Policies.Get(ctx, want.ID); err != nil || len(one.Match.InventoryIDs) > 0 ||
		len(one.Match.ProjectIDs) != 1 {
		t.Errorf("a viewer reads %+v %v", one.Match, err)
	}
	_, err = b.Policies.Get(ctx, "pol_"+ulid)
	b.wantFault("another", err, policy.PolicyNotFound, "")
	some, n, err := b.Policies.List(ctx, policy.Filter{Name: "off"}, page.Window{Offset: 1})
	if len(some) != 0 || n != 1 || err != nil {
		t.Errorf("%+v %d %v", some, n, err)
	}
	_, err = b.Policies.Create(t.Context(), holds("x"))
	b.wantFault("create", err, policy.PoliciesInFile, "")
	_, err = b.Policies.Update(t.Context(), want.ID, 0, holds("x"))
	b.wantFault("update", err, policy.PoliciesInFile, "")
	b.wantFault("delete", b.Policies.Delete(t.Context(), want.ID, 0), policy.PoliciesInFile, "")
	b.wantFault("delete by a viewer", b.Policies.Delete(ctx, want.ID, 0), policy.NotAllowed, "")
}

// TestBadPolicyFiles stops a start, with the name of the file and of the field.
func TestBadPolicyFiles(t *testing.T) {
	t.Parallel()
	b := onSQLite(t, policy.Source{})
	rows := func(text string) string { return "policies:\n- {name: a, effect: deny}\n- " + text + "\n" }
	for text, want := range map[string]string{
		"":                                       "file does not exist",
		"{":                                      "line",
		"[]":                                     "line",
		"a: 1":                                   "a: is not a member",
		"policies: 7":                            "policies: expected a list",
		"policies:":                              "policies: expected a list",
		"policies: []\n---\na: 1":                "more than one document",
		"policies: []\npolicies: []":             `"policies" already defined`,
		rows("7"):                                "policies[1]: expected an object",
		rows("{name: a, effect: deny}"):          `policies[1].name: the name "a" is taken`,
		rows("{effect: deny}"):                   "policies[1].name: expected",
		rows("{name: b}"):                        "policies[1].effect: expected",
		rows("{name: b, effect: deny, org: x}"):  "policies[1].org: is not a member",
		rows("{name: b, effect: deny, Name: x}"): "policies[1].Name: is not a member",
		rows("{name: b, effect: deny, match: {toolz: []}}"):      "policies[1].match.toolz: is not a member",
		rows("{name: b, effect: deny, match: []}"):               "policies[1].match: expected an object",
		rows("{name: b, effect: deny, match: {tools: x}}"):       "policies[1].match.tools: expected a list, not string",
		rows("{name: b, effect: deny, match: {hosts_over: x}}"):  "policies[1].match.hosts_over: expected a number",
		rows("{name: b, effect: deny, enabled: maybe}"):          "policies[1].enabled: expected true or false",
		rows("{name: 7, effect: deny}"):                          "policies[1].name: expected a text, not number",
		rows("{name: b, effect: deny, approvals_needed: 1}"):     "policies[1].approvals_needed: is only",
		rows("{name: b, effect: deny, match: {labels: {1: a}}}"): "policies[1]",
		"policies:\n" + strings.Repeat("- {}\n", policy.Max+1):   "policies: has more than",
		"#" + strings.Repeat("x", policy.MaxFile):                "policies: the file has more than",
	} {
		p := b.params
		p.Source = on(text).source()
		if _, err := module.New(p); err == nil || !strings.HasPrefix(err.Error(), "policy-file: /etc/writ/policies.yaml: ") ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%.80q: %v", text, err)
		}
	}
}

// TestPolicyFileChanges replaces the policies by those of a changed file. A bad file leaves the last good ones in
// force, which the doctor reports.
func TestPolicyFileChanges(t *testing.T) {
	t.Parallel()
	b := onSQLite(t, policy.Source{})
	synctest.Test(t, func(t *testing.T) {
		of := func(names ...string) string {
			text := "policies:\n"
			for _, name := range names {
				text += fmt.Sprintf("- {name: %s, effect: deny}\n", name)
			}
			return text
		}
		d := on(of("a"))
		p := b.params
		p.Source, p.Accounts, p.Teams = d.source(), nil, nil // nothing in this file names them
		r, err := module.New(p)
		if err != nil {
			t.Fatal(err)
		}
		r.Background.Start()
		last := ""
		for _, step := range []struct {
			text, names, problem string
		}{{of("a", "b"), "a b", ""}, {"policies: 7", "a b", "expected a list"}, {"", "a b", "does not exist"},
			{of("a", "b"), "a b", ""}, {of("c"), "c", ""}} {
			d.put(step.text)
			time.Sleep(time.Minute)
			synctest.Wait()
			list, tag, err := r.Policies.InForce(t.Context())
			names := []string{}
			for _, p := range list {
				names = append(names, p.Name)
			}
			same := step.names == "a b" && last != ""
			if got := strings.Join(names, " "); got != step.names || err != nil || (tag == last) != same {
				t.Errorf("%q: %s %s %v", step.text, got, tag, err)
			}
			last = tag
			x, err := r.Check.Examine(t.Context())
			switch {
			case err != nil, x.Examined != len(list), (len(x.Findings) > 0) != (step.problem != ""):
				t.Errorf("%q: %+v %v", step.text, x, err)
			case step.problem != "" && (x.Findings[0].Severity != system.Error ||
				!strings.Contains(x.Findings[0].Problem, step.problem)):
				t.Errorf("%q: %+v", step.text, x)
			}
		}
		if err := r.Background.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
