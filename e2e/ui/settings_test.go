package ui

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

const formType = "application/x-www-form-urlencoded"

// settingsRig is a server with an account of each role.
type settingsRig struct {
	*harness.Server
	ids   map[string]string
	roles map[string]harness.Client
}

func newSettingsRig(t *testing.T) *settingsRig {
	t.Helper()
	s := harness.Start(t, harness.Options{Env: []string{harness.WithoutPrograms}})
	stay := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	s.Via = stay
	r := &settingsRig{Server: s, ids: map[string]string{}, roles: map[string]harness.Client{"admin": s.Client,
		"anonymous": s.As("")}}
	for name, role := range map[string]string{"mara": "operator", "ines": "viewer"} {
		r.ids[name] = r.make(t, "/v1/users", harness.Body{"username": name, "role": role})
		var k struct{ Token string }
		s.Do(http.MethodPost, "/v1/tokens", harness.Body{"user_id": r.ids[name], "name": "test"}).JSON(t, &k)
		r.roles[role] = s.As(k.Token)
	}
	return r
}

// make creates a record by the API and returns its id.
func (r *settingsRig) make(t *testing.T, path string, body harness.Body) string {
	t.Helper()
	a := r.Do(http.MethodPost, path, body)
	var out struct{ ID string }
	if a.JSON(t, &out); a.Status != http.StatusCreated {
		t.Fatalf("POST %s: %d %s", path, a.Status, a.Body)
	}
	return out.ID
}

// page returns a page that must answer with a status.
func settingsPage(t *testing.T, c harness.Client, path string, status int) string {
	t.Helper()
	a := c.Do(http.MethodGet, path, nil)
	if a.Status != status {
		t.Fatalf("GET %s: %d, expected %d\n%s", path, a.Status, status, a.Body)
	}
	return string(a.Body)
}

// submit posts the form of an operation.
func submitForm(c harness.Client, operation, query string, form url.Values) harness.Answer {
	return c.Do(http.MethodPost, "/ui/do/"+operation+"?"+query, form.Encode(), "Content-Type", formType)
}

func contains(t *testing.T, html string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(html, p) {
			t.Errorf("the page lacks %q:\n%s", p, html)
		}
	}
}

func lacks(t *testing.T, html string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if strings.Contains(html, p) {
			t.Errorf("the page has %q", p)
		}
	}
}

// TestSettingsRoles checks each page of the section and of the forms for each role.
func TestSettingsRoles(t *testing.T) {
	t.Parallel()
	r := newSettingsRig(t)
	const admin, operator, viewer = "admin", "operator", "viewer"
	team := r.make(t, "/v1/teams", harness.Body{"name": "Release"})
	org := r.make(t, "/v1/orgs", harness.Body{"name": "Payments"})
	key := r.make(t, "/v1/credentials", harness.Body{"name": "key", "kind": "ssh_password",
		"secret": harness.Body{"password": "not to be shown"}})
	least := map[string]string{
		"/ui/settings": admin, "/ui/settings/teams": admin, "/ui/settings/teams/" + team: admin,
		"/ui/settings/orgs": admin, "/ui/settings/orgs/" + org: admin, "/ui/settings/access": admin,
		"/ui/settings/tokens": admin, "/ui/settings/credentials": operator, "/ui/settings/credentials/" + key: operator,
		"/ui/settings/credential-types": admin, "/ui/settings/notifications": admin, "/ui/settings/doctor": admin,
		"/ui/settings/licence": admin, "/ui/settings/workers": admin, "/ui/settings/profiles": admin,
		"/ui/settings/dead-letters": admin, "/ui/objects": viewer, "/ui/objects/users/new": admin,
		"/ui/objects/teams/new": admin, "/ui/objects/grants/new": admin, "/ui/objects/templates/new": operator,
		"/ui/objects/credentials/new": operator, "/ui/objects/credential-types/new": admin,
		"/ui/objects/credentials/" + key + "/edit": operator, "/ui/objects/tokens/new": viewer,
		"/ui/objects/queues/default/edit": admin, "/ui/objects/policies/new": admin,
	}
	rank := map[string]int{"anonymous": 0, viewer: 1, operator: 2, admin: 3}
	for path, role := range least {
		for name, c := range r.roles {
			expected := http.StatusOK
			if rank[name] < rank[role] {
				expected = http.StatusForbidden
			}
			if name == "anonymous" {
				expected = http.StatusSeeOther
			}
			if a := c.Do(http.MethodGet, path, nil); a.Status != expected {
				t.Errorf("%s: %s answers %d, expected %d", name, path, a.Status, expected)
			} else if strings.Contains(string(a.Body), "not to be shown") {
				t.Errorf("%s: %s shows a secret", name, path)
			}
		}
	}
	html := settingsPage(t, r.roles[operator], "/ui/settings/credentials", http.StatusOK)
	contains(t, html, "Credentials", ">key<")
	lacks(t, html, "/ui/settings/teams", "/ui/settings/doctor")
	settingsPage(t, r.Client, "/ui/objects/nothing/new", http.StatusNotFound)
	settingsPage(t, r.Client, "/ui/objects/queues/new", http.StatusNotFound)
	settingsPage(t, r.Client, "/ui/objects/templates/tpl_unknown/edit", http.StatusNotFound)
	settingsPage(t, r.Client, "/ui/settings/dead-letters/dlt_unknown", http.StatusNotFound)
}

