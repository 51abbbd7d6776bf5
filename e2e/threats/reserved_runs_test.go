package threats

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// attacks are variables that each execute the program by themselves.
func (w *trap) attacks() map[string]map[string]any {
	return map[string]map[string]any{
		"interpreter": {"ansible_connection": "local", "ansible_python_interpreter": w.evil},
		"executable":  {"ansible_connection": "ssh", "ansible_ssh_executable": w.evil},
		"arguments":   {"ansible_connection": "ssh", "ansible_ssh_common_args": "-o ProxyCommand=" + w.evil},
		"become":      {"ansible_connection": "local", "ansible_become": true, "ansible_become_exe": w.evil},
	}
}

// everything is an object with every name, each with what would execute the program.
func (w *trap) everything(nested bool) map[string]any {
	out := map[string]any{}
	for _, name := range names() {
		if !nested || len(forms(name, nil)) > 1 {
			out[name] = w.value(name)
		}
	}
	return out
}

// outputsPlay uses an output as an environment and as a host, and sets reserved names itself.
const outputsPlay = `
- hosts: all
  connection: local
  gather_facts: false
  tasks:
    - ansible.builtin.command: /bin/bash -c true
      environment: "{{ settings }}"
    - ansible.builtin.add_host: {name: 127.0.0.1}
      args: "{{ machine }}"
    - ansible.builtin.set_stats:
        data: {ansible_connection: local, PATH: EVIL, good: 1, list: [{LD_PRELOAD: EVIL, name: a}], MINE: 2}
- hosts: 127.0.0.1
  gather_facts: false
  ignore_unreachable: true
  tasks: [{ansible.builtin.ping: }]
`

// exports takes all variables into the environment, starts what reads it, and prints the names.
const exports = `
eval "$(/usr/bin/python3 -c 'import json, os, shlex
v = json.load(open(os.environ["WRIT_VARS"]))
print("\n".join("export %s=%s" % (k, shlex.quote(str(x))) for k, x in v.items() if k.isidentifier()))')"
bash -c true; sh -c true; python3 -c pass; git --version
echo "names $(/usr/bin/python3 -c 'import json, os; print(*sorted(json.load(open(os.environ["WRIT_VARS"]))))')"
echo "mine $WRIT_VAR_MINE"
`

// TestReservedOutputsSteerNothing is T41 for outputs: a workflow of a viewer whose first step sets every name, at the
// top and nested, and whose later steps use what they get.
// Keeps T41.
func TestReservedOutputsSteerNothing(t *testing.T) {
	t.Parallel()
	harness.EachUser(t, func(t *testing.T, o harness.Options, first bool) {
		w := newTrap(t, o)
		play := w.file("outputs.yml", strings.ReplaceAll(outputsPlay, "EVIL", w.evil))
		if first { // what the server drops does execute the program
			control := w.Await(w.Submit(harness.Body{"playbook": play, "inventory": "h,", "extra_vars": harness.Body{
				"ansible_python_interpreter": w.evil, "settings": harness.Body{}, "machine": harness.Body{}}}).ID)
			if _, err := os.Stat(filepath.Join(w.dir, "canary")); err != nil || control.Status != "failed" {
				t.Errorf("an operator's own run did not: %s %v\n%s", control.Status, err, w.Log(control.ID))
			}
			if err := os.Remove(filepath.Join(w.dir, "canary")); err != nil {
				t.Fatal(err)
			}
		}
		step := func(name string, outputs map[string]any) harness.Body {
			text, err := json.Marshal(outputs)
			if err != nil {
				t.Fatal(err)
			}
			return harness.Body{"name": name, "tool": "bash",
				"command": "cat >$WRIT_OUTPUTS <<'EOF'\n" + string(text) + "\nEOF\n"}
		}
		machine := w.attacks()[map[bool]string{true: "executable", false: "arguments"}[first]]
		attack := map[string]any{"settings": map[string]any{"BASH_ENV": w.evil}, "machine": machine}
		if !first { // an interpreter that is none ends a play before its other attacks
			maps.Copy(attack, w.attacks()["interpreter"])
		}
		all := w.everything(false)
		all["objects"], all["kept"], all["mine"] = []any{w.everything(true)}, "yes", "an output's"
		flow := w.template(harness.Body{"extra_vars": harness.Body{"mine": "the author's"}, "inventory": "h,", "steps": []any{
			step("attack", attack), harness.Body{"name": "play", "playbook": play}, step("all", all),
			harness.Body{"name": "last", "tool": "bash", "command": exports},
		}})
		var r harness.Run
		w.viewer.Do(http.MethodPost, "/v1/templates/"+flow+"/launch", harness.Body{}).JSON(t, &r)
		if r = w.Await(r.ID); r.Status != "succeeded" {
			t.Errorf("the workflow is %s (%s)", r.Status, r.Error)
		}
		last := "names good kept list machine mine objects settings\nmine the author's\n"
		for i, want := range []string{"", "", "", last} {
			if i >= len(r.Steps) || r.Steps[i].RunID == "" {
				t.Fatalf("steps %v", r.Steps)
			}
			step := w.Get(r.Steps[i].RunID)
			log := w.Log(step.ID)
			if step.Warned("vars_reserved") != (i < 3) || !strings.HasSuffix(log, want) {
				t.Errorf("step %s: warnings %v\n%s", step.StepName, step.Warnings, log)
			}
		}
	})
}

