package policies

import (
	"net/http"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/e2e/harness"
)

// deciders has a run that two policies hold: two administrators but the one who asked, and a member of a team.
func (w *fixture) deciders() {
	w.policy("eyes", "require_approval", harness.Body{"name": "four eyes", "approvals_needed": 2,
		"distinct_approver": true, "message": "ask a colleague"})
	w.policy("eyes", "require_approval", harness.Body{"name": "network", "approver_teams": []string{w.ids["network"]}})
	made := w.accounts["ann"].Do("POST", "/v1/runs", w.script("eyes", nil))
	var h held
	if made.JSON(w.t, &h); made.Status != http.StatusCreated || h.Status != "pending_approval" ||
		h.HeldBy.Name != "four eyes" || h.Approvals.Needed != 2 || len(h.Approvals.Holds) != 2 ||
		h.Approvals.Holds[0].Message != "ask a colleague" || h.Risk.Level == "" {
		w.t.Fatalf("%d %s", made.Status, made.Body)
	}
	for _, x := range []struct {
		who, verb string
		status    int
		reason    string
	}{
		{"nobody", "approve", 401, "bad_token"},
		{"vic", "approve", 403, "forbidden"},
		{"operating", "approve", 403, "forbidden"},
		{"operating", "reject", 403, "forbidden"},
		{"oto", "approve", 403, "forbidden"},
		{"ann", "approve", 403, "distinct_approver"},
		{"ann", "reject", 403, "distinct_approver"},
		{"bob", "approve", 200, ""},
		{"bob", "approve", 409, "already_approved"},
		{"eve", "approve", 200, ""},
	} {
		a := w.decide(x.who, x.verb, h.ID)
		w.decided(a, x.status, x.reason)
		if now, tag := w.look(h.ID); now.Status != "pending_approval" || x.status == 200 && a.Header.Get("ETag") != tag {
			w.t.Fatalf("after %s: %s, ETag %s after %s", x.who, now.Status, tag, a.Header.Get("ETag"))
		}
	}
	if w.exists("eyes") {
		w.t.Fatal("a held run was executed")
	}
	var last held
	w.want(http.StatusOK, w.Client, "POST", "/v1/runs/"+h.ID+"/approve", harness.Body{"reason": "mine"}).JSON(w.t, &last)
	if r := w.Await(h.ID); r.Status != "succeeded" || !w.exists("eyes") {
		w.t.Errorf("%s: %s", r.Status, r.Error)
	}
	var given []string
	for _, g := range last.Approvals.Given {
		given = append(given, g.By.Name+": "+g.Reason)
	}
	if diff := cmp.Diff([]string{"bob: bob looked", "eve: eve looked", "admin: mine"}, given); diff != "" {
		w.t.Error(diff)
	}
	w.evidenceOf(h)

	key := []string{"Idempotency-Key", "eyes"}
	made = w.want(http.StatusCreated, w.Client, "POST", "/v1/runs", w.script("eyes", nil), key...)
	again := w.want(http.StatusCreated, w.Client, "POST", "/v1/runs", w.script("eyes", nil), key...)
	var r held
	if made.JSON(w.t, &r); again.Header.Get("Idempotent-Replay") != "true" ||
		again.Header.Get("ETag") != `"`+r.Digest+`"` {
		w.t.Errorf("a repeated request: %v, the digest is %s", again.Header, r.Digest)
	}
	w.decided(w.decide("eve", "reject", r.ID), http.StatusOK, "")
	if now, _ := w.look(r.ID); now.Status != "rejected" || now.Decision.Verdict != "rejected" ||
		now.Decision.Reason != "eve looked" {
		w.t.Errorf("%s, %+v", now.Status, now.Decision)
	}
	w.decided(w.decide("bob", "approve", r.ID), http.StatusConflict, "run_not_held")
}

