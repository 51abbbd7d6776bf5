package run

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/runs"
)

// TestPageOfALargeRun asks for the pages of a run with 5,000 hosts: none is large, and none reads more than a bounded
// number of events.
func TestPageOfALargeRun(t *testing.T) {
	t.Parallel()
	r, x := big(5000, 30)
	s := serve(t, r, x)
	for path, most := range map[string]int{
		"": 1, "?view=table": 1, "?view=inputs": 1, "/evidence": 1, "/compare": 1, "?view=timeline": 2*scanLimit + 1,
		"/diff": scanLimit, "/h/web-0100": scanLimit, "/cell?host=web-4999&task=t29": 2 * scanPage,
		"/cell?host=web-0100&task=task+29": 2 * scanPage,
	} {
		r.read = 0
		a := s.Call(http.MethodGet, "/ui/runs/run_1"+path, "viewer", "")
		var packed bytes.Buffer
		z, _ := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
		_, _ = z.Write([]byte(a.Body))
		_ = z.Close()
		if a.Status != http.StatusOK || packed.Len() > 20<<10 || r.read > most {
			t.Errorf("%q: status %d, %d bytes packed, %d events read", path, a.Status, packed.Len(), r.read)
		}
	}
}

// TestFailuresOfALargeRunComeLater asks for a run with many events: its page leaves the causes to a request of its own.
func TestFailuresOfALargeRunComeLater(t *testing.T) {
	t.Parallel()
	r, x := big(1000, 30)
	s := serve(t, r, x)
	a := s.Call(http.MethodGet, "/ui/runs/run_1", "viewer", "")
	if x.asked != 0 || !strings.Contains(a.Body, "Show why it failed") {
		t.Errorf("asked %d times for the causes", x.asked)
	}
	a = s.Call(http.MethodGet, "/ui/runs/run_1?why=1", "viewer", "", "HX-Request", "true", "HX-Target", "div#rwhy")
	if x.asked != 1 || !strings.HasPrefix(a.Body, `<div id="rwhy">`) || !strings.Contains(a.Body, "10 hosts") {
		t.Errorf("asked %d times, got %.200s", x.asked, a.Body)
	}
}

// TestHostileTexts shows texts that would be markup, scripts or other directions of text on all pages.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	const evil = `"><img src=x onerror=alert(1)><script>alert(1)</script>'` + "\u202e"
	long := evil + strings.Repeat("n", 255)
	r, x := big(2, 1)
	run := r.run
	run.Name, run.Error, run.Change, run.Commit = long, evil, evil, evil
	run.Labels = map[string]string{evil: evil}
	run.Vars = runs.Vars{evil: []byte(`"` + "<script>alert(1)</script>" + `"`)}
	run.Spec.Limit, run.Spec.Playbook, run.Spec.Env = evil, evil, map[string]string{evil: evil}
	run.Warnings = []runs.Warning{{Code: "x", Message: evil}}
	run.Risk = runs.Risk{Level: runs.HighRisk, Reasons: []string{evil}}
	for i := range r.events {
		e := &r.events[i]
		e.Host, e.Task, e.Play, e.Message, e.Stdout, e.Stderr, e.TaskID = evil, evil, evil, evil, evil, evil, evil
		e.Diff = []byte(`{"before":"<script>alert(1)</script>","after":"b","before_header":"<script>alert(1)</script>"}`)
	}
	r.hosts = []runs.HostSummary{{Host: evil, Worst: runs.HostFailed}}
	r.tasks[0].Task, r.log = evil, evil
	x.groups[0].Message, x.groups[0].Task, x.groups[0].Hosts = evil, evil, []string{evil}
	x.reasons = []runs.Reason{{Code: "x", Text: evil, Next: evil, Object: evil}}
	before := *run
	r.compared = &runs.Comparison{Run: run, Baseline: &before, ChangedFields: []string{"name"},
		Hosts: []runs.HostChange{{Host: evil, Verdict: runs.Broke}}, Tasks: []runs.TaskChange{{Task: evil}}}
	s := serve(t, r, x)
	for _, status := range []runs.Status{runs.Failed, runs.PendingApproval} {
		run.Status = status
		for _, path := range []string{"", "?view=table", "?view=timeline&host=x", "?view=inputs", "/diff", "/compare",
			"/evidence", "/h/" + escape(evil),
			"/cell?host=" + query(evil) + "&task=" + query(evil), "/cell?host=" + query(evil)} {
			a := s.Call(http.MethodGet, "/ui/runs/run_1"+path, "admin", "")
			if a.Status != http.StatusOK && status == runs.Failed {
				t.Errorf("%q: status %d", path, a.Status)
			}
			inert(t, path, a.Body)
		}
	}
}