// sourcePlay prints what the inventory says, over the play's own connection and over the inventory's.
const sourcePlay = `
- hosts: all
  connection: local
  gather_facts: false
  tasks:
    - ansible.builtin.ping:
    - ansible.builtin.debug: {msg: "{{ text }} {{ nested }} {{ shared | default('') }}"}
- hosts: all
  gather_facts: false
  ignore_unreachable: true
  tasks: [{ansible.builtin.ping: }]
`

// TestSourcedInventoriesSteerNothing is T41 and T42 for inventories: every name and a template come as variables of a
// host and of a group, from a page and from a program.
// Keeps T41, T42.
func TestSourcedInventoriesSteerNothing(t *testing.T) {
	t.Parallel()
	harness.EachUser(t, func(t *testing.T, o harness.Options, first bool) {
		w := newTrap(t, o)
		lookup := "{{ lookup('pipe', '" + w.evil + "') }}"
		hosts := w.attacks()
		hosts["everything"], hosts["templates"] = w.everything(false), map[string]any{}
		for _, vars := range hosts {
			vars["ansible_host"], vars["ansible_port"], vars["text"], vars["nested"] = "127.0.0.1", 1, "plain", []any{}
		}
		hosts["templates"]["text"] = lookup
		hosts["templates"]["nested"] = []any{lookup, harness.Body{"deep": lookup, "x": w.everything(true)}}
		group := w.everything(false)
		group["shared"] = lookup
		text, err := json.Marshal(harness.Body{"_meta": harness.Body{"hostvars": hosts},
			"web":   harness.Body{"hosts": slices.Sorted(maps.Keys(hosts))},
			"other": harness.Body{"hosts": []string{"everything"}, "vars": group}})
		if err != nil {
			t.Fatal(err)
		}
		page := httptest.NewServer(http.HandlerFunc(func(a http.ResponseWriter, _ *http.Request) {
			a.Header().Set("Content-Type", "application/json")
			_, _ = a.Write(text)
		}))
		t.Cleanup(page.Close)
		body := harness.Body{"kind": "http", "config": harness.Body{"url": page.URL}}
		if !first {
			body = harness.Body{"kind": "script",
				"config": harness.Body{"content": "#!/bin/sh\ncat <<'EOF'\n" + string(text) + "\nEOF\n"}}
		}
		inventory := w.id("/v1/inventories", harness.Body{"name": "estate", "content": "h\n"})
		body["name"], body["inventory_id"], body["update_on_launch"] = "cmdb", inventory, true
		source := w.id("/v1/inventory-sources", body)
		w.id("/v1/grants", harness.Body{"subject": "user:" + w.viewerID, "object": inventory, "level": "use"})
		id := w.template(harness.Body{"playbook": w.file("source.yml", sourcePlay), "inventory_id": inventory})
		var r harness.Run
		w.viewer.Do(http.MethodPost, "/v1/templates/"+id+"/launch", harness.Body{}).JSON(t, &r)
		r = w.Await(r.ID)
		log := w.Log(r.ID)
		if r.Status != "succeeded" || !r.Warned("vars_reserved") || r.HostsTouched == nil || *r.HostsTouched != len(hosts) ||
			strings.Count(log, "lookup('pipe'") != 4 || strings.Count(log, "UNREACHABLE!") != len(hosts) {
			t.Errorf("the run is %s (%s), hosts %v, warnings %v\n%s", r.Status, r.Error, r.Hosts, r.Warnings, log)
		}
		read := w.Do(http.MethodGet, "/v1/inventory-sources/"+source, nil)
		if !strings.Contains(string(read.Body), `"vars_reserved"`) {
			t.Errorf("the source: %s", read.Body)
		}
		operator := w.id("/v1/users", harness.Body{"username": "operator", "role": "operator"})
		w.id("/v1/grants", harness.Body{"subject": "user:" + operator, "object": inventory, "level": "manage"})
		body["trusted"] = true
		a := w.token(operator).Do(http.MethodPut, "/v1/inventory-sources/"+source, body)
		if a.Status != http.StatusForbidden {
			t.Errorf("an operator trusts: %d %s", a.Status, a.Body)
		}
	})
}
