//go:build ui

package look

import (
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/e2e/ui/browser"
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(harness.Main(m))
}

// site is a demo with a page for each kind of page.
type site struct {
	harness.Client
	t *testing.T
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{Client: harness.Demo(t), t: t}
	for end := time.Now().Add(time.Minute); ; <-time.After(100 * time.Millisecond) { // its project is fetched
		if s.Do(http.MethodGet, "/v1/projects/"+s.first("projects")+"/files", nil).Status == http.StatusOK {
			return s
		}
		if time.Now().After(end) {
			t.Fatal("the project is not fetched")
		}
	}
}

// list returns members of the objects in a list of the API.
func (s *site) list(path, list, member string) []string {
	s.t.Helper()
	var answer map[string]any
	s.Do(http.MethodGet, path, nil).JSON(s.t, &answer)
	var out []string
	objects, _ := answer[list].([]any)
	for _, o := range objects {
		if m, ok := o.(map[string]any); ok {
			out = append(out, fmt.Sprint(m[member]))
		}
	}
	if len(out) == 0 {
		s.t.Fatalf("%s has no %s", path, list)
	}
	return out
}

func (s *site) first(kind string) string { s.t.Helper(); return s.list("/v1/"+kind, kind, "id")[0] }

// workflow returns a template with steps.
func (s *site) workflow() string {
	s.t.Helper()
	steps := s.list("/v1/templates?limit=1000", "templates", "steps")
	i := slices.IndexFunc(steps, func(text string) bool { return strings.HasPrefix(text, "[map") })
	if i < 0 {
		s.t.Fatal("no template has steps")
	}
	return s.list("/v1/templates?limit=1000", "templates", "id")[i]
}

// run returns the newest run with a member of a value.
func (s *site) run(member, value string) string {
	s.t.Helper()
	values := s.list("/v1/runs?limit=1000", "runs", member)
	i := slices.Index(values, value)
	if i < 0 {
		s.t.Fatalf("no run has the %s %s", member, value)
	}
	return s.list("/v1/runs?limit=1000", "runs", "id")[i]
}

// nowhere is the address of no page.
const nowhere = "nowhere"

// page is a page by name.
type page struct{ name, path string }

// pages lists a page of each kind, with the address of one object each.
func (s *site) pages() []page {
	s.t.Helper()
	out := []page{
		{"overview", ""}, {"runs", "runs"}, {"runs-empty", "runs?q=nothing-has-this-name"}, {"approvals", "approvals"},
		{"launch", "launch"}, {"adhoc", "launch/adhoc"}, {"schedules", "schedules"}, {"triggers", "triggers"},
		{"projects", "projects"}, {"fleet", "fleet"}, {"inventories", "inventories"}, {"estate", "estate"},
		{"drift", "drift"},
		{"changes", "changes"}, {"tasks", "tasks"}, {"queues", "queues"}, {"trust", "trust"}, {"trail", "trust/trail"},
		{"policies", "trust/policies"}, {"windows", "trust/windows"}, {"verify", "trust/verify"}, {"objects", "objects"},
		{"help", "help"}, {"help-guide", "help/guides/policies"}, {"login", "login"}, {"welcome", "welcome"},
		{"new-template", "objects/templates/new"}, {"not-found", nowhere},
	}
	for _, name := range []string{"", "access", "credential-types", "credentials", "dead-letters", "doctor", "extensions",
		"import", "licence", "notifications", "orgs", "profiles", "teams", "tokens", "workers"} {
		out = append(out, page{strings.TrimSuffix("settings-"+name, "-"), strings.TrimSuffix("settings/"+name, "/")})
	}
	for _, status := range []string{"succeeded", "failed", "running", "pending", "pending_approval", "canceled",
		"interrupted"} {
		out = append(out, page{"run-" + status, "runs/" + s.run("status", status)})
	}
	out = append(out, page{"run-split", "runs/" + s.run("kind", "split")},
		page{"run-pipeline", "runs/" + s.run("kind", "pipeline")},
		page{"run-steps", "runs/" + s.run("kind", "pipeline") + "/steps"})
	held := s.run("status", "pending_approval")
	failed := s.run("status", "failed")
	out = append(out, page{"approval", "approvals/" + held},
		page{"run-evidence", "runs/" + failed + "/evidence"}, page{"run-diff", "runs/" + failed + "/diff"},
		page{"run-table", "runs/" + failed + "?view=table"}, page{"run-timeline", "runs/" + failed + "?view=timeline"})
	for name, kind := range map[string]string{"schedule": "schedules", "trigger": "triggers", "project": "projects",
		"inventory": "inventories"} {
		out = append(out, page{name, kind + "/" + s.first(kind)})
	}
	host := s.list("/v1/fleet?limit=1", "hosts", "host")[0]
	return append(out, page{"template", "launch/" + s.first("templates")},
		page{"host", "fleet/" + url.PathEscape(host)},
		page{"policy", "trust/policies/" + s.first("policies")}, page{"window", "trust/windows/" + s.first("windows")},
		page{"change", "changes/" + url.PathEscape(s.list("/v1/changes", "changes", "change")[0])},
		page{"edit-policy", "objects/policies/" + s.first("policies") + "/edit"},
		page{"edit-workflow", "objects/templates/" + s.workflow() + "/edit"})
}

// themes are the values of the media feature prefers-color-scheme.
func themes() []string { return []string{"light", "dark"} }

// complete is when a page is: streams stay open, so that the network is no sign of it.
const complete = "document.readyState === 'complete' && " +
	"[...document.querySelectorAll('#matrix, #log')].every(e => e.dataset.ready !== undefined || e.hidden) && " +
	"[...document.querySelectorAll('.flow')].every(e => e.dataset.started !== undefined)"

// open shows a page when it is complete, with features of media queries.
func (s *site) open(b *browser.Browser, width, height int64, path string, features ...string) *browser.Page {
	s.t.Helper()
	p := b.Page(s.URL, s.Token)
	p.Size(width, height)
	p.Media(features...)
	if path == nowhere {
		p.Allow("404")
	}
	p.Open("/ui/" + path)
	p.Wait("the page is complete", complete)
	return p
}

// eachPage opens each page of the demo in each theme at the widths.
func eachPage(t *testing.T, widths []int64, look func(t *testing.T, p *browser.Page, name string)) {
	t.Helper()
	s := newSite(t)
	s.each(t, s.pages(), widths, look)
}

// each opens pages in each theme at the widths.
func (s *site) each(
	t *testing.T, pages []page, widths []int64, look func(t *testing.T, p *browser.Page, name string), features ...string,
) {
	t.Helper()
	b := browser.Start(t)
	only := os.Getenv("WRIT_TEST_PAGES")
	for _, one := range pages {
		if only != "" && !slices.Contains(strings.Split(only, ","), one.name) {
			continue
		}
		for _, width := range widths {
			for _, theme := range themes() {
				name := fmt.Sprintf("%s-%d-%s", one.name, width, theme)
				t.Run(name, func(t *testing.T) {
					with := append([]string{"prefers-color-scheme", theme}, features...)
					look(t, s.open(b.For(t), width, 900, one.path, with...), name)
				})
			}
		}
	}
}
