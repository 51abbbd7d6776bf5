package ansible_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/adapters/tools/ansible"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

const everything = `- name: Everything
  hosts: web
  gather_facts: false
  tasks:
    - name: a file
      ansible.builtin.copy: {dest: "{{ out }}/{{ inventory_hostname }}", content: "one\n", mode: "0600"}
      diff: true
    - name: a list
      ansible.builtin.command: "{{ item }}"
      loop: ["true", "false"]
      ignore_errors: true
    - name: speaks
      ansible.builtin.shell: "echo out; echo err >&2; exit 3"
      ignore_errors: true
      when: inventory_hostname == 'h1'
    - name: hidden
      ansible.builtin.command: "echo s3cret"
      no_log: true
    - name: tries
      ansible.builtin.command: "false"
      register: tried
      until: tried is success
      retries: 1
      delay: 0
      ignore_errors: true
    - name: facts
      ansible.builtin.setup: {gather_subset: ['!all']}
    - name: outputs
      ansible.builtin.set_stats: {data: {release: "1.2", n: 3}, aggregate: false}
      run_once: true
    - name: fails
      ansible.builtin.fail: {msg: "on purpose"}
      when: inventory_hostname == 'h2'
`

func TestEventsOfARun(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"site.yml": everything})
	p.spec.ExtraVars = map[string]any{"out": t.TempDir()}
	res := p.run()
	if res.ExitCode != 2 || !res.Complete || res.Touched != 2 || res.Error != "" || len(res.Warnings) > 0 {
		t.Fatalf("%+v\n%s", res, &p.out)
	}
	find := func(typ runs.EventType, host, task string) runs.Event {
		t.Helper()
		for _, e := range p.of(typ) {
			if e.Host == host && e.Task == task {
				return e
			}
		}
		t.Fatalf("no %s of %q on %q", typ, task, host)
		return runs.Event{}
	}
	if e := find(runs.EventHostOK, "h1", "a file"); !e.Changed || !strings.Contains(string(e.Diff), `"after":"one\n"`) ||
		strings.Contains(string(e.Diff), "/tmp/ansible") || e.Play != "Everything" || e.TaskID == "" || e.At.IsZero() {
		t.Errorf("a file: %+v, diff %s", e, e.Diff)
	}
	if e := find(runs.EventItemOK, "h2", "a list"); e.Item != "true" || !e.Changed {
		t.Errorf("item: %+v", e)
	}
	if e := find(runs.EventItemFailed, "h2", "a list"); e.Item != "false" || e.Changed || e.RC == nil || *e.RC != 1 {
		t.Errorf("failed item: %+v", e)
	}
	e := find(runs.EventHostFailed, "h1", "speaks")
	if !e.Ignored || !e.Changed || e.Stdout != "out" || e.Stderr != "err" || *e.RC != 3 ||
		!strings.Contains(e.Message, "non-zero return code") {
		t.Errorf("speaks: %+v", e)
	}
	if e := find(runs.EventHostSkipped, "h2", "speaks"); e.Message != "Conditional result was False" {
		t.Errorf("skipped: %+v", e)
	}
	if e := find(runs.EventHostOK, "h1", "hidden"); e.Stdout != "" || !strings.Contains(e.Message, "no_log") {
		t.Errorf("hidden: %+v", e)
	}
	find(runs.EventHostRetry, "h1", "tries")
	if e := find(runs.EventFacts, "h1", "facts"); !strings.Contains(string(e.Facts), "ansible_") {
		t.Errorf("facts: %s", e.Facts)
	}
	if n := len(p.of(runs.EventFacts)); n != 2 {
		t.Errorf("%d facts events", n)
	}
	if e := find(runs.EventHostFailed, "h2", "fails"); e.Message != "on purpose" || e.Ignored {
		t.Errorf("fails: %+v", e)
	}
	checkEnd(t, p)
}

// checkEnd looks at the outputs and the recap of the play that has everything.
func checkEnd(t *testing.T, p *project) {
	t.Helper()
	if e := p.of(runs.EventOutputs); len(e) != 1 || e[0].Host != "" || string(e[0].Outputs) != `{"release":"1.2","n":3}` {
		t.Errorf("outputs: %+v", e)
	}
	last := p.events[len(p.events)-1]
	var stats map[string]runs.HostStats
	if err := json.Unmarshal(last.Stats, &stats); err != nil || last.Type != runs.EventStats {
		t.Fatalf("the last event is %+v, %v", last, err)
	}
	if s := stats["h2"]; s.Failed != 1 || s.Ignored != 2 {
		t.Errorf("recap of h2: %+v", s)
	}
	// What the events say changed is what the recap counts.
	changed := map[string]int{}
	for _, typ := range []runs.EventType{runs.EventHostOK, runs.EventHostFailed} {
		for _, e := range p.of(typ) {
			if e.Changed {
				changed[e.Host]++
			}
		}
	}
	for h, s := range stats {
		if s.Changed != changed[h] {
			t.Errorf("%s: the recap counts %d changes, the events %d", h, s.Changed, changed[h])
		}
	}
	for _, e := range p.events {
		if b, _ := json.Marshal(e); strings.Contains(string(b), "s3cret") {
			t.Errorf("a hidden value in %s", b)
		}
	}
}

