package contract

import (
	"net/http"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// TestUnknownPathsAndMethods checks the two errors that belong to no operation, for every path of the document.
func TestUnknownPathsAndMethods(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	for _, path := range []string{"/v1", "/v1/", "/v1/nope", "/v1/runs/", "/V1/runs", "/v1/runs/x/nope", "/nope",
		"/docs/nope"} {
		if p := refused(t, path, s.Do(http.MethodGet, path, nil), 404); p.Reason != "not_found" {
			t.Errorf("%s: reason %q", path, p.Reason)
		}
	}
	for _, op := range operations(t, s.Client) {
		path := absent(op.Path)
		for _, method := range []string{http.MethodPatch, http.MethodOptions, "BREW"} {
			a := s.As("").Do(method, path, nil)
			p := refused(t, method+" "+path, a, 405)
			if p.Reason != "method_not_allowed" || !strings.Contains(a.Header.Get("Allow"), op.Method) {
				t.Errorf("%s %s: reason %q, Allow %q", method, path, p.Reason, a.Header.Get("Allow"))
			}
		}
		if op.Method != http.MethodGet || strings.HasPrefix(op.Path,
			"/auth/") { // a probe of a link must not use up a sign-in
			continue
		}
		head := s.Do(http.MethodHead, path, nil)
		if len(head.Body) != 0 || head.Status == 405 || head.Header.Get("X-Request-Id") == "" {
			t.Errorf("HEAD %s: %d with %d bytes", path, head.Status, len(head.Body))
		}
	}
}

// TestRequestID checks that a printable short id is accepted and another one replaced; errors contain it as well.
func TestRequestID(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	long := strings.Repeat("r", 128)
	for sent, kept := range map[string]bool{"mine-1 of 2": true, long: true, long + "r": false, "": false,
		"tab\there": false, "é": false} {
		for _, path := range []string{"/v1/runs", "/v1/nope", "/healthz"} {
			got := s.Do(http.MethodGet, path, nil, "X-Request-Id", sent).Header.Get("X-Request-Id")
			if (got == sent) != kept || got == "" {
				t.Errorf("%s: sent %q, got %q", path, sent, got)
			}
		}
	}
}

// TestDocumentedErrors checks that the document of an operation lists every status that these tests provoke.
func TestDocumentedErrors(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	for _, op := range operations(t, s.Client) {
		want := []string{"400", "500", "503"}
		switch op.Access {
		case "public":
		case "worker":
			want = append(want, "401", "404")
		default:
			want = append(want, "401", "403")
		}
		if op.Access == "worker" && strings.Contains(op.Path, "{id}") { // about what the worker holds
			want = append(want, "409")
		}
		if strings.Contains(op.Path, "{id}") {
			want = append(want, "404")
		}
		if op.Method == http.MethodPost {
			want = append(want, "413", "415")
		}
		makes := strings.HasPrefix(op.Access, "run:") || strings.HasPrefix(op.Access, "pipeline:") ||
			strings.HasPrefix(op.ID, "create-")
		if op.Method == http.MethodPost && makes && op.ID != "mint-stream-ticket" && op.ID != "mint-live-ticket" {
			want = append(want, "409")
		}
		for _, code := range want {
			if _, ok := op.Responses[code]; !ok {
				t.Errorf("%s does not document %s", op.ID, code)
			}
		}
		if _, ok := op.Responses["422"]; ok || op.Summary == "" {
			t.Errorf("%s: 422 or no summary", op.ID)
		}
	}
}
