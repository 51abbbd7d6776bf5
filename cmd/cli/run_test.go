package cli

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/cmd/cli/internal/apidoc"
)

// names are objects that a fake server finds by their names.
func names() map[string]any {
	return map[string]any{
		"GET /v1/inventories": obj{"inventories": []obj{{"id": "inv_1", "name": "web"}}, "total": 1},
		"GET /v1/projects":    obj{"projects": []obj{{"id": "prj_1", "name": "site"}}, "total": 1},
		"GET /v1/credentials": obj{"credentials": []obj{{"id": "crd_1", "name": "key"}}, "total": 1},
		"GET /v1/templates":   obj{"templates": []obj{{"id": "tpl_1", "name": "deploy"}}, "total": 1},
	}
}

// sent returns the body of the last request for a path.
func (f *fakeServer) sent(t *testing.T, want string) string {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := len(f.requests) - 1; i >= 0; i-- {
		if strings.HasPrefix(f.requests[i], want) {
			raw, err := json.Marshal(f.bodies[i])
			if err != nil {
				t.Fatal(err)
			}
			return string(raw)
		}
	}
	t.Fatalf("nobody asked %q", want)
	return ""
}

// TestRunReachesEveryMember has a flag for each member of a submission, or --set.
func TestRunReachesEveryMember(t *testing.T) {
	t.Parallel()
	f := newFakeServer(t, obj{"id": "run_1"}).with(names())
	submit, _ := apidoc.Find("submit-run")
	var want []string
	for _, m := range submit.Body {
		if m.Name != "$schema" {
			want = append(want, m.Name)
		}
	}
	slices.Sort(want)
	args := []string{"run", "site.yml", "--tool", "ansible", "-i", "web", "--project", "site", "--credential", "key",
		"-l", "a",
		"-t", "a", "--skip-tags", "b", "-e", "a=1", "--env", "a=1", "--label", "a=1", "--name", "n", "--change", "c",
		"--queue", "q", "--shards", "2", "--forks", "3", "-v", "--priority", "1", "--timeout", "1m", "-n", "--diff",
		"--require-approval", "--fail-on", "any", "--lock", "l", "--exclusive-hosts", "--inventory-query", "a=b",
		"--set", `notifications:=[{"kind":"email"}]`}
	code, _, errs := call(t, f, args...)
	var body map[string]any
	if err := json.Unmarshal([]byte(f.sent(t, "POST /v1/runs ")), &body); err != nil || code != exitDone {
		t.Fatalf("exit %d, %s %v", code, errs, err)
	}
	// A run has one kind of input: the path of an inventory and a script are sent by other calls below.
	got := append(slices.Sorted(maps.Keys(body)), "command", "inventory")
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("members without a flag (-), unknown ones (+):\n%s", diff)
	}
	for member, want := range map[string]any{"inventory_id": "inv_1", "project_id": "prj_1",
		"credential_ids": []any{"crd_1"}, "playbook": "site.yml"} {
		if diff := cmp.Diff(want, body[member]); diff != "" {
			t.Errorf("%s: %s", member, diff)
		}
	}
}

