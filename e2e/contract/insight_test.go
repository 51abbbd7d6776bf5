package contract

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/e2e/harness"
)

const troubled = `- hosts: all
  gather_facts: false
  tasks:
    - name: Greet
      command: echo hello
    - name: Break
      raw: echo "{{ inventory_hostname }} lost /var/lib/{{ inventory_hostname }}/42" >&2; exit 3
      when: inventory_hostname in broken
    - name: Close
      debug: {msg: done}
`

// quick has the hosts and tasks of troubled, and only starts a process where a host fails.
func quick() string {
	return strings.Replace(troubled, "command: echo hello", "debug: {msg: hello}", 1)
}

// fleet writes an inventory of local hosts.
func fleet(t *testing.T, names ...string) string {
	t.Helper()
	text := ""
	for _, n := range names {
		text += n + " ansible_connection=local\n"
	}
	return file(t, "hosts", text)
}

// cells decodes a matrix as the API document describes it.
func cells(t *testing.T, coded string) []byte {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(coded)
	if err != nil {
		t.Fatal(err)
	}
	var out []byte
	for len(raw) > 0 {
		n, size := binary.Uvarint(raw[1:])
		if size <= 0 || n == 0 || n > 1e6 {
			t.Fatalf("cells %q", coded)
		}
		for range n {
			out = append(out, raw[0])
		}
		raw = raw[1+size:]
	}
	return out
}

// grid is a matrix by task and host.
type grid map[string]byte

func (g grid) fill(t *testing.T, tasks, hosts []string, coded string) {
	t.Helper()
	for i, c := range cells(t, coded) {
		if c != 255 {
			g[tasks[i/len(hosts)]+"/"+hosts[i%len(hosts)]] = c
		}
	}
}

type matrix struct {
	Tasks     []struct{ ID, Name, Play string }
	Hosts     int
	Rev       int64
	Since     int64
	Same      bool
	Reload    bool
	Names     []string
	TasksFrom int `json:"tasks_from"`
	NamesFrom int `json:"names_from"`
	Cells     string
}

func (m matrix) columns() []string {
	var out []string
	for _, x := range m.Tasks {
		out = append(out, x.Name)
	}
	return out
}

// TestMatrix reads the matrix of one run at rest, by windows, and from its stream.
func TestMatrix(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	ask := harness.Body{"playbook": file(t, "p.yml", troubled), "inventory": fleet(t, "a", "b", "c"),
		"extra_vars": harness.Body{"broken": []string{"b"}}}
	r := s.Submit(ask)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	live, tasks, hosts, rev := grid{}, []string(nil), []string(nil), int64(0)
	s.Stream(ctx, r.ID, "", func(f harness.Frame) bool {
		var d matrix
		if f.Event == "matrix" {
			if err := json.Unmarshal([]byte(f.Data), &d); err != nil || d.Since != rev || d.Reload ||
				d.TasksFrom != len(tasks) || d.NamesFrom != len(hosts) {
				t.Errorf("delta %s after %d (%v)", f.Data, rev, err)
			}
			tasks, hosts, rev = append(tasks, d.columns()...), append(hosts, d.Names...), d.Rev
			live.fill(t, tasks, hosts, d.Cells)
		}
		return f.Event != "end"
	})
	var m matrix
	path := "/v1/runs/" + s.Await(r.ID).ID + "/matrix"
	s.Do(http.MethodGet, path, nil).JSON(t, &m)
	rest := grid{}
	rest.fill(t, m.columns(), m.Names, m.Cells)
	want := grid{"Greet/a": 2, "Greet/b": 2, "Greet/c": 2, "Break/a": 3, "Break/b": 4, "Break/c": 3, "Close/a": 1,
		"Close/c": 1, "Close/b": 0}
	if diff := cmp.Diff(want, rest); diff != "" || m.Hosts != 3 {
		t.Errorf("at rest: %s", diff)
	}
	for place, c := range want {
		if live[place] != c {
			t.Errorf("by deltas, %s is %d", place, live[place])
		}
	}
	var part matrix
	s.Do(http.MethodGet, path+"?from=1&count=1", nil).JSON(t, &part)
	if len(part.Names) != 1 || part.Names[0] != m.Names[1] || part.Hosts != 3 || len(cells(t, part.Cells)) != 3 {
		t.Errorf("a window: %+v", part)
	}
	var same matrix
	s.Do(http.MethodGet, path+"?after_rev="+json.Number(itoa(m.Rev)).String(), nil).JSON(t, &same)
	if !same.Same || same.Cells != "" || same.Rev != m.Rev {
		t.Errorf("nothing new: %+v", same)
	}
	var empty matrix
	s.Do(http.MethodGet, "/v1/runs/"+s.Submit(harness.Body{"tool": "bash", "command": "true", "require_approval": true}).
		ID+"/matrix", nil).JSON(t, &empty)
	if empty.Same || empty.Hosts != 0 || empty.Cells != "" {
		t.Errorf("of a run without tasks: %+v", empty)
	}
}

