package cli

import (
	"net/http"
	"testing"
)

// TestWithoutHelpPages checks that a binary which passes no documents to Execute has the web interface without them.
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
		_ = a.Body.Close()
		if a.StatusCode != want {
			t.Errorf("%s: %d", path, a.StatusCode)
		}
	}
}
