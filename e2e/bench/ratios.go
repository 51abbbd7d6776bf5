package bench

import (
	"fmt"
	"maps"
	"slices"
)

// Tolerance is how many times its committed ratio a row may have.
const Tolerance = 1.25

// Round is one measurement of a row and, right beside it, of its baseline, in the same unit for each operation.
type Round struct{ Ours, Base float64 }

// Ratios are the ratios of rows to their baselines, by the name of the row and its size.
type Ratios map[string]float64

// Median returns what value gives for the rounds, in the middle.
func Median(rounds []Round, value func(Round) float64) float64 {
	list := make([]float64, len(rounds))
	for i, r := range rounds {
		list[i] = value(r)
	}
	slices.Sort(list)
	if n := len(list); n%2 == 0 {
		return (list[n/2-1] + list[n/2]) / 2
	}
	return list[len(list)/2]
}

// Ratio returns the ratio of a row: the median over its rounds, since what disturbs a machine disturbs a round and its
// baseline alike, or only a few rounds.
func Ratio(rounds []Round) float64 {
	return Median(rounds, func(r Round) float64 { return r.Ours / r.Base })
}

// Steady reports whether the baseline was the same within the tolerance in all rounds but the slowest. Where it was
// not, the machine changed during the measurement.
func Steady(rounds []Round) bool {
	list := make([]float64, len(rounds))
	for i, r := range rounds {
		list[i] = r.Base
	}
	slices.Sort(list)
	return list[max(0, len(list)-2)] <= list[0]*Tolerance
}

// Worse lists what is wrong with measured ratios: the rows over the tolerance, the rows without a committed ratio and,
// if every row was measured, the committed ones that are gone.
func Worse(measured, committed Ratios, complete bool) (out []string) {
	for _, name := range slices.Sorted(maps.Keys(measured)) {
		was, ok := committed[name]
		switch now := measured[name]; {
		case !ok:
			out = append(out, name+" has no committed ratio")
		case !(now <= was*Tolerance): // not a number is worse, too
			out = append(out, fmt.Sprintf("%s takes %.3g times its baseline, %+.0f %% against the committed %.3g", name, now,
				(now/was-1)*100, was))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(committed)) {
		if _, ok := measured[name]; complete && !ok {
			out = append(out, name+" has a committed ratio and was not measured")
		}
	}
	return out
}