func itoa(n int64) string {
	b, _ := json.Marshal(n)
	return string(b)
}

// TestCompareAndFailures runs one play twice with different failing hosts, whole and split, and compares the runs.
func TestCompareAndFailures(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	playbook := file(t, "p.yml", quick())
	run := func(shards int, hosts string, broken ...string) harness.Run {
		return s.Await(s.Submit(harness.Body{"playbook": playbook, "inventory": hosts, "shards": shards,
			"extra_vars": harness.Body{"broken": broken}}).ID)
	}
	hosts := fleet(t, "a", "b", "c", "d")
	first := run(0, hosts, "a", "b")
	if p := refused(t, "no baseline", s.Do(http.MethodGet, "/v1/runs/"+first.ID+"/compare?with=prev", nil),
		404); p.Reason != "no_baseline" {
		t.Errorf("reason %q", p.Reason)
	}
	write(t, hosts,
		"a ansible_connection=local\nb ansible_connection=local\nc ansible_connection=local\ne ansible_connection=local\n")
	second := run(2, hosts, "b", "c")
	for _, with := range []string{"prev", first.ID} {
		var c struct {
			Run, Baseline harness.Run
			Duration      map[string]int64
			Hosts         []struct{ Host, Before, After, Verdict string }
			Tasks         []map[string]any
			ChangedFields []string `json:"changed_fields"`
		}
		s.Do(http.MethodGet, "/v1/runs/"+second.ID+"/compare?with="+with, nil).JSON(t, &c)
		got := map[string]string{}
		for _, h := range c.Hosts {
			got[h.Host] = h.Verdict
		}
		want := map[string]string{"a": "recovered", "b": "still_failing", "c": "broke", "d": "gone", "e": "added"}
		if diff := cmp.Diff(want, got); diff != "" || c.Run.ID != second.ID || c.Baseline.ID != first.ID {
			t.Errorf("with %s: %s", with, diff)
		}
		if c.Duration["before_ms"] != first.DurationMS || c.Duration["after_ms"] != second.DurationMS {
			t.Errorf("durations %v of %d and %d", c.Duration, first.DurationMS, second.DurationMS)
		}
		if len(c.Tasks) != 3 || c.Tasks[0]["task"] != "Greet" ||
			c.Tasks[0]["delta_ms"] != c.Tasks[0]["after_ms"].(float64)-c.Tasks[0]["before_ms"].(float64) {
			t.Errorf("tasks %v", c.Tasks)
		}
		if diff := cmp.Diff([]string{"extra_vars", "shards"}, c.ChangedFields); diff != "" {
			t.Error(diff)
		}
	}
	refused(t, "an unknown baseline", s.Do(http.MethodGet, "/v1/runs/"+second.ID+"/compare?with="+nobody, nil), 404)
	for _, r := range []harness.Run{first, second} {
		var f struct {
			Groups []struct {
				Task, Message, Outcome string
				Count                  int
				Hosts                  []string
			}
		}
		s.Do(http.MethodGet, "/v1/runs/"+r.ID+"/failures", nil).JSON(t, &f)
		if len(f.Groups) != 1 || f.Groups[0].Task != "Break" || f.Groups[0].Outcome != "failed" || f.Groups[0].Count != 2 ||
			len(f.Groups[0].Hosts) != 2 {
			t.Errorf("failures of the %s: %+v", r.Kind, f.Groups)
		}
		var m matrix
		s.Do(http.MethodGet, "/v1/runs/"+r.ID+"/matrix", nil).JSON(t, &m)
		if m.Hosts != 4 || len(m.Tasks) != 3 || len(cells(t, m.Cells)) != 12 {
			t.Errorf("matrix of the %s: %+v", r.Kind, m)
		}
	}
	again := s.Act("/v1/runs/" + second.ID + "/relaunch-failed")
	if again.Kind != "single" || again.Source != "relaunch" || again.RetryOf != second.ID {
		t.Errorf("relaunched as %+v", again)
	}
	if got := s.Hosts(s.Await(again.ID).ID); len(got) != 2 || got["b"].Host == "" || got["c"].Host == "" {
		t.Errorf("relaunched on %v", got)
	}
}

