//go:build ui

package look

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// own starts a server that is nobody else's.
func own(t *testing.T, flags ...string) *site {
	t.Helper()
	s := harness.Start(t, harness.Options{Flags: flags})
	return &site{Client: s.Client, t: t}
}

// made creates a record, and returns its id.
func (s *site) made(path string, body harness.Body) string {
	s.t.Helper()
	var out struct{ ID string }
	a := s.Do(http.MethodPost, path, body)
	if a.Status/100 != 2 {
		s.t.Fatalf("%s: %d %s", path, a.Status, a.Body)
	}
	a.JSON(s.t, &out)
	return out.ID
}

// lists are the pages that need no record.
func lists() []page {
	out := []page{{"overview", ""}, {"welcome", "welcome"}, {"new-template", "objects/templates/new"}}
	for _, path := range []string{"runs", "approvals", "launch", "launch/adhoc", "schedules", "triggers", "projects",
		"fleet",
		"inventories", "estate", "drift", "changes", "tasks", "queues", "trust", "trust/trail", "trust/policies",
		"trust/windows", "account", "settings", "settings/teams", "settings/orgs", "settings/access", "settings/tokens",
		"settings/credentials", "settings/notifications", "settings/dead-letters", "settings/workers"} {
		out = append(out, page{strings.ReplaceAll(path, "/", "-"), path})
	}
	return out
}

// checkStates checks pages with axe and at 320 pixels.
func (s *site) checkStates(t *testing.T, state string, pages []page) {
	t.Helper()
	for i := range pages {
		pages[i].name = state + "-" + pages[i].name
	}
	s.each(t, pages, []int64{1280, 360}, accessible)
	s.each(t, pages, []int64{320}, reflows)
}

// TestEmpty checks the pages of a server on which nothing is, and the one on which its first visitor signs in.
func TestEmpty(t *testing.T) {
	s := own(t)
	s.checkStates(t, "empty", lists())
	s.Token = ""
	s.checkStates(t, "visitor", []page{{"login", "login"}})
}

// extreme makes records with the longest names, many labels, names that are written from right to left or of emoji, and
// an inventory without hosts. It returns the pages about them.
func (s *site) extreme() []page {
	s.t.Helper()
	long := strings.Repeat("verylongname", 22)
	const hebrew, emoji = "שרת-ייצור-ראשי", "🚀🔥-server-👩‍🚀"
	labels := harness.Body{}
	for i := range 200 {
		labels[fmt.Sprintf("label-%03d-%s", i, strings.Repeat("x", 40))] = strings.Repeat("value", 12)
	}
	hosts := strings.Join([]string{long[:253], hebrew, emoji, "web-1"}, "\n")
	inventory := s.made("/v1/inventories", harness.Body{"name": long[:200], "content": "[all]\n"})
	if a := s.Do(http.MethodPut, "/v1/inventories/"+inventory, harness.Body{"name": long[:200],
		"content": "[all]\n" + hosts + " note=" + long + "\n"}); a.Status != http.StatusOK {
		s.t.Fatalf("%d %s", a.Status, a.Body)
	}
	none := s.made("/v1/inventories", harness.Body{"name": "without hosts " + hebrew, "content": "[web]\n"})
	team := s.made("/v1/teams", harness.Body{"name": long[:100]})
	user := s.made("/v1/users", harness.Body{"username": long[:64], "role": "operator", "title": hebrew})
	template := s.made("/v1/templates", harness.Body{"name": long[:200], "tool": "bash", "command": "true",
		"labels": labels})
	empty := s.made("/v1/templates", harness.Body{"name": emoji, "playbook": "site.yml", "inventory_id": none})
	policy := s.made("/v1/policies", harness.Body{"name": long[:200], "enabled": true, "effect": "require_approval",
		"message": strings.Repeat("Ask them. ", 20), "match": harness.Body{"hosts_over": 1_000_000}})
	held := s.made("/v1/runs", harness.Body{"name": long[:200], "tool": "bash", "command": strings.Repeat("true; ", 300),
		"labels": labels, "require_approval": true})
	ended := s.made("/v1/runs", harness.Body{"name": hebrew + " " + emoji, "tool": "bash", "labels": labels,
		"command": "printf '%s\\n' '" + hebrew + "' '" + strings.Repeat(long, 8) + "'; exit 3"})
	s.Await(ended)
	s.made("/v1/schedules", harness.Body{"name": long[:200], "template_id": template, "cron": "0 2 * * *"})
	return []page{
		{"run", "runs/" + ended}, {"run-inputs", "runs/" + ended + "?view=inputs"},
		{"run-evidence", "runs/" + ended + "/evidence"},
		{"held", "runs/" + held}, {"approval", "approvals/" + held}, {"template", "launch/" + template},
		{"template-without-hosts", "launch/" + empty}, {"inventory", "inventories/" + inventory},
		{"inventory-hosts", "inventories/" + inventory + "?view=hosts"}, {"inventory-without-hosts", "inventories/" + none},
		{"inventory-versions", "inventories/" + inventory + "?view=versions&version=2"},
		{"policy", "trust/policies/" + policy}, {"edit-policy", "objects/policies/" + policy + "/edit"},
		{"team", "settings/teams/" + team}, {"user", "objects/users/" + user + "/edit"},
	}
}

// TestExtreme checks the pages of a server with records that are as large as they may be.
func TestExtreme(t *testing.T) {
	s := own(t)
	about := s.extreme()
	s.checkStates(t, "extreme", append(about, lists()...))
}
