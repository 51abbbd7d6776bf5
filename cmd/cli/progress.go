package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/writ-automation/writ/ports/runs"
)

// Limits for the lines of one run while it executes.
const (
	maxLiveFailures = 5
	maxLogTail      = 8 << 10
	maxTailLines    = 20
)

// progress prints a running run: a playbook task by task, any other tool by its output.
type progress struct {
	screen
	outage
	logs    logWriter
	raw     bool // show the output of playbooks, too
	outcome outcome
	tail    string // the end of a playbook's output, for one that fails before its first task
	status  string
	shown   []warning // before

	task     string
	key      string
	took     int64
	counts   map[string]int
	failures []string
	line     bool // a task's line is open on a terminal
	partial  bool // the output's last line has no end

	still    bool      // no line is drawn again, since others write between
	ofStep   *prefixed // the output of a step
	prefixes int       // width of the names of steps
}

var (
	_ familyWatcher = (*progress)(nil)
	_ stepWatcher   = (*stepProgress)(nil)
)

func newProgress(s screen, raw bool) *progress {
	return &progress{screen: s, logs: logWriter{screen: s}, raw: raw, counts: map[string]int{}}
}

func (p *progress) printLine(format string, a ...any) {
	p.flush()
	_, _ = fmt.Fprintf(p.w, format+"\n", a...)
}

func (p *progress) run(r record) {
	p.outcome.tool = r.Tool
	if r.Status != p.status {
		p.status = r.Status
		switch {
		case r.Status == "pending_approval":
			by := ""
			if r.HeldBy != nil {
				by = " by " + oneLine(r.HeldBy.Name, 40)
			}
			p.printLine("%s %s is held%s: writ approve %s", p.paint(r.Status, mark(r.Status)),
				oneLine(r.ID, 80), by, oneLine(r.ID, 80))
		case !r.ended() && (p.ofStep == nil || r.Status != string(runs.Pending)):
			p.printLine("%s %s %s", p.paint(r.Status, mark(r.Status)), oneLine(r.ID, 80),
				p.paint(r.Status, oneLine(r.Status, 40)))
		}
	}
	p.prefixes = r.prefixWidth()
}

// step makes the progress of a step. From then on the pipeline and its steps write whole lines.
func (p *progress) step(name string) stepWatcher {
	if !p.still {
		p.flush()
		p.columns = p.width()
		p.w, p.still = &shared{w: p.w}, true
		p.logs.screen = p.screen
	}
	s := p.screen
	to := &prefixed{to: p.w, prefix: s.prefix(name, p.prefixes), tty: s.tty}
	s.w, s.columns = to, max(p.columns-min(p.prefixes, maxPrefix)-3, narrowest)
	out := newProgress(s, p.raw)
	out.still, out.ofStep = true, to
	return &stepProgress{out}
}

func (p *progress) skipped(name, reason string) {
	text := "step " + oneLine(name, 60) + " skipped"
	if reason != "" {
		text += ": " + oneLine(reason, 300)
	}
	p.printLine("%s %s", p.paint("skipped", mark("skipped")), text)
}

func (p *progress) waits(reasons []runs.Reason) {
	p.flush()
	printReasons(p.screen, reasons)
}

// stepProgress is the progress of a step, which ends without the table of its hosts.
type stepProgress struct{ *progress }

func (p *stepProgress) end(r record, failures []failure) {
	p.outcome.cells = nil
	p.progress.end(r, failures)
	_ = p.ofStep.flush() // nothing can be shown if the output is closed
}

func (p *progress) event(e event) {
	p.outcome.add(e)
	if p.raw {
		return
	}
	switch e.Type {
	case "play_started":
		p.endTask()
		p.printLine("\n%s %s", p.paint("bold", "PLAY"), p.paint("bold", oneLine(e.Play, p.width()-5)))
	case "task_started":
		p.begin(e)
	case "host_ok", "host_failed", "host_unreachable", "host_skipped":
		p.result(e)
	case "warning":
		p.warn(e.Message)
	}
}

func (p *progress) warn(message string) {
	p.printLine("%s %s", p.paint("changed", "warning:"), oneLine(message, 400))
}

// begin makes a task the current one.
func (p *progress) begin(e event) {
	p.endTask()
	p.task, p.key = e.Task, taskKey(e)
	p.draw()
}