// teamDecides has accounts of each role decide about runs that the members of a team decide about.
func (w *fixture) teamDecides() {
	leads := w.made("/v1/teams", harness.Body{"name": "leads"})
	w.want(http.StatusCreated, w.Client, "POST", "/v1/teams/"+leads+"/members", harness.Body{"user_id": w.ids["ann"]})
	w.policy("team", "require_approval", harness.Body{"approver_teams": []string{w.ids["network"], leads}})
	w.accounts["reading"] = w.As(w.token("mia", harness.Body{"scopes": []string{"read", "operate"}}))
	for _, x := range []struct {
		who    string
		member bool
	}{
		{"ann", true},                            // an administrator
		{"eve", true},                            // an operator
		{"mia", true},                            // a viewer
		{"bob", false},                           // an administrator
		{"oto", false},                           // an operator
		{"vic", false},                           // a viewer
		{"operating", false}, {"reading", false}, // members, by tokens without the scope admin
	} {
		for verb, becomes := range map[string]string{"approve": "pending", "reject": "rejected"} {
			h := w.hold("/v1/runs", w.script("team", harness.Body{"queue": parked}))
			status, reason := http.StatusOK, ""
			if !x.member {
				status, reason, becomes = http.StatusForbidden, "forbidden", "pending_approval"
			}
			w.decided(w.decide(x.who, verb, h.ID), status, reason)
			now, _ := w.look(h.ID)
			if now.Status != becomes || x.member && now.Decision.Reason != x.who+" looked" {
				w.t.Errorf("after %s by %s: %s, %+v", verb, x.who, now.Status, now.Decision)
			}
			if x.who == "mia" {
				w.decided(w.decide("mia", "cancel", h.ID), http.StatusForbidden, "forbidden")
			}
		}
	}
}

// evidenceOf checks the trail and the evidence of the run that three accounts approved.
func (w *fixture) evidenceOf(h held) {
	w.t.Helper()
	var holds, approvals []string
	for _, e := range w.entries() {
		if e.Object.ID != h.ID || e.Outcome != "applied" {
			continue
		}
		switch e.Action {
		case "run.hold":
			by, _ := e.Details["held_by"].(map[string]any)
			holds = append(holds, by["name"].(string))
		case "run.approve":
			approvals = append(approvals, e.Actor.Name)
			if e.Details["digest"] != h.Digest {
				w.t.Errorf("the entry of an approval is about %v", e.Details)
			}
		}
	}
	slices.Sort(holds)
	slices.Reverse(approvals)
	if diff := cmp.Diff([][]string{{"four eyes", "network"}, {"bob", "eve", "admin"}},
		[][]string{holds, approvals}); diff != "" {
		w.t.Errorf("the trail: %s", diff)
	}
	var doc struct {
		Risk  struct{ Level string }
		Holds []struct {
			HeldBy struct{ Name string } `json:"held_by"`
		}
		Decisions []struct {
			By      struct{ Name string }
			Verdict string
			Reason  string
		}
		Problems []any
	}
	a := w.want(http.StatusOK, w.Client, "GET", "/v1/runs/"+h.ID+"/evidence?format=json", nil)
	if a.JSON(w.t, &doc); doc.Risk.Level != h.Risk.Level || len(doc.Holds) != 2 || len(doc.Decisions) != 3 ||
		doc.Decisions[1].By.Name != "eve" || doc.Decisions[1].Reason != "eve looked" || len(doc.Problems) != 0 {
		w.t.Errorf("the evidence: %s", a.Body)
	}
	page := string(w.want(http.StatusOK, w.Client, "GET", "/v1/runs/"+h.ID+"/evidence", nil).Body)
	for _, text := range []string{"four eyes", "network", "bob looked", "eve looked", "mine"} {
		if !strings.Contains(page, text) {
			w.t.Errorf("the page of evidence lacks %q", text)
		}
	}
}

