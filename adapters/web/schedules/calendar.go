package schedules

import (
	"slices"
	"strconv"
	"time"

	"github.com/writ-automation/writ/ports/scheduling"
)

// The calendar covers four weeks.
const (
	weeks = 4
	days  = 7 * weeks
	hours = 24
)

// calendar counts what fires in each hour of the next four weeks, in the zone of the viewer.
type calendar struct {
	Start time.Time // midnight of the first day
	// Hours is indexed by the day and the hour.
	Hours [days][hours]int
	Most  int
	// Peak is the hour with the most, PeakNames are those schedules.
	Peak      time.Time
	PeakNames []string
	// Cut names schedules that fire more often than are counted.
	Cut []string
}

// calendarOf computes the firings of the enabled schedules. Each is followed for as many times as the planner gives;
// what fires more often is named as cut.
func (h *handlers) calendarOf(list []scheduling.Schedule, now time.Time, zone *time.Location) calendar {
	y, m, d := now.In(zone).Date()
	c := calendar{Start: time.Date(y, m, d, 0, 0, 0, 0, zone)}
	end := c.Start.AddDate(0, 0, days)
	names := map[[2]int][]string{}
	for i := range list {
		s := &list[i]
		if !s.Enabled {
			continue
		}
		preview, err := h.Planner.Preview(s.Cron, s.Timezone, scheduling.MaxPreview)
		if err != nil {
			continue // a stored expression that this version does not know
		}
		for _, at := range preview.Next {
			day, hour, ok := c.cell(at.In(zone), end)
			if ok {
				c.Hours[day][hour]++
				names[[2]int{day, hour}] = append(names[[2]int{day, hour}], s.Name)
			}
		}
		if n := len(preview.Next); n == scheduling.MaxPreview && preview.Next[n-1].Before(end) {
			c.Cut = append(c.Cut, s.Name)
		}
	}
	for day := range c.Hours {
		for hour, n := range c.Hours[day] {
			if n > c.Most {
				c.Most, c.Peak = n, c.Start.AddDate(0, 0, day).Add(time.Duration(hour)*time.Hour)
				c.PeakNames = names[[2]int{day, hour}]
			}
		}
	}
	slices.Sort(c.PeakNames)
	c.PeakNames = slices.Compact(c.PeakNames)
	return c
}

// cell returns the day and the hour of a time of the calendar's zone.
func (c *calendar) cell(at, end time.Time) (day, hour int, ok bool) {
	if at.Before(c.Start) || !at.Before(end) {
		return 0, 0, false
	}
	y, m, d := at.Date()
	// Days are counted by dates: a day with a change of the clock has 23 or 25 hours.
	for day = range days {
		yy, mm, dd := c.Start.AddDate(0, 0, day).Date()
		if y == yy && m == mm && d == dd {
			return day, at.Hour(), true
		}
	}
	return 0, 0, false
}

// shade returns the class of an hour: none, then four steps.
func (c *calendar) shade(n int) string {
	if n == 0 || c.Most == 0 {
		return "h0"
	}
	return "h" + strconv.Itoa(min(1+n*4/(c.Most+1), 4))
}
