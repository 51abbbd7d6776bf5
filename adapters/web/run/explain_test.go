package run

import (
	"net/http"
	"strings"
	"testing"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/adapters/httpapi/httpapitest"
	"github.com/writ-automation/writ/adapters/web"
	"github.com/writ-automation/writ/adapters/web/adviceview"
	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/ai"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/system"
)

// advisor is one that nobody asks: these tests have no API.
type advisor struct {
	ai.Advisor
	off bool
}

func (a advisor) Enabled() bool { return !a.off }

func serveAdvised(t *testing.T, r *reader, x *insight, a ai.Advisor) *httpapitest.Server {
	t.Helper()
	routes, err := web.New(web.Params{Runs: r, Info: system.Info{Version: "1"}, Clock: clock{}, Advisor: a,
		Sections: []shell.Section{New(Params{Reader: r, Insight: x, Trail: trail{}})}})
	if err != nil {
		t.Fatal(err)
	}
	return httpapitest.Serve(t, httpapi.Config{}, routes)
}

// TestExplainIsOffered: runs that failed can be explained, on servers with a provider alone.
func TestExplainIsOffered(t *testing.T) {
	t.Parallel()
	const button = `action="/ui/runs/run_1/explain"`
	for status, want := range map[runs.Status]bool{
		runs.Failed: true, runs.Interrupted: true, runs.Canceled: true, runs.Running: false, runs.Pending: false,
	} {
		r, x := big(200, 2)
		r.run.Status = status
		a := serveAdvised(t, r, x, advisor{}).Call(http.MethodGet, "/ui/runs/run_1", "viewer", "")
		if strings.Contains(a.Body, button) != want || a.Status != http.StatusOK {
			t.Errorf("%s: status %d, offered %v", status, a.Status, !want)
		}
		inert(t, string(status), a.Body)
	}
	r, x := big(200, 2)
	for _, off := range []ai.Advisor{nil, advisor{off: true}} {
		if a := serveAdvised(t, r, x, off).Call(http.MethodGet, "/ui/runs/run_1", "admin", ""); strings.Contains(a.Body,
			button) {
			t.Error("it is offered without a provider")
		}
	}
	r.run.Hosts, r.run.Status = runs.HostCounts{runs.HostOK: 3}, runs.Succeeded
	if a := serveAdvised(t, r, x, advisor{}).Call(http.MethodGet, "/ui/runs/run_1", "admin", ""); strings.Contains(a.Body,
		button) {
		t.Error("a run without failures can be explained")
	}
}

// TestExplainWithoutScript: the page of the run comes back with why there is no answer.
func TestExplainWithoutScript(t *testing.T) {
	t.Parallel()
	r, x := big(200, 2)
	s := serveAdvised(t, r, x, advisor{})
	a := s.Call(http.MethodPost, "/ui/runs/run_1/explain", "viewer", "_page=x", "Content-Type",
		"application/x-www-form-urlencoded", "Sec-Fetch-Site", "same-origin")
	if a.Status != http.StatusNotFound || !strings.Contains(a.Body, "Patch web fleet") ||
		!strings.Contains(a.Body, adviceview.Marked) {
		t.Errorf("status %d: %.300s", a.Status, a.Body)
	}
	if a := s.Call(http.MethodPost, "/ui/runs/run_1/explain", "", "_page=x"); a.Status == http.StatusOK {
		t.Error("a visitor asks")
	}
}
