package httpapi_test

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/proof"
)

func TestBundle(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for query, want := range map[string]audit.BundleQuery{
		"": {}, "?format=json": {}, "?format=tiles": {Tiles: true}, "?from=2&to=9&limit=3": {From: 2, To: 9, Limit: 3},
		"?limit=0":                    {},
		"?limit=99999999999999999999": {Limit: 1<<63 - 1},
	} {
		a := f.call("GET", "/v1/audit/bundle"+query, "viewer", "")
		want.Audience = everybody{}
		media := map[bool]string{true: "application/zip", false: "application/vnd.writ.bundle+json"}[want.Tiles]
		if d := cmp.Diff(want, f.proofs.bundle); d != "" || a.status != 200 || len(a.body) != 100*4096 ||
			a.header.Get("Content-Type") != media ||
			a.header.Get("Content-Disposition") != `attachment; filename="writ-audit-1-12 \"x\".json"` {
			t.Errorf("%s: %d %v %s", query, a.status, a.header, d)
		}
	}
	for token, want := range map[string]bool{"viewer": false, "operator": false, "admin": true} {
		f.call("GET", "/v1/audit/bundle", token, "")
		if q := f.proofs.bundle; q.Private != want || (q.Audience == nil) != want {
			t.Errorf("%s: disclosures %t, for %v", token, q.Private, q.Audience)
		}
	}
	for _, query := range []string{"?limit=-1", "?limit=x", "?limit=", "?limit", "?limit=1.5", "?limit=1&limit=2",
		"?from=x", "?to=", "?format=pdf", "?x=1"} {
		p := f.call("GET", "/v1/audit/bundle"+query, "viewer", "").problem(t, 400)
		if len(p.Errors) != 1 {
			t.Errorf("%s: %+v", query, p)
		}
		f.call("GET", "/v1/audit/bundle"+query, "", "").problem(t, 401)
	}
	if a := f.call("HEAD", "/v1/audit/bundle", "viewer", ""); a.status != 200 ||
		a.header.Get("Content-Disposition") == "" {
		t.Errorf("HEAD: %d %v", a.status, a.header)
	}
	f.proofs.answer(fault.BadField("from", "is beyond the chain"))
	f.call("GET", "/v1/audit/bundle?from=13", "viewer", "").problem(t, 400)
}

// TestBundleRefused: the coordinates are part of the answer, also if they are zero.
func TestBundleRefused(t *testing.T) {
	t.Parallel()
	f := setup(t)
	problems := []proof.AnchorProblem{{ID: "anc_1", Kind: "head_file", Size: 12, Problem: "tail_missing"}}
	for want, err := range map[string]*fault.Error{
		`"anchor_problems":[],"broke_at":3,"broke_seq":4,"count":9`: audit.Broken.New("entry 3 does not recompute").
			With("broke_at", 3).
			With("broke_seq", 4).With("count", 9).With("anchor_problems", []proof.AnchorProblem{}),
		`"anchor_problems":[{"id":"anc_1","kind":"head_file","size":12,"problem":"tail_missing"}],"broke_at":0,"broke_seq":0,"count":9`: audit.Unsatisfied.
			New("the chain is shorter").With("count", 9).With("anchor_problems", problems),
		`"anchor_problems":[],"broke_at":0,"broke_seq":0,"count":0`: audit.Unbundlable.New("the chain is empty"),
	} {
		f.proofs.answer(err)
		a := f.call("GET", "/v1/audit/bundle?from=1&to=2", "viewer", "")
		if p := a.problem(t, 409); p.Reason != err.Code || p.Error != err.Message ||
			!strings.Contains(string(a.body), want) || a.header.Get("Content-Disposition") != "" {
			t.Errorf("want %s: %s", want, a.body)
		}
	}
	f.proofs.answer(audit.NoSigningKey.New("no key"))
	if a := f.call("GET", "/v1/audit/bundle", "viewer", ""); strings.Contains(string(a.body), "broke_at") ||
		a.problem(t, 503).Reason != "signing_key_missing" {
		t.Errorf("%s", a.body)
	}
}

// TestBundleThatBreaksOff: the reader notices that the file is not whole.
func TestBundleThatBreaksOff(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.proofs.breaks = true
	req, err := http.NewRequestWithContext(t.Context(), "GET", f.url+"/v1/audit/bundle", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer viewer")
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if b, err := io.ReadAll(resp.Body); err == nil || strings.Contains(string(b), "SQL") {
		t.Errorf("read %d bytes to their end", len(b))
	}
	// The bundle released its place on the server.
	f.proofs.breaks = false
	for range 5 {
		if a := f.call("GET", "/v1/audit/bundle", "viewer", ""); a.status != 200 {
			t.Errorf("afterwards: %d", a.status)
		}
	}
}

// TestHeavyWorkIsBounded: four at once for a server, three of them for one account.
func TestHeavyWorkIsBounded(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/v1/audit/bundle", "/v1/audit/verify"} {
		f := setup(t)
		f.proofs.block, f.proofs.entered = make(chan struct{}), make(chan struct{})
		var all sync.WaitGroup
		begin := func(token string) {
			all.Go(func() {
				if a := f.call("GET", path, token, ""); a.status != 200 {
					t.Errorf("%s: %d", path, a.status)
				}
			})
			<-f.proofs.entered
		}
		for range 3 {
			begin("viewer")
		}
		busy := func(token string) {
			a := f.call("GET", path, token, "")
			if p := a.problem(t, 429); p.Reason != "audit_busy" || a.header.Get("Retry-After") == "" ||
				a.header.Get("Content-Disposition") != "" {
				t.Errorf("%s: %+v %v", path, p, a.header)
			}
		}
		busy("viewer")
		begin("admin")
		busy("operator")
		close(f.proofs.block)
		all.Wait()
		f.proofs.block = nil
		if a := f.call("GET", path, "operator", ""); a.status != 200 {
			t.Errorf("%s: %d once they are done", path, a.status)
		}
	}
}

// TestBundleEndsWithItsServer: a server that stops waits for no bundle.
func TestBundleEndsWithItsServer(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.proofs.block, f.proofs.entered = make(chan struct{}), make(chan struct{})
	done := make(chan answer)
	go func() { done <- f.call("GET", "/v1/audit/bundle", "viewer", "") }()
	<-f.proofs.entered
	f.router.Close()
	a := <-done
	a.problem(t, 503)
}
