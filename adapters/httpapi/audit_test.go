package httpapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/proof"
)

func lines() []audit.Line {
	at := time.Date(2026, 1, 5, 8, 30, 0, 123456000, time.UTC)
	return []audit.Line{
		{
			Seq: 12, ID: "aud_1", At: at, Actor: actor.Actor{Type: actor.User, ID: "usr_1", Name: "alex", IP: "192.0.2.7",
				Token: "tok_1"},
			Action: audit.RunReject, Method: "POST", Path: "/v1/runs/" + knownRun + "/reject",
			Object: audit.Object{Kind: "run", ID: knownRun, Name: "n"},
			Run:    knownRun, Outcome: audit.Applied, Text: "<b>no</b>", Details: json.RawMessage(`{"verdict":"rejected"}`),
			DetailsHash: "sha256:aa",
			PrevHash:    [32]byte{1}, Hash: [32]byte{2},
		},
		{Seq: 1, ID: "aud_0", At: at, Actor: actor.Actor{Type: actor.System}, Action: audit.ServiceGenesis,
			Outcome: audit.Applied, Hash: [32]byte{1}},
	}
}

func TestAuditList(t *testing.T) {
	t.Parallel()
	f := setup(t)
	zeros := strings.Repeat("0", 62)
	f.chain.page = audit.Page{Lines: lines(), HasMore: true, NextBefore: 1}
	want := `{"entries":[{"seq":12,"id":"aud_1","at":"2026-01-05T08:30:00.123456Z","actor":{"type":"user","id":"usr_1","name":"alex","ip":"192.0.2.7"},` +
		`"action":"run.reject","method":"POST","path":"/v1/runs/` + knownRun + `/reject","object":{"kind":"run","id":"` +
		knownRun + `"},"run":"` + knownRun +
		`","outcome":"applied","text":"<b>no</b>","details":{"verdict":"rejected"},"details_hash":"sha256:aa","prev_hash":"01` + zeros + `","hash":"02` + zeros +
		`"},{"seq":1,"id":"aud_0","at":"2026-01-05T08:30:00.123456Z","actor":{"type":"system"},"action":"svc.genesis","outcome":"applied","prev_hash":"00` + zeros +
		`","hash":"01` + zeros + `"}],"count":2,"has_more":true,"next_before":1,"limit":100}` + "\n"
	if d := cmp.Diff(want, string(f.call("GET", "/v1/audit", "admin", "").body)); d != "" {
		t.Error(d)
	}
	f.chain.page = audit.Page{}
	if got := string(f.call("GET", "/v1/audit", "admin", "").
		body); got != `{"entries":[],"count":0,"has_more":false,"next_before":0,"limit":100}`+"\n" {
		t.Errorf("empty: %s", got)
	}
	for query, want := range map[string]audit.Filter{
		"?limit=5&before=7": {Limit: 5, Before: 7}, "?limit=0": {Limit: 100}, "?limit=1001": {Limit: 1000},
		"?limit=99999999999999999999&before=99999999999999999999": {Limit: 1000, Before: 1<<63 - 1},
		"?actor=usr_1&object=run/x":                               {Limit: 100, Actor: "usr_1", Object: "run/x"},
		"?object=" + knownRun:                                     {Limit: 100, Object: "run/" + knownRun},
	} {
		a := f.call("GET", "/v1/audit"+query, "admin", "")
		if m := a.json(t, 200); cmp.Diff(want, f.chain.filter) != "" || m["limit"] != json.Number(itoa(want.Limit)) {
			t.Errorf("%s: %+v %s", query, f.chain.filter, a.body)
		}
	}
	for _, query := range []string{"?limit=-1", "?limit=x", "?before=1.5", "?object=x", "?page=1", "?limit=1&limit=2",
		"?actor=%00"} {
		f.call("GET", "/v1/audit"+query, "admin", "").problem(t, 400)
		f.call("GET", "/v1/audit"+query, "operator", "").problem(t, 403)
		f.call("GET", "/v1/audit"+query, "", "").problem(t, 401)
	}
	f.chain.fail(fault.Wrap(fault.Unavailable, http.ErrServerClosed, "the store does not answer"))
	f.call("GET", "/v1/audit", "admin", "").problem(t, 503)
}

func itoa(n int) string {
	b, err := json.Marshal(n)
	if err != nil {
		return ""
	}
	return string(b)
}

