package threats

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
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
	w := &trap{t: t, dir: harness.Shared(t)}
	w.evil = w.file("evil", "#!/bin/sh\necho \"$0 $*\" >>"+w.dir+"/canary\nexit 1\n")
	t.Cleanup(w.untouched)
	o.Flags = append(o.Flags, "--allow-private-egress", "127.0.0.1/32")
	w.Server = harness.Start(t, o)
	w.viewerID = w.id("/v1/users", harness.Body{"username": "viewer", "role": "viewer"})
	w.viewer = w.token(w.viewerID)
	return w
}

// token returns a client of an account.
func (w *trap) token(user string) harness.Client {
	w.t.Helper()
	minted := w.want(http.StatusCreated, "/v1/tokens", harness.Body{"name": "x", "user_id": user})
	token, _ := minted["token"].(string)
	return w.As(token)
}

func (w *trap) file(name, text string) string {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	err := errors.Join(os.WriteFile(path, []byte(text), 0o700), os.Chmod(path, 0o755)) //nolint:gosec // for runs
	if err != nil {
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
// Keeps T41.
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
	asks := w.template(harness.Body{"tool": "bash", "command": "echo got $WRIT_VAR_ANSIBLE_USER",
		"allowed_vars": []string{"ansible_user"},
		"survey":       []any{harness.Body{"var": "ansible_user", "type": "text"}}})
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

// TestReservedNamesInProposals is T41 where a model chooses variables: a proposal with such a name is refused, and no
// run is made. The quick run has one form for each name.
// Keeps T41.
func TestReservedNamesInProposals(t *testing.T) {
	t.Parallel()
	m := harness.NewModel(t)
	w := newTrap(t, harness.Options{Flags: m.Flags()})
	for i, name := range names() {
		all := forms(name, w.value(name))
		for k, vars := range all {
			if !depthtest.Long && k != i%len(all) {
				continue
			}
			raw, err := json.Marshal(harness.Body{"tool": "bash", "command": "true", "extra_vars": vars})
			if err != nil {
				t.Fatal(err)
			}
			m.Say(string(raw))
			a := w.Do(http.MethodPost, "/v1/ai/propose-run", harness.Body{"request": "x"})
			if a.Status != http.StatusBadRequest || !strings.Contains(string(a.Body), `"reason":"vars_reserved"`) ||
				!strings.Contains(string(a.Body), `"location":"extra_vars.`) {
				t.Errorf("%s in %v: %d %s", name, vars, a.Status, a.Body)
			}
		}
	}
	if made, _ := w.Runs(""); len(made) > 0 {
		t.Errorf("%d runs were made", len(made))
	}
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

// TestHostNamesAreNames is T16 for inventories and paths: a host that is an option, a limit that names a file after any
// separator, and an inventory outside of the checkout.
// Keeps T16.
func TestHostNamesAreNames(t *testing.T) {
	t.Parallel()
	w := newTrap(t, harness.Options{})
	for format, texts := range map[string][]string{
		"ini":  {"-oProxyCommand=" + w.evil + "\n", "[g]\n-h[1:2]\n"},
		"yaml": {"g: {hosts: {-h: }}", "g: {hosts: {\"a\\nb\": }}", "g: {hosts: {\"a\\0b\": }}"},
		"json": {`{"g": {"hosts": {"-h": {}}}}`, `{"g": {"hosts": {"a\r\nb": {}}}}`, `{"g": {"hosts": {"a\u0000b": {}}}}`},
	} {
		for _, text := range texts {
			a := w.Do(http.MethodPost, "/v1/inventories", harness.Body{"name": "x", "content": text, "format": format})
			if a.Status != http.StatusBadRequest || !strings.Contains(string(a.Body), `"location":"content"`) {
				t.Errorf("%q: %d %s", text, a.Status, a.Body)
			}
		}
	}
	play := w.tools()["ansible"]
	for field, values := range map[string][]string{
		"limit":     {"@/etc/passwd", "a,@b", "a:@b", "a;@b", "a @b", "a\t@b", "a,\u00a0@b", "!@b", "a:&@b"},
		"inventory": {"-h", "h,-oProxyCommand=" + w.evil},
	} {
		for _, v := range values {
			play[field] = v
			if a := w.Do(http.MethodPost, "/v1/runs", play); a.Status != http.StatusBadRequest {
				t.Errorf("%s %q: %d %s", field, v, a.Status, a.Body)
			}
		}
		play = w.tools()["ansible"]
	}
	for _, path := range []string{"../hosts", "/etc/hosts", "~/hosts", "$HOME/hosts", "/etc/a,b"} {
		a := w.Do(http.MethodPost, "/v1/runs", harness.Body{"playbook": "site.yml", "inventory": path,
			"project_id": "prj_01k0a0008vtx5zk9w2m4n6p8rs"})
		if a.Status != http.StatusBadRequest || !strings.Contains(string(a.Body), "leads out of the project") {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
	}
}
