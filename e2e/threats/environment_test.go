package threats

import (
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
)

// steering is an environment in which every variable makes some loader, interpreter or tool execute a program that
// leaves a mark, or has a value that contains the mark's text.
type steering struct {
	t     *testing.T
	marks string
	env   []string
}

const steered = "c4n4rySteered"

func newSteering(t *testing.T) *steering {
	t.Helper()
	dir := t.TempDir()
	s := &steering{t: t, marks: filepath.Join(dir, "marks-"+steered)}
	home := filepath.Join(dir, "home")
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	mark := func(name string) string { return "touch " + filepath.Join(s.marks, name) }
	program := func(name string) string { return write("bin/"+name, "#!/bin/sh\n"+mark(name)+"\n", 0o755) }
	python := func(name string) string { return "import os\nos.system('" + mark(name) + "')\n" }
	if err := os.MkdirAll(s.marks, 0o777); err != nil {
		t.Fatal(err)
	}
	site := filepath.Dir(write("site/sitecustomize.py", python("sitecustomize"), 0o644))
	write("site/ansible_collections_of_nobody.py", python("module"), 0o644)
	plugins := filepath.Dir(write("plugins/"+steered+".py", python("plugin"), 0o644))
	config := write("ansible.cfg",
		"[defaults]\nlibrary = "+plugins+"\nvars_plugins = "+plugins+"\nstrategy_plugins = "+plugins+
			"\nexecutable = "+program("executable")+"\n[ssh_connection]\nssh_executable = "+program("ssh")+"\n", 0o644)
	write(".ansible.cfg", "[defaults]\nvars_plugins = "+plugins+"\n", 0o644)
	gitconfig := "[core]\n\tfsmonitor = " + program("fsmonitor") + "\n\tsshCommand = " + program("sshcommand") +
		"\n\thooksPath = " +
		filepath.Dir(write("hooks/post-checkout", "#!/bin/sh\n"+mark("hook")+"\n", 0o755)) + "\n[credential]\n\thelper = " +
		program("credential") + "\n"
	write(".gitconfig", gitconfig, 0o644)
	for _, name := range []string{".bashrc", ".profile", ".bash_profile", ".pythonrc", ".zshenv"} {
		write(name, mark(name)+"\n", 0o644)
	}
	s.env = []string{
		"HOME=" + home, "XDG_CONFIG_HOME=" + home, "BASH_ENV=" + write("bashenv", mark("bash_env")+"\n", 0o644), "ENV=" +
			write("env", mark("env")+"\n", 0o644),
		"PROMPT_COMMAND=" + mark("prompt"), "LD_PRELOAD=" + filepath.Join(s.marks, "preload.so"), "LD_AUDIT=" +
			filepath.Join(s.marks, "audit.so"),
		"PYTHONPATH=" + site, "PYTHONSTARTUP=" + write("startup.py", python("startup"), 0o644), "PYTHONUSERBASE=" + home,
		"PYTHONBREAKPOINT=" + steered,
		"GIT_CONFIG_GLOBAL=" + write("gitconfig", gitconfig, 0o644), "GIT_SSH_COMMAND=" + program("gitssh"), "GIT_SSH=" +
			program("gitssh2"),
		"GIT_ASKPASS=" + program("gitaskpass"), "GIT_TRACE=" + filepath.Join(s.marks, "gittrace"), "GIT_TEMPLATE_DIR=" +
			filepath.Join(home, "hooks"),
		"GIT_EXTERNAL_DIFF=" + program("diff"), "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.fsmonitor",
		"GIT_CONFIG_VALUE_0=" + program("counted"),
		"ANSIBLE_CONFIG=" + config, "ANSIBLE_LIBRARY=" + plugins, "ANSIBLE_CALLBACK_PLUGINS=" + plugins,
		"ANSIBLE_CALLBACKS_ENABLED=" + steered,
		"ANSIBLE_VARS_PLUGINS=" + plugins, "ANSIBLE_STRATEGY_PLUGINS=" + plugins, "ANSIBLE_INVENTORY_PLUGINS=" + plugins,
		"ANSIBLE_FILTER_PLUGINS=" + plugins, "ANSIBLE_SSH_EXECUTABLE=" + program("assh"), "ANSIBLE_EXECUTABLE=" +
			program("aexe"),
		"PERL5OPT=-M" + steered, "RUBYOPT=-r" + steered, "NODE_OPTIONS=--require=" + steered, "JAVA_TOOL_OPTIONS=-D" +
			steered,
		"GOFLAGS=-toolexec=" + program("toolexec"), "SSH_ASKPASS=" + program("askpass"), "EDITOR=" + program("editor"),
		"LESSOPEN=|" + program("less"),
	}
	return s
}

