package metrics_test

import (
	"errors"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/writ-automation/writ/adapters/metrics"
)

// ticks is a clock that goes on by a second whenever it is read.
type ticks struct{ now time.Time }

func (c *ticks) Now() time.Time { c.now = c.now.Add(time.Second); return c.now }

func TestBackground(t *testing.T) {
	t.Parallel()
	c := &ticks{}
	b := metrics.NewBackground(c)
	b.Pass("retention")(nil)
	b.Pass("retention")(errors.New("no database"))
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(b)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			key := f.GetName()
			for _, l := range m.Label {
				key += " " + l.GetValue()
			}
			got[key] = m.Counter.GetValue()
		}
	}
	if got["writ_background_passes_total failed retention"] != 1 ||
		got["writ_background_passes_total ok retention"] != 1 ||
		got["writ_background_seconds_total retention"] != 2 {
		t.Errorf("counted %v", got)
	}
}