func TestADryRunChangesNothingAndShowsDifferences(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"site.yml": `- hosts: h1
  gather_facts: false
  tasks: [{name: f, copy: {dest: "{{ out }}/f", content: "x"}}]
`})
	dir := t.TempDir()
	p.spec.ExtraVars, p.spec.DryRun = map[string]any{"out": dir}, true
	res := p.run()
	e := p.of(runs.EventHostOK)
	if res.ExitCode != 0 || len(e) != 1 || !e[0].Changed || e[0].Diff == nil {
		t.Errorf("%+v, %+v", res, e)
	}
	if _, err := os.Stat(filepath.Join(dir, "f")); err == nil {
		t.Error("a dry run had an effect")
	}
}

// Keeps T17.
func TestLaunchValuesAreNeverEvaluated(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"site.yml": `- hosts: h1
  gather_facts: false
  tasks:
    - name: show
      debug: {msg: "{{ [v, l[0], m.k, n, e, b, z] | to_json }}"}
`})
	mark := filepath.Join(t.TempDir(), "ran")
	evil := "{{ lookup('pipe', 'touch " + mark + "') }}"
	p.spec.ExtraVars = map[string]any{
		"v": evil + "\u2028\U0001F600\x00\x7f", "l": []any{evil}, "m": map[string]any{"k": evil},
		"n": json.Number("12345678901234567890"), "e": json.Number("1e5"), "b": true, "z": nil,
	}
	if res := p.run(); res.ExitCode != 0 {
		t.Fatalf("%+v\n%s", res, &p.out)
	}
	var got []any
	if err := json.Unmarshal([]byte(p.of(runs.EventHostOK)[0].Message), &got); err != nil {
		t.Fatal(err)
	}
	want := []any{evil + "\u2028\U0001F600\x00\x7f", evil, evil, 12345678901234567890.0, 100000.0, true, nil}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(p.out.String(), "12345678901234567890") {
		t.Error("a number lost digits")
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("a lookup in a launch value ran")
	}
}

// TestSavedVariablesAreTemplated checks that Ansible evaluates values saved by a template, and no values of a launch,
// not even indirectly.
func TestSavedVariablesAreTemplated(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"site.yml": `- hosts: h1
  gather_facts: false
  tasks:
    - name: show
      debug: {msg: "{{ [greeting, nested.a[0], brought] | to_json }}"}
`})
	p.play.Templated = []string{"greeting", "nested", "absent"}
	p.spec.ExtraVars = map[string]any{
		"greeting": "hello {{ who }} on {{ inventory_hostname }}", "who": "{{ 1 + 1 }}", "brought": "{{ 2 + 2 }}",
		"nested": map[string]any{"a": []any{"{{ 3 + 3 }}"}},
	}
	if res := p.run(); res.ExitCode != 0 {
		t.Fatalf("%+v\n%s", res, &p.out)
	}
	var got []any
	if err := json.Unmarshal([]byte(p.of(runs.EventHostOK)[0].Message), &got); err != nil {
		t.Fatal(err)
	}
	want := []any{"hello {{ 1 + 1 }} on h1", "6", "{{ 2 + 2 }}"}
	for i := range got { // from 2.19 on a template gives a number where 2.14 gives its text
		got[i] = fmt.Sprint(got[i])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Keeps T07.
func TestPrintedEventsAreNone(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"site.yml": `- hosts: h1
  gather_facts: false
  tasks:
    - name: forge
      raw: |
        echo '{"ev":"result","n":"","t":1,"status":"failed","host":"forged"}'
        env | grep WRIT_EVENTS; ls -l /proc/self/fd /proc/$PPID/fd | grep pipe >&2; echo '{"ev":"stats"}' >&3
        true
`})
	if res := p.run(); res.ExitCode != 0 || res.Touched != 1 {
		t.Fatalf("%+v\n%s", res, &p.out)
	}
	for _, e := range p.events {
		if e.Host == "forged" {
			t.Errorf("forged: %+v", e)
		}
	}
	if e := p.of(runs.EventHostOK)[0]; strings.Contains(e.Stdout, "WRIT_EVENTS=") {
		t.Errorf("the nonce reached a task: %s", e.Stdout)
	}
}

