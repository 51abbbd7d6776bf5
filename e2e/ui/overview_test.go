package ui

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

func TestOverview(t *testing.T) {
	t.Parallel()
	r := newListRig(t)
	has(t, r.page(t, "admin", "/ui/", http.StatusOK), "Nothing needs you", "No run was made here yet.", "/ui/welcome")

	bad := r.bash(`<script>alert(1)</script>`, "exit 3")
	held := r.bash("Rotate certificates", "true", harness.Body{"require_approval": true})
	stuck := r.bash("Waits", "true", harness.Body{"queue": "dmz"})
	r.Await(bad.ID)
	page := r.page(t, "operator", "/ui/", http.StatusOK)
	has(t, page, "Three things need you", "1 run waits for approval", "Rotate certificates", "/ui/runs/"+bad.ID,
		"Bash ended with exit code 3.", "Queue dmz stands still", "/ui/runs/"+stuck.ID,
		"Runs per quarter hour: 0 succeeded, 1 failed",
		"Not checked for this page.", "No schedule fires.")
	hasNot(t, page, "<script>alert", " style=", "/ui/settings/doctor")
	viewer := r.page(t, "viewer", "/ui/", http.StatusOK)
	has(t, viewer, "Two things need you")
	hasNot(t, viewer, "waits for approval", "/ui/approvals")
	for _, path := range []string{"/ui/", "/ui/find?q=x", "/ui/overview/checks"} {
		if a := r.roles["anonymous"].Do(http.MethodGet, path, nil); a.Status != http.StatusSeeOther {
			t.Errorf("a visitor gets %d at %s", a.Status, path)
		}
	}
	checked := r.page(t, "viewer", "/ui/overview/checks", http.StatusOK)
	has(t, checked, "Intact to entry ", "This server checked it")
	parts := string(r.roles["viewer"].Do(http.MethodGet, "/ui/", nil, "HX-Request", "true", "HX-Target", "div#ov").Body)
	has(t, parts, `hx-target="#ov-needs"`, `hx-target="#ov-side"`)
	hasNot(t, parts, "<html", "Held now")
	_ = held
}

func TestFind(t *testing.T) {
	t.Parallel()
	r := newListRig(t)
	run := r.bash("Release shop", "true")
	template := harness.Body{"name": "Shop deploy", "tool": "bash", "command": "true"}
	r.Do(http.MethodPost, "/v1/templates", template)
	type found struct{ Text, Kind, Path string }
	search := func(role, word string) (list []found) {
		var got struct{ Found []found }
		r.roles[role].Do(http.MethodGet, "/ui/find?format=json&q="+url.QueryEscape(word), nil).JSON(t, &got)
		return got.Found
	}
	for word, want := range map[string]string{
		"shop": "/ui/runs/" + run.ID, run.ID: "/ui/runs/" + run.ID, run.ID[len(run.ID)-6:]: "/ui/runs/" + run.ID,
		"shop d": "/ui/launch/tpl_", "doctor": "/ui/settings/doctor", "mara": "/ui/settings?q=mara", "audit": "/ui/help/",
	} {
		if list := search("admin", word); !pathIn(list, func(f found) bool { return strings.HasPrefix(f.Path, want) }) {
			t.Errorf("%q finds %v, want %s", word, list, want)
		}
	}
	for _, word := range []string{"mara", "doctor", "settings", "approvals"} {
		if list := search("viewer", word); pathIn(list, func(f found) bool {
			return strings.HasPrefix(f.Path, "/ui/settings") || f.Path == "/ui/approvals"
		}) {
			t.Errorf("a viewer finds %v for %q", list, word)
		}
	}
	if list := search("admin", "e"); len(list) > 12 {
		t.Errorf("%d matches", len(list))
	}
	has(t, r.page(t, "admin", "/ui/find?q=shop", http.StatusOK), "Release shop", "run, ", `name="q"`)
	has(t, r.page(t, "admin", "/ui/find?q=nothing-has-this", http.StatusOK), "Nothing has the name nothing-has-this.")
}

func pathIn[T any](list []T, ok func(T) bool) bool {
	for _, x := range list {
		if ok(x) {
			return true
		}
	}
	return false
}
