//go:build long

package isolation

import (
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

// TestContainersAreCancelled cancels runs at any moment of the start of their container. Each has one of two ends, and
// nothing is left of it.
func TestContainersAreCancelled(t *testing.T) {
	t.Parallel()
	harness.EachUser(t, func(t *testing.T, o harness.Options, _ bool) {
		s := harness.Start(t, contained(t, o, "", "bash", "sleep"))
		var ids []string
		for range 40 {
			r := s.Submit(harness.Body{"tool": "bash", "command": "trap 'exit 3' TERM; sleep 5 & wait"})
			ids = append(ids, r.ID)
			at := time.Now().Add(time.Duration(rand.IntN(1500)) * time.Millisecond) //nolint:gosec // any moment
			harness.Eventually(t, time.Minute, "the moment comes", func() bool { return time.Now().After(at) })
			s.Do(http.MethodPost, "/v1/runs/"+r.ID+"/cancel", nil)
		}
		for _, id := range ids {
			if r := s.Await(id); r.Status != "canceled" || strings.Contains(r.Error, "podman") {
				t.Errorf("%s: %s (%s)", id, r.Status, r.Error)
			}
			gone(t, id)
		}
	})
}
