package ui

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// TestLaunchByForms launches a template with a survey without script: constraints, refusals with all that was entered,
// the hosts, and one run for a repeated submission.
func TestLaunchByForms(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{Env: []string{harness.WithoutPrograms}})
	operator, viewer := signedInForms(t, s, "tomas", "operator"), signedInForms(t, s, "vera", "viewer")
	operator.get("/ui/launch").want(t, 200, "No template yet.", "New template")
	viewer.get("/ui/launch").want(t, 200, "No template yet.").lacks(t, "New template", "Run one command or playbook")
	survey := []harness.Body{
		{"var": "release", "type": "text", "label": "<i>Release</i>", "required": true, "pattern": "v[0-9]+",
			"max_length": 20},
		{"var": "replicas", "type": "int", "min": 1, "max": 64, "default": 3},
		{"var": "stage", "type": "choice", "choices": []string{"canary", "all"}, "default": "canary"},
		{"var": "zone", "type": "choice", "choices": []string{"a", "b", "c", "d", "e", "f"}},
		{"var": "notes", "type": "multiline", "max_length": 500},
		{"var": "db_password", "type": "text"}, {"var": "restart", "type": "bool", "default": true},
	}
	id := createdBy(t, s.Client, "/v1/templates", harness.Body{"name": "Release <b>", "tool": "bash", "command": "true",
		"survey": survey, "allow_overrides": []string{"change"}})
	page := "/ui/launch/" + id
	operator.get(page).want(t, 200, "At most 20 characters. It matches v[0-9]+ as a whole.", "A whole number, 1 to 64.",
		`inputmode="numeric"`, `type="radio" name="answers.stage" value="canary" checked`, `<select class="btn"`,
		`<input type="password"`, "Release &lt;b&gt;", "&lt;i&gt;Release&lt;/i&gt;", `name="change"`,
		"The template does not let a launch choose a dry run.", "Runs on the executor").
		lacks(t, `name="limit:text"`, "style=", "onclick=")
	operator.get("/ui/launch?q=release").want(t, 200, page)
	operator.get("/ui/launch?q=other").want(t, 200, "No template fits the search.")

	form := url.Values{"answers.release:text": {"x1"}, "answers.replicas:int": {"65"}, "answers.stage": {"all"},
		"answers.notes": {"<keep> me"}, "answers.restart:bool": {"false"}, "_page": {page}, "_next": {"/ui/runs/{id}"},
		"_key": {"a key of a form"}}
	operator.post(page, form).want(t, 400, `value="x1"`, "has to match the pattern", `value="65"`, "&lt;keep&gt; me")
	form.Set("answers.release:text", "v1")
	operator.post(page, form).want(t, 400, "has to be at most 64")
	form.Set("answers.replicas:int", "many")
	operator.post(page, form).want(t, 400, "is not a number", `value="many"`)
	form.Set("answers.replicas:int", "8")
	first := operator.post(page, form).to(t, "/ui/runs/run_").location
	if again := operator.post(page, form).to(t, "/ui/runs/run_").location; again != first {
		t.Errorf("a repeated submission made %s beside %s", again, first)
	}
	run := s.Get(strings.TrimPrefix(first, "/ui/runs/"))
	var record struct {
		Vars map[string]any `json:"extra_vars"`
	}
	s.Do(http.MethodGet, "/v1/runs/"+run.ID, nil).JSON(t, &record)
	if v := record.Vars; v["release"] != "v1" || v["replicas"] != 8.0 || v["stage"] != "all" || v["restart"] != false ||
		v["db_password"] != nil {
		t.Errorf("the run has %v", v)
	}
	operator.get(page+"?from="+run.ID).want(t, 200, "Filled in from an earlier run.", `value="v1"`, `value="8"`)
	operator.get("/ui/launch").want(t, 200, "1 template can be launched", `class="spark"`)
	viewer.post(page, form).want(t, 403)
	operator.get("/ui/launch/tpl_00000000000000000000000000").want(t, 404)
}

