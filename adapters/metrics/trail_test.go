package metrics_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/writ-automation/writ/adapters/metrics"
)

type chain struct {
	n   int64
	err error
}

func (c chain) Size(context.Context) (int64, error) { return c.n, c.err }

func TestTrail(t *testing.T) {
	t.Parallel()
	want(t, scrape(t, metrics.NewTrail(chain{n: 12})), "writ_audit_entries 12")
	if text := scrape(t, metrics.NewTrail(chain{err: errors.New("gone")})); strings.Contains(text, "writ_audit_entries ") {
		t.Error("a store that fails is told as a number")
	}
}
