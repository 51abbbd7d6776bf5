package ui

import (
	"encoding/json"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

type apiSchema struct {
	Ref        string               `json:"$ref"`
	ReadOnly   bool                 `json:"readOnly"`
	Properties map[string]apiSchema `json:"properties"`
}

type apiDocument struct {
	Paths map[string]map[string]struct {
		Body struct {
			Content map[string]struct{ Schema apiSchema } `json:"content"`
		} `json:"requestBody"`
	} `json:"paths"`
	Components struct{ Schemas map[string]apiSchema }
}

// members returns the members that a caller sets in the body of an operation.
func (d *apiDocument) members(p, method string) (out []string) {
	s := d.Paths[p][method].Body.Content["application/json"].Schema
	for s.Ref != "" {
		s = d.Components.Schemas[path.Base(s.Ref)]
	}
	for name, m := range s.Properties {
		if !m.ReadOnly {
			out = append(out, name)
		}
	}
	return out
}

// TestFormsHaveEveryMember checks that the forms of all kinds have a field for each member of the API's document.
func TestFormsHaveEveryMember(t *testing.T) {
	t.Parallel()
	r := newSettingsRig(t)
	var doc apiDocument
	r.Do(http.MethodGet, "/openapi.json", nil).JSON(t, &doc)
	ticket := r.make(t, "/v1/credential-types", harness.Body{"name": "Ticket", "fields": []harness.Body{
		{"name": "url", "type": "text"}, {"name": "key", "type": "text", "secret": true}}})
	kinds := 0
	for p := range doc.Paths {
		kind, isNew := strings.CutPrefix(p, "/v1/")
		if doc.Paths[p]["post"].Body.Content == nil || doc.Paths[p+"/{id}"]["get"].Body.Content != nil || !isNew ||
			strings.Contains(p, "{") || doc.Paths[p+"/{id}"] == nil || kind == "runs" {
			continue
		}
		kinds++
		form := "/ui/objects/" + strings.ReplaceAll(kind, "/", "-") + "/new"
		html := settingsPage(t, r.Client, form, http.StatusOK)
		if kind == "credentials" {
			contains(t, html, "kind=ssh_key", "type_id="+ticket)
			html = settingsPage(t, r.Client, form+"?kind=ssh_key", http.StatusOK) +
				settingsPage(t, r.Client, form+"?type_id="+ticket, http.StatusOK)
		}
		for _, m := range doc.members(p, "post") {
			if !regexp.MustCompile(`name="` + m + `[":.]`).MatchString(html) {
				t.Errorf("the form of a new record of %s has no field for %s", kind, m)
			}
		}
	}
	if kinds < 15 {
		t.Errorf("%d kinds of records were checked", kinds)
	}
	edits := map[string]harness.Body{
		"templates": {"name": "a", "tool": "bash", "command": "true"}, "inventories": {"name": "a", "content": "h\n"},
		"projects": {"name": "a", "repo_url": "https://git.example/x.git"}, "users": {"username": "b", "role": "viewer"},
		"windows": {"name": "a", "mode": "allow", "outside": "wait", "cron": "0 1 * * *", "duration": 3600},
	}
	for kind, body := range edits {
		html := settingsPage(t, r.Client, "/ui/objects/"+kind+"/"+r.make(t, "/v1/"+kind, body)+"/edit", http.StatusOK)
		for _, m := range doc.members("/v1/"+kind+"/{id}", "put") {
			if !regexp.MustCompile(`name="` + m + `[":.]`).MatchString(html) {
				t.Errorf("the form of a record of %s has no field for %s", kind, m)
			}
		}
	}
}

var hiddenField = regexp.MustCompile(`name="(_[a-z]+)" value="([^"]*)"`)

// hidden returns the hidden fields of the form of a record.
func hiddenOf(html string) url.Values {
	out := url.Values{}
	form := html[strings.Index(html, `id="record"`):]
	for _, m := range hiddenField.FindAllStringSubmatch(form[:strings.Index(form, "</form>")], -1) {
		if m[1] == "_copy" {
			continue // a button
		}
		out.Set(m[1], strings.NewReplacer("&amp;", "&", "&#34;", `"`).Replace(m[2]))
	}
	return out
}

// TestRecordForm makes, refuses, changes and deletes a template without script.
func TestRecordForm(t *testing.T) {
	t.Parallel()
	r := newSettingsRig(t)
	html := settingsPage(t, r.Client, "/ui/objects/templates/new?name=Patch&command=uptime", http.StatusOK)
	contains(t, html, `value="Patch"`, ">uptime</textarea>", "Copy as curl")
	form := hiddenOf(html)
	for name, v := range map[string]string{"name": "Patch", "tool": "bash", "command": "uptime",
		"labels:pairs":       "env=prod\r\n",
		"max_concurrent:int": "3", "require_approval:bool": "true", "survey:json": "[\n {\"var\":\"release\",}\n]"} {
		form.Set(name, v)
	}
	refused := submitForm(r.Client, "create-template", "", form)
	contains(t, string(refused.Body), "is not JSON at line 2", `id="f-survey-json-error"`, `href="#f-survey-json"`,
		`value="3"`,
		"env=prod")
	form.Set("survey:json", `[{"var":"release","type":"text"}]`)
	form.Set("max_concurrent:int", "20000")
	refused = submitForm(r.Client, "create-template", "", form)
	if refused.Status != http.StatusBadRequest {
		t.Errorf("a bad number: %d", refused.Status)
	}
	contains(t, string(refused.Body), `href="#f-max_concurrent-int"`, `id="f-max_concurrent-int-error"`, `value="20000"`)
	form.Set("max_concurrent:int", "3")
	made := submitForm(r.Client, "create-template", "", form)
	id := path.Base(made.Header.Get("Location"))
	if made.Status != http.StatusSeeOther || !strings.HasPrefix(id, "tpl_") {
		t.Fatalf("create: %d to %s\n%s", made.Status, made.Header.Get("Location"), made.Body)
	}
	var stored struct {
		Name    string            `json:"name"`
		Labels  map[string]string `json:"labels"`
		Max     int               `json:"max_concurrent"`
		Hold    bool              `json:"require_approval"`
		Survey  []json.RawMessage `json:"survey"`
		Command string            `json:"command"`
	}
	r.Do(http.MethodGet, "/v1/templates/"+id, nil).JSON(t, &stored)
	if stored.Name != "Patch" || stored.Labels["env"] != "prod" || stored.Max != 3 || !stored.Hold ||
		len(stored.Survey) != 1 {
		t.Errorf("stored: %+v", stored)
	}
	edit := "/ui/objects/templates/" + id + "/edit"
	html = settingsPage(t, r.Client, edit, http.StatusOK)
	contains(t, html, "Edit Patch", "env=prod", "release", `value="3"`)
	contains(t, settingsPage(t, r.Client, "/ui/objects/templates/new?copy="+id, http.StatusOK), `value="Copy of Patch"`,
		"env=prod")
	form = hiddenOf(html)
	r.Do(http.MethodPut, "/v1/templates/"+id, harness.Body{"name": "Patch", "tool": "bash",
		"command": "changed meanwhile"})
	form.Set("name", "Patch all")
	form.Set("tool", "bash")
	form.Set("command", "uptime")
	stale := submitForm(r.Client, "update-template", "id="+id, form)
	if stale.Status != http.StatusPreconditionFailed {
		t.Errorf("an old ETag: %d", stale.Status)
	}
	contains(t, string(stale.Body), "Somebody changed it meanwhile", `<span class="pre">changed meanwhile</span>`,
		"Save over it",
		`value="Patch all"`)
	lacks(t, string(stale.Body), "<dt>Tool</dt>")
	for name, v := range hiddenOf(string(stale.Body)) {
		form[name] = v
	}
	if a := submitForm(r.Client, "update-template", "id="+id, form); a.Status != http.StatusSeeOther {
		t.Errorf("save over it: %d %s", a.Status, a.Body)
	}
	command := submitForm(r.Client, "update-template", "id="+id, url.Values{"name": {"x"}, "_copy": {"writ"}})
	contains(t, string(command.Body), "writ api PUT", "/v1/templates/"+id)
}

// TestFormOfOthers checks that who may only read a record sees why it cannot be changed.
func TestFormOfOthers(t *testing.T) {
	t.Parallel()
	r := newSettingsRig(t)
	tpl := r.make(t, "/v1/templates", harness.Body{"name": "Patch", "tool": "bash", "command": "true"})
	edit, denied := "/ui/objects/templates/"+tpl+"/edit", "To change it you need the level manage on it."
	html := settingsPage(t, r.roles["operator"], edit, http.StatusOK)
	contains(t, html, denied, `<button class="btn first" disabled>`)
	lacks(t, html, "sheet-delete")
	r.make(t, "/v1/grants", harness.Body{"subject": "user:" + r.ids["mara"], "object": tpl, "level": "manage"})
	html = settingsPage(t, r.roles["operator"], edit, http.StatusOK)
	contains(t, html, "sheet-delete")
	lacks(t, html, denied)
	settingsPage(t, r.roles["viewer"], edit, http.StatusForbidden)
	form := hiddenOf(html)
	form.Set("name", "Patch all")
	form.Set("tool", "bash")
	form.Set("command", "true")
	if a := submitForm(r.roles["operator"], "update-template", "id="+tpl, form); a.Status != http.StatusSeeOther {
		t.Errorf("a manager changes the template: %d %s", a.Status, a.Body)
	}
}

// TestDeleteInUse checks that a refused deletion names what uses the record.
func TestDeleteInUse(t *testing.T) {
	t.Parallel()
	r := newSettingsRig(t)
	inv := r.make(t, "/v1/inventories", harness.Body{"name": "web", "content": "h\n"})
	tpl := r.make(t, "/v1/templates", harness.Body{"name": "Patch <b>", "tool": "bash", "command": "true",
		"inventory_id": inv})
	edit := "/ui/objects/inventories/" + inv + "/edit"
	contains(t, settingsPage(t, r.Client, edit+"?sheet=delete", http.StatusOK), "Delete inventory web", " open")
	form := url.Values{"_page": {edit + "?sheet=delete"}, "_next": {"/ui/inventories"}}
	a := submitForm(r.Client, "delete-inventory", "id="+inv, form)
	if a.Status != http.StatusConflict {
		t.Errorf("in use: %d", a.Status)
	}
	contains(t, string(a.Body), "It is used by", `href="/ui/objects/templates/`+tpl+`/edit"`, "Patch &lt;b&gt;")
	r.Do(http.MethodDelete, "/v1/templates/"+tpl, nil)
	if a := submitForm(r.Client, "delete-inventory", "id="+inv, form); a.Status != http.StatusSeeOther {
		t.Errorf("delete: %d %s", a.Status, a.Body)
	}
}

// TestSecretsAreShownOnce checks that secrets of an answer are on one page, and that stored ones are on none.
func TestSecretsAreShownOnce(t *testing.T) {
	t.Parallel()
	r := newSettingsRig(t)
	tpl := r.make(t, "/v1/templates", harness.Body{"name": "Patch", "tool": "bash", "command": "true"})
	for operation, at := range map[string]struct {
		kind   string
		fields url.Values
		shown  string
	}{
		"mint-token": {"tokens", url.Values{"name": {"ci"}, "scopes:some": {"", "read"}}, "writ_"},
		"create-trigger": {"triggers", url.Values{"name": {"push"}, "template_id": {tpl},
			"require_signature:bool": {"true"}}, "/hooks/"},
		"mint-worker-token": {"worker-tokens", url.Values{"name": {"edge-1"}}, "writ_worker_"},
	} {
		form := hiddenOf(settingsPage(t, r.Client, "/ui/objects/"+at.kind+"/new", http.StatusOK))
		for name, v := range at.fields {
			form[name] = v
		}
		a := submitForm(r.Client, operation, "", form)
		if a.Status != http.StatusOK || a.Header.Get("Location") != "" || a.Header.Get("Set-Cookie") != "" ||
			a.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %v %s", operation, a.Status, a.Header, a.Body)
		}
		contains(t, string(a.Body), "Store this now", "I have stored it", at.shown)
	}
	contains(t, settingsPage(t, r.Client, "/ui/settings/tokens", http.StatusOK), ">ci<", "Only read")
	form := hiddenOf(settingsPage(t, r.Client, "/ui/objects/credentials/new?kind=ssh_key", http.StatusOK))
	form.Set("name", "key")
	form.Set("kind", "ssh_password")
	form.Set("secret.password", "a long secret")
	form.Set("settings.username", "deploy")
	a := submitForm(r.Client, "create-credential", "", form)
	id := path.Base(a.Header.Get("Location"))
	edit := "/ui/objects/credentials/" + id + "/edit"
	html := settingsPage(t, r.Client, edit, http.StatusOK)
	contains(t, html, `value="deploy"`, "empty keeps what is stored")
	lacks(t, html, "a long secret")
	form = hiddenOf(html)
	form.Set("name", "renamed")
	form.Set("kind", "ssh_password")
	form.Set("secret.password", "")
	form.Set("settings.username", "deploy")
	if a := submitForm(r.Client, "update-credential", "id="+id, form); a.Status != http.StatusSeeOther {
		t.Fatalf("rename: %d %s", a.Status, a.Body)
	}
	contains(t, settingsPage(t, r.Client, "/ui/settings/credentials/"+id, http.StatusOK), "renamed", "Stored",
		"SSH password")
}
