package bench

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWorse compares measured with committed ratios, just within the tolerance and just over it.
func TestWorse(t *testing.T) {
	t.Parallel()
	committed := Ratios{"list/1000": 2, "submit/1000": 4, "verify/1000": 0.5}
	for name, c := range map[string]struct {
		measured Ratios
		complete bool
		want     []string
	}{
		"equal":  {committed, true, nil},
		"better": {Ratios{"list/1000": 0.1, "submit/1000": 4, "verify/1000": 0.5}, true, nil},
		"within": {Ratios{"list/1000": 2.49, "submit/1000": 4.99, "verify/1000": 0.624}, true, nil},
		"over": {Ratios{"list/1000": 2.51, "submit/1000": 4, "verify/1000": 0.63}, true,
			[]string{"list/1000", "verify/1000"}},
		"new":       {Ratios{"boot": 1}, false, []string{"boot"}},
		"gone":      {Ratios{"list/1000": 2}, true, []string{"submit/1000", "verify/1000"}},
		"a part":    {Ratios{"list/1000": 2}, false, nil},
		"no number": {Ratios{"list/1000": math.NaN()}, false, []string{"list/1000"}},
	} {
		var got []string
		for _, line := range Worse(c.measured, committed, c.complete) {
			got = append(got, strings.Fields(line)[0])
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	lines := Worse(Ratios{"submit/1000": 6}, committed, false)
	if want := []string{"submit/1000 takes 6 times its baseline, +50 % against the committed 4"}; !cmp.Equal(want, lines) {
		t.Error(lines)
	}
}

// TestRatioOfABusyMachine shows that the ratio stays while a machine slows both sides of some rounds or one side of a
// few, and that a real slowdown is seen under the same noise.
func TestRatioOfABusyMachine(t *testing.T) {
	t.Parallel()
	noise := []struct{ both, ours, base float64 }{{1, 1, 1}, {3, 1.05, 1}, {1.4, 1, 1.1}, {1, 2, 1}, {2, 1, 0.95}}
	rounds := func(slower float64) (out []Round) {
		for _, n := range noise {
			out = append(out, Round{Ours: 4 * slower * n.both * n.ours, Base: n.both * n.base})
		}
		return out
	}
	committed := Ratios{"row": 4}
	if got := Worse(Ratios{"row": Ratio(rounds(1))}, committed, true); len(got) > 0 {
		t.Error("noise alone:", got)
	}
	if got := Worse(Ratios{"row": Ratio(rounds(1.3))}, committed, true); len(got) != 1 {
		t.Error("30 % slower is not noticed")
	}
	if got := Ratio([]Round{{2, 1}, {4, 1}}); got != 3 {
		t.Errorf("the median of two rounds is %g", got)
	}
}

// TestSteady tells a machine that changed from one that was disturbed once.
func TestSteady(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		base []float64
		want bool
	}{
		"one":            {[]float64{1}, true},
		"equal":          {[]float64{1, 1.1, 1.2}, true},
		"disturbed once": {[]float64{1, 9, 1.2}, true},
		"changed":        {[]float64{1, 1.3, 1.4}, false},
	} {
		var rounds []Round
		for _, b := range c.base {
			rounds = append(rounds, Round{Base: b})
		}
		if got := Steady(rounds); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
