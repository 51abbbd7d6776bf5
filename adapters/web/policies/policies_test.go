package policies

import (
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/policy"
	"github.com/writ-automation/writ/ports/runs"
)

func TestSentencesSayEveryCriterion(t *testing.T) {
	t.Parallel()
	hosts, share := 100, 20
	m := policy.Match{
		Tools: []string{"ansible", "bash"}, CommandContains: "rm -rf", Playbook: "site-*.yml",
		InventoryIDs: []string{"inv_1"},
		TemplateIDs:  []string{"tpl_1", "tpl_2"}, ProjectIDs: []string{"prj_1"}, Queues: []string{"dmz"},
		Sources: []runs.Source{runs.FromSchedule}, CredentialIDs: []string{"cred_1"},
		Labels:    map[string]string{"env": "production"},
		HostsOver: &hosts, InventoryShareOver: &share, LimitMissing: true, ChangeMissing: true,
	}
	got := sentence(policy.Policy{Effect: policy.RequireApproval, Match: m, ExcludeDryRun: true, RiskAtLeast: "high",
		Actors: []string{"team:team_1"}, DistinctApprover: true, ApprovalsNeeded: 2})
	for _, want := range []string{
		"Holds runs", "the tools ansible or bash", "“rm -rf”", "site-*.yml", "1 chosen inventory", "2 chosen templates",
		"1 chosen project", "1 chosen credential", "the queue dmz", "the source schedule", "env=production", "100 hosts",
		"20 %", "without a limit", "no change", "unless they are dry runs", "high risk", "1 chosen account or team",
		"Released by 2 administrators, but not by whoever asked.",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in %s", want, got)
		}
	}
	if got := sentence(policy.Policy{Effect: policy.Deny}); got != "Denies every run." {
		t.Error(got)
	}
}

func TestTrialWarnsAboutNothingAndEverything(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]policy.Simulation{
		"It matched nothing": {Scanned: 10}, "It matched everything": {Scanned: 3, Matched: 3, Held: 3},
		"only the newest": {Scanned: 1000, Matched: 1, Truncated: true},
	} {
		if got := trialSentence(&trial{Simulation: s}); !strings.Contains(got, want) {
			t.Errorf("%q is missing in %s", want, got)
		}
	}
	list := ranked(map[string]int{"a": 1, "b": 3, "c": 3})
	if len(list) != 3 || list[0].ID != "b" || list[1].ID != "c" || list[2].N != 1 {
		t.Errorf("%+v", list)
	}
}

func TestListsEscapeAndShowTheOrder(t *testing.T) {
	t.Parallel()
	p := policy.Policy{Record: object.Record{ID: "pol_1", Name: `"><script>alert(1)</script>`}, Effect: policy.Deny,
		Enabled: true}
	hold := p
	hold.Effect, hold.Name = policy.RequireApproval, "second person"
	var b strings.Builder
	ctx := shell.WithViewer(t.Context(), shell.Viewer{}, time.Unix(0, 0))
	v := listView{Deny: []policy.Policy{p}, Hold: []policy.Policy{hold}, Total: 2}
	if err := listPage(v).Render(ctx, &b); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	if strings.Contains(page, "<script") || strings.Contains(page, newPolicyText) ||
		strings.Index(page, denyText) > strings.Index(page, holdText) || !strings.Contains(page, freeText) {
		t.Error(page)
	}
}
