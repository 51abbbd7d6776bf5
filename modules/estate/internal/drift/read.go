package drift

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/runs"
)

// Bounds of what is read of one run. What is beyond them counts as unknown.
const (
	maxHosts    = 1 << 17
	maxTasks    = 10_000
	maxFindings = 200_000
	maxItem     = 200 // bytes of an item's name in a resource
)

// reader collects what the events of a run tell. Its size depends on the hosts, the tasks and what differs, not on the
// number of events.
type reader struct {
	real     bool
	partial  bool
	tasks    map[string]*task // by id
	index    map[string]int   // of keys
	keys     []string
	hosts    map[string]*host
	ended    map[string]runs.HostStats // nil without a recap
	findings int
	diffs    int
	open     bool // an include was skipped: there may be tasks that the run did not show
}

type task struct {
	runs.Event
	index int
}

type host struct {
	estate.HostCheck
	seen map[string]bool // keys of findings
	// looped is the id of the task whose items report what changed.
	looped string
}

func newReader(real, partial bool) *reader {
	return &reader{real: real, partial: partial, tasks: map[string]*task{}, index: map[string]int{},
		hosts: map[string]*host{}}
}

func (r *reader) add(e *runs.Event) {
	switch e.Type {
	case runs.EventTaskStarted:
		r.begin(e)
	case runs.EventItemOK, runs.EventItemFailed, runs.EventItemSkipped, runs.EventHostOK, runs.EventHostFailed,
		runs.EventHostSkipped, runs.EventHostUnreachable:
		r.result(e)
	case runs.EventStats:
		r.ended = map[string]runs.HostStats{}
		if json.Unmarshal(e.Stats, &r.ended) != nil {
			r.ended = nil
		}
	}
}

// begin returns nil for a task beyond the bound.
func (r *reader) begin(e *runs.Event) *task {
	key := estate.TaskKey(e.Path, e.Task)
	i, known := r.index[key]
	switch {
	case !known && len(r.keys) >= maxTasks || len(r.tasks) >= 4*maxTasks:
		return nil
	case !known:
		i = len(r.keys)
		r.index[key], r.keys = i, append(r.keys, key)
	}
	t := &task{runs.Event{Task: e.Task, Action: e.Action, Path: e.Path, Handler: e.Handler, CheckMode: e.CheckMode}, i}
	r.tasks[e.TaskID] = t
	return t
}

func (r *reader) hostOf(name string) *host {
	h := r.hosts[name]
	if h == nil && name != "" && len(r.hosts) < maxHosts {
		h = &host{HostCheck: estate.HostCheck{Host: name}}
		r.hosts[name] = h
	}
	return h
}

// result reads the result of a task or of an item. Handlers are follow-ups of their cause, which names them.
func (r *reader) result(e *runs.Event) {
	t := r.tasks[e.TaskID]
	if t == nil {
		t = r.begin(&runs.Event{Task: e.Task, TaskID: e.TaskID}) // the beginning was lost
	}
	h := r.hostOf(e.Host)
	if t == nil || h == nil {
		return
	}
	if e.At.After(h.At) {
		h.At = e.At
	}
	if t.Handler {
		return
	}
	if e.Type == runs.EventHostSkipped && strings.HasPrefix(name(t.Action), "include_") {
		r.open = true
	}
	state := r.classify(t, e)
	byItems := isHost(e) && h.looped == e.TaskID
	if !r.real && state == estate.Known && e.Changed && !byItems && !onlyTouched(e.Diff) && !r.find(h, t, e) {
		state = estate.Unknown
	}
	if !isHost(e) && e.Changed {
		h.looped = e.TaskID
	}
	h.tell(t.index, state)
	if r.real && state == estate.Known && e.Changed && isHost(e) {
		h.Changed = append(h.Changed, t.index)
	}
	for _, f := range e.Notified {
		h.follow(r.keys[t.index], f)
	}
}

func isHost(e *runs.Event) bool { return strings.HasPrefix(string(e.Type), "host_") }

// tell stores the state of a task. A task that is executed several times is as unknown as the worst of them.
func (h *host) tell(i int, s estate.TaskState) {
	if s == estate.Untold {
		return
	}
	if i >= len(h.States) {
		h.States = append(h.States, make([]estate.TaskState, i+1-len(h.States))...)
	}
	h.States[i] = max(h.States[i], s)
}

// follow lists a handler under the findings of the task that notified it.
func (h *host) follow(key, handler string) {
	for i := range h.Findings {
		if f := &h.Findings[i]; f.Task == key && !slices.Contains(f.Tasks, handler) {
			f.Tasks = append(f.Tasks, handler)
		}
	}
}

// find stores what a task would change. It reports false if it has no room.
func (r *reader) find(h *host, t *task, e *runs.Event) bool {
	if r.findings >= maxFindings {
		return false
	}
	task := r.keys[t.index]
	f := estate.Finding{Host: e.Host, Task: task, Resource: resource(t, e), Tasks: []string{t.Task}, Path: t.Path,
		Confidence: estate.ConfidentPredicted, CheckedAt: e.At}
	f.Key = estate.FindingKey(task, f.Resource)
	if h.seen[f.Key] {
		return true
	}
	if h.seen == nil {
		h.seen = map[string]bool{}
	}
	h.seen[f.Key] = true
	if len(e.Diff) > 0 {
		f.Confidence = estate.ConfidentDiff
		if len(e.Diff) <= estate.MaxDiff && r.diffs+len(e.Diff) <= estate.MaxDiffs {
			f.Diff, r.diffs = e.Diff, r.diffs+len(e.Diff)
		}
	}
	r.findings++
	h.Findings = append(h.Findings, f)
	return true
}

// resource names what a result is about: the module and its path or name, else the task; and the item of a loop.
func resource(t *task, e *runs.Event) string {
	out := e.Resource
	if out == "" {
		out = strings.TrimSpace(t.Action + " " + t.Task)
	}
	if e.Item != "" && !isHost(e) && !strings.HasSuffix(out, " "+e.Item) {
		out += " [" + cut(e.Item, maxItem) + "]"
	}
	return cut(out, estate.MaxResource)
}

// cut shortens a text at a character boundary. Different texts stay different.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	end := "... " + estate.FindingKey("", s)
	n := most - len(end)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + end
}

// checked returns what was read, the hosts by name. Of a real run it returns those on which the run succeeded.
func (r *reader) checked() (keys []string, hosts []estate.HostCheck) {
	for _, name := range slices.Sorted(maps.Keys(r.hosts)) {
		h := r.hosts[name].HostCheck
		end, known := r.ended[name]
		clean := known && end.Failed == 0 && end.Unreachable == 0
		if r.real && !clean {
			continue
		}
		for _, s := range h.States {
			switch s {
			case estate.Known:
				h.Checked++
			case estate.Unknown:
				h.Unknown++
			}
		}
		h.Whole = !r.real && !r.partial && !r.open && clean && end.Rescued == 0
		hosts = append(hosts, h)
	}
	return r.keys, hosts
}
