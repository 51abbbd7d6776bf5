package access

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"io/fs"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/proof"
)

// hiddenFixture has objects that only another account may read, and others, readable for everybody, that refer to them.
type hiddenFixture struct {
	*harness.Server
	t      *testing.T
	other  account
	hidden map[string]string   // ids by what they are
	shown  map[string][]string // ids of the others by their resource
}

func (w *hiddenFixture) create(name, resource string, body harness.Body) string {
	w.t.Helper()
	body["name"] = name
	return made(w.t, w.Client, "/v1/"+resource, body)
}

func (w *hiddenFixture) show(name, resource string, body harness.Body) string {
	w.t.Helper()
	id := w.create(name, resource, body)
	w.shown[resource] = append(w.shown[resource], id)
	return id
}

func (w *hiddenFixture) hide(name, resource string, body harness.Body) string {
	w.t.Helper()
	id := w.create(name, resource, body)
	grant(w.t, w.Server, "user:"+w.other.ID, id, "use")
	w.hidden[name] = id
	return id
}

func newHiddenFixture(t *testing.T, dbURL string) *hiddenFixture {
	t.Helper()
	s := harness.Start(t, harness.Options{DB: dbURL, Env: []string{harness.WithoutPrograms}})
	w := &hiddenFixture{Server: s, t: t, other: join(t, s, "other", "operator"), hidden: map[string]string{},
		shown: map[string][]string{}}
	type body = harness.Body
	project := w.hide("project", "projects", body{"repo_url": "https://example.com/p.git"})
	inventory := w.hide("inventory", "inventories", body{"content": "a\n"})
	credential := w.hide("credential", "credentials", body{"kind": "token", "secret": body{"token": "x"}})
	template := w.hide("template", "templates", body{"tool": "bash", "command": "true", "queue": "parked"})
	w.hidden["schedule"] = w.create("schedule", "schedules", body{"cron": "0 0 1 1 *", "template_id": template})
	w.hidden["trigger"] = w.create("trigger", "triggers", body{"template_id": template})
	w.hidden["source"] = w.create("source", "inventory-sources", body{"inventory_id": inventory, "kind": "http",
		"config": body{"url": "https://example.com/hosts"}})
	w.hidden["run"] = s.Submit(body{"tool": "bash", "command": "true", "inventory_id": inventory, "queue": "parked"}).ID
	launched := want(t, s.Client, http.MethodPost, "/v1/templates/"+template+"/launch", body{}, 201)
	var run harness.Run
	launched.JSON(t, &run)
	w.hidden["launched run"] = run.ID

	list := []string{credential}
	w.show("a project", "projects", body{"repo_url": "https://example.com/q.git", "credential_id": credential})
	open := w.show("an inventory", "inventories", body{"content": "a\n", "credential_ids": list})
	w.show("a source", "inventory-sources", body{"inventory_id": open, "kind": "http", "credential_id": credential,
		"config": body{"url": "https://example.com/hosts"}})
	w.show("a template", "templates", body{"playbook": "x.yml", "project_id": project, "inventory_id": inventory,
		"credential_ids": list, "queue": "parked"})
	launch := w.show("a choice", "templates", body{"tool": "bash", "command": "true", "queue": "parked",
		"credential_ids": list, "selectable_credential_ids": list})
	w.show("a workflow", "templates", body{"project_id": project, "steps": []body{
		{"name": "a", "tool": "bash", "command": "true"},
		{"name": "b", "tool": "bash", "command": "true", "credential_ids": list, "inventory_id": inventory}}})
	w.show("a schedule", "schedules", body{"cron": "0 0 1 1 *", "template_id": launch})
	match := body{"inventory_ids": []string{inventory}, "template_ids": []string{template},
		"project_ids": []string{project}, "credential_ids": list}
	w.show("a policy", "policies", body{"effect": "require_approval", "enabled": false, "match": match})
	w.show("a window", "windows", body{"mode": "deny", "outside": "wait", "enabled": false, "match": match,
		"cron": "0 0 1 1 *", "duration": 60})
	w.show("a trigger", "triggers", body{"template_id": launch})
	// Entries about hidden objects lie between those of this run.
	ended := s.Submit(body{"tool": "bash", "command": "true", "credential_ids": list, "queue": "late"}).ID
	want(t, s.Client, http.MethodPut, "/v1/projects/"+project, body{"name": "renamed",
		"repo_url": "https://example.com/p.git"}, 200)
	want(t, s.Client, http.MethodPost, "/v1/runs/"+ended+"/cancel", nil, 200)
	w.shown["runs"] = []string{ended, s.Await(s.Submit(body{"tool": "bash", "command": "true"}).ID).ID}
	return w
}

// paths lists the reading operations, with the ids of the objects that everybody may read.
func (w *hiddenFixture) paths() []string {
	var out []string
	for _, op := range operations(w.t, w.Client) {
		resource := strings.Split(strings.TrimPrefix(op[1], "/v1/"), "/")[0]
		switch {
		case op[0] != http.MethodGet:
		case !strings.Contains(op[1], "/x_"):
			out = append(out, op[1], op[1]+"?limit=1000")
		default:
			for _, id := range w.shown[resource] {
				out = append(out, strings.Replace(op[1], "x_00000000000000000000000000", id, 1))
			}
		}
	}
	for _, run := range w.shown["runs"] {
		out = append(out, "/v1/runs/"+run+"/receipt?sparse", "/v1/runs/"+run+"/evidence?format=json",
			"/v1/runs/"+run+"/compare?with="+w.shown["runs"][0])
	}
	return append(out, "/v1/audit/bundle?from=2", "/v1/audit/bundle?limit=30", "/v1/audit/bundle?format=tiles")
}

