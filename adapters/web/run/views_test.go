package run

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/runs"
)

func TestSentences(t *testing.T) {
	t.Parallel()
	code := 3
	ended := func(s runs.Status, counts runs.HostCounts) *runs.Run {
		return &runs.Run{Status: s, CreatedAt: now().Add(-time.Hour), StartedAt: now().Add(-372 * time.Second),
			EndedAt: now(), Hosts: counts}
	}
	canceled := ended(runs.Canceled, nil)
	canceled.Canceled = &runs.Cancellation{By: actor.Actor{Name: "Ada Reyes"}}
	script := ended(runs.Failed, nil)
	script.ExitCode = &code
	early := &runs.Run{Status: runs.Failed, Error: "the playbook does not exist.", EndedAt: now()}
	for _, c := range []struct {
		run  *runs.Run
		want string
	}{
		{ended(runs.Failed, runs.HostCounts{runs.HostFailed: 12, runs.HostUnreachable: 5, runs.HostOK: 4983}),
			"after 6 min 12 s: 12 of 5,000 hosts failed, 5 could not be reached."},
		{ended(runs.Succeeded, runs.HostCounts{runs.HostChanged: 3, runs.HostOK: 1}),
			"after 6 min 12 s: 3 of 4 hosts were changed, none failed."},
		{ended(runs.Succeeded, runs.HostCounts{runs.HostOK: 1}), "after 6 min 12 s: nothing changed on 1 host."},
		{ended(runs.Succeeded, nil), "after 6 min 12 s."},
		{script, "after 6 min 12 s: exit code 3."},
		{early, "before it started: the playbook does not exist."},
		{canceled, "by Ada Reyes after 6 min 12 s."},
		{&runs.Run{Status: runs.PendingApproval, CreatedAt: now().Add(-12 * time.Minute)}, "for 12 min. Nothing has run."},
		{&runs.Run{Status: runs.Rejected, Decision: &runs.Decision{By: actor.Actor{Name: "Ines Duarte"}, Reason: "not now"}},
			"by Ines Duarte: not now. Nothing has run."},
	} {
		if got := sentence(&head{Run: c.run}, now()); got != c.want {
			t.Errorf("%s: %q, want %q", c.run.Status, got, c.want)
		}
	}
}

func TestProgress(t *testing.T) {
	t.Parallel()
	h := &head{Run: &runs.Run{Status: runs.Running, StartedAt: now().Add(-time.Minute)}, Task: "install",
		Median: 3 * time.Minute, Ended: 5}
	if got, want := progress(h, now()), ", at install. About 2 min left, by the last 5 runs."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if h.Median = 0; progress(h, now()) != ", at install." {
		t.Errorf("without runs before it says %q", progress(h, now()))
	}
}

// TestTable filters, sorts and pages the hosts of a run.
func TestTable(t *testing.T) {
	t.Parallel()
	r, x := big(230, 2)
	s := serve(t, r, x)
	page := func(query string) []string {
		a := s.Call(http.MethodGet, "/ui/runs/run_1?view=table&"+query, "viewer", "")
		var out []string
		for _, part := range strings.Split(a.Body, "/ui/runs/run_1/h/")[1:] {
			name, _, _ := strings.Cut(part, `"`)
			out = append(out, name)
		}
		return out
	}
	if got := page(""); len(got) != tableRows || got[0] != "web-0000" || got[2] != "web-0200" {
		t.Errorf("the worst are not first: %v", got)
	}
	if got := page("sort=-host&page=5"); len(got) != 30 || got[0] != "web-0029" {
		t.Errorf("the last page is %v", got)
	}
	if got := page("page=999"); len(got) != 30 {
		t.Errorf("beyond the last page are %d rows", len(got))
	}
	if got := page("outcome=failed&host=WEB-01"); !slices.Equal(got, []string{"web-0100"}) {
		t.Errorf("the filter leaves %v", got)
	}
	if got := page("task=task+1&outcome=failed"); !slices.Equal(got, []string{"web-0000"}) {
		t.Errorf("the cause has %v", got)
	}
	a := s.Call(http.MethodGet, "/ui/runs/run_1?view=table&host=none", "viewer", "")
	if !strings.Contains(a.Body, "No host fits") || !strings.Contains(a.Body, "Clear the filter") {
		t.Error("an empty table does not name the filter")
	}
}

// TestTableWhileRunning counts the cells of the matrix, since results are stored when a run has ended.
func TestTableWhileRunning(t *testing.T) {
	t.Parallel()
	r, x := big(2, 2)
	r.run.Status, r.hosts = runs.Running, nil
	x.matrix = &runs.Matrix{Names: []string{"a", "b"}, Hosts: 2,
		Cells: []byte{byte(runs.CellOK), 2, byte(runs.CellChanged), 1, byte(runs.CellFailed), 1}}
	got := counted(x.matrix)
	want := []runs.HostSummary{{Host: "a", OK: 2, Changed: 1, Worst: runs.HostChanged},
		{Host: "b", OK: 1, Failed: 1, Worst: runs.HostFailed}}
	if !slices.Equal(got, want) {
		t.Errorf("counted %+v", got)
	}
	a := serve(t, r, x).Call(http.MethodGet, "/ui/runs/run_1?view=table", "viewer", "")
	if !strings.Contains(a.Body, "/h/b") || !strings.Contains(a.Body, "results so far") {
		t.Error("the table of a running run lacks its results so far")
	}
}

