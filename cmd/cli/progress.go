package cli

import (
	"fmt"
	"strings"
)

// progress shows a run while it happens: a playbook task by task, with failures as they come; any other tool by its
// output.
type progress struct {
	screen
	logs    logWriter
	raw     bool // show the output of playbooks, too
	outcome outcome

	status string
	play   string
	task   string
	took   int64
	counts map[string]int
	line   bool // a task's line is open on a terminal
	steps  map[string]string
}

var _ watcher = (*progress)(nil)

func newProgress(s screen, raw bool) *progress {
	return &progress{screen: s, logs: logWriter{screen: s}, raw: raw, counts: map[string]int{}, steps: map[string]string{}}
}

func (p *progress) say(format string, a ...any) {
	p.close()
	_, _ = fmt.Fprintf(p.w, format+"\n", a...)
}

// run implements watcher.
func (p *progress) run(r record) {
	p.outcome.tool = r.Tool
	if r.Status != p.status {
		p.status = r.Status
		switch {
		case r.Status == "pending_approval" && r.HeldBy != nil:
			p.say("%s %s is held by %s: writ approve %s", p.paint(r.Status, "○"), r.ID, plainText(r.HeldBy.Name), r.ID)
		case !r.ended():
			p.say("%s %s %s", p.paint(r.Status, "●"), r.ID, p.paint(r.Status, r.Status))
		}
	}
	for _, s := range r.Steps {
		if p.steps[s.Name] != s.Status {
			p.steps[s.Name] = s.Status
			p.say("  step %s %s", oneLine(s.Name, 60), p.paint(s.Status, s.Status))
		}
	}
}

// event implements watcher.
func (p *progress) event(e event) {
	p.outcome.add(e)
	if p.raw {
		return
	}
	switch e.Type {
	case "play_started":
		p.endTask()
		p.play = e.Play
		p.say("%s %s", p.paint("bold", "PLAY"), oneLine(e.Play, 100))
	case "task_started":
		p.endTask()
		p.task = e.Task
		p.open()
	case "host_ok", "host_failed", "host_unreachable", "host_skipped":
		p.result(e)
	case "warning":
		p.say("  %s %s", p.paint("changed", "warning:"), oneLine(e.Message, 300))
	}
}

func (p *progress) result(e event) {
	o := outcomeOf(e)
	p.counts[o]++
	p.took = max(p.took, e.DurationMS)
	if o == "failed" || o == "unreachable" {
		p.say("    %s %s: %s", p.paint(o, o), oneLine(e.Host, 80), oneLine(firstOf(e.Message, e.Stderr), 300))
	}
	p.open()
}

// log implements watcher.
func (p *progress) log(text string) error {
	if p.outcome.tool == "ansible" && !p.raw {
		return nil
	}
	p.close()
	return p.logs.write(text)
}

// open draws the current task's line; on a terminal it is drawn over as results come.
func (p *progress) open() {
	if !p.tty || p.task == "" {
		return
	}
	_, _ = fmt.Fprintf(p.w, "\r\x1b[K%s", p.taskLine())
	p.line = true
}

// close takes an open line away before something else is written.
func (p *progress) close() {
	if p.line {
		_, _ = fmt.Fprint(p.w, "\r\x1b[K")
		p.line = false
	}
}

func (p *progress) endTask() {
	if p.task != "" {
		p.say("%s", p.taskLine())
	}
	p.task, p.took, p.counts = "", 0, map[string]int{}
}

func (p *progress) taskLine() string {
	var b strings.Builder
	fmt.Fprintf(&b, "  %s", oneLine(p.task, 60))
	for _, o := range outcomes {
		if n := p.counts[o]; n > 0 {
			fmt.Fprintf(&b, "  %s", p.paint(o, fmt.Sprintf("%s %d", o, n)))
		}
	}
	if p.took > 0 {
		b.WriteString("  " + p.paint("", seconds(p.took)))
	}
	return b.String()
}

// end tells how the run ended.
func (p *progress) end(r record, failures []failure) {
	if !p.raw {
		p.endTask()
	}
	p.close()
	p.outcome.print(p.screen)
	printFailures(p.screen, failures)
	for _, w := range r.Warnings {
		p.say("%s %s", p.paint("changed", "warning:"), oneLine(w.Message, 400))
	}
	text := fmt.Sprintf("%s %s in %s", r.ID, p.paint(r.Status, r.Status), seconds(r.DurationMS))
	if r.ExitCode != nil && *r.ExitCode != 0 {
		text += fmt.Sprintf(", exit code %d", *r.ExitCode)
	}
	if r.Error != "" {
		text += ": " + oneLine(r.Error, 400)
	}
	p.say("%s", text)
}

func firstOf(texts ...string) string {
	for _, t := range texts {
		if strings.TrimSpace(t) != "" {
			return t
		}
	}
	return "no message"
}
