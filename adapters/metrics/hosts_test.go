package metrics_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/writ-automation/writ/adapters/metrics"
	"github.com/writ-automation/writ/ports/runs"
)

type hosts struct {
	n   map[runs.Outcome]int64
	err error
}

func (h hosts) Outcomes(context.Context) (map[runs.Outcome]int64, error) { return h.n, h.err }

func TestHosts(t *testing.T) {
	t.Parallel()
	want(t, scrape(t, metrics.NewHosts(hosts{n: map[runs.Outcome]int64{runs.HostOK: 12}})),
		`writ_hosts{outcome="ok"} 12`, `writ_hosts{outcome="incomplete"} 0`)
	if text := scrape(t, metrics.NewHosts(hosts{err: errors.New("gone")})); strings.Contains(text, "writ_hosts{") {
		t.Error("the failure of a store is reported as numbers")
	}
}