// works checks that the environment steers programs that inherit it.
func (s *steering) works() {
	s.t.Helper()
	for mark, line := range map[string][]string{"bash_env": {"bash", "-c", "true"}, "sitecustomize": {"python3", "-c",
		"pass"},
		"gittrace": {"git", "--version"}} {
		c := exec.CommandContext(s.t.Context(), line[0], line[1:]...)
		c.Env = append(os.Environ(), s.env...)
		if out, err := c.CombinedOutput(); err != nil {
			s.t.Fatalf("%v: %v\n%s", line, err, out)
		}
		if err := os.Remove(filepath.Join(s.marks, mark)); err != nil {
			s.t.Fatalf("%v is not steered: %v", line, err)
		}
	}
	left, err := filepath.Glob(filepath.Join(s.marks, "*"))
	for _, name := range left {
		err = errors.Join(err, os.Remove(name))
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// quiet checks that no mark was left and that a text shows nothing of the environment.
func (s *steering) quiet(what, text string) {
	s.t.Helper()
	left, err := filepath.Glob(filepath.Join(s.marks, "*"))
	if err != nil || len(left) > 0 {
		s.t.Errorf("%s executed: %v %v", what, left, err)
	}
	for _, name := range left {
		_ = os.Remove(name)
	}
	if strings.Contains(text, steered) {
		s.t.Errorf("%s sees the environment: %.2000s", what, text)
	}
}

// TestTheServersEnvironmentSteersNothing gives a server and a worker an environment that steers every loader, and has
// them execute every tool and every helper program.
// Keeps T56.
func TestTheServersEnvironmentSteersNothing(t *testing.T) {
	t.Parallel()
	st := newSteering(t)
	st.works()
	local := t.TempDir()
	root := filepath.Join(local, "repo")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	git := func(args ...string) {
		t.Helper()
		c := exec.CommandContext(t.Context(), "git", append([]string{"-C", root, "-c", "user.name=w", "-c",
			"user.email=w@example.org"}, args...)...)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	const see = "env | grep -v ^WRIT_VAR_; set | grep -i prompt_command || true; git --version; python3 -c 'import " +
		"os; print(os.environ)'; true"
	play := "- hosts: all\n  gather_facts: false\n  connection: local\n  tasks:\n    - command: env\n      register: " +
		"seen\n    - debug: var=seen.stdout_lines\n" +
		"    - debug: msg=\"{{ lookup('pipe', 'env') }}\"\n"
	if err := os.WriteFile(filepath.Join(root, "site.yml"), []byte(play), 0o600); err != nil {
		t.Fatal(err)
	}
	git("init", "-q", "-b", "main")
	git("add", "-A")
	git("commit", "-q", "-m", "all")
	s := harness.Start(t, harness.Options{Env: append(st.env, "WRIT_WORKER_TOKEN="+harness.WorkerToken),
		Flags: []string{"--local-projects", local}})
	harness.StartWorker(t, harness.WorkerOptions{Server: s.URL, Env: st.env, Flags: []string{"--queue", "theirs"}})
	project := idOf(create(t, s.Client, "/v1/projects", harness.Body{"name": "p", "repo_url": "file://" + root,
		"branch": "main"}))
	for _, queue := range []string{"default", "theirs"} {
		for tool, body := range map[string]harness.Body{
			"bash": script(see), "python": {"tool": "python",
				"command": "import os, subprocess\nprint(os.environ)\nprint(subprocess.getoutput('bash -c env'))"},
			"ansible": {"playbook": "site.yml", "inventory_id": idOf(create(t, s.Client, "/v1/inventories",
				harness.Body{"name": "of " + queue,
					"content": "a ansible_python_interpreter=/usr/bin/python3\n", "format": "ini"})), "project_id": project},
		} {
			body["queue"] = queue
			r := s.Await(s.Submit(body).ID)
			if r.Status != "succeeded" {
				t.Errorf("%s in %s is %s (%s)\n%s", tool, queue, r.Status, r.Error, s.Log(r.ID))
			}
			st.quiet(tool+" in "+queue, s.Log(r.ID))
		}
	}
	inventory := idOf(create(t, s.Client, "/v1/inventories", harness.Body{"name": "i", "content": "a\n", "format": "ini"}))
	for kind, config := range map[string]harness.Body{
		"script": {"content": "#!/bin/bash\nenv >&2\necho \"{\\\"all\\\": {\\\"hosts\\\": [\\\"a\\\"], \\\"vars\\\": " +
			"{\\\"seen\\\": \\\"$(env | tr '\\n\\\"\\\\' '   ')\\\"}}}\"\n"},
		"plugin": {"plugin": "constructed", "strict": false},
	} {
		source := idOf(create(t, s.Client, "/v1/inventory-sources", harness.Body{"name": kind, "kind": kind,
			"inventory_id": inventory, "config": config}))
		a := s.Do(http.MethodPost, "/v1/inventory-sources/"+source+"/refresh", nil)
		if kind == "script" && a.Status != http.StatusOK {
			t.Errorf("%s: %d %s", kind, a.Status, a.Body)
		}
		st.quiet("a source of kind "+kind, string(a.Body)+string(s.Do(http.MethodGet, "/v1/inventories/"+inventory,
			nil).Body))
	}
	remote := idOf(create(t, s.Client, "/v1/projects", harness.Body{"name": "r",
		"repo_url": "ssh://git@127.0.0.1:1/x.git"}))
	s.Do(http.MethodPost, "/v1/projects/"+remote+"/sync", nil)
	st.quiet("a fetch over ssh", "")
}

// TestLoadersOfCredentials refuses variables that decide which code the executor's own programs load, in credentials
// of every kind and type that sets variables.
// Keeps T56.
func TestLoadersOfCredentials(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{})
	for _, name := range []string{"LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "PATH", "WRIT_RUN_ID", "WRIT_VARS",
		"WRIT_", "A=B", "", "A\nB", "A\x00"} {
		for path, body := range map[string]harness.Body{
			"/v1/credentials": {"name": "c", "kind": "env", "secret": harness.Body{"vars": harness.Body{name: "x"}}},
			"/v1/credentials ": {"name": "c", "kind": "token", "settings": harness.Body{"env_name": name},
				"secret": harness.Body{"token": "x"}},
			"/v1/credential-types": {"name": "t", "fields": []harness.Body{{"name": "a", "type": "text"}},
				"inject": harness.Body{"env": harness.Body{name: "{{a}}"}}},
		} {
			path, isToken := strings.CutSuffix(path, " ")
			if isToken && name == "" {
				continue // the default name
			}
			if a := s.Do(http.MethodPost, path, body); a.Status != http.StatusBadRequest {
				t.Errorf("%s with %q: %d %s", path, name, a.Status, a.Body)
			}
		}
	}
	// What a run sets for itself cannot replace what Writ sets.
	r := s.Await(s.Submit(harness.Body{"tool": "bash", "command": "echo \"id=$WRIT_RUN_ID\"", "env": harness.Body{
		"BASH_ENV": "/nonexistent", "PYTHONPATH": "/nonexistent"}}).ID)
	if log := s.Log(r.ID); !strings.Contains(log, "id="+r.ID) {
		t.Errorf("the run prints %q", log)
	}
	for _, name := range []string{"WRIT_RUN_ID", "WRIT_VARS", "WRIT_OUTPUTS", "WRIT_X"} {
		a := s.Do(http.MethodPost, "/v1/runs", harness.Body{"tool": "bash", "command": "true",
			"env": harness.Body{name: "x"}})
		if a.Status != http.StatusBadRequest {
			t.Errorf("env %s of a run: %d %s", name, a.Status, a.Body)
		}
	}
}