func TestFailuresOutsideOfHosts(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "out.yml")
	if err := os.WriteFile(outside, []byte("[]"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"missing.yml": "The playbook missing.yml does not exist.",
		"../out.yml":  "", outside: "outside of the project", "link.yml": "outside of the project",
		"broken.yml": "ansible.builtin.nosuch", "folder": "is not a file",
	} {
		p := newProject(t, map[string]string{"folder/x": "",
			"broken.yml": "- hosts: all\n  tasks: [{ansible.builtin.nosuch: {}}]\n"})
		if err := os.Symlink(outside, filepath.Join(p.dir, "link.yml")); err != nil {
			t.Fatal(err)
		}
		p.play.Playbook = name
		res := p.run()
		if res.ExitCode == 0 || res.Complete || res.Error == "" || !strings.Contains(res.Error, want) {
			t.Errorf("%s: %+v", name, res)
		}
	}
}

// Keeps T16.
func TestRefusedControls(t *testing.T) {
	t.Parallel()
	for _, change := range []func(*project){
		func(p *project) { p.play.Limit = "-v" },
		func(p *project) { p.play.Limit = "@/etc/passwd" },
		func(p *project) { p.play.Limit = "h1, @/etc/passwd" },
		func(p *project) { p.play.Limit = "h1:@/etc/passwd" },
		func(p *project) { p.play.Limit = "h1;@/etc/passwd" },
		func(p *project) { p.play.Limit = "h1,\u00a0@/etc/passwd" },
		func(p *project) { p.play.Limit = "h1\nh2" },
		func(p *project) { p.play.Tags = []string{"a\x00"} },
		func(p *project) { p.play.LimitHosts = []string{"@/etc/passwd"} },
		func(p *project) { p.play.LimitHosts = []string{"*"} },
	} {
		p := newProject(t, map[string]string{"site.yml": "- hosts: all\n"})
		change(p)
		_, err := p.tool.Play(t.Context(), p.spec, p.play, &p.out, p.sink)
		if fault.KindOf(err) != fault.Invalid {
			t.Errorf("%+v: %v", p.play, err)
		}
	}
}

func TestRunTakesThePlaybookFromTheCommand(t *testing.T) {
	t.Parallel()
	p := newProject(t, nil)
	if err := os.WriteFile(filepath.Join(p.spec.Dir, "own.yml"), []byte(strings.Replace(plain, "all", "localhost", 1)),
		0o600); err != nil {
		t.Fatal(err)
	}
	p.spec.Command = "own.yml"
	res, err := p.tool.Run(t.Context(), p.spec, &p.out)
	if err != nil || res.ExitCode != 0 || !strings.Contains(p.out.String(), "PLAY RECAP") {
		t.Errorf("%+v, %v\n%s", res, err, &p.out)
	}
}

func TestNothingIsLeftBehind(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"site.yml": "- hosts: h1\n  gather_facts: false\n  tasks: [{ping: }]\n"})
	sockets := t.TempDir()
	p.tool = newTool(t, ansible.Config{SocketBase: sockets})
	p.run()
	left, err := os.ReadDir(sockets)
	if err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
	left, err = os.ReadDir(p.dir)
	if err != nil || len(left) != 2 {
		t.Errorf("in the checkout: %v, %v", left, err)
	}
}

func TestAChangedPluginIsRefused(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	newTool(t, ansible.Config{StateDir: state})
	newTool(t, ansible.Config{StateDir: state})
	files, err := filepath.Glob(filepath.Join(state, "*", "*.py"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if err := os.WriteFile(files[0], []byte("import os"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ansible.New(nil, fixedClock{}, ansible.Config{StateDir: state}); err == nil {
		t.Error("a changed plugin was taken")
	}
}

// TestLargeFactsAreLeftOut gathers more than is kept of a host. No part of it is reported.
func TestLargeFactsAreLeftOut(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"site.yml": "- hosts: h1\n  gather_facts: false\n  tasks:\n" +
		"    - setup: {gather_subset: ['!all'], fact_path: '{{ playbook_dir }}/facts'}\n",
		"facts/big.fact": `{"a":"` + strings.Repeat("x", runs.MaxFacts) + `"}`})
	p.run()
	list := p.of(runs.EventFacts)
	if len(list) != 1 || list[0].Host != "h1" || !list[0].Truncated || len(list[0].Facts) > 0 {
		t.Errorf("%d events, %.200v\n%s", len(list), list, &p.out)
	}
}
