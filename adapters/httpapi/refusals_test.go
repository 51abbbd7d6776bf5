package httpapi

import (
	"fmt"
	"testing"
	"time"
)

func TestRefusalsAreCountedByAccount(t *testing.T) {
	t.Parallel()
	r := newRefusals()
	at := time.Duration(0)
	r.now = func() time.Duration { return at }
	admitted := func(account string, n int) (in int) {
		for range n {
			if r.count(account) == 0 {
				in++
			}
		}
		return in
	}
	if a, b := admitted("usr_a", 1000), admitted("usr_b", 59); a != 60 || b != 59 {
		t.Errorf("%d and %d are recorded", a, b)
	}
	at = 59 * time.Second
	if wait := r.count("usr_a"); wait != time.Second {
		t.Errorf("to be tried again after %s", wait)
	}
	at = time.Minute
	if a := admitted("usr_a", 1000); a != 60 {
		t.Errorf("%d in the next minute", a)
	}
	total := 0
	for i := range 2 * maxRefused {
		total += admitted(fmt.Sprint("usr_", i), 1)
	}
	if len(r.of) > maxRefused+1 || total < maxRefused-2 || total > maxRefused+60 {
		t.Errorf("%d accounts are counted, %d entries made", len(r.of), total)
	}
	at = 3 * time.Minute
	if admitted("usr_new", 1) != 1 || len(r.of) > 2 {
		t.Errorf("%d counts stay when they are over", len(r.of))
	}
}
