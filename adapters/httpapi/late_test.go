package httpapi_test

import (
	"net/http"
	"sync"
	"testing"
)

// TestFirstRequestsTogether sends the first requests of a server at once: operations that are registered by them, early
// ones, and the document.
func TestFirstRequestsTogether(t *testing.T) {
	t.Parallel()
	f := setup(t, withObjectRoutes)
	var wg sync.WaitGroup
	for range 4 {
		for path, want := range map[string]int{
			"/things?limit=5": http.StatusOK, "/things?limit=x": http.StatusBadRequest, "/healthz": http.StatusOK,
			"/openapi.json": http.StatusOK, "/nothing": http.StatusNotFound,
		} {
			wg.Go(func() {
				if got := f.call("GET", path, "operator", "").status; got != want {
					t.Errorf("%s: %d, want %d", path, got, want)
				}
			})
		}
	}
	wg.Wait()
}
