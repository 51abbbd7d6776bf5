package scheduling_test

import (
	"testing"
	"time"

	"github.com/writ-automation/writ/modules/scheduling"
	"github.com/writ-automation/writ/ports/fault"
)

type at struct{ time.Time }

func (a at) Now() time.Time { return a.Time }

func TestPlanner(t *testing.T) {
	t.Parallel()
	p := scheduling.NewPlanner(at{time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC)}, time.UTC)
	got, err := p.Preview("30 2 * * *", "Europe/Berlin", 2)
	if err != nil || len(got.Next) != 2 || len(got.Notes) == 0 || got.Timezone != "Europe/Berlin" {
		t.Fatalf("%+v, %v", got, err)
	}
	// On the 29th the clocks skip from 02:00 to 03:00 in Berlin: the missing time fires right after the gap.
	if want := time.Date(2026, 3, 29, 1, 0, 0, 0, time.UTC); !got.Next[0].Equal(want) {
		t.Errorf("the first is %s, want %s", got.Next[0], want)
	}
	if _, err := p.Preview("30 25 * * *", "", 1); !fault.Is(err, fault.Invalid) {
		t.Errorf("an hour of 25: %v", err)
	}
}
