package threats

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/ports/depthtest"
	"github.com/writ-automation/writ/ports/reserved/reservedtest"
)

// names lists every known name by which a variable steers a tool.
func names() []string {
	return slices.Concat(reservedtest.Ansible(), reservedtest.Magic(), reservedtest.Environment())
}

// forms puts a name into variables: at the top, and as a member of objects and lists. Magic variables count only at the
// top.
func forms(name string, value any) []map[string]any {
	out := []map[string]any{{name: value}}
	if slices.Contains(reservedtest.Magic(), name) && !strings.HasPrefix(name, "ansible_") {
		return out
	}
	member := map[string]any{"a": 1, name: value}
	return append(out, map[string]any{"x": member}, map[string]any{"x": []any{"a", []any{map[string]any{"y": member}}}})
}

// trap is a server and a program that leaves a mark wherever something executes it.
type trap struct {
	*harness.Server
	t             *testing.T
	dir, evil     string
	viewer        harness.Client // may use what the admin grants, and nothing else
	viewerID      string
	templatesMade int
}

func newTrap(t *testing.T, o harness.Options) *trap {
	t.Helper()
	w := &trap{t: t, dir: t.TempDir()}
	w.evil = w.file("evil", "#!/bin/sh\necho \"$0 $*\" >>"+w.dir+"/canary\nexit 1\n")
	t.Cleanup(w.untouched)
	o.Flags = append(o.Flags, "--allow-private-egress", "127.0.0.1/32")
	w.Server = harness.Start(t, o)
	w.viewerID = w.id("/v1/users", harness.Body{"username": "viewer", "role": "viewer"})
	token, _ := w.want(http.StatusCreated, "/v1/tokens", harness.Body{"name": "x", "user_id": w.viewerID})["token"].(string)
	w.viewer = w.As(token)
	return w
}

func (w *trap) file(name, text string) string {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		w.t.Fatal(err)
	}
	return path
}

func (w *trap) want(status int, path string, body harness.Body) map[string]any {
	w.t.Helper()
	a := w.Do(http.MethodPost, path, body)
	if a.Status != status {
		w.t.Fatalf("POST %s: %d %s", path, a.Status, a.Body)
	}
	out := map[string]any{}
	if len(a.Body) > 0 {
		a.JSON(w.t, &out)
	}
	return out
}

func (w *trap) id(path string, body harness.Body) string {
	w.t.Helper()
	id, _ := w.want(http.StatusCreated, path, body)["id"].(string)
	return id
}

// template saves a template that the viewer may use.
func (w *trap) template(body harness.Body) string {
	w.t.Helper()
	w.templatesMade++
	body["name"] = fmt.Sprint("template ", w.templatesMade)
	id := w.id("/v1/templates", body)
	w.id("/v1/grants", harness.Body{"subject": "user:" + w.viewerID, "object": id, "level": "use"})
	return id
}

// untouched checks that nothing executed the program.
func (w *trap) untouched() {
	w.t.Helper()
	if b, err := os.ReadFile(filepath.Join(w.dir, "canary")); err == nil {
		w.t.Errorf("executed: %s", b)
	}
}

// value is what a variable of this name would need to execute the program.
func (w *trap) value(name string) any {
	switch {
	case name == "ansible_connection":
		return "local"
	case name == "ansible_become":
		return true
	case strings.HasSuffix(name, "_args"), strings.HasSuffix(name, "_flags"):
		return "-o ProxyCommand=" + w.evil
	case name == "PATH":
		return w.dir
	default:
		return w.evil
	}
}

// tools are the bodies of templates for each tool.
func (w *trap) tools() map[string]harness.Body {
	play := w.file("play.yml", "- hosts: all\n  connection: local\n  tasks: [{ansible.builtin.ping: }]\n")
	return map[string]harness.Body{
		"ansible":    {"playbook": play, "inventory": "h,"},
		"bash":       {"tool": "bash", "command": "true"},
		"python":     {"tool": "python", "command": "pass"},
		"powershell": {"tool": "powershell", "command": "exit"},
		"go":         {"tool": "go", "command": "package main\nfunc main() {}\n"},
		"a workflow": {"steps": []any{harness.Body{"name": "a", "tool": "bash", "command": "true"}}},
	}
}