// TestWhyAccess checks the ways that the page of grants finds against what the API then allows.
func TestWhyAccess(t *testing.T) {
	t.Parallel()
	r := newSettingsRig(t)
	org := r.make(t, "/v1/orgs", harness.Body{"name": "Payments"})
	team := r.make(t, "/v1/teams", harness.Body{"name": "Release"})
	tpl := r.make(t, "/v1/templates", harness.Body{"name": "Patch", "tool": "bash", "command": "true", "org_id": org})
	ask := func(name, text string, reaches bool) {
		t.Helper()
		q := url.Values{"who": {"user:" + r.ids[name]}, "what": {tpl}}
		html := settingsPage(t, r.Client, "/ui/settings/access?"+q.Encode(), http.StatusOK)
		contains(t, html, text)
		role := map[string]string{"mara": "operator", "ines": "viewer"}[name]
		if a := r.roles[role].Do(http.MethodGet, "/v1/templates/"+tpl, nil); (a.Status == http.StatusOK) != reaches {
			t.Errorf("%s reads the template: %d, while the page says %q", name, a.Status, text)
		}
	}
	ask("mara", "mara may use Patch.", true)
	ask("ines", "ines may read Patch.", true)
	r.make(t, "/v1/grants", harness.Body{"subject": "team:" + team, "object": tpl, "level": "manage"})
	ask("mara", "mara cannot reach Patch", false)
	form := url.Values{"user_id": {r.ids["mara"]}, "_page": {"/ui/settings/teams/" + team}}
	if a := submitForm(r.Client, "add-team-member", "id="+team, form); a.Status != http.StatusSeeOther {
		t.Fatalf("add a member: %d %s", a.Status, a.Body)
	}
	contains(t, settingsPage(t, r.Client, "/ui/settings/teams/"+team, http.StatusOK), ">mara<",
		"A team of 1 account with 1 grant.",
		">Patch<")
	ask("mara", "A grant names the team Release", true)
	form = url.Values{"user_id": {r.ids["ines"]}, "role": {"admin"}, "_page": {"/ui/settings/orgs/" + org}}
	if a := submitForm(r.Client, "put-org-member", "id="+org, form); a.Status != http.StatusSeeOther {
		t.Fatalf("add a member: %d %s", a.Status, a.Body)
	}
	ask("ines", "ines may use Patch.", true) // a viewer gets no more than use
	contains(t, settingsPage(t, r.Client, "/ui/settings/access?object="+tpl, http.StatusOK), "1 grant with this filter.",
		"lv-manage", ">Release<", ">Patch<")
}

// TestSettingsFigures checks that the figures of pages are those of the API.
func TestSettingsFigures(t *testing.T) {
	t.Parallel()
	r := newSettingsRig(t)
	for path, list := range map[string]struct{ api, noun string }{
		"/ui/settings": {"/v1/users", "account"}, "/ui/settings/access": {"/v1/grants", "grant"},
		"/ui/settings/credentials": {"/v1/credentials", "credential"}, "/ui/settings/teams": {"/v1/teams", "team"},
		"/ui/settings/workers": {"/v1/worker-tokens", "token"},
	} {
		var n struct{ Total int }
		r.Do(http.MethodGet, list.api, nil).JSON(t, &n)
		text := fmt.Sprintf("%d %ss", n.Total, list.noun)
		if n.Total == 1 {
			text = "1 " + list.noun
		}
		contains(t, settingsPage(t, r.Client, path, http.StatusOK), text)
	}
	contains(t, settingsPage(t, r.Client, "/ui/settings?q=MAR", http.StatusOK), ">mara<")
	lacks(t, settingsPage(t, r.Client, "/ui/settings?q=MAR", http.StatusOK), ">ines<")
	var report struct {
		Findings []struct{ Problem string }
		Checked  map[string]int
	}
	r.Do(http.MethodGet, "/v1/doctor", nil).JSON(t, &report)
	html := settingsPage(t, r.Client, "/ui/settings/doctor", http.StatusOK)
	if n := strings.Count(html, "To mend it, "); n != len(report.Findings) {
		t.Errorf("the page has %d findings, the API %d", n, len(report.Findings))
	}
	for name := range report.Checked {
		contains(t, html, strings.ToUpper(name[:1])+strings.ReplaceAll(name[1:], "_", " "))
	}
	contains(t, settingsPage(t, r.Client, "/ui/settings/licence", http.StatusOK), "This install has no licence",
		"Policy deny",
		"Not included")
}
