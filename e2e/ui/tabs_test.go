package ui

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// tabsOn returns the tabs of a page, which come before its content.
func tabsOn(t *testing.T, html string) string {
	t.Helper()
	_, tabs, ok := strings.Cut(html, `<nav class="tabs subs`)
	tabs, rest, _ := strings.Cut(tabs, "</nav>")
	if !ok || !strings.Contains(rest, `<main id="main"`) {
		t.Errorf("the tabs are not before the content: %s", html)
	}
	return tabs
}

// TestTabsOfSections: each page of a section has the tabs that the role may use, at one place, with its own marked.
func TestTabsOfSections(t *testing.T) {
	t.Parallel()
	r := newSettingsRig(t)
	for path, current := range map[string]string{
		"/ui/launch": "/ui/launch", "/ui/schedules": "/ui/schedules", "/ui/triggers": "/ui/triggers",
		"/ui/projects": "/ui/projects", "/ui/launch/adhoc": "/ui/launch", "/ui/fleet": "/ui/fleet",
		"/ui/estate": "/ui/estate", "/ui/changes": "/ui/changes", "/ui/trust": "/ui/trust",
		"/ui/trust/policies": "/ui/trust/policies", "/ui/objects/policies/new": "/ui/trust/policies",
		"/ui/settings": "/ui/settings", "/ui/settings/teams": "/ui/settings/teams",
		"/ui/objects/teams/new": "/ui/settings/teams", "/ui/objects/credentials/new?kind=ssh_key": "/ui/settings/credentials",
	} {
		tabs := tabsOn(t, settingsPage(t, r.Client, path, http.StatusOK))
		contains(t, tabs, `href="`+current+`" aria-current="`)
		if n := strings.Count(tabs, "aria-current"); n != 1 {
			t.Errorf("%s: %d tabs are current", path, n)
		}
	}
	const credentials = `href="/ui/settings/credentials"`
	operator, viewer := r.roles["operator"], r.roles["viewer"]
	contains(t, tabsOn(t, settingsPage(t, operator, "/ui/launch", http.StatusOK)), credentials)
	lacks(t, tabsOn(t, settingsPage(t, viewer, "/ui/launch", http.StatusOK)), credentials)
	lacks(t, tabsOn(t, settingsPage(t, r.Client, "/ui/launch", http.StatusOK)), credentials)
	tabs := tabsOn(t, settingsPage(t, operator, "/ui/settings/credentials", http.StatusOK))
	contains(t, tabs, credentials+` aria-current="page"`, "Templates")
	lacks(t, tabs, "People")
	lacks(t, tabsOn(t, settingsPage(t, operator, "/ui/trust", http.StatusOK)), "/ui/trust/trail")
}

// TestOutlookOfLaunch: the launch form says which policies will hold the run, for what is entered.
func TestOutlookOfLaunch(t *testing.T) {
	t.Parallel()
	r := newSettingsRig(t)
	inv := r.make(t, "/v1/inventories", harness.Body{"name": "web", "content": hostLines(5)})
	tpl := r.make(t, "/v1/templates", harness.Body{"name": "Patch", "playbook": "site.yml", "inventory_id": inv,
		"allow_overrides": []string{"limit"}})
	page := "/ui/launch/" + tpl
	lacks(t, settingsPage(t, r.Client, page, http.StatusOK), "It will be")
	r.make(t, "/v1/policies", harness.Body{"name": "<b>second person", "effect": "require_approval",
		"match": harness.Body{"hosts_over": 3}})
	const held = "It will be held by &lt;b&gt;second person."
	contains(t, settingsPage(t, r.roles["operator"], page, http.StatusOK), held)
	form := url.Values{"limit:text": {"web1"}}
	a := r.Do(http.MethodPost, page+"/hosts", form.Encode(), "Content-Type", formType)
	contains(t, string(a.Body), "Runs on 1 host")
	lacks(t, string(a.Body), "It will be held")

	// The hosts of an inventory that is refreshed first are unknown to the submission, and so to the form.
	const refreshed = "policies take the number of its hosts as unknown"
	lacks(t, string(a.Body), refreshed)
	r.make(t, "/v1/inventory-sources", harness.Body{"name": "cmdb", "kind": "script", "inventory_id": inv,
		"update_on_launch": true, "config": harness.Body{
			"content": "#!/bin/sh\necho '{\"all\": {\"hosts\": [\"web1\"]}}'\n"}})
	a = r.Do(http.MethodPost, page+"/hosts", form.Encode(), "Content-Type", formType)
	contains(t, string(a.Body), "Runs on 1 host", refreshed, held)
	var made struct{ Status string }
	r.Do(http.MethodPost, "/v1/templates/"+tpl+"/launch", harness.Body{"limit": "web1"}).JSON(t, &made)
	if made.Status != "pending_approval" {
		t.Errorf("the form says held, and the run is %s", made.Status)
	}
}

