package run

import (
	"slices"
	"strconv"
	"time"

	"github.com/writ-automation/writ/adapters/web/shell"
)

// The geometry of the drawing in its own units, and how much of the span an idle gap has to take to be compressed.
const (
	laneHeight = 18
	labelWidth = 220
	drawWidth  = 1080
	noteWidth  = 190
	gapWidth   = 46
	topSpace   = 34
	gapShare   = 0.2
	marks      = 6
)

// gap is a stretch of time in which nothing happened.
type gap struct {
	from, to time.Time
	// Waited is set for the time before the start.
	Waited bool
}

// axis places times. Gaps have a fixed width.
type axis struct {
	from, to time.Time
	gaps     []gap
	scale    float64 // units for a second outside of gaps
}

// newAxis covers the lanes, and the time since the run was made if that was long.
func newAxis(lanes []lane, made, now time.Time) axis {
	var a axis
	if len(lanes) == 0 {
		return axis{from: made, to: now, scale: 1}
	}
	lanes = slices.Clone(lanes)
	slices.SortStableFunc(lanes, func(x, y lane) int { return x.From.Compare(y.From) })
	a.from, a.to = made, lanes[0].To
	for _, l := range lanes {
		if l.To.After(a.to) {
			a.to = l.To
		}
	}
	span := a.to.Sub(a.from)
	least := time.Duration(float64(span) * gapShare)
	end := a.from
	for i, l := range lanes {
		if d := l.From.Sub(end); d > least && d > time.Second {
			a.gaps = append(a.gaps, gap{from: end, to: l.From, Waited: i == 0})
		}
		if l.To.After(end) {
			end = l.To
		}
	}
	idle := time.Duration(0)
	for _, g := range a.gaps {
		idle += g.to.Sub(g.from)
	}
	width := float64(drawWidth - labelWidth - noteWidth - gapWidth*len(a.gaps))
	a.scale = max(width, 100) / max((span-idle).Seconds(), 0.001)
	return a
}

// x returns the place of a time.
func (a axis) x(t time.Time) float64 {
	x, at := float64(labelWidth), a.from
	for _, g := range a.gaps {
		if !t.After(g.from) {
			break
		}
		x += g.from.Sub(at).Seconds() * a.scale
		if t.Before(g.to) {
			return x + gapWidth*t.Sub(g.from).Seconds()/g.to.Sub(g.from).Seconds()
		}
		x, at = x+gapWidth, g.to
	}
	return x + t.Sub(at).Seconds()*a.scale
}

// number writes a coordinate.
func number(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) }

func (a axis) at(t time.Time) string { return number(a.x(t)) }

func (a axis) width(l lane) string { return number(max(a.x(l.To)-a.x(l.From), 2)) }

// mark is a label of the axis.
type mark struct{ X, Text string }

// ticks returns the labels of the axis: the time since the run was made, outside of gaps.
func (a axis) ticks() []mark {
	var out []mark
	last := -100.0
	span := a.to.Sub(a.from)
	add := func(t time.Time) {
		if x := a.x(t); x-last > 70 {
			out = append(out, mark{number(x), shell.Duration(t.Sub(a.from).Round(time.Second))})
			last = x
		}
	}
	busy := span
	for _, g := range a.gaps {
		busy -= g.to.Sub(g.from)
	}
	step := max(busy/marks, time.Millisecond)
	at := a.from
	for _, g := range append(slices.Clone(a.gaps), gap{from: a.to, to: a.to}) {
		for n := 0; at.Before(g.from) && n <= marks; n++ {
			add(at)
			at = at.Add(step)
		}
		at = g.to
	}
	return out
}

// gapText says how long nothing happened, and before the start what the run waited for.
func gapText(g gap, held bool) string {
	text := shell.Duration(g.to.Sub(g.from))
	switch {
	case g.Waited && held:
		return text + " waiting for approval"
	case g.Waited:
		return text + " waiting to start"
	}
	return text + " idle"
}
