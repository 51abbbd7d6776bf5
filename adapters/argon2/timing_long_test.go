//go:build long

package argon2

import (
	"slices"
	"testing"
	"time"
)

// TestEmptyHashTakesAsLong compares times in pairs. Of equal times each is the longer one equally often: more than 36
// of 40 for one side happens once in fifty million runs.
func TestEmptyHashTakesAsLong(t *testing.T) { //nolint:paralleltest // it measures time
	const pairs = 40
	x := New()
	took := func(hash string) time.Duration {
		begin := time.Now()
		if ok, _, err := x.Verify(t.Context(), password, hash); ok || err != nil {
			t.Fatal(ok, err)
		}
		return time.Since(begin)
	}
	longer, unknown, wrong := 0, make([]time.Duration, 0, pairs), make([]time.Duration, 0, pairs)
	for i := range pairs {
		var u, w time.Duration
		if i%2 == 0 {
			u, w = took(""), took(sample)
		} else {
			w, u = took(sample), took("")
		}
		unknown, wrong = append(unknown, u), append(wrong, w)
		if u > w {
			longer++
		}
	}
	slices.Sort(unknown)
	slices.Sort(wrong)
	t.Logf("medians %v and %v, the unknown one longer in %d of %d", unknown[pairs/2], wrong[pairs/2], longer, pairs)
	if longer < pairs-36 || longer > 36 {
		t.Error("the time tells unknown accounts from wrong passwords")
	}
}