// TestLaunchOnHosts checks the hosts that the page names against the API, and that many hosts without a limit take a
// typed number.
func TestLaunchOnHosts(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{Env: []string{harness.WithoutPrograms}})
	v := signedInForms(t, s, "tomas", "operator")
	const many = 1200
	inventory := createdBy(t, s.Client, "/v1/inventories", harness.Body{"name": "fleet", "content": hostLines(many)})
	id := createdBy(t, s.Client, "/v1/templates", harness.Body{"name": "Patch", "playbook": "site.yml",
		"inventory_id": inventory, "allow_overrides": []string{"limit", "dry_run"}})
	page := "/ui/launch/" + id
	confirm := "It runs on 1,200 hosts without a limit. Type 1200 to confirm."
	v.get(page).want(t, 200, "Runs on 1,200 hosts: web 1,200.", confirm, "Dry run first")
	form := url.Values{"limit:text": {"web1*"}, "_page": {page}, "_next": {"/ui/runs/{id}"}}
	var found struct{ Count int }
	s.Do(http.MethodPost, "/v1/inventories/"+inventory+"/resolve", harness.Body{"limit": "web1*"}).JSON(t, &found)
	sentence := "Runs on " + strconv.Itoa(found.Count) + " hosts: web " + strconv.Itoa(found.Count) + "."
	v.post(page+"/hosts", form).want(t, 200, sentence, `value="web1*"`, "<title>").lacks(t, confirm)
	part := v.send(http.MethodPost, page+"/hosts", form, "HX-Request", "true", "HX-Target", "div#reach")
	part.want(t, 200, sentence, `id="reach"`).lacks(t, "<title>")
	form.Set("limit:text", "nowhere")
	v.post(page+"/hosts", form).want(t, 200, "Runs on 0 hosts.", "the run would touch nothing")

	form.Set("limit:text", "")
	v.post(page, form).want(t, 400, confirm)
	form.Set("_count", "1,199")
	v.post(page, form).want(t, 400, confirm, `value="1,199"`)
	if _, total := s.Runs(""); total != 0 {
		t.Errorf("%d runs were made without a confirmation", total)
	}
	form.Set("_count", "1,200")
	form.Set("dry_run:bool", "true")
	made := v.post(page, form).to(t, "/ui/runs/run_").location
	var run struct {
		Template string `json:"template_id"`
		DryRun   bool   `json:"dry_run"`
	}
	s.Do(http.MethodGet, "/v1/runs/"+strings.TrimPrefix(made, "/ui/runs/"), nil).JSON(t, &run)
	if run.Template != id || !run.DryRun {
		t.Errorf("the run is %+v", run)
	}
	single := url.Values{"tool": {"ansible"}, "playbook": {"site.yml"}, "inventory_id": {inventory},
		"_page": {"/ui/launch/adhoc"}}
	v.post("/ui/launch/adhoc", single).want(t, 400, confirm)
	v.get("/ui/launch/adhoc?inventory_id="+inventory+"&limit=web7").want(t, 200, "Runs on 1 host", `value="web7"`)
}

// TestFirstMinute checks that the lines tick themselves off, and that a failed step is named.
func TestFirstMinute(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{Env: []string{harness.WithoutPrograms}})
	v, viewer := signedInForms(t, s, "tomas", "operator"), signedInForms(t, s, "vera", "viewer")
	viewer.get("/ui/welcome").want(t, 200, "Operators and administrators can do this.").
		lacks(t, importPage, "Ping these hosts", `name="command"`)
	v.get("/ui/welcome").want(t, 200, "Three things show what this install can do.", "uname -a; uptime").
		lacks(t, importPage)
	contains(t, settingsPage(t, s.Client, "/ui/welcome", http.StatusOK), `href="`+importPage+`"`)
	v.post("/ui/do/submit-run", url.Values{"name": {"First run"}, "tool": {"bash"}, "command": {"uname -a; uptime"},
		"_page": {"/ui/welcome"}, "_next": {"/ui/runs/{id}"}}).to(t, "/ui/runs/run_")
	v.get("/ui/welcome").want(t, 200, "1 of 3 are done.", "This install has runs.").lacks(t, "uname -a; uptime")

	reach := url.Values{"hosts": {"web1\n"}, "login": {"deploy"}, "way": {"key"}, "key": {"no key"},
		"_page": {"/ui/welcome"}}
	v.post("/ui/welcome/hosts", reach).want(t, 403, "Administrators can do this.")
	v = signedInForms(t, s, "mara", "admin")
	v.post("/ui/welcome/hosts", reach).want(t, 400, "Creating the credential failed", "web1", `value="deploy"`)
	reach.Set("way", "password")
	reach.Set("host_password", "a host password")
	reach.Set("hosts", "[broken")
	v.post("/ui/welcome/hosts", reach).want(t, 400, "Already created: the credential. Creating the inventory failed").
		lacks(t, "a host password")
	reach.Set("hosts", " ")
	v.post("/ui/welcome/hosts", reach).want(t, 400, "names no host")
	viewer.post("/ui/welcome/hosts", reach).want(t, 403)
}