// TestAxis compresses the time in which nothing happened.
func TestAxis(t *testing.T) {
	t.Parallel()
	at := func(s int) time.Time { return now().Add(time.Duration(s) * time.Second) }
	a := newAxis([]lane{{From: at(1800), To: at(1860)}, {From: at(1870), To: at(1900)}, {From: at(3000), To: at(3030)}},
		at(0), at(3030))
	if len(a.gaps) != 2 || !a.gaps[0].Waited || a.gaps[1].Waited {
		t.Fatalf("the gaps are %+v", a.gaps)
	}
	if got := gapText(a.gaps[0], true); got != "30 min waiting for approval" {
		t.Errorf("the first gap says %q", got)
	}
	last := float64(labelWidth)
	for s := 0; s <= 3030; s += 10 {
		x := a.x(at(s))
		if x < last || x > drawWidth-noteWidth+1 {
			t.Fatalf("second %d is at %f after %f", s, x, last)
		}
		last = x
	}
	if busy := a.x(at(1860)) - a.x(at(1800)); busy < 200 {
		t.Errorf("a minute of work is %f wide", busy)
	}
}

// TestCompared applies differences: the old lines give the old text and the new ones the new text.
func TestCompared(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{{"a b c d", "a x c d"}, {"", "a b"}, {"a b", ""}, {"a b c", "c a b"}, {"a a a", "a a"},
		{"x a y b z", "a q b"}} {
		a, b := strings.Fields(c[0]), strings.Fields(c[1])
		var before, after []string
		for _, l := range compared("", a, b).Lines {
			if l.Same || l.HasBefore {
				before = append(before, l.Before)
			}
			switch {
			case l.Same:
				after = append(after, l.Before)
			case l.HasAfter:
				after = append(after, l.After)
			}
		}
		if !slices.Equal(before, a) || !slices.Equal(after, b) {
			t.Errorf("%v to %v became %v to %v", a, b, before, after)
		}
	}
}

// TestDiffGroupsEqualOnes shows equal differences of several hosts once, whatever their temporary files are called.
func TestDiffGroupsEqualOnes(t *testing.T) {
	t.Parallel()
	r, x := big(3, 1)
	for i := range r.events {
		name := []string{"tmpab1", "tmpcd2", "tmpef3"}[i]
		after := []string{"b\\n", "b\\n", "c\\n"}[i]
		r.events[i].Type, r.events[i].Changed = runs.EventHostOK, true
		r.events[i].Diff = []byte(`[{"before":"a\n","after":"` + after + `","after_header":"/x/` + name + `"}]`)
	}
	a := serve(t, r, x).Call(http.MethodGet, "/ui/runs/run_1/diff", "viewer", "")
	for _, text := range []string{"2 different changes were made", ">2 hosts<", ">1 host<", "a new file", "- a", "+ b",
		"+ c"} {
		if !strings.Contains(a.Body, text) {
			t.Errorf("the page lacks %q", text)
		}
	}
}

// TestCell shows the result of a task on a host in the drawer, and whether it was looked for everywhere.
func TestCell(t *testing.T) {
	t.Parallel()
	r, x := big(300, 40)
	s := serve(t, r, x)
	q := url.Values{"host": {"web-0100"}, "task": {"t39"}}.Encode()
	a := s.Call(http.MethodGet, "/ui/runs/run_1/cell?"+q, "viewer", "", "HX-Request", "true", "HX-Target", "body")
	for _, text := range []string{"<h2>task 39</h2>", "non-zero return code", "no space left"} {
		if !strings.Contains(a.Body, text) {
			t.Errorf("the drawer lacks %q", text)
		}
	}
	if strings.Contains(a.Body, "<html") {
		t.Error("the drawer is a whole page")
	}
	a = s.Call(http.MethodGet, "/ui/runs/run_1/cell?host=web-0100&task=other", "viewer", "")
	if !strings.Contains(a.Body, "The task has no result on this host") {
		t.Error("a cell without a result does not say so")
	}
}

// TestCommandLine writes the settings of a run as they would be typed.
func TestCommandLine(t *testing.T) {
	t.Parallel()
	s := &runs.Spec{Tool: runs.Ansible, Playbook: "site file.yml", DryRun: true,
		Controls: runs.Controls{Limit: "web:!db", Tags: []string{"a", "b"}, Verbosity: 2}}
	want := "ansible-playbook 'site file.yml' --limit 'web:!db' --tags a,b --check -vv"
	if got := commandLine(s); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestPlanView shows the plan of a dry run of a script, and no such view of a run without one.
func TestPlanView(t *testing.T) {
	t.Parallel()
	r, x := big(1, 1)
	r.run.Spec = runs.Spec{Tool: "tofu", DryRun: true}
	page := func(query string) string {
		return serve(t, r, x).Call(http.MethodGet, "/ui/runs/run_1"+query, "viewer", "").Body
	}
	if strings.Contains(page(""), "?view=plan") || !strings.Contains(page("?view=plan"), planNone) {
		t.Error("a run without a plan has the view")
	}
	r.plan = &runs.StoredPlan{RunID: "run_1", ApplyID: "run_2", Plan: runs.Plan{Summary: "1 to add", Digest: "sha256:1",
		Findings: []runs.PlanFinding{{Resource: "web", Action: "create", Diff: "+ <b>1</b>"}}}}
	if !strings.Contains(page(""), "?view=plan") {
		t.Error("a run with a plan lacks the view")
	}
	shown := page("?view=plan")
	for _, text := range []string{"1 to add", "sha256:1", "+ &lt;b&gt;1&lt;/b&gt;", "/ui/runs/run_2", planApply} {
		if !strings.Contains(shown, text) {
			t.Errorf("no %q", text)
		}
	}
}
