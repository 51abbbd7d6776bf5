package register

import (
	"cmp"
	"slices"
	"time"

	"github.com/writ-automation/writ/modules/audit/internal/report/paper"
	"github.com/writ-automation/writ/ports/runs"
)

// view is the data of the document.
type view struct {
	From, To, Made time.Time
	Counts         []string
	Days           []day
	Changed        string // number of entries that were changed, in words
	Cut            string // what is not listed, in words
	CutAt          time.Time
}

type day struct {
	Date string
	Rows []*row
}

func (w *row) outcome() string {
	if w.dry {
		return paper.Cell(w.Outcome) + " (dry run)"
	}
	return paper.Cell(w.Outcome)
}

func (v view) summary() string {
	return "From " + paper.When(v.From) + ", before " + paper.When(v.To) + ". Made " + paper.When(v.Made) + "."
}

func (v view) truncated() string {
	return "This register is truncated: " + v.Cut + " not listed, the first of " + paper.When(v.CutAt) + ". The counts " +
		"above do not include them. Another register can begin there."
}

func (b *ledger) view(now time.Time) view {
	v := view{From: b.period.From, To: b.period.To, Made: now, CutAt: b.cutAt}
	// The clock may have stepped back between two entries, so days are compared.
	slices.SortStableFunc(b.rows, func(x, y *row) int { return x.At.Compare(y.At) })
	for _, w := range b.rows {
		date := w.At.Format(time.DateOnly)
		if n := len(v.Days); n == 0 || v.Days[n-1].Date != date {
			v.Days = append(v.Days, day{Date: date})
		}
		d := &v.Days[len(v.Days)-1]
		d.Rows = append(d.Rows, w)
	}
	v.Counts = b.counts()
	if b.changed > 0 {
		v.Changed = paper.Count(b.changed, "entry of the audit trail was", "entries of the audit trail were")
	}
	if b.cut > 0 {
		v.Cut = paper.Count(b.cut, "entry is", "entries are")
	}
	return v
}

// counts lists how many of each kind there are, in a fixed order.
func (b *ledger) counts() []string {
	var all, dry, configured, refused int64
	ended := make(map[string]int64)
	for _, w := range b.rows {
		switch {
		case w.run != "":
			all++
			ended[cmp.Or(w.Outcome, "unknown")]++
			if w.dry {
				dry++
			}
		case w.Outcome == "applied":
			configured++
		default:
			refused++
		}
	}
	out := []string{paper.Count(all, "run", "runs")}
	for _, s := range append(runs.Statuses(), "denied", "unknown") {
		if n := ended[string(s)]; n > 0 {
			out = append(out, paper.Count(n, "run", "runs")+" "+string(s))
		}
	}
	if dry > 0 {
		out = append(out, paper.Count(dry, "dry run", "dry runs")+" among them")
	}
	out = append(out, paper.Count(configured, "change of the configuration", "changes of the configuration"))
	if refused > 0 {
		out = append(out, paper.Count(refused, "entry", "entries")+" refused, failed or unreadable")
	}
	return out
}