// result counts a host's result. Tasks may overlap, as with the strategy "free". Each change of the task then begins
// a new line.
func (p *progress) result(e event) {
	if e.Task != "" && taskKey(e) != p.key {
		p.begin(e)
	}
	o := outcomeOf(e)
	p.counts[o]++
	p.took = max(p.took, e.DurationMS)
	if o == "failed" || o == "unreachable" {
		if len(p.failures) < maxLiveFailures {
			p.failures = append(p.failures, fmt.Sprintf("%s %s: %s", p.paint(o, o), oneLine(e.Host, 80),
				oneLine(e.detail(), 300)))
		}
	}
	p.draw()
}

func (p *progress) log(text string) error {
	if p.outcome.tool == "ansible" && !p.raw {
		p.tail += text
		p.tail = p.tail[max(0, len(p.tail)-maxLogTail):]
		return nil
	}
	if text == "" {
		return nil
	}
	p.close()
	p.partial = !strings.HasSuffix(text, "\n")
	return p.logs.write(text)
}

func (p *progress) lost(err error) {
	p.flush()
	p.outage.lost(err)
	p.draw()
}

// draw prints the current task's line. On a terminal it replaces the line when results arrive, and is never wider
// than the terminal.
func (p *progress) draw() {
	if !p.tty || p.still || p.task == "" || p.raw {
		return
	}
	_, _ = fmt.Fprintf(p.w, "\r\x1b[K%s", p.taskLine(p.width()-1))
	p.line = true
}

// close erases an open line before another text is written.
func (p *progress) close() {
	if p.line {
		_, _ = fmt.Fprint(p.w, "\r\x1b[K")
		p.line = false
	}
}

// flush leaves the cursor at the beginning of a line.
func (p *progress) flush() {
	p.close()
	if p.partial {
		_, _ = fmt.Fprintln(p.w)
		p.partial = false
	}
}

func (p *progress) endTask() {
	if p.task != "" {
		p.printLine("%s", p.taskLine(1<<10))
		for _, f := range p.failures {
			p.printLine("      %s", f)
		}
		if more := p.counts["failed"] + p.counts["unreachable"] - len(p.failures); more > 0 {
			p.printLine("      and %s", count(more, "more host"))
		}
	}
	p.task, p.key, p.took, p.counts, p.failures = "", "", 0, map[string]int{}, nil
}

// taskLine returns the name of the task, its duration and its results, cut to a number of cells.
func (p *progress) taskLine(limit int) string {
	name := min(max(p.width()-40, 24), 50)
	took := ""
	if len(p.counts) > 0 {
		took = seconds(p.took)
	}
	text := cut(fmt.Sprintf("  %s  %6s", pad(oneLine(p.task, name), name), took), limit)
	used := cellsOf(text)
	for _, o := range outcomes {
		n := p.counts[o]
		part := fmt.Sprintf("%s %d", o, n)
		if n == 0 || used+2+len(part) > limit {
			continue
		}
		used += 2 + len(part)
		text += "  " + p.paint(o, part)
	}
	return strings.TrimRight(text, " ")
}

// end prints how the run ended.
func (p *progress) end(r record, failures []failure) {
	if !p.raw {
		p.endTask()
	}
	p.flush()
	p.outcome.print(p.screen)
	printFailures(p.screen, failures)
	if r.Status == "failed" && len(p.outcome.cells) == 0 && p.tail != "" {
		p.printTail()
	}
	if len(p.outcome.cells)+len(failures) > 0 {
		_, _ = fmt.Fprintln(p.w)
	}
	for _, w := range r.Warnings {
		if !slices.Contains(p.shown, w) {
			p.warn(w.Message)
		}
	}
	_, _ = fmt.Fprintln(p.w, r.ending(p.screen))
}

// printTail prints the end of the output of a playbook that failed without a result on any host.
func (p *progress) printTail() {
	lines := strings.Split(strings.TrimSpace(p.tail), "\n")
	lines = lines[max(0, len(lines)-maxTailLines):]
	l := logWriter{screen: p.screen}
	_ = l.write(strings.Join(lines, "\n") + "\n") // nothing can be shown if the output is closed
}
