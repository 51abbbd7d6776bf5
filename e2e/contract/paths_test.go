package contract

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/identity"
)

// spellings are other ways to write a path: those that a server in front might take for the same path, and those that a
// careless check might take for another one.
func spellings(path string) []string {
	segments := strings.Split(path[1:], "/")
	first, last := segments[0], segments[len(segments)-1]
	with := func(i int, s string) string {
		out := slices.Clone(segments)
		out[i] = s
		return "/" + strings.Join(out, "/")
	}
	return []string{
		"/" + path, "//" + path, "//example.org/.." + path, "/." + path, "/x/.." + path, "/../.." + path, "/%2e%2e" + path,
		"/%2e" + path,
		path + "/", path + "//", path + "/.", path + "/x/..", path + "%2f", path + "%2f..%2f" + last, path + "%00", path +
			"%20",
		path + ";x", path + ";x=1", path + "%3bx", path + "%3fx", path + "%23x", path + ".json", path + "\\", path + "%5c",
		strings.ReplaceAll(path[1:], "/", "%2f"), "/" + strings.ReplaceAll(path[1:], "/", "%2f"), strings.ReplaceAll(path,
			"/", "//"),
		strings.ReplaceAll(path, "/", "/./"), strings.ReplaceAll(path, "/", "/x/../"), strings.ReplaceAll(path, "/", "\\"),
		with(0, strings.ToUpper(first)), with(len(segments)-1, strings.ToUpper(last)), with(0, first+";x"),
		with(0, encoded(first)), with(len(segments)-1, encoded(last)), with(0, "%25"+encoded(first)[1:]),
	}
}

// encoded writes every byte of a segment in percent-encoding, which is another spelling of the same path.
func encoded(segment string) string {
	const hex = "0123456789abcdef"
	var out strings.Builder
	for i := range len(segment) {
		out.Write([]byte{'%', hex[segment[i]>>4], hex[segment[i]&15]})
	}
	return out.String()
}

// TestSpellingsOfPaths calls every operation under other spellings of its path as callers who may not call it. None is
// ever accepted, and a redirection leads to the plain path, where the same check applies.
// Keeps T59.
func TestSpellingsOfPaths(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{Env: []string{"WRIT_WORKER_TOKEN=" + harness.WorkerToken}})
	by := tokens(t, s)
	s.Via = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	table := rows()
	asked, redirected := 0, 0
	for _, op := range operations(t, s.Client) {
		r := table[op.ID]
		if r.least == "" && !r.worker {
			continue
		}
		path := absent(op.Path)
		for _, role := range tooLittle(r) {
			token := by[role]
			for _, spelling := range spellings(path) {
				asked++
				if !strings.HasPrefix(spelling, "/") {
					spelling = "/" + spelling
				}
				a := s.As(token).Do(op.Method, spelling, r.body, r.header()...)
				to := a.Header.Get("Location")
				if a.Status >= 300 && a.Status < 400 && plain(to) {
					redirected++
					continue
				}
				if a.Status < 400 || a.Status >= 500 {
					t.Errorf("%s %s as %q: %d to %q %.200s", op.Method, spelling, role, a.Status, to, a.Body)
				}
			}
		}
	}
	t.Logf("%d requests, %d were redirected", asked, redirected)
	if _, total := s.Runs(""); total != 0 {
		t.Errorf("%d runs were made", total)
	}
	// The rights on an object are the same under every spelling of its id.
	hidden := s.Submit(harness.Body{"tool": "bash", "command": "true", "queue": vault}).ID
	created(t, s.Client, "/v1/grants", harness.Body{"subject": "user:" + account(t, s, "other", "viewer"),
		"object": "queue:" + vault,
		"level":  "read"})
	for _, spelling := range spellings("/v1/runs/" + hidden) {
		spelling = "/" + strings.TrimPrefix(spelling, "/")
		if a := s.As(by[identity.Operator]).Do(http.MethodGet, spelling, nil); a.Status < 300 ||
			strings.Contains(string(a.Body), vault) {
			t.Errorf("%s: %d %s", spelling, a.Status, a.Body)
		}
	}
	if a := s.Do(http.MethodGet, "/v1/runs/"+encoded(hidden), nil); a.Status != http.StatusOK {
		t.Errorf("an encoded id: %d", a.Status)
	}
}

// tooLittle lists nobody, and the highest role that may not call an operation.
func tooLittle(r row) []identity.Role {
	switch {
	case r.worker:
		return []identity.Role{"", identity.Admin}
	case r.least == identity.Admin:
		return []identity.Role{"", identity.Operator}
	case r.least == identity.Operator:
		return []identity.Role{"", identity.Viewer}
	}
	return []identity.Role{""}
}

// plain reports whether a redirection stays on the server and leads to a path in its normal form.
func plain(to string) bool {
	return strings.HasPrefix(to, "/") && !strings.HasPrefix(to, "//") && !strings.Contains(to, "/./") &&
		!strings.Contains(to, "/../") &&
		!strings.Contains(strings.Split(to, "?")[0], "//")
}
