package ansible_test

import (
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/runs"
)

// TestPingPlaybook checks that the playbook of every executor reaches all hosts, that a file of the work directory
// comes first, and that a checkout without the file has none.
func TestPingPlaybook(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{})
	p.play.Playbook, p.play.Confined = execution.PingPlaybook, false
	if res := p.run(); res.ExitCode != 0 || res.Touched != 3 || len(p.of(runs.EventHostOK)) != 3 {
		t.Errorf("%+v\n%s", res, &p.out)
	}
	own := newProject(t, map[string]string{execution.PingPlaybook: "- hosts: h1\n  gather_facts: false\n  tasks: []\n"})
	own.play.Playbook = execution.PingPlaybook
	if res := own.run(); res.ExitCode != 0 || len(own.of(runs.EventHostOK)) != 0 {
		t.Errorf("a file of that name was not taken: %+v\n%s", res, &own.out)
	}
	confined := newProject(t, map[string]string{})
	confined.play.Playbook, confined.play.Confined = execution.PingPlaybook, true
	if res := confined.run(); !strings.Contains(res.Error, "does not exist") {
		t.Errorf("a checkout has it: %+v", res)
	}
}
