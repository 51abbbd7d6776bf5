package cli

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// outcomes from harmless to worst, which is also the order in which they are shown.
var outcomes = [...]string{"skipped", "ok", "changed", "ignored", "failed", "unreachable"}

// symbols stand for the outcomes in the table.
const symbols = "-.CIFU"

// Bounds of what is kept and shown of one run.
const (
	maxCells  = 2_000_000
	maxGroups = 1000
	maxRows   = 40
	maxCols   = 60
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

func rankOf(o string) byte { return byte(max(slices.Index(outcomes[:], o), 0)) } //nolint:gosec // six outcomes

// outcome gathers what each task did on each host.
type outcome struct {
	tool   string
	tasks  []string
	index  map[string]int
	cells  map[string]map[int]byte
	size   int
	groups map[string]*failure
}

// failure is one message that hosts share.
type failure struct {
	Task    string   `json:"task"`
	Message string   `json:"message"`
	Outcome string   `json:"outcome"`
	Count   int      `json:"count"`
	Hosts   []string `json:"hosts"`
}

func (o *outcome) add(e event) {
	switch e.Type {
	case "task_started":
		o.column(e)
	case "host_ok", "host_failed", "host_unreachable", "host_skipped":
		o.cell(e)
	}
}

func (o *outcome) column(e event) int {
	key := firstOf(e.TaskID, e.Play+"\x00"+e.Task)
	if i, ok := o.index[key]; ok {
		return i
	}
	if o.index == nil {
		o.index, o.cells, o.groups = map[string]int{}, map[string]map[int]byte{}, map[string]*failure{}
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

// alike are the parts of a message in which hosts differ though they failed alike.
var alike = regexp.MustCompile(`/[^\s'"]+|\b[0-9a-fA-F]{8,}\b|\d+`)

func (o *outcome) group(e event, what string) {
	message := firstOf(e.Message, e.Stderr)
	key := e.Task + "\x00" + what + "\x00" + alike.ReplaceAllString(strings.ReplaceAll(message, e.Host, "<host>"), "<x>")
	g := o.groups[key]
	if g == nil {
		if len(o.groups) >= maxGroups {
			return
		}
		g = &failure{Task: e.Task, Message: message, Outcome: what}
		o.groups[key] = g
	}
	g.Count++
	if len(g.Hosts) < 20 {
		g.Hosts = append(g.Hosts, e.Host)
	}
}

// failures lists the groups, the largest first.
func (o *outcome) failures() []failure {
	out := make([]failure, 0, len(o.groups))
	for _, g := range o.groups {
		out = append(out, *g)
	}
	slices.SortFunc(out, func(a, b failure) int {
		if a.Count != b.Count {
			return b.Count - a.Count
		}
		return strings.Compare(a.Task+a.Message, b.Task+b.Message)
	})
	return out
}

func printFailures(s screen, groups []failure) {
	for _, g := range groups {
		hosts := strings.Join(g.Hosts, ", ")
		if more := g.Count - len(g.Hosts); more > 0 {
			hosts += fmt.Sprintf(" and %d more", more)
		}
		_, _ = fmt.Fprintf(s.w, "%s %s on %d: %s\n  %s\n", s.paint(g.Outcome, g.Outcome), oneLine(g.Task, 80), g.Count,
			oneLine(hosts, 200), oneLine(g.Message, 400))
	}
}

// print draws hosts by tasks, the worst hosts first, one character per cell.
func (o *outcome) print(s screen) {
	if len(o.cells) == 0 {
		return
	}
	hosts := slices.SortedFunc(maps.Keys(o.cells), func(a, b string) int {
		if x, y := o.worst(a), o.worst(b); x != y {
			return int(y) - int(x)
		}
		return strings.Compare(a, b)
	})
	shown := hosts[:min(len(hosts), maxRows)]
	width := 4
	for _, h := range shown {
		width = max(width, len([]rune(oneLine(h, 40))))
	}
	_, _ = fmt.Fprintf(s.w, "\n%-*s  %s  %s\n", width, "HOST", s.paint("bold", "TASKS"), legend())
	for _, h := range shown {
		_, _ = fmt.Fprintf(s.w, "%s%s  %s\n", oneLine(h, 40), strings.Repeat(" ", width-len([]rune(oneLine(h, 40)))), o.row(s, h))
	}
	if more := len(hosts) - len(shown); more > 0 {
		_, _ = fmt.Fprintf(s.w, "and %d more hosts, none of them worse\n", more)
	}
}

func legend() string {
	parts := make([]string, 0, len(outcomes))
	for i, o := range outcomes {
		parts = append(parts, string(symbols[i])+" "+o)
	}
	return strings.Join(parts, ", ")
}

func (o *outcome) worst(host string) byte {
	w := byte(0)
	for _, c := range o.cells[host] {
		w = max(w, c)
	}
	return w
}

// row draws the last tasks, which tell more than the first where not all fit.
func (o *outcome) row(s screen, host string) string {
	var b strings.Builder
	first := max(0, len(o.tasks)-maxCols)
	if first > 0 {
		b.WriteString("…")
	}
	for i := first; i < len(o.tasks); i++ {
		c, ok := o.cells[host][i]
		if !ok {
			b.WriteByte(' ')
			continue
		}
		b.WriteString(s.paint(outcomes[c], string(symbols[c])))
	}
	return b.String()
}
