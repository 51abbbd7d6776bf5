package estate

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

// TestRetainHistory raises a number that is too small with a warning, and trims nothing in a read-only process.
func TestRetainHistory(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		config      Config
		loops, logs int
	}{
		{Config{RetainHistory: 1000}, 1, 0}, {Config{RetainHistory: 500}, 1, 0}, {Config{RetainHistory: 499}, 1, 1},
		{Config{RetainHistory: -1}, 1, 1}, {Config{ReadOnly: true}, 0, 0},
	} {
		var log bytes.Buffer
		_, reported, work := newFleet(&Params{Config: c.config, Log: slog.New(slog.NewTextHandler(&log, nil))})
		if n := strings.Count(log.String(), "used=500"); len(work) != c.loops || n != c.logs || reported.Name != "estate" {
			t.Errorf("%+v: %d loops, %s", c.config, len(work), log.String())
		}
	}
}