// TestReservedNamesAreRefused is T41 where a user chooses variables: a launch of each tool by a viewer, the survey of a
// template, the answers of a schedule, and the body of a hook. The quick run has one tool and one form for each name.
func TestReservedNamesAreRefused(t *testing.T) {
	t.Parallel()
	w := newTrap(t, harness.Options{})
	refused := func(a harness.Answer, at, name string) {
		t.Helper()
		if a.Status != http.StatusBadRequest || !strings.Contains(string(a.Body), `"reason":"vars_reserved"`) ||
			!strings.Contains(string(a.Body), `"location":"`+at) {
			t.Errorf("%s at %s: %d %s", name, at, a.Status, a.Body)
		}
	}
	tools := w.tools()
	n := 0
	for i, tool := range slices.Sorted(maps.Keys(tools)) {
		body := tools[tool]
		body["allow_overrides"] = []string{"extra_vars"}
		id := w.template(body)
		for j, name := range names() {
			for k, vars := range forms(name, w.value(name)) {
				if !depthtest.Long && (j+k)%len(tools) != i {
					continue
				}
				n++
				refused(w.viewer.Do(http.MethodPost, "/v1/templates/"+id+"/launch", harness.Body{"extra_vars": vars}),
					"extra_vars.", tool+" "+name)
			}
		}
	}
	for j, name := range names() {
		if name == "BASH_FUNC_ls%%" || !depthtest.Long && j%4 > 0 {
			continue // not the name of a question; every fourth in the quick run
		}
		refused(w.Do(http.MethodPost, "/v1/templates", harness.Body{"name": "asks", "tool": "bash", "command": "true",
			"survey": []any{harness.Body{"var": name, "type": "text"}}}), "survey[0].var", name)
	}
	asks := w.template(harness.Body{"tool": "bash", "command": "echo got $WRIT_VAR_ANSIBLE_USER", "allowed_vars": []string{"ansible_user"},
		"survey": []any{harness.Body{"var": "ansible_user", "type": "text"}}})
	for _, name := range []string{"ansible_connection", "PATH"} {
		a := w.Do(http.MethodPost, "/v1/schedules", harness.Body{"name": "s", "cron": "0 0 1 1 *", "template_id": asks,
			"answers": harness.Body{name: "x"}})
		if a.Status != http.StatusBadRequest || !strings.Contains(string(a.Body), "answers."+name) {
			t.Errorf("a schedule with %s: %d %s", name, a.Status, a.Body)
		}
	}
	a := w.viewer.Do(http.MethodPost, "/v1/templates/"+asks+"/launch",
		harness.Body{"answers": harness.Body{"ansible_user": "deploy"}})
	var r harness.Run
	if a.JSON(t, &r); a.Status != http.StatusCreated || !strings.Contains(w.Log(w.Await(r.ID).ID), "got deploy") {
		t.Errorf("an allowed answer: %d %s", a.Status, a.Body)
	}
	if a := w.viewer.Do(http.MethodPost, "/v1/runs", harness.Body{"tool": "bash", "command": "true"}); a.Status != 403 {
		t.Errorf("a viewer submits: %d %s", a.Status, a.Body)
	}
	w.hook()
	t.Logf("%d launches", n)
}

// hook delivers a body with every name, beside the push and in it.
func (w *trap) hook() {
	w.t.Helper()
	push := harness.Body{"ref": "refs/heads/main", "after": strings.Repeat("a", 40)}
	for _, name := range names() {
		push[name] = w.value(name)
	}
	push["repository"] = harness.Body{"full_name": "ops/site", "ansible_connection": "local", "PATH": w.dir}
	id := w.template(harness.Body{"tool": "bash", "command": "cat $WRIT_VARS"})
	path, _ := w.want(http.StatusCreated, "/v1/triggers", harness.Body{"name": "t", "template_id": id,
		"require_signature": false})["hook_path"].(string)
	a := w.As("").Do(http.MethodPost, path, push, "X-GitHub-Event", "push", "X-GitHub-Delivery", "1")
	var made struct {
		RunID string `json:"run_id"`
	}
	a.JSON(w.t, &made)
	log := w.Log(w.Await(made.RunID).ID)
	want := `{"writ_push":{"ref":"refs/heads/main","branch":"main","commit":"` + strings.Repeat("a", 40) +
		`","repository":"ops/site","pusher":""}}`
	if a.Status != http.StatusAccepted || strings.TrimSpace(log) != want {
		w.t.Errorf("a hook: %d %s: %s", a.Status, a.Body, log)
	}
}

// users runs a test as the user of the tests, and as another one where that is root. The other one may also read the
// binary and what the tests wrote.
func users(t *testing.T, test func(t *testing.T, o harness.Options, first bool)) {
	t.Helper()
	t.Run("this user", func(t *testing.T) { t.Parallel(); test(t, harness.Options{}, true) })
	if os.Geteuid() != 0 {
		return
	}
	t.Run("nobody", func(t *testing.T) {
		t.Parallel()
		who, err := user.Lookup("nobody")
		if err != nil {
			t.Fatal(err)
		}
		uid, _ := strconv.Atoi(who.Uid)
		dir := t.TempDir()
		if err := errors.Join(os.Chown(dir, uid, -1), os.Chmod(filepath.Dir(dir), 0o755)); err != nil {
			t.Fatal(err)
		}
		test(t, harness.Options{Dir: dir, Wrap: []string{"setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups",
			"--inh-caps", "+dac_override", "--ambient-caps", "+dac_override"}}, false)
	})
}

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
func TestReservedOutputsSteerNothing(t *testing.T) {
	t.Parallel()
	users(t, func(t *testing.T, o harness.Options, first bool) {
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
			return harness.Body{"name": name, "tool": "bash", "command": "cat >$WRIT_OUTPUTS <<'EOF'\n" + string(text) + "\nEOF\n"}
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
func TestSourcedInventoriesSteerNothing(t *testing.T) {
	t.Parallel()
	users(t, func(t *testing.T, o harness.Options, first bool) {
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
			"web": harness.Body{"hosts": slices.Sorted(maps.Keys(hosts))}, "other": harness.Body{"hosts": []string{"everything"}, "vars": group}})
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
			body = harness.Body{"kind": "script", "config": harness.Body{"content": "#!/bin/sh\ncat <<'EOF'\n" + string(text) + "\nEOF\n"}}
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
		if !strings.Contains(string(read.Body), `"vars_reserved"`) || strings.Contains(string(read.Body), "ansible_port,") {
			t.Errorf("the source: %s", read.Body)
		}
		operator := w.id("/v1/users", harness.Body{"username": "operator", "role": "operator"})
		token, _ := w.want(http.StatusCreated, "/v1/tokens", harness.Body{"name": "x", "user_id": operator})["token"].(string)
		w.id("/v1/grants", harness.Body{"subject": "user:" + operator, "object": inventory, "level": "manage"})
		body["trusted"] = true
		if a := w.As(token).Do(http.MethodPut, "/v1/inventory-sources/"+source, body); a.Status != http.StatusForbidden {
			t.Errorf("an operator trusts: %d %s", a.Status, a.Body)
		}
	})
}
