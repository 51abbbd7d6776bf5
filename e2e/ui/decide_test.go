package ui

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/system"
)

var etagOnPage = regexp.MustCompile(`name="_etag" value="&#34;([0-9a-f]{64})&#34;"`)

// TestDecideByForms approves and rejects without script, by role, and checks what the page says about the run.
func TestDecideByForms(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{Env: []string{harness.WithoutPrograms}})
	admin, operator := signedInForms(t, s, "mara", "admin"), signedInForms(t, s, "tomas", "operator")
	admin.get("/ui/approvals").want(t, 200, "Nothing waits for approval.")
	held := func() string {
		return createdBy(t, s.Client, "/v1/runs", harness.Body{"name": "<b>Rotate</b>", "tool": "bash", "command": "true",
			"extra_vars": harness.Body{"api_token": "hunter22", "days": 90}, "require_approval": true})
	}
	id := held()
	page := "/ui/approvals/" + id
	a := admin.get(page).want(t, 200, "&lt;b&gt;Rotate&lt;/b&gt;", "You approve exactly this", "days=90",
		"api_token=[redacted]", "0 of 1 approval, by administrators", "Nobody knows yet what it would change",
		`data-key="a"`, `data-key="r"`).lacks(t, "hunter22", "<b>Rotate</b>")
	var record struct {
		Digest string `json:"approval_digest"`
	}
	s.Do(http.MethodGet, "/v1/runs/"+id, nil).JSON(t, &record)
	if m := etagOnPage.FindStringSubmatch(a.body); m == nil || m[1] != record.Digest {
		t.Errorf("the form is bound to %v, the run to %s", m, record.Digest)
	}
	if len(a.body) > 40<<10 {
		t.Errorf("the page has %d bytes", len(a.body))
	}
	operator.get(page).want(t, 200, "You may not decide about this.", "disabled").lacks(t, `data-key="a"`, "sheet-approve")
	operator.post("/ui/do/approve-run?id="+id, url.Values{"_page": {page}}).want(t, 403)
	browseForms(t, s).get(page).to(t, "/ui/login?next=")
	admin.get("/ui/approvals").want(t, 200, "1 waits", `href="`+page+`"`)
	admin.get(page+"?sheet=reject").
		want(t, 200, `<dialog id="sheet-reject" class="sheet" aria-labelledby="sheet-reject-title" open`)

	refuse := url.Values{"_page": {page + "?sheet=reject"}, "_etag": {`"` + record.Digest + `"`}, "_next": {page},
		"reason": {"  "}}
	admin.post(page+"/reject", refuse).want(t, 400, "Write why, so that the person who asked can act on it.")
	refuse.Set("_etag", `"`+record.Digest[1:]+`0"`)
	refuse.Set("reason", "Not today")
	admin.post(page+"/reject", refuse).want(t, 409, "Not today")
	refuse.Set("_etag", `"`+record.Digest+`"`)
	operator.post(page+"/reject", refuse).want(t, 403)
	refuse.Set("_done", "Rejected.")
	admin.post(page+"/reject", refuse).to(t, page)
	admin.get(page).want(t, 200, "mara rejected it: Not today", "of the trail.").lacks(t, "sheet-approve")
	admin.post("/ui/do/approve-run?id="+id, url.Values{"_page": {page}}).want(t, 409, "mara rejected it: Not today")

	id = held()
	page = "/ui/approvals/" + id
	approve := url.Values{"_page": {page}, "_next": {page}, "reason": {"Checked"}}
	admin.post("/ui/do/approve-run?id="+id, approve).to(t, page)
	admin.get(page).want(t, 200, "mara approved it: Checked")
	if r := s.Await(id); r.Status != "succeeded" && r.Status != "failed" {
		t.Errorf("the run ended %s", r.Status)
	}
}

// TestOwnRequest checks that the page of an own request says who may decide under distinct_approver.
func TestOwnRequest(t *testing.T) {
	t.Parallel()
	license := filepath.Join(t.TempDir(), "license.json")
	if err := os.WriteFile(license, harness.Licence(t, system.Team, time.Hour), 0o600); err != nil {
		t.Fatal(err)
	}
	s := harness.Start(t, harness.Options{Env: []string{harness.WithoutPrograms}, Flags: []string{"--license", license}})
	mara := signedInForms(t, s, "mara", "admin")
	createdBy(t, s.Client, "/v1/policies", harness.Body{"name": "Second person", "effect": "require_approval",
		"distinct_approver": true, "match": harness.Body{"tools": []string{"bash"}}})
	id := mara.post("/ui/launch/adhoc", url.Values{"tool": {"bash"}, "command": {"true"}, "_page": {"/ui/launch/adhoc"},
		"_next": {"/ui/approvals/{id}"}}).to(t, "/ui/approvals/run_").location
	mara.get(id).want(t, 200, "You asked for this. Somebody else must decide. These people may: admin.", "Second person").
		lacks(t, `data-key="a"`)
}
