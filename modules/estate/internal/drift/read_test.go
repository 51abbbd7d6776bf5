package drift

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/writ-automation/writ/ports/estate"
	"github.com/writ-automation/writ/ports/runs"
)

func epoch(n int) time.Time { return time.Date(2026, 5, 1, 12, 0, n, 0, time.UTC) }

// script makes the events of a run.
type script struct{ events []runs.Event }

func (s *script) add(e runs.Event) {
	e.Seq = int64(len(s.events) + 1)
	e.At = epoch(len(s.events))
	s.events = append(s.events, e)
}

// task begins a task that is only checked.
func (s *script) task(id, action string, change ...func(*runs.Event)) {
	e := runs.Event{Type: runs.EventTaskStarted, TaskID: id, Task: "do " + id, Action: action, Path: "site.yml:1",
		CheckMode: true}
	for _, c := range change {
		c(&e)
	}
	s.add(e)
}

func really(e *runs.Event)  { e.CheckMode = false }
func handler(e *runs.Event) { e.Handler = true }

func (s *script) recap(hosts map[string]runs.HostStats) {
	b, err := json.Marshal(hosts)
	if err != nil {
		panic(err)
	}
	s.add(runs.Event{Type: runs.EventStats, Stats: b})
}

func (s *script) read(real, partial bool) (keys []string, hosts []estate.HostCheck) {
	r := newReader(real, partial)
	for i := range s.events {
		r.add(&s.events[i])
	}
	return r.checked()
}

const diffText = `[{"before":"a\n","after":"b\n"}]`

// outcome is what is read of one task on one host.
type outcome struct {
	Checked, Unknown int
	Found            string // resource and confidence of each finding
}