// TestRotateTrigger: a trigger names its template, and gets a new secret, which is shown once.
func TestRotateTrigger(t *testing.T) {
	t.Parallel()
	r := newSettingsRig(t)
	tpl := r.make(t, "/v1/templates", harness.Body{"name": "Patch", "tool": "bash", "command": "true"})
	id := r.make(t, "/v1/triggers", harness.Body{"name": "push", "template_id": tpl, "require_signature": true})
	page := "/ui/triggers/" + id
	link := "\"/ui/launch/" + tpl + "\">Patch</a>"
	contains(t, settingsPage(t, r.Client, page, http.StatusOK), "rotate-trigger-secret", "New secret", link)
	contains(t, settingsPage(t, r.Client, "/ui/triggers", http.StatusOK), link)
	lacks(t, settingsPage(t, r.roles["viewer"], page, http.StatusOK), "New secret")
	form := url.Values{"_secret": {"signing_secret"}, "_page": {page}, "_next": {page}}
	a := submitForm(r.Client, "rotate-trigger-secret", "id="+id, form)
	if a.Status != http.StatusOK {
		t.Errorf("%d", a.Status)
	}
	contains(t, string(a.Body), "Store this now", "Signing secret")
}

// TestDeliveries shows what became of the deliveries of a trigger, to everyone who may read it. What a forge sends is
// text.
func TestDeliveries(t *testing.T) {
	t.Parallel()
	r := newSettingsRig(t)
	tpl := r.make(t, "/v1/templates", harness.Body{"name": "Patch", "tool": "bash", "command": "true"})
	var made struct {
		ID   string `json:"id"`
		Path string `json:"hook_path"`
	}
	r.Do(http.MethodPost, "/v1/triggers", harness.Body{"name": "push", "template_id": tpl, "require_signature": false}).
		JSON(t, &made)
	page := "/ui/triggers/" + made.ID
	contains(t, settingsPage(t, r.roles["viewer"], page, http.StatusOK), "Nothing was delivered")
	send := func(status int, id string, header ...string) {
		t.Helper()
		a := r.As("").Do(http.MethodPost, made.Path, `{"ref":"refs/heads/main"}`,
			append([]string{"X-GitHub-Event", "push", "X-GitHub-Delivery", id, "Content-Type", "application/json"},
				header...)...)
		if a.Status != status {
			t.Fatalf("%s: %d %s", id, a.Status, a.Body)
		}
	}
	send(http.StatusAccepted, "<b>one")
	send(http.StatusAccepted, "<b>one")
	send(http.StatusOK, "two", "X-GitHub-Event", "issues")
	send(http.StatusUnauthorized, "three", "X-Hub-Signature-256", "sha256=00")
	html := settingsPage(t, r.roles["viewer"], page, http.StatusOK)
	contains(t, html, "Started a run", "Repeated", "Ignored", "Refused", "&lt;b&gt;one",
		"the signature of the delivery is missing or wrong", "/ui/runs/run_")
	lacks(t, html, "<b>one", "Nothing was delivered")
}