// TestFailuresAreKeptApart separates failures by their result: one host fails, one is rescued and one ignores the
// error.
func TestFailuresAreKeptApart(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	playbook := file(t, "p.yml", `- hosts: all
  gather_facts: false
  tasks:
    - block:
        - {name: Rescued, fail: {msg: no}, when: inventory_hostname == 'a'}
      rescue:
        - debug: {msg: on}
    - {name: Ignored, fail: {msg: no}, when: inventory_hostname == 'b', ignore_errors: true}
    - {name: Failed, fail: {msg: no}, when: inventory_hostname == 'c'}
`)
	r := s.Await(s.Submit(harness.Body{"playbook": playbook, "inventory": fleet(t, "a", "b", "c")}).ID)
	var f struct {
		Groups []struct {
			Task, Outcome string
			Count         int
			Hosts         []string
		}
	}
	s.Do(http.MethodGet, "/v1/runs/"+r.ID+"/failures", nil).JSON(t, &f)
	if got := fmt.Sprint(f.Groups); got != "[{Failed failed 1 [c]} {Rescued rescued 1 [a]} {Ignored ignored 1 [b]}]" {
		t.Errorf("the run is %s (%s) with the failures %s", r.Status, r.Error, got)
	}
}

// TestWhy requests the explanation of a run in every state.
func TestWhy(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{Flags: []string{"--kill-grace", "1s"}})
	held := harness.Body{"tool": "bash", "command": "true", "require_approval": true}
	id := map[string]string{
		"pending_approval": s.Submit(held).ID, "rejected": s.Submit(held).ID, "canceled": s.Submit(held).ID,
		"pending":   s.Submit(harness.Body{"tool": "bash", "command": "true", "queue": "parked"}).ID,
		"succeeded": s.Await(s.Submit(bash("true")).ID).ID, "failed": s.Await(s.Submit(bash("exit 3")).ID).ID,
		"running": s.Submit(bash("sleep 60")).ID,
	}
	s.Do(http.MethodPost, "/v1/runs/"+id["rejected"]+"/reject", harness.Body{"reason": "not today"})
	s.Do(http.MethodPost, "/v1/runs/"+id["canceled"]+"/cancel", nil)
	s.Until(id["running"], time.Minute, func(r harness.Run) bool { return r.Status == "running" && r.StartedAt != nil })
	codes := map[string][]string{
		"pending_approval": {"held_for_approval"}, "pending": {"no_executor"}, "running": {"executing", "claimed"},
		"interrupted": {"interrupted"}, // somebody has to look
	}
	check := func(state string) {
		w := get(t, s.Client, "/v1/runs/"+id[state]+"/why")
		list, _ := w["reasons"].([]any)
		if w["state"] != state || len(list) == 0 {
			t.Fatalf("%s: %v", state, w)
		}
		r := list[0].(map[string]any)
		known := append(codes[state], state)
		waits := len(codes[state]) > 0
		if !contains(known, r["code"]) || r["text"] == "" || r["object"] == nil || r["since"] == nil ||
			(r["next"] != nil) != waits {
			t.Errorf("%s: %v", state, r)
		}
	}
	for state := range id {
		check(state)
	}
	s.Kill()
	n := s.Again()
	s.Client = n.Client
	if r := s.Await(id["running"]); r.Status != "interrupted" || r.Error == "" {
		t.Fatalf("after the crash it is %s", r.Status)
	}
	id["interrupted"] = id["running"]
	check("interrupted")
}

func contains(list []string, v any) bool {
	for _, x := range list {
		if x == v {
			return true
		}
	}
	return false
}
