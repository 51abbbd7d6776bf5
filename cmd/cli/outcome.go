package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// outcomes lists the outcomes from harmless to worst, the order in which they are shown.
var outcomes = [...]string{"skipped", "ok", "changed", "ignored", "rescued", "failed", "unreachable"}

// symbols replace the outcomes where words do not fit.
const symbols = "-.CIRFU"

// The outcomes that have a name in the code.
const (
	rankRescued = 4
	rankFailed  = 5
)

// Limits for the stored and printed results of one run.
const (
	maxCells      = 2_000_000
	maxRows       = 40
	maxCols       = 60
	maxTableHosts = 8
)

func outcomeOf(e event) string {
	switch {
	case e.Type == "host_unreachable":
		return "unreachable"
	case e.Type == "host_failed" && e.Ignored:
		return "ignored"
	case e.Type == "host_failed":
		return "failed"
	case e.Type == "host_skipped":
		return "skipped"
	case e.Changed:
		return "changed"
	default:
		return "ok"
	}
}

func rankOf(o string) byte { return byte(max(slices.Index(outcomes[:], o), 0)) } //nolint:gosec // seven outcomes

// outcome collects the result of each task on each host.
type outcome struct {
	tool    string
	tasks   []string
	index   map[string]int
	cells   map[string]map[int]byte
	size    int
	groups  map[string]*failure
	rescued map[string]bool // hosts without a remaining failure
}

// taskKey identifies a task. A task that runs for several batches of hosts is one task.
func taskKey(e event) string {
	if e.TaskID != "" {
		return e.TaskID
	}
	return e.Play + "\x00" + e.Task
}

func (o *outcome) add(e event) {
	switch e.Type {
	case "task_started":
		o.column(e)
	case "host_ok", "host_failed", "host_unreachable", "host_skipped":
		o.cell(e)
	case "stats":
		o.recap(e.Stats)
	}
}

func (o *outcome) column(e event) int {
	key := taskKey(e)
	if i, ok := o.index[key]; ok {
		return i
	}
	if o.index == nil {
		o.index, o.cells, o.groups, o.rescued = map[string]int{}, map[string]map[int]byte{}, map[string]*failure{},
			map[string]bool{}
	}
	o.index[key] = len(o.tasks)
	o.tasks = append(o.tasks, e.Task)
	return len(o.tasks) - 1
}

func (o *outcome) cell(e event) {
	col, what := o.column(e), outcomeOf(e)
	if what == "failed" || what == "unreachable" {
		o.group(e, what)
	}
	row := o.cells[e.Host]
	if row == nil {
		row = map[int]byte{}
		o.cells[e.Host] = row
	}
	old, had := row[col]
	if !had && o.size >= maxCells {
		return
	}
	if !had {
		o.size++
	}
	row[col] = max(old, rankOf(what))
}

// recap corrects the failures of rescued hosts: the tool reports a rescue only at its end.
func (o *outcome) recap(raw json.RawMessage) {
	var by map[string]struct{ Failed, Rescued int }
	if json.Unmarshal(raw, &by) != nil {
		return
	}
	for host, n := range by {
		row := o.cells[host]
		if row == nil || n.Rescued == 0 || n.Failed > 0 {
			continue
		}
		o.rescued[host] = true
		for col, c := range row {
			if c == rankFailed {
				row[col] = rankRescued
			}
		}
	}
}

// print prints the result of each task on each host, in words if they fit, else in one character per cell, and the sums
// of each host.
func (o *outcome) print(s screen) {
	if len(o.cells) == 0 {
		return
	}
	names := slices.Sorted(maps.Keys(o.cells))
	_, _ = fmt.Fprintln(s.w)
	drawn := o.taskTable(s, names)
	if drawn {
		_, _ = fmt.Fprintln(s.w)
	}
	o.hosts(s, names, !drawn)
}

// taskTable draws a table of tasks by hosts, unless it is too wide.
func (o *outcome) taskTable(s screen, names []string) bool {
	avail := s.width()
	if len(names) > maxTableHosts {
		return false
	}
	heading := []string{"TASK"}
	for _, h := range names {
		heading = append(heading, oneLine(h, 30))
		n := cellsOf(heading[len(heading)-1])
		for _, c := range o.cells[h] {
			n = max(n, len(outcomes[c]))
		}
		avail -= 2 + n
	}
	if avail < 24 {
		return false
	}
	var rows [][]field
	quiet := 0
	for i, task := range o.tasks {
		row, worst := o.line(i, names)
		switch {
		case row == nil:
		case len(o.tasks) > maxRows && worst <= rankOf("ok"):
			quiet++
		default:
			rows = append(rows, append([]field{{text: oneLine(task, avail)}}, row...))
		}
	}
	s.table(heading, rows[max(0, len(rows)-maxRows):])
	if more := len(rows) - maxRows; more > 0 {
		_, _ = fmt.Fprintf(s.w, "and %s before these\n", count(more, "task"))
	}
	if quiet > 0 {
		_, _ = fmt.Fprintf(s.w, "and %s in which nothing changed\n", count(quiet, "task"))
	}
	return true
}