func TestRunNames(t *testing.T) {
	t.Parallel()
	f := newFakeServer(t, obj{"id": "run_1"}).with(names())
	for _, c := range []struct {
		args []string
		code int
		want string // the body, or the error
	}{
		{[]string{"-p", "x", "-i", "web"}, exitDone, `{"inventory_id":"inv_1","playbook":"x"}`},
		{[]string{"-p", "x", "-i", "./web"}, exitDone, `{"inventory":"./web","playbook":"x"}`},
		{[]string{"-p", "x", "-i", "web.ini"}, exitDone, `{"inventory":"web.ini","playbook":"x"}`},
		{[]string{"-p", "x", "-i", "localhost,"}, exitDone, `{"inventory":"localhost,","playbook":"x"}`},
		{[]string{"-p", "x", "--inventory-id", "web"}, exitDone, `{"inventory_id":"inv_1","playbook":"x"}`},
		{[]string{"-p", "x", "--project-id", "site", "--credential-id", "key"}, exitDone,
			`{"credential_ids":["crd_1"],"playbook":"x","project_id":"prj_1"}`},
		{[]string{"-c", "true", "--tool", "bash", "--set", "name=a=b"}, exitDone,
			`{"command":"true","name":"a=b","tool":"bash"}`},
		{[]string{"-p", "x", "-i", "hosts"}, exitFailed,
			"there is no inventory \"hosts\"; there are web\n  for a file on the executing machine write ./hosts\n"},
		{[]string{"-p", "x", "-i", "wbe"}, exitFailed, "there is no inventory \"wbe\"; did you mean web?\n"},
		{[]string{"-p", "x", "--project", "none"}, exitFailed, `there is no project "none"; there are site`},
		{[]string{"-p", "x", "--credential", "ky"}, exitFailed, `there is no credential "ky"; did you mean key?`},
		{[]string{"lst"}, exitUsage, `unknown command "lst" for "writ run"; a playbook ends in .yml`},
		{[]string{"a.yml", "-p", "b.yml"}, exitUsage, `"a.yml": the flags say already what to run`},
		{[]string{"-p", "x", "--set", "y:={"}, exitUsage, `--set y: the value is not JSON`},
	} {
		code, _, errs := call(t, f, append([]string{"run"}, c.args...)...)
		switch {
		case code != c.code:
			t.Errorf("%v: exit %d, %q", c.args, code, errs)
		case code != exitDone && !strings.Contains(errs, c.want):
			t.Errorf("%v: %q", c.args, errs)
		case code == exitDone && f.sent(t, "POST /v1/runs ") != c.want:
			t.Errorf("%v: sent %s", c.args, f.sent(t, "POST /v1/runs "))
		}
	}
}

func TestPipelineSubmit(t *testing.T) {
	t.Parallel()
	f := newFakeServer(t, obj{"id": "run_1"})
	answers := names()
	answers["POST /v1/pipelines"] = obj{"id": "run_p", "kind": "pipeline"}
	f.with(answers)
	dir := tree(t, map[string]string{"p.yaml": `name: release
inventory_id: web
credential_ids: [key]
steps:
  - {name: build, tool: bash, command: make}
  - {name: deploy, template_id: deploy, answers: {release: "1.5"}, depends_on: [build]}
`, "bad.yaml": "a: [", "empty.yaml": "", "other.yaml": "steps: [{name: a, template_id: none}]"})
	code, out, errs := call(t, f, "pipeline", "submit", dir+"/p.yaml", "-n", "--set", "change=CHG-1")
	want := `{"change":"CHG-1","credential_ids":["crd_1"],"dry_run":true,"inventory_id":"inv_1","name":"release","steps":[` +
		`{"command":"make","name":"build","tool":"bash"},{"answers":{"release":"1.5"},"depends_on":["build"],` +
		`"name":"deploy","template_id":"tpl_1"}]}`
	if diff := cmp.Diff(want, f.sent(t, "POST /v1/pipelines ")); diff != "" || code != exitDone || out != "run_p\n" {
		t.Errorf("exit %d, %q, %q\n%s", code, out, errs, diff)
	}
	for name, want := range map[string]string{"bad.yaml": "yaml: line 1", "empty.yaml": "needs the member steps",
		"none.yaml": "no such file"} {
		if code, _, errs := call(t, f, "pipeline", "submit", dir+"/"+name); code != exitUsage ||
			!strings.Contains(errs, want) {
			t.Errorf("%s: exit %d, %q", name, code, errs)
		}
	}
	if code, _, errs := call(t, f, "pipeline", "submit", dir+"/other.yaml"); code != exitFailed ||
		errs != "writ: steps[0].template_id: there is no template \"none\"; there are deploy\n" {
		t.Errorf("exit %d, %q", code, errs)
	}
}
