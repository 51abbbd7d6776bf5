package bench

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/system"
)

// BenchmarkPolicies measures submissions of one client without policies and with a hundred, none of which matches.
func BenchmarkPolicies(b *testing.B) {
	file := filepath.Join(b.TempDir(), "license.json")
	must(b, os.WriteFile(file, harness.Licence(b, system.Team, time.Hour), 0o600))
	s := harness.Start(b, harness.Options{Flags: []string{"--license", file}})
	made := 0
	for _, n := range []int{0, 100} {
		for ; made < n; made++ {
			create(b, s, "/v1/policies", harness.Body{"name": fmt.Sprint("p", made), "effect": "require_approval",
				"enabled": true, "match": harness.Body{"tools": []string{"python"}, "command_contains": fmt.Sprint("x", made),
					"labels": harness.Body{"stage": fmt.Sprint(made)}}})
		}
		b.Run(fmt.Sprintf("policies=%d", n), func(b *testing.B) {
			for b.Loop() {
				a := s.Do(http.MethodPost, "/v1/runs", harness.Body{"tool": "bash", "command": "true", "queue": "bench"})
				if a.Status != http.StatusCreated {
					b.Fatalf("POST /v1/runs: %d %s", a.Status, a.Body)
				}
			}
		})
	}
	s.Stop()
}
