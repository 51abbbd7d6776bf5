package ui

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// TestViews saves searches of the list of runs, and shares them with a team.
func TestViews(t *testing.T) {
	t.Parallel()
	r := newSettingsRig(t)
	team := r.make(t, "/v1/teams", harness.Body{"name": "<b>web ops"})
	member := r.Do(http.MethodPost, "/v1/teams/"+team+"/members", harness.Body{"user_id": r.ids["ines"]})
	if member.Status != http.StatusCreated {
		t.Fatalf("add a member: %d %s", member.Status, member.Body)
	}
	r.make(t, "/v1/teams", harness.Body{"name": "strangers"})
	save := func(role string, status int, fields ...string) harness.Answer {
		t.Helper()
		form := url.Values{"action": {"save"}, "q": {"status:failed"}, "since": {"24h"}}
		for i := 0; i < len(fields); i += 2 {
			form.Set(fields[i], fields[i+1])
		}
		a := r.roles[role].Do(http.MethodPost, "/ui/runs/views", form.Encode(), "Content-Type", formType)
		if a.Status != status {
			t.Errorf("%s saves %v: %d, expected %d\n%.800s", role, fields, a.Status, status, a.Body)
		}
		return a
	}
	page := func(role string) string {
		return settingsPage(t, r.roles[role], "/ui/runs?q=status:failed&since=24h", 200)
	}

	lacks(t, page("operator"), "strangers", `name="team"`)
	contains(t, page("viewer"), `<option value="`+team+`"`, "&lt;b&gt;web ops", ">nobody<")
	if a := save("viewer", http.StatusSeeOther, "name", "Mine alone"); a.Header.Get("Location") !=
		"/ui/runs?q=status%3Afailed&since=24h" {
		t.Error(a.Header.Get("Location"))
	}
	contains(t, page("viewer"), "<bdi>Mine alone</bdi>", "Delete Mine alone", "Share a copy")
	save("viewer", http.StatusSeeOther, "name", "Failures", "team", team, "q", "status:failed label:env=prod")
	shared := settingsPage(t, r.roles["viewer"], "/ui/runs?q=status%3Afailed+label%3Aenv%3Dprod&since=24h", 200)
	contains(t, shared, "<bdi>Failures</bdi>", "shared by &lt;b&gt;web ops", "Delete Failures", "for all of its members")
	lacks(t, shared, "Share a copy", "<b>web")
	lacks(t, page("operator"), "Mine alone", "Failures")

	for _, c := range []struct {
		fields []string
		status int
	}{
		{[]string{"name", ""}, http.StatusBadRequest},
		{[]string{"name", strings.Repeat("x", 61)}, http.StatusBadRequest},
		{[]string{"name", "All"}, http.StatusBadRequest},
		{[]string{"name", "bad", "q", "statsu:failed"}, http.StatusBadRequest},
		{[]string{"name", "x", "team", "team_unknown"}, http.StatusNotFound},
		{[]string{"name", "x", "team", "../users"}, http.StatusNotFound},
	} {
		save("viewer", c.status, c.fields...)
		save("viewer", c.status, append([]string{"team", team}, c.fields...)...)
	}
	save("operator", http.StatusForbidden, "name", "intruder", "team", team)
	save("anonymous", http.StatusSeeOther, "name", "x") // to the sign-in
	lacks(t, page("viewer"), "intruder")

	// Another member changes it, while two save at once: none is lost.
	r.Do(http.MethodPost, "/v1/teams/"+team+"/members", harness.Body{"user_id": r.ids["mara"]})
	save("operator", http.StatusSeeOther, "team", team, "view", "Failures", "name", "Failures in production",
		"action", "rename")
	var both sync.WaitGroup
	for role, name := range map[string]string{"operator": "of Mara", "viewer": "of Ines"} {
		both.Go(func() { save(role, http.StatusSeeOther, "name", name, "team", team) })
	}
	both.Wait()
	contains(t, page("viewer"), "Failures in production", "of Mara", "of Ines")
	save("viewer", http.StatusSeeOther, "team", team, "view", "of Mara", "action", "delete")
	lacks(t, page("operator"), "of Mara")
}