// stale changes an inventory and a credential between the hold and the decision.
func (w *fixture) stale() {
	w.policy("stale", "require_approval", harness.Body{"approvals_needed": 2})
	inventory, credential := w.inventory("stale"), w.credential("stale", "first")
	h := w.hold("/v1/runs", w.script("stale", harness.Body{"inventory_id": inventory,
		"credential_ids": []string{credential}}))
	w.decided(w.decide("bob", "approve", h.ID, "If-Match", `"`+h.Digest+`"`), http.StatusOK, "")

	w.edit(inventory, "stale", "a\nb\nc\n")
	now, tag := w.look(h.ID)
	if diff := cmp.Diff([]string{"hosts", "inventory"}, now.Changed); diff != "" || now.Digest == h.Digest ||
		tag != `"`+now.Digest+`"` || now.Approvals.Holds[0].Given != 0 || len(now.Approvals.Given) != 0 {
		w.t.Fatalf("%s%+v", diff, now)
	}
	for _, match := range [][]string{nil, {"If-Match", `"` + h.Digest + `"`}, {"If-Match", "*"}} {
		for _, verb := range []string{"approve", "reject"} {
			a := w.decide("ann", verb, h.ID, match...)
			w.decided(a, http.StatusConflict, "approval_stale")
			if !strings.Contains(string(a.Body), `"changed":["hosts","inventory"]`) {
				w.t.Errorf("%s of %v: %s", verb, match, a.Body)
			}
		}
	}
	w.decided(w.decide("ann", "approve", h.ID, "If-Match", tag), http.StatusOK, "")
	if now, _ := w.look(h.ID); now.Status != "pending_approval" || now.Approvals.Holds[0].Given != 1 ||
		now.Approvals.Given[0].By.Name != "ann" {
		w.t.Fatalf("what bob approved counts: %+v", now)
	}

	w.secret(credential, "renamed", "first")
	now, tag = w.look(h.ID)
	if !slices.Contains(now.Changed, "credential") || len(now.Approvals.Given) != 0 {
		w.t.Fatalf("the credential was renamed, and what ann approved counts: %+v", now)
	}
	w.decided(w.decide("ann", "approve", h.ID, "If-Match", tag), http.StatusOK, "")

	w.secret(credential, "stale", "second")
	now, tag = w.look(h.ID)
	if diff := cmp.Diff([]string{"credential", "hosts", "inventory"}, now.Changed); diff != "" {
		w.t.Fatal(diff)
	}
	w.decided(w.decide("ann", "approve", h.ID), http.StatusConflict, "approval_stale")
	w.decided(w.decide("ann", "approve", h.ID, "If-Match", tag), http.StatusOK, "")
	w.decided(w.decide("bob", "approve", h.ID, "If-Match", tag), http.StatusOK, "")
	if r := w.Await(h.ID); r.Status != "succeeded" {
		w.t.Errorf("%s: %s\n%s", r.Status, r.Error, w.Log(h.ID))
	}
}

// templateEdited edits a template after a run of it was held: the run executes what was approved.
func (w *fixture) templateEdited() {
	body := harness.Body{"name": "edited", "tool": "bash", "command": "echo before > " + w.file("edited"),
		"labels": harness.Body{"case": "edited"}}
	template := w.made("/v1/templates", body)
	w.policy("edited", "require_approval", nil)
	h := w.hold("/v1/templates/"+template+"/launch", harness.Body{})
	body["command"] = "echo after > " + w.file("edited")
	w.want(http.StatusOK, w.Client, "PUT", "/v1/templates/"+template, body)
	if now, _ := w.look(h.ID); now.Digest != h.Digest || len(now.Changed) != 0 {
		w.t.Errorf("the run is another one: %+v", now)
	}
	w.decided(w.decide("bob", "approve", h.ID), http.StatusOK, "")
	if r := w.Await(h.ID); r.Status != "succeeded" || w.read("edited") != "before\n" {
		w.t.Errorf("%s %s: %q", r.Status, r.Error, w.read("edited"))
	}
}
