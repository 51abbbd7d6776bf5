package policyview

import (
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/web/shell"
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
	got := Sentence(policy.Policy{Effect: policy.RequireApproval, Match: m, ExcludeDryRun: true, RiskAtLeast: "high",
		Actors: []string{"team:team_1"}, DistinctApprover: true, ApprovalsNeeded: 2}, nil)
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
	if got := Sentence(policy.Policy{Effect: policy.Deny}, nil); got != "Denies every run." {
		t.Error(got)
	}
}

func TestTrialWarnsAboutNothingAndEverything(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]*Trial{
		"It matched nothing": {Scanned: 10}, "It matched everything": {Scanned: 3, Matched: 3, Held: 3},
		"only the newest": {Scanned: 1000, Matched: 1, Truncated: true},
	} {
		if got := s.sentence(); !strings.Contains(got, want) {
			t.Errorf("%q is missing in %s", want, got)
		}
	}
	list := ranked(map[string]int{"a": 1, "b": 3, "c": 3})
	if len(list) != 3 || list[0].Name != "b" || list[1].Name != "c" || list[2].N != 1 {
		t.Errorf("%+v", list)
	}
}

func TestSentencesNameRecords(t *testing.T) {
	t.Parallel()
	p := policy.Policy{Effect: policy.RequireApproval, Match: policy.Match{InventoryIDs: []string{"inv_1", "inv_2"},
		TemplateIDs: []string{"tpl_1"}}, ApproverTeams: []string{"team_1"}}
	got := Sentence(p, func(id string) string {
		return map[string]string{"inv_1": "web", "inv_2": "db", "team_1": "Ops"}[id]
	})
	want := "Holds runs with the inventories web or db, with 1 chosen template. " +
		"Released by 1 member of the team Ops."
	if got != want {
		t.Errorf("%q, expected %q", got, want)
	}
}

func TestTrialSaysWhenSchedulesWait(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 1, 2, 0, 0, 0, time.UTC)
	list := []Run{{ID: "run_1", Source: runs.FromSchedule, SourceID: "sch_1", CreatedAt: at},
		{ID: "run_2", Source: runs.FromAPI, CreatedAt: at},
		{ID: "run_3", Source: runs.FromSchedule, SourceID: "sch_1", CreatedAt: at.AddDate(0, 0, 1)}}
	s := &Trial{Scanned: 9, Matched: 3, Held: 3, Runs: list, Schedules: fired(list, time.UTC)}
	s.Schedules[0].Name = "Nightly <b>"
	want := "2 of the newest 3 runs were schedules: they would have waited, Nightly <b> at 02:00."
	if got := s.fired(); got != want {
		t.Errorf("%q, expected %q", got, want)
	}
	var b strings.Builder
	if err := Show(s).Render(shell.WithViewer(t.Context(), shell.Viewer{}, at), &b); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "Nightly <b>") {
		t.Error(b.String())
	}
	if (&Trial{Runs: list[1:2]}).fired() != "" {
		t.Error("no schedule is named")
	}
}