var (
	tags  = regexp.MustCompile(`<[a-zA-Z][^<>]*>`)
	named = regexp.MustCompile(`\sid="([^"]*)"`)
)

// inert fails if a page has markup of a text, an attribute that the policy refuses, or an id twice.
func inert(t *testing.T, path, body string) {
	t.Helper()
	for _, bad := range []string{"<script>", "<img", "onerror=alert(1)>"} {
		if strings.Contains(body, bad) {
			t.Errorf("%q has %s", path, bad)
		}
	}
	quoted := regexp.MustCompile(`"[^"]*"`)
	for _, tag := range tags.FindAllString(body, -1) {
		bare := quoted.ReplaceAllString(tag, `""`)
		if regexp.MustCompile(`\s(style|on[a-z]+)=`).MatchString(bare) {
			t.Errorf("%q has the tag %s", path, tag)
		}
	}
	seen := map[string]bool{}
	for _, m := range named.FindAllStringSubmatch(body, -1) {
		if seen[m[1]] {
			t.Errorf("%q has the id %s twice", path, m[1])
		}
		seen[m[1]] = true
	}
}

// TestActions compares the buttons of each role and state.
func TestActions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		who    string
		status runs.Status
		has    []string
		lacks  []string
	}{
		{"viewer", runs.Failed, nil, []string{"relaunch-failed", "rerun-run", "cancel-run"}},
		{"operator", runs.Failed, []string{">Relaunch 2 hosts</a>", "rerun-run", "Copy as curl"}, []string{"cancel-run"}},
		{"operator", runs.Running, []string{"cancel-run"}, []string{"rerun-run", "btn first\" href=\"?sheet"}},
		{"operator", runs.Pending, []string{"cancel-run", "move-run"}, []string{"rerun-run"}},
		{"admin", runs.PendingApproval, []string{`href="/ui/approvals/run_1"`, "preview-run", "cancel-run"},
			[]string{"rerun-run"}},
		{"viewer", runs.PendingApproval, []string{`href="/ui/approvals/run_1"`}, []string{"preview-run", "cancel-run"}},
		{"operator", runs.Succeeded, []string{"rerun-run"}, []string{"cancel-run"}},
	} {
		r, x := big(200, 2)
		r.run.Status = c.status
		a := serve(t, r, x).Call(http.MethodGet, "/ui/runs/run_1", c.who, "")
		for _, text := range c.has {
			if !strings.Contains(a.Body, text) {
				t.Errorf("%s, %s: lacks %s", c.who, c.status, text)
			}
		}
		for _, text := range c.lacks {
			if strings.Contains(a.Body, text) {
				t.Errorf("%s, %s: has %s", c.who, c.status, text)
			}
		}
	}
}

// TestVisitors sends visitors to the sign-in, and names no run that is not there.
func TestVisitors(t *testing.T) {
	t.Parallel()
	r, x := big(1, 1)
	s := serve(t, r, x)
	if a := s.Call(http.MethodGet, "/ui/runs/run_1", "", ""); a.Status != http.StatusSeeOther {
		t.Errorf("a visitor got %d", a.Status)
	}
	if a := s.Call(http.MethodGet, "/ui/runs/run_2", "viewer", ""); a.Status != http.StatusNotFound {
		t.Errorf("an unknown run is %d", a.Status)
	}
	if a := s.Call(http.MethodGet, "/ui/runs/run_1/cell", "viewer", ""); a.Status != http.StatusBadRequest {
		t.Errorf("a cell without a host is %d", a.Status)
	}
	if a := s.Call(http.MethodGet, "/ui/runs/run_1/h/other", "viewer", ""); a.Status != http.StatusNotFound {
		t.Errorf("a host without a result is %d", a.Status)
	}
}
