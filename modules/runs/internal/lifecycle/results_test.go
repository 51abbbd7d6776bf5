package lifecycle

import (
	"testing"

	"github.com/writ-automation/writ/ports/runs"
)

// TestWorstOfParts merges the results of a host in two parts of a run, in both orders.
func TestWorstOfParts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ a, b, want runs.Outcome }{
		{runs.HostOK, runs.HostChanged, runs.HostChanged},
		{runs.HostIgnored, runs.HostOK, runs.HostOK},
		{runs.HostIgnored, runs.HostChanged, runs.HostChanged},
		{runs.HostIgnored, runs.HostSkipped, runs.HostIgnored},
		{runs.HostIgnored, runs.HostFailed, runs.HostFailed},
		{runs.HostRescued, runs.HostUnreachable, runs.HostUnreachable},
	} {
		a, b := runs.HostSummary{Worst: c.a}, runs.HostSummary{Worst: c.b}
		if one, two := addHost(a, b).Worst, addHost(b, a).Worst; one != c.want || two != c.want {
			t.Errorf("%s and %s: %s and %s, want %s", c.a, c.b, one, two, c.want)
		}
	}
}