// line returns the outcomes of one task, or nil if no host has a result.
func (o *outcome) line(col int, names []string) (row []field, worst byte) {
	some := false
	for _, h := range names {
		c, ok := o.cells[h][col]
		if !ok {
			row = append(row, field{})
			continue
		}
		some, worst = true, max(worst, c)
		row = append(row, field{text: outcomes[c], status: outcomes[c]})
	}
	if !some {
		return nil, 0
	}
	return row, worst
}

// tally counts the results of a host by outcome.
type tally [len(outcomes)]int

// worst returns the rank of the worst outcome of a host.
func (t tally) worst() int {
	for i := len(t) - 1; i > 0; i-- {
		if t[i] > 0 {
			return i
		}
	}
	return 0
}

// sums makes a table of hosts by outcomes. It omits outcomes that no host has.
func sums(names []string, by map[string]tally) (heading []string, rows [][]field) {
	var total tally
	for _, t := range by {
		for i, n := range t {
			total[i] += n
		}
	}
	heading = []string{"HOST"}
	for i, what := range outcomes {
		if total[i] > 0 {
			heading = append(heading, what)
		}
	}
	for _, h := range names {
		row := []field{{text: oneLine(h, 30)}}
		for i, n := range by[h] {
			if total[i] > 0 {
				row = append(row, amount(n, outcomes[i]))
			}
		}
		rows = append(rows, row)
	}
	return heading, rows
}

// hosts draws the sums of each host and, with strips, its tasks one by one.
func (o *outcome) hosts(s screen, names []string, strips bool) {
	by := make(map[string]tally, len(names))
	for _, h := range names {
		var n tally
		for _, c := range o.cells[h] {
			n[c]++
		}
		by[h] = n
	}
	if strips {
		slices.SortStableFunc(names, func(a, b string) int { return by[b].worst() - by[a].worst() })
	}
	visible := names[:min(len(names), maxRows)]
	heading, rows := sums(visible, by)
	if strips {
		heading = o.strips(s, visible, heading, rows)
	}
	s.table(heading, rows)
	if more := len(names) - len(visible); more > 0 {
		_, _ = fmt.Fprintf(s.w, "and %s, none of them worse\n", count(more, "more host"))
	}
	if strips {
		_, _ = fmt.Fprintln(s.w, legend())
	}
}

func amount(n int, status string) field {
	if n == 0 {
		status = "dim"
	}
	return field{text: strconv.Itoa(n), status: status, number: true}
}

// strips adds each host's tasks to its row. If not all fit, the last ones are shown.
func (o *outcome) strips(s screen, names, heading []string, rows [][]field) []string {
	used := 2
	for i, h := range heading {
		n := cellsOf(h)
		for _, r := range rows {
			n = max(n, cellsOf(r[i].text))
		}
		used += n + 2
	}
	avail := min(s.width()-used, maxCols)
	if avail < 10 {
		return heading
	}
	first := 0
	if len(o.tasks) > avail {
		first = len(o.tasks) - avail + 1
	}
	for i, h := range names {
		rows[i] = append(rows[i], field{text: o.strip(s, h, first)})
	}
	return append(heading, "tasks")
}

// strip draws the results of a host, from the task with the index first on. It is the last cell of its row, so that
// its width does not matter.
func (o *outcome) strip(s screen, host string, first int) string {
	var b strings.Builder
	if first > 0 {
		b.WriteString("…")
	}
	for i := first; i < len(o.tasks); {
		c, ok := o.cells[host][i]
		from := i
		for i++; i < len(o.tasks); i++ {
			if next, had := o.cells[host][i]; next != c || had != ok {
				break
			}
		}
		if ok {
			b.WriteString(s.paint(outcomes[c], strings.Repeat(symbols[c:c+1], i-from)))
		} else {
			b.WriteString(strings.Repeat(" ", i-from))
		}
	}
	return b.String()
}

func legend() string {
	parts := make([]string, 0, len(outcomes))
	for i, o := range outcomes {
		parts = append(parts, string(symbols[i])+" "+o)
	}
	return strings.Join(parts, ", ")
}

// count is a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