// encoded matches what may be base64, such as the payload of a signed statement.
var encoded = regexp.MustCompile(`[A-Za-z0-9+/]{40,}=*`)

// leaks returns which hidden objects an answer names, also in its signed statements and in the files of a zip.
func (w *hiddenFixture) leaks(a harness.Answer) (what []string) {
	w.t.Helper()
	texts := []string{string(a.Body)}
	for _, text := range encoded.FindAllString(texts[0], -1) {
		if raw, err := base64.StdEncoding.DecodeString(text); err == nil {
			texts = append(texts, string(raw))
		}
	}
	if z, err := zip.NewReader(bytes.NewReader(a.Body), int64(len(a.Body))); err == nil {
		for _, f := range z.File {
			raw, err := fs.ReadFile(z, f.Name)
			if err != nil {
				w.t.Fatal(err)
			}
			texts = append(texts, string(raw))
		}
	}
	for name, id := range w.hidden {
		if strings.Contains(strings.Join(texts, "\n"), id) {
			what = append(what, name)
		}
	}
	return what
}

// checkProofs verifies the files of a caller who may not read everything: they have hashes in place of what is hidden.
func (w *hiddenFixture) checkProofs(c harness.Client) {
	t := w.t
	t.Helper()
	for _, query := range []string{"", "?from=2", "?limit=30"} {
		got := want(t, c, http.MethodGet, "/v1/audit/bundle"+query, nil, 200).Body
		whole := want(t, w.Client, http.MethodGet, "/v1/audit/bundle"+query, nil, 200).Body
		v, err := proof.VerifyBundle(t.Context(), bytes.NewReader(got), proof.Trust{}, time.Now())
		if err != nil || !v.OK || bytes.Count(got, []byte(`{"hash":`)) == 0 || bytes.Count(got, []byte(`{"leaf":`)) == 0 ||
			bytes.Contains(whole, []byte(`{"hash":`)) {
			t.Errorf("a bundle%s of %d bytes: %+v, %v", query, len(got), v, err)
		}
	}
	a := want(t, c, http.MethodGet, "/v1/audit/bundle?format=tiles", nil, 403)
	if !strings.Contains(string(a.Body), `"forbidden"`) {
		t.Errorf("tiles: %s", a.Body)
	}
	for run, mode := range map[string]string{w.shown["runs"][0]: "sparse", w.shown["runs"][1]: "contiguous"} {
		a := want(t, c, http.MethodGet, "/v1/runs/"+run+"/receipt", nil, 200)
		v, err := proof.VerifyReceipt(t.Context(), bytes.NewReader(a.Body), proof.Trust{}, time.Now())
		var envelope struct{ Payload []byte }
		if a.JSON(t, &envelope); err != nil || !v.OK || !strings.Contains(string(envelope.Payload), `"mode":"`+mode+`"`) {
			t.Errorf("a receipt, which should be %s: %+v, %v", mode, v, err)
		}
	}
}

// TestHiddenIDs reads everything as a viewer and an operator: no answer has the id of an object that the reader may not
// read, and who may read the objects sees them.
func TestHiddenIDs(t *testing.T) {
	t.Parallel()
	harness.AnyEngine(t, func(t *testing.T, dbURL string) {
		w := newHiddenFixture(t, dbURL)
		seen := map[string]bool{}
		for _, path := range w.paths() {
			for _, what := range w.leaks(w.Do(http.MethodGet, path, nil)) {
				seen[what] = true
			}
		}
		if len(seen) != len(w.hidden) {
			t.Errorf("an admin sees only %v", seen)
		}
		for _, role := range []string{"viewer", "operator"} {
			c := join(t, w.Server, role, role).Client
			w.checkProofs(c)
			for _, path := range w.paths() {
				a := c.Do(http.MethodGet, path, nil)
				for _, what := range w.leaks(a) {
					t.Errorf("%s: GET %s shows the %s", role, path, what)
				}
			}
		}
		inventory := w.shown["inventories"][0]
		for _, c := range []harness.Client{w.other.Client, w.Client} {
			a := want(t, c, http.MethodGet, "/v1/inventories/"+inventory, nil, 200)
			if !strings.Contains(string(a.Body), w.hidden["credential"]) {
				t.Errorf("a reader of the credential does not see it: %s", a.Body)
			}
		}
		manager := join(t, w.Server, "manager", "operator")
		grant(t, w.Server, "user:"+manager.ID, inventory, "manage")
		a := want(t, manager.Client, http.MethodGet, "/v1/inventories/"+inventory, nil, 200)
		if !strings.Contains(string(a.Body), w.hidden["credential"]) {
			t.Errorf("a manager of the inventory does not see its credential: %s", a.Body)
		}
		want(t, manager.Client, http.MethodPut, "/v1/inventories/"+inventory, string(a.Body), 200)
		kept := want(t, w.Client, http.MethodGet, "/v1/inventories/"+inventory, nil, 200)
		if !strings.Contains(string(kept.Body), w.hidden["credential"]) {
			t.Errorf("what was read and written back lost its credential: %s", kept.Body)
		}
	})
}
