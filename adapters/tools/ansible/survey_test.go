package ansible_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/adapters/tools/ansible"
	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

func TestSurvey(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{
		"site.yml": `- import_playbook: more.yml
- hosts: web
  serial: [1, "40%"]
  any_errors_fatal: "{{ x | bool }}"
  max_fail_percentage: 0
  vars: {secret: !vault "x"}
  roles: [{role: base}, "{{ templated }}", ../../etc]
  tasks:
    - block:
        - include_tasks: tasks/one.yml
      rescue:
        - ansible.builtin.include_role: {name: other, tasks_from: extra}
- hosts: [db, localhost]
  any_errors_fatal: false
  tasks: [{debug: {msg: x}, run_once: false}]
`,
		"more.yml":                    "- hosts: localhost\n- import_playbook: site.yml\n",
		"tasks/one.yml":               "- command: x\n  run_once: true\n- include_tasks: one.yml\n",
		"roles/base/tasks/main.yml":   "- debug:\n- debug:\n  run_once: yes\n",
		"roles/other/tasks/extra.yml": "- meta: noop\n  run_once: '{{ x }}'\n",
	})
	got, err := p.tool.Survey(t.Context(), p.play)
	if err != nil {
		t.Fatal(err)
	}
	var places []string
	for _, w := range got {
		if w.Code != runs.WarnShardSemantics {
			t.Errorf("code %s", w.Code)
		}
		place, _, _ := strings.Cut(w.Message, "):")
		places = append(places, place)
	}
	want := []string{
		"serial (site.yml:3",
		"run_once (tasks/one.yml:2, roles/other/tasks/extra.yml:2, roles/base/tasks/main.yml:3",
		"any_errors_fatal (site.yml:4", "max_fail_percentage (site.yml:5", "localhost (more.yml:1, site.yml:13",
	}
	if diff := cmp.Diff(want, places); diff != "" {
		t.Error(diff)
	}
}

func TestSurveyOfWhatIsNotThere(t *testing.T) {
	t.Parallel()
	tool := newTool(t, ansible.Config{})
	_, err := tool.Survey(t.Context(), execution.Play{WorkDir: t.TempDir(), Confined: true, Playbook: "nosuch.yml"})
	if fault.KindOf(err) != fault.Invalid {
		t.Errorf("got %v", err)
	}
}