func TestAuditVerify(t *testing.T) {
	t.Parallel()
	f := setup(t)
	head := strings.Repeat("0", 64)
	want := `{"ok":false,"count":0,"head":"` + head +
		`","broke_at":0,"broke_seq":0,"reason":"","anchored":0,"anchor_problems":[],"checks":[],"not_checked":[]}` + "\n"
	if d := cmp.Diff(want, string(f.call("GET", "/v1/audit/verify", "viewer", "").body)); d != "" {
		t.Error(d)
	}
	f.proofs.verdict = audit.ChainVerdict{
		Verdict: proof.Verdict{
			Reason: proof.ChainBreak, BrokeAt: 3, BrokeSeq: 4, Count: 9,
			AnchorProblems: []proof.AnchorProblem{{ID: "anc_1", Kind: "head_file", Size: 12, Problem: "tail_missing"}},
			Checks:         []proof.Check{{ID: "entries", Result: proof.Failed, Detail: "prev"}},
			NotChecked:     []string{"the times of entries"},
		},
		Head: [32]byte{1}, Anchored: 2,
	}
	want = `{"ok":false,"count":9,"head":"01` + head[2:] +
		`","broke_at":3,"broke_seq":4,"reason":"chain_break","anchored":2,` +
		`"anchor_problems":[{"id":"anc_1","kind":"head_file","size":12,"problem":"tail_missing"}],` +
		`"checks":[{"id":"entries","result":"failed","detail":"prev"}],"not_checked":["the times of entries"]}` + "\n"
	a := f.call("GET", "/v1/audit/verify", "viewer", "")
	if d := cmp.Diff(want, string(a.body)); d != "" || a.status != 200 {
		t.Error(a.status, d)
	}
	f.call("GET", "/v1/audit/verify", "", "").problem(t, 401)
	f.call("GET", "/v1/audit/verify?x=1", "viewer", "").problem(t, 400)
	f.proofs.answer(http.ErrServerClosed)
	f.call("GET", "/v1/audit/verify", "viewer", "").problem(t, 500)
}

func TestRegister(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for query, want := range map[string]audit.Period{
		"?from=2026-01-01&to=2026-01-31": {From: instant("2026-01-01T00:00:00Z"),
			To: instant("2026-02-01T00:00:00Z")},
		"?from=2026-01-01T10:00:00%2B02:00&to=2026-01-01T08:00:00.001Z": {From: instant("2026-01-01T08:00:00Z"),
			To: instant("2026-01-01T08:00:00.001Z")},
		"?to=2026-04-01T00:00:00Z":       {To: instant("2026-04-01T00:00:00Z")},
		"?from=2026-01-01&to=2026-01-01": {From: instant("2026-01-01T00:00:00Z"), To: instant("2026-01-02T00:00:00Z")},
		"":                               {},
	} {
		a := f.call("GET", "/v1/audit/register"+query, "admin", "")
		if d := cmp.Diff(want, f.proofs.period); a.status != 200 || d != "" {
			t.Errorf("%s: %d %s", query, a.status, d)
		}
		inert(t, a, "'none'")
	}
	for _, query := range []string{"?from=x", "?to=2026-13-01", "?from=1700000000", "?format=json"} {
		f.call("GET", "/v1/audit/register"+query, "admin", "").problem(t, 400)
		f.call("GET", "/v1/audit/register"+query, "operator", "").problem(t, 403)
	}
	f.proofs.answer(&fault.Error{Kind: fault.Unlicensed, Message: "the change register takes the Team tier"})
	f.call("GET", "/v1/audit/register?from=x", "admin", "").problem(t, 400)
	if p := f.call("GET", "/v1/audit/register", "admin", "").
		problem(t, 403); !strings.Contains(p.Error, "change register") {
		t.Errorf("%+v", p)
	}
}

// inert checks that a document is harmless in a browser.
func inert(t *testing.T, a answer, style string) {
	t.Helper()
	csp := a.header.Get("Content-Security-Policy")
	if a.status != 200 || a.header.Get("Content-Type") != "text/html; charset=utf-8" ||
		a.header.Get("X-Content-Type-Options") != "nosniff" ||
		!strings.HasPrefix(csp, "default-src 'none'; style-src "+style+"; ") || !strings.HasSuffix(csp, "; sandbox") ||
		!strings.HasPrefix(a.header.Get("Content-Disposition"), "inline; filename=") {
		t.Errorf("%d %v", a.status, a.header)
	}
}

func TestEvidence(t *testing.T) {
	t.Parallel()
	f := setup(t)
	path := "/v1/runs/" + knownRun + "/evidence"
	// Only the style in the head counts: echo -n 'p{color:red}' | openssl dgst -sha256 -binary | base64
	inert(t, f.call("GET", path, "viewer", ""), "'sha256-"+cssHash+"'")
	inert(t, f.call("GET", path+"?format=html", "viewer", ""), "'sha256-"+cssHash+"'")
	if a := f.call("GET", path+"?format=json", "viewer", ""); string(a.body) != `{"run":"`+knownRun+`"}` ||
		a.header.Get("Content-Type") != "application/json" {
		t.Errorf("%d %s %v", a.status, a.body, a.header)
	}
	f.call("GET", path+"?format=pdf", "viewer", "").problem(t, 400)
	f.call("GET", "/v1/runs/run_other/evidence", "viewer", "").problem(t, 404)
	f.call("GET", path, "", "").problem(t, 401)
	f.proofs.answer(http.ErrServerClosed)
	f.call("GET", path, "viewer", "").problem(t, 500)
}

