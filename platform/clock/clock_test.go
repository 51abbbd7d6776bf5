package clock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/writ-automation/writ/platform/clock"
)

func TestNow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(1234567 * time.Nanosecond)
		now := clock.New().Now()
		if now.Location() != time.UTC || now.Nanosecond()%1000 != 0 {
			t.Errorf("now is %v in %v", now, now.Location())
		}
		if want := time.Now().UTC().Truncate(time.Microsecond); !now.Equal(want) {
			t.Errorf("now is %v, want %v", now, want)
		}
		if b, err := now.MarshalText(); err != nil || len(b) > len("2000-01-01T00:00:00.001234Z") {
			t.Errorf("%s %v", b, err)
		}
	})
}

func TestStopwatchAndDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := clock.Start()
		d := clock.Deadline(time.Minute)
		time.Sleep(time.Minute)
		if w.Elapsed() != time.Minute {
			t.Errorf("elapsed %v", w.Elapsed())
		}
		if !d.Equal(time.Now()) {
			t.Errorf("deadline %v, now %v", d, time.Now())
		}
	})
}
