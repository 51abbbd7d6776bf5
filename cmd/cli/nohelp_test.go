package cli

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestWithoutHelpPages checks that a binary which passes no documents to Execute has the web interface without them,
// and says so where its pages lead to them.
func TestWithoutHelpPages(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir(), "--open")
	for path, want := range map[string]int{
		"/ui/": http.StatusOK, "/ui/help": http.StatusNotFound, "/ui/help/guides/runs": http.StatusNotFound,
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(a.Body)
		_ = a.Body.Close()
		missing := strings.Contains(string(body), "built without the manual")
		if err != nil || a.StatusCode != want || missing != (want == http.StatusNotFound) {
			t.Errorf("%s: %d %v %s", path, a.StatusCode, err, body)
		}
	}
}