// TestResults has every kind of result of a dry run, with the messages of ansible-core 2.14.
func TestResults(t *testing.T) {
	t.Parallel()
	const (
		wouldRun = "Command would have run if not in check mode"
		byWhen   = "Conditional result was False"
		unmade   = "remote module (ansible.legacy.uri) does not support check mode"
		touch    = `[{"before":"{\"path\":\"/t\",\"state\":\"file\",\"mtime\":1.5,\"atime\":1}",` +
			`"after":"{\"path\":\"/t\",\"state\":\"touch\",\"mtime\":2.5,\"atime\":2}"}]`
		touchNew  = `[{"before":"{\"path\":\"/t\",\"state\":\"absent\"}","after":"{\"path\":\"/t\",\"state\":\"touch\"}"}]`
		touchMode = `[{"before":"{\"path\":\"/t\",\"state\":\"file\",\"mode\":\"0600\"}",` +
			`"after":"{\"path\":\"/t\",\"state\":\"touch\",\"mode\":\"0644\"}"}]`
	)
	ok, skipped, failed := runs.EventHostOK, runs.EventHostSkipped, runs.EventHostFailed
	changed := func(diff, resource string) runs.Event {
		return runs.Event{Type: ok, Changed: true, Diff: json.RawMessage(diff), Resource: resource}
	}
	item := func(typ runs.EventType, name, message, resource string) runs.Event {
		e := runs.Event{Type: typ, Item: name, Message: message, Resource: resource, Changed: resource != ""}
		if e.Changed {
			e.Diff = json.RawMessage(diffText)
		}
		return e
	}
	for name, c := range map[string]struct {
		action  string
		change  func(*runs.Event)
		results []runs.Event
		want    outcome
	}{
		"a file that differs": {"template", nil, []runs.Event{changed(diffText, "template /a")},
			outcome{1, 0, "template /a diff"}},
		"a file as it should be":  {"template", nil, []runs.Event{{Type: ok}}, outcome{1, 0, ""}},
		"a change without a diff": {"apt", nil, []runs.Event{changed("", "apt nginx")}, outcome{1, 0, "apt nginx predicted"}},
		"items that differ": {"lineinfile", nil, []runs.Event{item(runs.EventItemOK, "x", "", "lineinfile /a"),
			item(runs.EventItemOK, "y", "", ""), item(runs.EventItemOK, "z", "", "lineinfile /a"),
			{Type: ok, Changed: true}}, outcome{1, 0, "lineinfile /a [x] diff, lineinfile /a [z] diff"}},
		"items named like the resource": {"file", nil, []runs.Event{item(runs.EventItemOK, "/a", "", "file /a"),
			{Type: ok, Changed: true}}, outcome{1, 0, "file /a diff"}},
		"items that could not be checked": {"command", nil, []runs.Event{item(runs.EventItemSkipped, "x", wouldRun, ""),
			{Type: skipped, Message: "All items skipped"}}, outcome{0, 1, ""}},
		"an item that could not be checked": {"file", nil, []runs.Event{item(runs.EventItemOK, "/a", "", "file /a"),
			item(runs.EventItemFailed, "/b", "broken", ""), {Type: failed, Message: "One or more items failed"}},
			outcome{0, 1, "file /a diff"}},
		"items that do not apply": {"command", nil, []runs.Event{item(runs.EventItemSkipped, "x", byWhen, ""),
			{Type: skipped, Message: "All items skipped"}}, outcome{}},
		"no items": {"command", nil, []runs.Event{{Type: skipped, Message: "No items in the list"}}, outcome{}},
		"a command": {"command", nil, []runs.Event{{Type: skipped, Message: wouldRun, RC: new(int)}},
			outcome{0, 1, ""}},
		"a command that creates a file": {"command", nil, []runs.Event{{Type: ok, Changed: true, Message: wouldRun}},
			outcome{1, 0, "command do t predicted"}},
		"a command whose file is there": {"command", nil, []runs.Event{{Type: ok,
			Message: "Would not run command since '/a' exists"}}, outcome{1, 0, ""}},
		"raw": {"raw", nil, []runs.Event{{Type: skipped}}, outcome{0, 1, ""}},
		"script": {"script", nil, []runs.Event{{Type: skipped, Message: "Check mode is not supported for this task."}},
			outcome{0, 1, ""}},
		"uri": {"uri", nil, []runs.Event{{Type: skipped, Message: unmade}}, outcome{0, 1, ""}},
		"uri that is really executed": {"ansible.windows.win.uri", really, []runs.Event{{Type: ok}},
			outcome{0, 1, ""}},
		"raw that does not apply": {"raw", nil, []runs.Event{{Type: skipped, Message: byWhen}}, outcome{}},
		"a module without a check mode": {"a.b.c", nil, []runs.Event{{Type: skipped, Message: unmade}},
			outcome{0, 1, ""}},
		"a command that is really executed": {"command", really, []runs.Event{{Type: ok, Changed: true}},
			outcome{0, 1, ""}},
		"what is really executed, with a diff": {"copy", really, []runs.Event{changed(diffText, "copy /a")},
			outcome{1, 0, "copy /a diff"}},
		"what is really executed and as it should be": {"copy", really, []runs.Event{{Type: ok}}, outcome{1, 0, ""}},
		"a command that only looks": {"ansible.windows.win_shell", really, []runs.Event{{Type: ok}},
			outcome{}},
		"items of a command that is really executed": {"shell", really, []runs.Event{
			{Type: runs.EventItemOK, Item: "x", Changed: true}, {Type: runs.EventItemOK, Item: "y"},
			{Type: ok, Changed: true}}, outcome{0, 1, ""}},
		"a failure":     {"get_url", nil, []runs.Event{{Type: failed, Message: "refused"}}, outcome{0, 1, ""}},
		"no connection": {"file", nil, []runs.Event{{Type: runs.EventHostUnreachable}}, outcome{0, 1, ""}},
		"an ignored failure": {"get_url", nil, []runs.Event{{Type: failed, Ignored: true}},
			outcome{0, 1, ""}},
		"an ignored failure that reports a change": {"copy", nil, []runs.Event{{Type: failed, Ignored: true, Changed: true,
			Resource: "copy /a"}}, outcome{1, 0, "copy /a predicted"}},
		"touch":               {"file", nil, []runs.Event{changed(touch, "file /t")}, outcome{1, 0, ""}},
		"touch of no file":    {"file", nil, []runs.Event{changed(touchNew, "file /t")}, outcome{1, 0, "file /t diff"}},
		"touch and a mode":    {"file", nil, []runs.Event{changed(touchMode, "file /t")}, outcome{1, 0, "file /t diff"}},
		"a copy to no folder": {"copy", nil, []runs.Event{changed(diffText, "copy /no/a")}, outcome{1, 0, "copy /no/a diff"}},
		"changed_when":        {"debug", nil, []runs.Event{changed("", "")}, outcome{1, 0, "debug do t predicted"}},
		"changed_when: false": {"template", nil, []runs.Event{{Type: ok, Diff: json.RawMessage(diffText)}},
			outcome{1, 0, ""}},
		"a handler":   {"service", handler, []runs.Event{changed(diffText, "service a")}, outcome{}},
		"when":        {"template", nil, []runs.Event{{Type: skipped, Message: byWhen}}, outcome{}},
		"facts":       {"setup", nil, []runs.Event{{Type: ok}}, outcome{}},
		"information": {"community.x.vm_info", nil, []runs.Event{{Type: ok}}, outcome{}},
		"hidden": {"copy", nil, []runs.Event{{Type: ok, Changed: true, Message: "hidden by no_log"}},
			outcome{1, 0, "copy do t predicted"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s script
			change := c.change
			if change == nil {
				change = func(*runs.Event) {}
			}
			s.task("t", c.action, change)
			for _, e := range c.results {
				e.TaskID, e.Task, e.Host = "t", "do t", "h"
				s.add(e)
			}
			_, hosts := s.read(false, false)
			if len(hosts) != 1 {
				t.Fatalf("%d hosts", len(hosts))
			}
			got := outcome{Checked: hosts[0].Checked, Unknown: hosts[0].Unknown}
			var list []string
			for _, f := range hosts[0].Findings {
				list = append(list, f.Resource+" "+string(f.Confidence))
			}
			got.Found = strings.Join(list, ", ")
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestHandlersAreFollowUps lists handlers under what notified them.
func TestHandlersAreFollowUps(t *testing.T) {
	t.Parallel()
	var s script
	s.task("a", "template")
	s.add(runs.Event{Type: runs.EventHostOK, TaskID: "a", Host: "h", Changed: true, Resource: "template /a",
		Notified: []string{"reload", "tell"}})
	s.task("b", "file")
	s.add(runs.Event{Type: runs.EventHostOK, TaskID: "b", Host: "h", Changed: true, Resource: "file /b"})
	s.task("r", "service", handler)
	s.add(runs.Event{Type: runs.EventHostOK, TaskID: "r", Host: "h", Changed: true, Resource: "service a"})
	_, hosts := s.read(false, false)
	want := map[string][]string{"template /a": {"do a", "reload", "tell"}, "file /b": {"do b"}}
	got := map[string][]string{}
	for _, f := range hosts[0].Findings {
		got[f.Resource] = f.Tasks
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestRealRuns reads what a real run makes sure of.
func TestRealRuns(t *testing.T) {
	t.Parallel()
	var s script
	for i, host := range []string{"good", "bad", "gone", "lost"} {
		s.task(fmt.Sprint(i), "file", really)
		s.add(runs.Event{Type: runs.EventHostOK, TaskID: fmt.Sprint(i), Host: host, Changed: true})
	}
	s.task("c", "file", really)
	s.add(runs.Event{Type: runs.EventHostOK, TaskID: "c", Host: "good"})
	s.task("d", "file")
	s.add(runs.Event{Type: runs.EventHostOK, TaskID: "d", Host: "good", Changed: true}) // check_mode: true
	s.task("e", "file", really)
	s.add(runs.Event{Type: runs.EventHostFailed, TaskID: "e", Host: "good", Ignored: true, Changed: true})
	s.recap(map[string]runs.HostStats{"good": {OK: 3, Ignored: 1}, "bad": {Failed: 1}, "gone": {Unreachable: 1}})
	keys, hosts := s.read(true, false)
	if len(hosts) != 1 || hosts[0].Host != "good" || len(hosts[0].Findings) > 0 {
		t.Fatalf("%+v", hosts)
	}
	at := map[string]int{}
	for i, k := range keys {
		at[k] = i
	}
	state := func(id string) estate.TaskState { return hosts[0].States[at[estate.TaskKey("site.yml:9", "do "+id)]] }
	if state("0") != estate.Known || state("c") != estate.Known || state("d") != estate.Untold ||
		state("e") != estate.Unknown {
		t.Errorf("%v of %v", hosts[0].States, keys)
	}
	if len(hosts[0].Changed) != 1 || hosts[0].Changed[0] != at[estate.TaskKey("site.yml:1", "do 0")] {
		t.Errorf("changed %v", hosts[0].Changed)
	}
	s.events = s.events[:len(s.events)-1]
	if _, hosts := s.read(true, false); len(hosts) > 0 {
		t.Errorf("a run without a recap repairs %v", hosts)
	}
}

// TestWholeRuns tells whether a task that was not shown is none of the target.
func TestWholeRuns(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		partial bool
		action  string
		end     *runs.HostStats
		want    bool
	}{
		"whole":             {false, "file", &runs.HostStats{OK: 1}, true},
		"some tags":         {true, "file", &runs.HostStats{OK: 1}, false},
		"a skipped include": {false, "include_tasks", &runs.HostStats{OK: 1}, false},
		"a failed host":     {false, "file", &runs.HostStats{Failed: 1}, false},
		"a lost host":       {false, "file", &runs.HostStats{Unreachable: 1}, false},
		"a rescued host":    {false, "file", &runs.HostStats{Rescued: 1}, false},
		"no recap":          {false, "file", nil, false},
	} {
		var s script
		s.task("a", c.action)
		s.add(runs.Event{Type: runs.EventHostSkipped, TaskID: "a", Host: "h", Message: "Conditional result was False"})
		if c.end != nil {
			s.recap(map[string]runs.HostStats{"h": *c.end})
		}
		if _, hosts := s.read(false, c.partial); len(hosts) != 1 || hosts[0].Whole != c.want {
			t.Errorf("%s: %+v", name, hosts)
		}
	}
}

// TestBounds reads results whose texts are large.
func TestBounds(t *testing.T) {
	t.Parallel()
	var s script
	s.task("a", "copy")
	large := json.RawMessage(`[{"after":"` + strings.Repeat("x", estate.MaxDiff) + `"}]`)
	s.add(runs.Event{Type: runs.EventItemOK, TaskID: "a", Host: "h", Changed: true, Diff: large, Item: "1",
		Resource: "copy " + strings.Repeat("é", 3000)})
	s.add(runs.Event{Type: runs.EventItemOK, TaskID: "a", Host: "h", Changed: true, Item: "2",
		Resource: "copy " + strings.Repeat("é", 3000)})
	_, hosts := s.read(false, false)
	f := hosts[0].Findings
	if len(f) != 2 || f[0].Diff != nil || f[0].Confidence != estate.ConfidentDiff || f[0].Resource == f[1].Resource ||
		len(f[0].Resource) > estate.MaxResource {
		t.Errorf("%d findings, %+v", len(f), f)
	}
}

// TestAnyEvents reads any events in any order: the results fit together, and no host is clean without a check.
func TestAnyEvents(t *testing.T) {
	t.Parallel()
	types := []runs.EventType{runs.EventTaskStarted, runs.EventHostOK, runs.EventHostFailed, runs.EventHostSkipped,
		runs.EventHostUnreachable, runs.EventItemOK, runs.EventItemFailed, runs.EventItemSkipped, runs.EventStats,
		runs.EventFacts}
	actions := []string{"", "file", "command", "raw", "setup", "include_tasks", "a.b.uri"}
	rapid.Check(t, func(t *rapid.T) {
		var s script
		known := 0 // results that may be a check
		for range rapid.IntRange(0, 40).Draw(t, "n") {
			e := runs.Event{
				Type: rapid.SampledFrom(types).Draw(t, "type"), TaskID: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "task"),
				Host: rapid.SampledFrom([]string{"", "h", "i"}).Draw(t, "host"), Changed: rapid.Bool().Draw(t, "changed"),
				Item: rapid.SampledFrom([]string{"", "x"}).Draw(t, "item"), Ignored: rapid.Bool().Draw(t, "ignored"),
				CheckMode: rapid.Bool().Draw(t, "check"), Handler: rapid.Bool().Draw(t, "handler"),
				Action: rapid.SampledFrom(actions).Draw(t, "action"), Task: rapid.SampledFrom([]string{"t", "u"}).Draw(t, "name"),
				Stats: json.RawMessage(rapid.SampledFrom([]string{`{"h":{"ok":1}}`, `[]`, ``}).Draw(t, "stats")),
				Diff:  json.RawMessage(rapid.SampledFrom([]string{"", diffText, "{"}).Draw(t, "diff")),
			}
			if e.Type == runs.EventHostOK || e.Type == runs.EventItemOK || e.Changed {
				known++
			}
			s.add(e)
		}
		for _, real := range []bool{false, true} {
			keys, hosts := s.read(real, false)
			for _, h := range hosts {
				if h.Host == "" || len(h.States) > len(keys) || h.Checked+h.Unknown > len(keys) ||
					real && len(h.Findings) > 0 || known == 0 && h.Checked > 0 {
					t.Fatalf("real %t: %+v of %d tasks", real, h, len(keys))
				}
				seen := map[string]bool{}
				for _, f := range h.Findings {
					if seen[f.Key] || f.Resource == "" || f.Host != h.Host || len(f.Tasks) == 0 {
						t.Fatalf("%+v", f)
					}
					seen[f.Key] = true
				}
			}
		}
	})
}
