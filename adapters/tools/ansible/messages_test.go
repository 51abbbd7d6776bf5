package ansible_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/platform/ansibletest"
	"github.com/writ-automation/writ/ports/runs"
)

const warner = `#!/usr/bin/python3
from ansible.module_utils.basic import AnsibleModule
module = AnsibleModule(argument_spec={})
module.warn('the module warns: a long-winded text that Ansible breaks at the width of a terminal in its log')
module.deprecate('the module is outdated', version='99.0', collection_name='ansible.builtin')
module.exit_json(changed=False)
`

// TestWarningsOfModulesAreEvents runs a module that warns, on two hosts: Ansible says each text once.
func TestWarningsOfModulesAreEvents(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"library/warner.py": warner,
		"site.yml": "- hosts: web\n  gather_facts: false\n  tasks: [{warner: }, {debug: {msg: '{{ x }}'}}]\n  vars: {x: " +
			"a, name: b}\n"})
	if res := p.run(); res.ExitCode != 0 || len(res.Warnings) > 0 {
		t.Fatalf("%+v\n%s", res, &p.out)
	}
	var got []string
	for _, e := range p.of(runs.EventWarning) {
		if strings.Contains(e.Message, "the module") {
			got = append(got, e.Message)
		}
	}
	slices.Sort(got)
	want := []string{
		"Deprecated: the module is outdated",
		"the module warns: a long-winded text that Ansible breaks at the width of a terminal in its log",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s\n%s", diff, &p.out)
	}
}

func TestAnIgnoredUnreachableHost(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{
		"inventory": "h1 ansible_connection=ssh ansible_host=127.0.0.1 ansible_port=9\n",
		"site.yml": "- hosts: all\n  gather_facts: false\n  vars: {yes_it_is: true}\n  tasks: [{ping: , " +
			"ignore_unreachable: '{{ yes_it_is }}'}, {ping: }]\n",
	})
	p.run()
	var ignored []bool
	for _, e := range p.of(runs.EventHostUnreachable) {
		ignored = append(ignored, e.Ignored)
	}
	if diff := cmp.Diff([]bool{true, false}, ignored); diff != "" {
		t.Errorf("%s\n%s", diff, &p.out)
	}
}

// TestTheVersionOfAnsible compares what a play tells with what the program tells of itself.
func TestTheVersionOfAnsible(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"site.yml": strings.Replace(plain, "all", "h1", 1)})
	res := p.run()
	out, err := exec.Command(ansibletest.Program("ansible-playbook"), "--version").Output()
	if want := "[core " + res.Version + "]"; err != nil || res.Version == "" || !strings.Contains(string(out), want) {
		t.Errorf("the play tells %q, %v\n%s", res.Version, err, out)
	}
	p.play.Playbook = "none.yml"
	if res := p.run(); res.Version != "" {
		t.Errorf("a play that did not begin was executed by %s", res.Version)
	}
}
