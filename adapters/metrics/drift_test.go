package metrics_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/writ-automation/writ/adapters/metrics"
	"github.com/writ-automation/writ/ports/estate"
)

type drift struct {
	n   estate.DriftCounts
	err error
}

func (d drift) Counts(context.Context) (estate.DriftCounts, error) { return d.n, d.err }

func TestDrift(t *testing.T) {
	t.Parallel()
	n := estate.DriftCounts{Findings: map[estate.Confidence]int64{estate.ConfidentDiff: 7}, Hosts: 9, Drifting: 3,
		Clean: 4}
	want(t, scrape(t, metrics.NewDrift(drift{n: n})), `writ_drift{confidence="diff"} 7`,
		`writ_drift{confidence="predicted"} 0`, `writ_drift{confidence="none"} 0`, `writ_drift_hosts{state="drifting"} 3`,
		`writ_drift_hosts{state="clean"} 4`, `writ_drift_hosts{state="unknown"} 2`)
	if text := scrape(t, metrics.NewDrift(drift{err: errors.New("gone")})); strings.Contains(text, "writ_drift{") {
		t.Error("the failure of a store is reported as numbers")
	}
}
