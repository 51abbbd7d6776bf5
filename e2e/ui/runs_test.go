package ui

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// listRig is a server with runs and an account of each role.
type listRig struct {
	*harness.Server
	roles map[string]harness.Client
}

func newListRig(t *testing.T) *listRig {
	t.Helper()
	s := harness.Start(t, harness.Options{})
	s.Via = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r := &listRig{Server: s, roles: map[string]harness.Client{"admin": s.Client, "anonymous": s.As("")}}
	for name, role := range map[string]string{"mara": "operator", "ines": "viewer"} {
		var user, key struct{ ID, Token string }
		s.Do(http.MethodPost, "/v1/users", harness.Body{"username": name, "role": role}).JSON(t, &user)
		s.Do(http.MethodPost, "/v1/tokens", harness.Body{"user_id": user.ID, "name": "test"}).JSON(t, &key)
		r.roles[role] = s.As(key.Token)
	}
	return r
}

func (r *listRig) bash(name, command string, more ...harness.Body) harness.Run {
	body := harness.Body{"tool": "bash", "name": name, "command": command}
	for _, m := range more {
		for k, v := range m {
			body[k] = v
		}
	}
	return r.Submit(body)
}

func (r *listRig) page(t *testing.T, role, path string, status int) string {
	t.Helper()
	a := r.roles[role].Do(http.MethodGet, path, nil)
	if a.Status != status {
		t.Fatalf("%s GET %s: %d, want %d\n%.2000s", role, path, a.Status, status, a.Body)
	}
	return string(a.Body)
}

func (r *listRig) post(role, path string, form url.Values) harness.Answer {
	return r.roles[role].Do(http.MethodPost, path, form.Encode(), "Content-Type", "application/x-www-form-urlencoded")
}

func has(t *testing.T, page string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(page, p) {
			t.Errorf("the page lacks %q", p)
		}
	}
}

func hasNot(t *testing.T, page string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if strings.Contains(page, p) {
			t.Errorf("the page has %q", p)
		}
	}
}

func TestRunsList(t *testing.T) {
	t.Parallel()
	r := newListRig(t)
	bad := r.bash(`<img src=x onerror=alert(1)>`, "exit 3", harness.Body{"labels": map[string]string{"env": "prod"}})
	good := r.bash("Collect disk report", "echo done")
	held := r.bash("Rotate certificates", "true", harness.Body{"require_approval": true})
	r.Await(bad.ID)
	r.Await(good.ID)

	t.Run("roles", func(t *testing.T) {
		page := r.page(t, "admin", "/ui/runs", http.StatusOK)
		has(t, page, "1 held.", "Today", `id="run-`+bad.ID+`"`, "Bash ended with exit code 3",
			"The request asks for approval",
			"3 of 3.", `name="run"`, "&lt;img src=x onerror")
		hasNot(t, page, "<img src=x", " style=", "onclick=")
		has(t, r.page(t, "operator", "/ui/runs", http.StatusOK), "data-cancel")
		hasNot(t, r.page(t, "viewer", "/ui/runs", http.StatusOK), "data-cancel", `name="run"`, "/ui/launch/adhoc")
		if a := r.roles["anonymous"].Do(http.MethodGet, "/ui/runs", nil); a.Status != http.StatusSeeOther ||
			!strings.HasPrefix(a.Header.Get("Location"), "/ui/login?next=") {
			t.Errorf("a visitor gets %d, %s", a.Status, a.Header.Get("Location"))
		}
		yes := url.Values{"run": {held.ID}, "confirm": {"yes"}}
		if a := r.post("viewer", "/ui/runs/cancel", yes); a.Status != http.StatusForbidden {
			t.Errorf("a viewer cancels with %d", a.Status)
		}
	})
	t.Run("search", func(t *testing.T) {
		page := r.page(t, "admin", "/ui/runs?q=status%3Afailed+label%3Aenv%3Dprod", http.StatusOK)
		has(t, page, "Failed runs with the label env=prod.", "1 of 1.", bad.ID, `aria-pressed="true"`)
		hasNot(t, page, good.ID)
		page = r.page(t, "admin", "/ui/runs?q=statsu%3Afailed&was=status%3Afailed", http.StatusBadRequest)
		has(t, page, "Did you mean status:?", `aria-invalid="true"`, `value="statsu:failed"`, bad.ID)
		hasNot(t, page, good.ID)
		has(t, r.page(t, "admin", "/ui/runs?q=nothing-has-this", http.StatusOK), "No run fits", "Clear the search")
		has(t, r.page(t, "admin", "/ui/runs?since=nonsense", http.StatusBadRequest), "neither an age")
		has(t, r.page(t, "admin", "/ui/runs?since=24h", http.StatusOK), "3 of 3.")
	})
	t.Run("completion", func(t *testing.T) {
		for typed, want := range map[string]string{"sta": "status:", "status:fa": "status:failed", "tool:ba": "tool:bash",
			"label:e": "label:env=prod", "host:": "", "queue:d": "queue:default"} {
			var got struct{ Offers []struct{ Text string } }
			q := url.Values{"q": {typed}, "typed": {typed}}
			r.Do(http.MethodGet, "/ui/runs/complete?"+q.Encode(), nil).JSON(t, &got)
			if want == "" && len(got.Offers) > 0 || want != "" && (len(got.Offers) == 0 || got.Offers[0].Text != want) {
				t.Errorf("%q completes to %v, want %q", typed, got.Offers, want)
			}
		}
	})
	t.Run("rows", func(t *testing.T) {
		page := string(r.Do(http.MethodGet, "/ui/runs/rows?q=status%3Arunning&id="+bad.ID+"&id=run_gone", nil,
			"HX-Request", "true", "HX-Target", "section#runs-list").Body)
		has(t, page, `hx-target="#run-`+bad.ID+`"`, `class="left"`)
		hasNot(t, page, "<html", "run_gone")
		if a := r.Do(http.MethodGet, "/ui/runs/rows", nil); a.Status != http.StatusBadRequest {
			t.Errorf("rows without an id: %d", a.Status)
		}
		var fresh struct{ Count, Held int }
		r.Do(http.MethodGet, "/ui/runs/fresh?after="+bad.ID, nil).JSON(t, &fresh)
		if fresh.Count != 2 || fresh.Held != 1 {
			t.Errorf("newer runs: %+v", fresh)
		}
	})
}

