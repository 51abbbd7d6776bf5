package scenarios

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// quiet is a playbook that ends with exit code 0 and a warning, the settings of its run and the expected end.
type quiet struct {
	playbook, inventory string
	settings            harness.Body
	warned              string // a code
	reason              string // the beginning of the error; empty for a success
	checked             bool
}

// quietCases returns playbooks of a directory that touch no host, or not every host.
func quietCases(t *testing.T, dir string) []quiet {
	t.Helper()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	nobody := write("nobody.yml", "- hosts: nobody\n  gather_facts: false\n  tasks:\n    - ansible.builtin.ping:\n")
	near := "near ansible_connection=local ansible_python_interpreter=/usr/bin/python3\n"
	hosts := write("near.ini", near)
	// The play goes on after the loss of a host, and the tool then reports a success.
	far := write("far.yml", "- hosts: all\n  gather_facts: false\n  tasks:\n    - ansible.builtin.ping:\n"+
		"    - ansible.builtin.meta: clear_host_errors\n")
	apart := write("apart.ini", near+"far ansible_host=127.0.0.1 ansible_port=1\n")
	well := write("well.yml", "- hosts: all\n  gather_facts: false\n  tasks:\n    - ansible.builtin.ping:\n")
	on := func(names ...string) harness.Body { return harness.Body{"fail_on": names} }
	return []quiet{
		{playbook: nobody, inventory: hosts, settings: on("unreachable", "no_hosts"), warned: "no_hosts_matched",
			reason: "fail_on: no_hosts: The run touched no host."},
		{playbook: far, inventory: apart, settings: on("unreachable"), warned: "hosts_unreachable",
			reason: "fail_on: unreachable: Hosts that could not be reached: far (1)."},
		{playbook: nobody, inventory: hosts, settings: harness.Body{"fail_on": []string{"no_hosts"}, "shards": 2},
			warned: "no_hosts_matched", reason: "fail_on: no_hosts: "},
		{playbook: well, inventory: filepath.Join(dir, "none.ini"), settings: on("warnings"),
			warned: "inventory_path_missing", reason: "fail_on: warnings: "},
		{playbook: far, inventory: apart, settings: on("no_hosts"), warned: "hosts_unreachable"},
		{playbook: well, inventory: hosts, settings: harness.Body{"fail_on": []string{"warnings"}, "dry_run": true},
			checked: true},
	}
}

// quietSuccesses executes playbooks whose exit code 0 is a success only for who does not look. It executes all of them,
// and a template, or only the first ones.
func quietSuccesses(t *testing.T, s *harness.Server, all bool) {
	t.Helper()
	cases := quietCases(t, harness.Shared(t))
	if !all {
		cases = cases[:2]
	}
	ids := make([]string, len(cases))
	for i, c := range cases {
		b := harness.Body{"playbook": c.playbook, "inventory": c.inventory}
		for k, v := range c.settings {
			b[k] = v
		}
		ids[i] = s.Submit(b).ID
	}
	if all {
		quietTemplate(t, s, cases[0])
	}
	for i, c := range cases {
		checkQuiet(t, s, s.Await(ids[i]), c)
	}
}

// quietTemplate launches a template of a case, and repeats its run.
func quietTemplate(t *testing.T, s *harness.Server, c quiet) {
	t.Helper()
	var made struct {
		ID string `json:"id"`
	}
	s.Do(http.MethodPost, "/v1/templates", harness.Body{"name": "nobody", "playbook": c.playbook,
		"inventory": c.inventory, "fail_on": []string{"no_hosts"}}).JSON(t, &made)
	launched := s.Await(s.Act("/v1/templates/" + made.ID + "/launch").ID)
	for _, r := range []harness.Run{launched, s.Await(s.Act("/v1/runs/" + launched.ID + "/rerun").ID)} {
		if r.Status != "failed" || r.Error != c.reason || !slices.Equal(r.FailOn, []string{"no_hosts"}) {
			t.Errorf("of a template, by %s: %s, %q, %v", r.Source, r.Status, r.Error, r.FailOn)
		}
	}
}

func checkQuiet(t *testing.T, s *harness.Server, r harness.Run, c quiet) {
	t.Helper()
	what := filepath.Base(c.playbook)
	want := "succeeded"
	if c.reason != "" {
		want = "failed"
	}
	if r.Status != want || !strings.HasPrefix(r.Error, c.reason) || (c.reason == "") != (r.Error == "") ||
		r.Checked != c.checked || c.warned != "" && !r.Warned(c.warned) {
		t.Errorf("%s %v: %s, %q, checked %t, %v\n%s", what, c.settings, r.Status, r.Error, r.Checked, r.Warnings,
			s.Log(r.ID))
	}
	if r.Kind == "single" {
		checkJournal(t, s.Client, r)
	}
	rows, _ := s.Runs("limit=1000&status=" + want)
	at := slices.IndexFunc(rows, func(x harness.Run) bool { return x.ID == r.ID })
	if at < 0 || rows[at].Checked != c.checked {
		t.Errorf("%s %v: the list of those that %s has it at %d", what, c.settings, want, at)
	}
}
