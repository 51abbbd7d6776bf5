package ui

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// runPages reads the pages of runs as a person without script.
type runPages struct {
	*harness.Server
	t *testing.T
}

func (p runPages) account(role string) (token string) {
	p.t.Helper()
	var user struct{ ID string }
	var minted struct{ Token string }
	p.Do(http.MethodPost, "/v1/users", harness.Body{"username": "run-" + role, "role": role,
		"password": "long enough to pass"}).JSON(p.t, &user)
	p.Do(http.MethodPost, "/v1/tokens", harness.Body{"name": "t", "user_id": user.ID}).JSON(p.t, &minted)
	return minted.Token
}

// page returns the page of a path for a token.
func (p runPages) page(token, path string) string {
	p.t.Helper()
	a := p.As(token).Do(http.MethodGet, path, nil)
	if a.Status != http.StatusOK {
		p.t.Fatalf("%s: %d", path, a.Status)
	}
	return string(a.Body)
}

// post posts the form of an operation as a browser does, and follows no redirect.
func (p runPages) post(token, operation, id string) harness.Answer {
	p.t.Helper()
	c := p.As(token)
	c.Via = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	form := url.Values{"_page": {"/ui/runs/" + id + "?sheet=cancel"}, "_next": {"/ui/runs/{id}"}}
	return c.Do(http.MethodPost, "/ui/do/"+operation+"?id="+id, form.Encode(),
		"Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "same-origin")
}

// TestRunPages looks at runs in their states as each role, and acts on them by forms.
func TestRunPages(t *testing.T) {
	t.Parallel()
	p := runPages{Server: harness.Start(t, harness.Options{}), t: t}
	operator, viewer := p.account("operator"), p.account("viewer")

	failed := p.Await(p.Submit(harness.Body{"name": "Bad script", "tool": "bash",
		"command": "echo '<script>alert(1)</script>'; exit 3"}).ID)
	held := p.Submit(harness.Body{"name": "Rotate certificates", "tool": "bash", "command": "true",
		"require_approval": true})

	for _, token := range []string{p.Token, operator, viewer} {
		text := p.page(token, "/ui/runs/"+failed.ID)
		for _, want := range []string{"<title>Failed: Bad script #", "exit code 3", "&lt;script&gt;alert(1)&lt;/script&gt;",
			"Sealed"} {
			if !strings.Contains(text, want) {
				t.Errorf("the page of a failed run lacks %q", want)
			}
		}
		if got := strings.Contains(text, "rerun-run"); got != (token != viewer) {
			t.Errorf("the form of a rerun is there: %v", got)
		}
	}
	for _, path := range []string{"?view=inputs", "/evidence", "/compare"} {
		if text := p.page(viewer, "/ui/runs/"+failed.ID+path); !strings.Contains(text, "Bad script") {
			t.Errorf("%s does not name the run", path)
		}
	}

	text := p.page(p.Token, "/ui/runs/"+held.ID)
	if !strings.Contains(text, "Nothing has run.") || !strings.Contains(text, `href="/ui/approvals/`+held.ID+`"`) ||
		!strings.Contains(text, "holds it for approval") {
		t.Error("the page of a held run does not say why it is held, or where to decide")
	}
	if text := p.page(viewer, "/ui/runs/"+held.ID); !strings.Contains(text, "/ui/approvals/"+held.ID) ||
		strings.Contains(text, "cancel-run") {
		t.Error("a viewer, who may be in a team that decides, is not led to the approval, or may cancel the run")
	}
	if a := p.As("").Do(http.MethodGet, "/ui/runs/"+held.ID, nil); !strings.Contains(string(a.Body), "Sign in") &&
		strings.Contains(string(a.Body), "Rotate certificates") {
		t.Error("a visitor sees a run")
	}

	// A rerun leads to the new run. What a role may not do, the form does not do either.
	a := p.post(operator, "rerun-run", failed.ID)
	made := strings.TrimPrefix(a.Header.Get("Location"), "/ui/runs/")
	if a.Status != http.StatusSeeOther || p.Get(made).RerunOf != failed.ID {
		t.Errorf("a rerun answers %d and leads to %q", a.Status, made)
	}
	a = p.post(viewer, "cancel-run", held.ID)
	if a.Status != http.StatusForbidden || p.Get(held.ID).Status != "pending_approval" {
		t.Errorf("the cancellation of a viewer answers %d", a.Status)
	}
	a = p.post(operator, "cancel-run", held.ID)
	if a.Status != http.StatusSeeOther || p.Get(held.ID).Status != "canceled" {
		t.Errorf("the cancellation of an operator answers %d", a.Status)
	}
	// The form of an action that the state no longer allows is shown again, with the reason.
	a = p.post(operator, "cancel-run", failed.ID)
	if a.Status != http.StatusConflict || !strings.Contains(string(a.Body), `role="alert"`) {
		t.Errorf("a late cancellation answers %d", a.Status)
	}
	if text := p.page(viewer, "/ui/runs/"+held.ID); !strings.Contains(text, "by run-operator before it started") {
		t.Error("the page does not say who canceled the run")
	}
}

// TestRunFigures compares the figures of the page of a run with those of the API.
func TestRunFigures(t *testing.T) {
	t.Parallel()
	p := runPages{Server: harness.Start(t, harness.Options{}), t: t}
	r := p.Await(p.Submit(harness.Body{"name": "Count", "tool": "bash",
		"command": "for i in $(seq 3); do echo $i; done"}).ID)
	text := p.page(p.Token, "/ui/runs/"+r.ID+"/evidence")
	for _, want := range []string{strconv.FormatInt(r.EventCount, 10), strconv.FormatInt(r.LogBytes, 10) + " bytes",
		r.ID} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if a := p.Do(http.MethodGet, "/verify/engine.js", nil); a.Status != http.StatusOK ||
		!strings.Contains(string(a.Body), "export default WritVerify") {
		t.Errorf("the module that verifies answers %d", a.Status)
	}
}
