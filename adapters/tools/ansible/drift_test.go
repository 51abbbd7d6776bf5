package ansible_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/runs"
)

const checked = `- hosts: h1
  gather_facts: false
  roles: [web]
  tasks:
    - name: lines
      lineinfile: {path: "{{ out }}/lines", line: "{{ item }}", create: true}
      loop: [a, b]
    - name: really
      command: echo
      check_mode: false
    - name: hidden
      copy: {dest: "{{ out }}/s3cret", content: x}
      no_log: true
    - name: same
      file: {path: "{{ out }}", state: directory}
    - name: either
      command: {cmd: echo, creates: /none}
      check_mode: "{{ true }}"
  handlers:
    - name: both
      listen: web
      command: echo
`

// TestADryRunTellsWhatDiffers checks the members of events from which drift is read.
func TestADryRunTellsWhatDiffers(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"site.yml": checked,
		"roles/web/tasks/main.yml": "- name: conf\n  ansible.builtin.template: {src: a.j2, dest: '{{ out }}/conf'}\n" +
			"  notify: [reload, web]\n",
		"roles/web/handlers/main.yml": "- name: reload\n  command: echo\n", "roles/web/templates/a.j2": "a\n"})
	out := t.TempDir()
	p.spec.ExtraVars, p.spec.DryRun = map[string]any{"out": out}, true
	if res := p.run(); res.ExitCode != 0 {
		t.Fatalf("%+v\n%s", res, &p.out)
	}
	type begun struct {
		Action, Path, Role string
		Handler, Check     bool
	}
	tasks := map[string]begun{}
	for _, e := range p.of(runs.EventTaskStarted) {
		tasks[e.Task] = begun{e.Action, e.Path, e.Role, e.Handler, e.CheckMode}
	}
	want := map[string]begun{
		"web : conf": {"template", "roles/web/tasks/main.yml:1", "web", false, true},
		"lines":      {"lineinfile", "site.yml:5", "", false, true}, "really": {"command", "site.yml:8", "", false, false},
		"hidden": {"copy", "site.yml:11", "", false, true}, "same": {"file", "site.yml:14", "", false, true},
		"either":       {"command", "site.yml:16", "", false, false},
		"web : reload": {"command", "roles/web/handlers/main.yml:1", "web", true, true},
		"both":         {"command", "site.yml:20", "", true, true},
	}
	if d := cmp.Diff(want, tasks); d != "" {
		t.Error(d)
	}
	about := map[string]string{}
	for _, typ := range []runs.EventType{runs.EventHostOK, runs.EventItemOK} {
		for _, e := range p.of(typ) {
			about[strings.TrimSpace(e.Task+" "+e.Item)] = strings.ReplaceAll(e.Resource, out, "") + "|" +
				strings.Join(e.Notified, ",")
		}
	}
	if d := cmp.Diff(map[string]string{"web : conf": "template /conf|web : reload,both", "lines": "|",
		"lines a": "lineinfile /lines|", "lines b": "lineinfile /lines|", "really": "|", "hidden": "|", "same": "|",
		"either": "|"}, about); d != "" {
		t.Error(d)
	}
}