func TestCancelSeveral(t *testing.T) {
	t.Parallel()
	r := newListRig(t)
	one := r.bash("One", "true", harness.Body{"require_approval": true})
	two := r.bash("Two", "true", harness.Body{"require_approval": true})
	done := r.bash("Done", "true")
	r.Await(done.ID)
	chosen := url.Values{"run": {one.ID, two.ID}, "q": {"status:pending_approval"}}
	a := r.post("operator", "/ui/runs/cancel", chosen)
	if a.Status != http.StatusOK {
		t.Fatalf("the question: %d %s", a.Status, a.Body)
	}
	has(t, string(a.Body), "Cancel 2 runs?", one.ID, two.ID, "writ cancel -y")
	if s := r.Get(one.ID).Status; s != "pending_approval" {
		t.Fatalf("the question has made the run %s", s)
	}
	chosen.Set("confirm", "yes")
	a = r.post("operator", "/ui/runs/cancel", chosen)
	if a.Status != http.StatusSeeOther || a.Header.Get("Location") != "/ui/runs?q=status%3Apending_approval" {
		t.Errorf("canceled: %d to %s", a.Status, a.Header.Get("Location"))
	}
	for _, id := range []string{one.ID, two.ID} {
		if s := r.Get(id).Status; s != "canceled" {
			t.Errorf("%s is %s", id, s)
		}
	}
	a = r.post("operator", "/ui/runs/cancel", url.Values{"run": {done.ID}, "confirm": {"yes"}})
	if a.Status != http.StatusConflict {
		t.Errorf("canceling an ended run: %d", a.Status)
	}
	has(t, string(a.Body), "0 cancellations are requested, 1 refused", done.ID)
}

func TestRunsPages(t *testing.T) {
	t.Parallel()
	r := newListRig(t)
	const all = 120
	for i := range all {
		r.bash(fmt.Sprintf("Patch the fleet of region %d", i), "true", harness.Body{"require_approval": true,
			"labels": map[string]string{"ticket": fmt.Sprint(i * 7919)}})
	}
	first := r.page(t, "admin", "/ui/runs", http.StatusOK)
	has(t, first, "50 of 120.", ">Older<")
	hasNot(t, first, ">Newer<")
	if n := packed(t, first); n > 12<<10 {
		t.Errorf("a page of 50 rows has %d bytes, packed", n)
	}
	older := href(t, first, "next")
	r.bash("Arrives meanwhile", "true")
	second := r.page(t, "admin", older, http.StatusOK)
	has(t, second, ">Newest<", ">Newer<", "region 69<", "region 20<")
	hasNot(t, second, "region 70<", "region 19<")
	third := r.page(t, "admin", href(t, second, "next"), http.StatusOK)
	has(t, third, "20 of 121.", "region 0<")
	hasNot(t, third, ">Older<")
	back := r.page(t, "admin", href(t, third, "prev"), http.StatusOK)
	has(t, back, "region 69<", "region 20<")
	hasNot(t, back, "region 70<", "region 19<")
	a := r.Do(http.MethodGet, href(t, back, "prev"), nil)
	for ; a.Status == http.StatusOK; a = r.Do(http.MethodGet, href(t, string(a.Body), "prev"), nil) {
	}
	if a.Status != http.StatusSeeOther || a.Header.Get("Location") != "/ui/runs" {
		t.Errorf("newer than the newest: %d to %s", a.Status, a.Header.Get("Location"))
	}
	var list []struct{ ID, Name string }
	export := r.Do(http.MethodGet, "/ui/runs/export?format=json&q=fleet", nil)
	if err := json.Unmarshal(export.Body, &list); err != nil || len(list) != all {
		t.Errorf("the export has %d runs, %v", len(list), err)
	}
	if a := r.Do(http.MethodGet, "/ui/runs/export?format=xml", nil); a.Status != http.StatusBadRequest {
		t.Errorf("an unknown format: %d", a.Status)
	}
}

// href returns the address of the link with a relation.
func href(t *testing.T, page, rel string) string {
	t.Helper()
	head, _, ok := strings.Cut(page, `" rel="`+rel+`"`)
	if !ok {
		t.Fatalf("the page has no link %s", rel)
	}
	return strings.ReplaceAll(head[strings.LastIndex(head, `href="`)+len(`href="`):], "&amp;", "&")
}

func packed(t *testing.T, page string) int {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, page); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Len()
}
