package approvals

import (
	"bytes"
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/ai"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/runs"
)

var now = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

// hostile has what must never reach a page as markup.
const hostile = "<script>x</script>\"><img src=x onerror=y>\u202e'`"

var forbidden = regexp.MustCompile(`(?i)<script>x|<img src=x|\sstyle=|\son[a-z]+="|\son[a-z]+='`)

func render(t *testing.T, v shell.Viewer, c templ.Component) string {
	t.Helper()
	var b bytes.Buffer
	if err := c.Render(shell.WithViewer(context.Background(), v, now), &b); err != nil {
		t.Fatal(err)
	}
	html := b.String()
	if bad := forbidden.FindString(html); bad != "" {
		t.Errorf("the page has %q", bad)
	}
	seen := map[string]bool{}
	for _, m := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(html, -1) {
		if seen[m[1]] {
			t.Errorf("two elements have the id %s", m[1])
		}
		seen[m[1]] = true
	}
	return html
}

func extreme() *request {
	names := make([]string, 5000)
	for i := range names {
		names[i] = hostile + strings.Repeat("n", 200)
	}
	run := &runs.Run{ID: "run_1", Name: hostile + strings.Repeat("x", 255), Status: runs.PendingApproval,
		Actor: actor.Actor{Name: hostile}, CreatedAt: now.Add(-time.Hour), Commit: strings.Repeat("a", 40),
		Spec: runs.Spec{Tool: "ansible", Playbook: hostile, Command: hostile, ProjectID: "p", InventoryID: "i",
			Controls: runs.Controls{Limit: hostile}},
		Vars: runs.Vars{hostile: json.RawMessage(`"v"`), "api_token": json.RawMessage(`"hunter22"`)},
		Risk: runs.Risk{Level: runs.CriticalRisk, Reasons: []string{hostile}},
		Approvals: &runs.Approvals{Holds: []runs.Hold{{Name: hostile, Message: hostile, Needed: 2}},
			Given: []runs.Approval{{By: actor.Actor{Name: hostile}, At: now, Reason: hostile}}},
		Decision: &runs.Decision{By: actor.Actor{Name: hostile}, At: now, Verdict: runs.Approved, Reason: hostile},
		Preview: &runs.Preview{PreviewOf: runs.PreviewOf{RunID: "run_2"}, Status: runs.Succeeded, Changes: 3, Stale: true,
			Tasks: []runs.PreviewedTask{{Task: hostile, Hosts: 1}}},
	}
	return &request{run: run, held: true, may: true, digest: strings.Repeat("d", 64), changed: []string{"hosts"},
		hosts: hostView{names: names, before: run, added: names[:9], gone: names[:1], fell: names[:2],
			groups: []shell.GroupCount{{Name: hostile, Hosts: 4}}},
		log: &catalog.CommitLog{Total: 60, Missing: 2, Commits: slices.Repeat([]catalog.Commit{{ID: strings.Repeat("b", 40),
			Author: hostile, Subject: hostile}}, catalog.MaxCommits)},
		preview: run.Preview, place: hostile, version: strings.Repeat("e", 64), project: hostile, earlier: []*runs.Run{run},
		changes: changeView{groups: []change{{what: hostile, hosts: names[:2], lines: []line{{true, hostile}}, cut: true}},
			more: 1, cut: true},
		holds: []holdView{{Hold: run.Approvals.Holds[0], given: 1, who: hostile}}}
}

func TestHostileTexts(t *testing.T) {
	t.Parallel()
	admin := shell.Viewer{ID: "u", Name: "mara", Role: identity.Admin}
	v := extreme()
	w := waiting{rows: []row{{run: v.run, reach: &runs.Reach{Hosts: v.hosts.names}}, {run: v.run, other: true}}, total: 2}
	for _, detail := range []bool{true, false} {
		html := render(t, admin, both(w, v, detail))
		for _, text := range []string{"Approve for 5,000 hosts", "and 4,800 more", "Critical risk", "[redacted]",
			"2 hosts", "Changed since it was held: hosts",
			"and 40 more commits, without 2 commits that the last approved run had"} {
			if !strings.Contains(html, text) {
				t.Errorf("no %q", text)
			}
		}
		if strings.Contains(html, "hunter22") {
			t.Error("a secret is on the page")
		}
	}
	v.may, v.why, v.held = false, hostile, true
	if html := render(t, admin, both(w, v, true)); strings.Contains(html, "sheet-approve") {
		t.Error("who may not decide has the dialog")
	}
	v.held = false
	render(t, admin, both(waiting{}, v, true))
	render(t, admin, both(waiting{}, nil, false))
}

func TestSentences(t *testing.T) {
	t.Parallel()
	before := &runs.Run{}
	for want, v := range map[string]hostView{
		"3 hosts":                        {names: []string{"a", "b", "c"}},
		"3 hosts, 2 more than last time": {names: []string{"a", "b", "c"}, before: before, added: []string{"b", "c"}},
		"1 host, 1 fewer than last time": {names: []string{"a"}, before: before, gone: []string{"b"}},
		"1 host, as many as last time":   {names: []string{"a"}, before: before},
		"At least 1 host":                {names: []string{"a"}, unknown: true},
		unknownHosts:                     {unknown: true},
		noHosts:                          {none: true},
	} {
		if got := hostsTitle(v); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	counts := runs.HostCounts{runs.HostChanged: 2, runs.HostOK: 1}
	for want, p := range map[string]*runs.Preview{
		previewGone: {},
		"A dry run is under way: 3 hosts so far.": {Status: runs.Running, Hosts: counts},
		"The dry run failed: no inventory":        {Status: runs.Failed, Error: "no inventory"},
		previewNothing:                            {Status: runs.Succeeded, Hosts: counts},
	} {
		if got := previewText(p, changeView{}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	p := &runs.Preview{Status: runs.Succeeded, Hosts: counts, Changes: 2}
	const want = "The dry run would change 2 of 3 hosts. All alike but 1 host."
	if got := previewText(p, changeView{hosts: 2, odd: 1}); got != want {
		t.Error(got)
	}
}

// TestProposalsSaySo: whoever decides about what a language model wrote knows that.
func TestProposalsSaySo(t *testing.T) {
	t.Parallel()
	admin := shell.Viewer{ID: "u", Name: "mara", Role: identity.Admin}
	for text, want := range map[string]struct {
		run  runs.Run
		says bool
	}{
		"a proposal":  {runs.Run{Origin: runs.Origin{Source: runs.FromProposal}}, true},
		"its rerun":   {runs.Run{Labels: map[string]string{ai.ProposalLabel: ai.ProposalValue}}, true},
		"another run": {runs.Run{Labels: map[string]string{"a": "b"}}, false},
	} {
		v := extreme()
		v.run.Origin, v.run.Labels = want.run.Origin, want.run.Labels
		w := waiting{rows: []row{{run: v.run, reach: &runs.Reach{}}}, total: 1}
		html := render(t, admin, both(w, v, true)) + render(t, admin, both(w, v, false))
		if strings.Contains(html, "what a language model proposed") != want.says ||
			strings.Contains(html, ", proposed by a language model") != want.says {
			t.Errorf("%s says the wrong thing", text)
		}
	}
}