func TestReceipt(t *testing.T) {
	t.Parallel()
	f := setup(t)
	path := "/v1/runs/" + knownRun + "/receipt"
	zero, seven, huge := int64(0), int64(7), int64(1<<63-1)
	for query, want := range map[string]audit.ReceiptQuery{
		"": {}, "?sparse": {Sparse: true}, "?sparse=": {Sparse: true}, "?sparse=true": {Sparse: true},
		"?sparse=1&from=7": {Sparse: true, From: &seven},
		"?sparse=false":    {}, "?sparse=0": {}, "?from=0": {From: &zero},
		"?sparse&from=99999999999999999999": {Sparse: true, From: &huge},
	} {
		a := f.call("GET", path+query, "viewer", "")
		want.Audience = everybody{}
		if d := cmp.Diff(want, f.proofs.receipt); d != "" || a.status != 200 ||
			a.header.Get("Service-Key-Id") != "sha256:aa" ||
			a.header.Get("Content-Type") != "application/vnd.writ.receipt+json" ||
			string(a.body) != `{"payload":"`+knownRun+`"}` {
			t.Errorf("%s: %d %v %s", query, a.status, a.header, d)
		}
	}
	if f.call("GET", path, "admin", ""); !f.proofs.receipt.Private || f.proofs.receipt.Audience != nil {
		t.Error("who may read the trail gets no disclosures")
	}
	for _, query := range []string{"?sparse=maybe", "?from=-1", "?from=x", "?from=", "?from", "?sparse&sparse",
		"?form=1"} {
		f.call("GET", path+query, "viewer", "").problem(t, 400)
		f.call("GET", strings.Replace(path, knownRun, "run_other", 1)+query, "viewer", "").problem(t, 400)
	}
	f.call("GET", "/v1/runs/run_other/receipt", "viewer", "").problem(t, 404)
	f.call("GET", path, "", "").problem(t, 401)
	f.proofs.answer(audit.Unsatisfied.New("the chain has 12 entries"))
	if p := f.call("GET", path+"?from=13", "viewer", "").problem(t, 409); p.Reason != "anchor_unsatisfied" {
		t.Errorf("%+v", p)
	}
	f.proofs.answer(audit.NoSigningKey.New("no key"))
	f.call("GET", path, "viewer", "").problem(t, 503)
}

func TestSeal(t *testing.T) {
	t.Parallel()
	f := setup(t)
	const path = "/.well-known/seal.json"
	a := f.call("GET", path, "", "")
	tag := a.header.Get("ETag")
	h := a.header
	if a.status != 200 || string(a.body) != `{"v":1}` || len(tag) != 66 || h.Get("Access-Control-Allow-Origin") != "*" ||
		h.Get("Cache-Control") != "no-cache" ||
		h.Get("Content-Type") != "application/json" || len(h.Values("Set-Cookie")) > 0 ||
		h.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("%d %v %s", a.status, h, a.body)
	}
	for header, want := range map[string]int{tag: 304, `"x", ` + tag: 304, "*": 304, "W/" + tag: 304, `"x"`: 200, "": 200,
		strings.Trim(tag, `"`): 200} {
		a := f.call("GET", path, "nobody", "", "If-None-Match", header, "Cookie", "writ_session=x")
		if a.status != want || a.header.Get("ETag") != tag || a.header.Get("Access-Control-Allow-Origin") != "*" ||
			want == 304 && len(a.body) > 0 {
			t.Errorf("%s: %d %v", header, a.status, a.header)
		}
	}
	if a := f.call("HEAD", path, "", ""); a.status != 200 || len(a.body) > 0 || a.header.Get("ETag") != tag {
		t.Errorf("HEAD: %d %v", a.status, a.header)
	}
	f.proofs.seal = `,"epoch":2`
	if got := f.call("GET", path, "", "", "If-None-Match", tag); got.status != 200 || got.header.Get("ETag") == tag {
		t.Errorf("changed: %d %v", got.status, got.header)
	}
	f.proofs.answer(audit.NoSigningKey.New("this server holds no signing key"))
	a = f.call("GET", path, "", "", "If-None-Match", tag)
	if p := a.problem(t, 503); p.Reason != "signing_key_missing" || a.header.Get("ETag") != "" ||
		a.header.Get("Cache-Control") != "no-store" {
		t.Errorf("%+v %v", p, a.header)
	}
}

const cssHash = "p0bF+un5yUb9MBO6xRb8kPHlY2BdpHVtLiFkDrZPF64="
