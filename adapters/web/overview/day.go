package overview

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/writ-automation/writ/adapters/web/shell"
	"github.com/writ-automation/writ/ports/runs"
)

// Bounds of the reading of the last day.
const (
	dayPage  = 1000
	dayLimit = 5000
	quarters = 96
	quarter  = 15 * time.Minute
)

// day is what ended within the last 24 hours.
type day struct {
	// Slots count by quarter hour, the oldest first.
	Slots [quarters]slot
	Total slot
	// Capped means that there are more runs than are read: the figures are those of the newest ones.
	Capped bool
	Took   time.Duration // the median
	Waited time.Duration // the median
	// Broken are the newest runs of their definitions that failed or were interrupted, the newest first.
	Broken []*runs.Run
}

// slot counts runs by how they ended.
type slot struct{ Done, Fail, Lost, Other int }

func (s slot) sum() int { return s.Done + s.Fail + s.Lost + s.Other }

func (s *slot) add(status runs.Status) {
	switch status {
	case runs.Succeeded:
		s.Done++
	case runs.Failed:
		s.Fail++
	case runs.Interrupted:
		s.Lost++
	default:
		s.Other++
	}
}

// dayOf reads the runs that were made within the last 24 hours, at most dayLimit.
func (h *handlers) dayOf(ctx context.Context, now time.Time) (*day, error) {
	d := &day{}
	from := now.Add(-quarters * quarter)
	f := runs.Filter{After: from, Limit: dayPage, SkipTotal: true}
	var took, waited []time.Duration
	seen := map[string]bool{}
	for read := 0; ; {
		list, err := h.Work.Runs.List(ctx, f)
		if err != nil {
			return nil, err
		}
		for _, r := range list.Runs {
			if r.EndedAt.IsZero() {
				continue
			}
			d.count(r, from)
			if !r.StartedAt.IsZero() {
				took = append(took, r.Duration(now))
				waited = append(waited, max(r.StartedAt.Sub(r.QueuedAt), 0))
			}
			d.note(r, seen)
		}
		if read += len(list.Runs); !list.HasMore || read >= dayLimit {
			d.Capped = list.HasMore
			break
		}
		f.Cursor = list.NextCursor
	}
	d.Took, d.Waited = median(took), median(waited)
	return d, nil
}

func (d *day) count(r *runs.Run, from time.Time) {
	at := min(max(int(r.EndedAt.Sub(from)/quarter), 0), quarters-1)
	d.Slots[at].add(r.Status)
	d.Total.add(r.Status)
}

// note keeps a run that failed if no newer run of the same definition has ended. Lists are newest first.
func (d *day) note(r *runs.Run, seen map[string]bool) {
	of := cmp.Or(r.Lineage, r.ID)
	if seen[of] || r.Status == runs.Canceled || r.Status == runs.Rejected {
		return
	}
	seen[of] = true
	if r.Status == runs.Failed || r.Status == runs.Interrupted {
		d.Broken = append(d.Broken, r)
	}
}

func median(list []time.Duration) time.Duration {
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return list[len(list)/2]
}

// The size of the chart. Left is where its bars begin, Base where they stand.
const (
	chartWidth  = 860
	chartHeight = 132
	chartLeft   = 34
	chartTop    = 8
	chartBars   = 96
	chartBase   = chartTop + chartBars
)

// bar is a rectangle of the chart.
type bar struct{ Hue, X, Y, W, H string }

// tick is a line or a label of the chart.
type tick struct{ X, Y, Text string }

// bars stacks the outcomes of each quarter hour. An outcome that is not fine is never too small to be seen.
func (d *day) bars() []bar {
	const least = 4
	top, step := float64(d.top()), float64(chartWidth-chartLeft)/quarters
	var out []bar
	for i, s := range d.Slots {
		y := float64(chartBase)
		for _, p := range []shell.Share{{Hue: "done", Size: s.Done}, {Hue: "fail", Size: s.Fail}, {Hue: "lost", Size: s.Lost},
			{Hue: "idle", Size: s.Other}} {
			if p.Size == 0 {
				continue
			}
			high := float64(p.Size) / top * chartBars
			if p.Hue != "done" {
				high = max(high, least)
			}
			y -= high
			out = append(out, bar{p.Hue, number(chartLeft + float64(i)*step), number(y), number(step - 2.5),
				number(max(high-1, 1))})
		}
	}
	return out
}

// top is the number at the upper end of the scale: 1, 2 or 5 times a power of ten, and at least 4.
func (d *day) top() int {
	most := 4
	for _, s := range d.Slots {
		most = max(most, s.sum())
	}
	for scale := 1; ; scale *= 10 {
		for _, n := range []int{4 * scale, 10 * scale, 20 * scale} {
			if n >= most {
				return n
			}
		}
	}
}

// levels are the lines of the scale.
func (d *day) levels() []tick {
	var out []tick
	for _, part := range []int{0, 1, 2} {
		n := d.top() * part / 2
		out = append(out, tick{Y: number(chartBase - float64(part)/2*chartBars), Text: strconv.Itoa(n)})
	}
	return out
}

// hours are the labels below the chart, each fourth hour in the viewer's zone.
func hours(ctx context.Context) []tick {
	now := shell.Now(ctx).In(shell.Of(ctx).Zone)
	from := now.Add(-quarters * quarter)
	var out []tick
	for at := from.Truncate(time.Hour).Add(time.Hour); at.Before(now); at = at.Add(time.Hour) {
		if at.Hour()%4 == 0 {
			x := chartLeft + at.Sub(from).Hours()/24*(chartWidth-chartLeft)
			out = append(out, tick{X: number(x), Y: strconv.Itoa(chartHeight - 6), Text: at.Format("15:04")})
		}
	}
	return out
}

// busiest returns the quarter hour with the most runs, and how many they are.
func (d *day) busiest(ctx context.Context) (at time.Time, n int) {
	for i, s := range d.Slots {
		if s.sum() > n {
			n = s.sum()
			at = shell.Now(ctx).Add(time.Duration(i-quarters) * quarter).In(shell.Of(ctx).Zone)
		}
	}
	return at, n
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) }
