package ui

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// TestPolicySentences edits a policy in sentences without script: the draft is worded, tried on past runs and saved,
// and the licence is told before.
func TestPolicySentences(t *testing.T) {
	t.Parallel()
	r := newSettingsRig(t)
	inv := r.make(t, "/v1/inventories", harness.Body{"name": "<b>web", "content": "h\n"})
	r.Await(r.Submit(harness.Body{"name": "Nightly", "tool": "bash", "command": "true"}).ID)
	form := hiddenOf(settingsPage(t, r.Client, "/ui/objects/policies/new", http.StatusOK))
	for name, v := range map[string][]string{"name": {""}, "effect": {"require_approval"}, "match.tools:list": {"bash"},
		"match.inventory_ids:many": {"", inv}, "match.hosts_over:int": {"100"}, "exclude_dry_run:bool": {"false", "true"},
		"distinct_approver:bool": {"false", "true"}, "enabled:bool": {"false", "true"}, "approvals_needed:int": {"2"}} {
		form[name] = v
	}
	draft := func(query string) string {
		a := r.Do(http.MethodPost, "/ui/objects/policies/draft"+query, form.Encode(), "Content-Type", formType)
		if a.Status != http.StatusOK {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		return string(a.Body)
	}
	html := draft("")
	contains(t, html, "Holds runs of the tool bash, with the inventory &lt;b&gt;web, on more than 100 hosts, "+
		"unless they are dry runs. Released by 2 administrators, but not by whoever asked.", `&#34;hosts_over&#34;: 100`,
		"Release by another person needs a licence of the tier Team.", "Deny (needs the tier Team)", "this one",
		"until it is tried", `value="bash"`)
	lacks(t, html, "<b>web", "There are policies in force")
	contains(t, draft("?try=30"), "would have held 0 of 1 run", "It matched nothing")
	form["match.hosts_over:int"] = []string{"x"}
	contains(t, draft("?try=30"), "is not a number", `value="x"`)
	form["match.hosts_over:int"], form["match.inventory_ids:many"] = []string{""}, []string{""}
	contains(t, draft("?try=30"), "would have held 1 of 1 run", "It matched everything", "Nightly</a>")
	form.Set("name", "second person")
	if a := submitForm(r.Client, "create-policy", "", form); a.Status != http.StatusForbidden &&
		a.Status != http.StatusPaymentRequired {
		t.Errorf("without a licence: %d", a.Status)
	}
	form["distinct_approver:bool"] = []string{"false"}
	a := submitForm(r.Client, "create-policy", "", form)
	if a.Status != http.StatusSeeOther {
		t.Fatalf("create: %d %s", a.Status, a.Body)
	}
	page := a.Header.Get("Location")
	contains(t, settingsPage(t, r.Client, page+"?try=30", http.StatusOK), "would have held 1 of 1 run")
	contains(t, settingsPage(t, r.Client, "/ui/objects/policies/new", http.StatusOK),
		"The licence includes 1 policy in force, and there is 1.")
	edit := "/ui/objects/policies/" + filepath.Base(page) + "/edit"
	html = settingsPage(t, r.Client, edit, http.StatusOK)
	contains(t, html, `value="bash"`, "Holds runs of the tool bash", "sheet-delete")
	lacks(t, html, "The licence includes")
	form = hiddenOf(html)
	r.Do(http.MethodPut, "/v1/policies/"+filepath.Base(page), harness.Body{"name": "changed",
		"effect": "require_approval"})
	form.Set("name", "mine")
	form.Set("effect", "require_approval")
	kept := hiddenOf(draft("?id=" + filepath.Base(page)))
	if kept.Get("_etag") == "" || kept.Get("_etag") != form.Get("_etag") {
		t.Errorf("the draft has the ETag %q of what was edited, not %q", form.Get("_etag"), kept.Get("_etag"))
	}
	for _, role := range []string{"operator", "viewer"} {
		settingsPage(t, r.roles[role], edit, http.StatusForbidden)
		if a := r.roles[role].Do(http.MethodPost, "/ui/objects/policies/draft", form.Encode(), "Content-Type",
			formType); a.Status != http.StatusForbidden {
			t.Errorf("a draft of a %s: %d", role, a.Status)
		}
		lacks(t, settingsPage(t, r.roles[role], page, http.StatusOK), "Try it", ">Edit<")
	}
}

// TestPolicyFilePages shows that policies of a file are read-only, and to administrators where the file is.
func TestPolicyFilePages(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "policies.yaml")
	text := []byte("policies:\n- {name: second person, effect: require_approval}\n")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	s := harness.Start(t, harness.Options{Env: []string{harness.WithoutPrograms},
		Flags: []string{"--policy-file", file}})
	for _, path := range []string{"/ui/trust/policies", "/ui/objects/policies/new"} {
		html := settingsPage(t, s.Client, path, http.StatusOK)
		contains(t, html, "The policies come from a file of the server.", file)
		lacks(t, html, "New policy</a>", `id="record"`)
	}
}
