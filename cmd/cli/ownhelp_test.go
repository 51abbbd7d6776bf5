package cli

import (
	"net/http"
	"testing"
)

// TestOwnHelpPages checks that a binary which passes no documents to Execute has those of Writ. Its pages link to them.
func TestOwnHelpPages(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir(), "--open")
	for path, want := range map[string]int{
		"/ui/": http.StatusOK, "/ui/help": http.StatusOK, "/ui/help/guides/runs": http.StatusOK,
		"/ui/help/guides/none": http.StatusNotFound,
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
