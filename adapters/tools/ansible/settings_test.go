package ansible

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/adapters/tools/proc"
	"github.com/writ-automation/writ/platform/ansibletest"
	"github.com/writ-automation/writ/ports/execution"
)

const projectCfg = `# a comment
[defaults]
callback_plugins = plugins/callback:/opt/callback ; and why
forks: 7
retry_files_enabled = True

[ssh_connection]
PIPELINING = no
ssh_args = -o ControlMaster=auto
	-o ControlPersist=5m
`

// dump returns the settings that Ansible reports.
func dump(t *testing.T, dir string, env map[string]string) map[string]string {
	t.Helper()
	c := exec.Command(ansibletest.Program("ansible-config"), "dump")
	c.Dir, c.Env = dir, proc.Environ(env)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got := map[string]string{}
	for line := range strings.Lines(escapes().ReplaceAllString(string(out), "")) {
		if name, rest, ok := strings.Cut(line, "("); ok {
			_, value, _ := strings.Cut(rest, ") = ")
			got[name] = strings.TrimSpace(value)
		}
	}
	return got
}

func TestSettingsAreWhatAnsibleThenUses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tool := &Tool{plugin: "/plugin", config: Config{DefaultForks: 20, Home: filepath.Join(t.TempDir(), "account")}}
	j := &job{dir: filepath.Join(t.TempDir(), "ansible"), home: tool.config.Home, sockets: "/tmp/s"}
	if err := os.MkdirAll(j.path("home"), 0o700); err != nil {
		t.Fatal(err)
	}
	run := map[string]string{"PATH": "/usr/bin:/bin", "LC_ALL": "POSIX"}
	check := func(want map[string]string, pipelining bool) {
		t.Helper()
		env, pipelined := tool.environment(t.Context(), j, run, execution.Play{}, findCfg(run, dir))
		got := dump(t, dir, env)
		for k, v := range want {
			if diff := cmp.Diff(v, got[k]); diff != "" {
				t.Errorf("%s: %s", k, diff)
			}
		}
		if pipelined != pipelining {
			t.Errorf("pipelining is said to be %t", pipelined)
		}
	}
	check(map[string]string{
		"ANSIBLE_PIPELINING": "True", "DEFAULT_FORKS": "20", "RETRY_FILES_ENABLED": "False", "ANSIBLE_FORCE_COLOR": "True",
		"DEFAULT_CALLBACK_PLUGIN_PATH": "['/plugin', '" + tool.config.Home +
			"/.ansible/plugins/callback', '/usr/share/ansible/plugins/callback']",
	}, true)
	if err := os.WriteFile(filepath.Join(dir, "ansible.cfg"), []byte(projectCfg), 0o644); err != nil {
		t.Fatal(err)
	}
	check(map[string]string{
		"DEFAULT_FORKS": "7", "RETRY_FILES_ENABLED": "True",
		"DEFAULT_CALLBACK_PLUGIN_PATH": "['/plugin', '" + dir + "/plugins/callback', '/opt/callback']",
	}, false)
	env, _ := tool.environment(t.Context(), j, run, execution.Play{}, findCfg(run, dir))
	for _, name := range []string{"ANSIBLE_SSH_ARGS", "ANSIBLE_PIPELINING", "ANSIBLE_FORKS"} {
		if v, ok := env[name]; ok {
			t.Errorf("%s=%s overrides the project", name, v)
		}
	}
	if env["LC_ALL"] != "C.UTF-8" {
		t.Errorf("LC_ALL=%s", env["LC_ALL"])
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	check(map[string]string{"DEFAULT_FORKS": "20", "RETRY_FILES_ENABLED": "False"}, true)
	run["ANSIBLE_PIPELINING"], run["ANSIBLE_FORKS"] = "false", "3"
	check(map[string]string{"ANSIBLE_PIPELINING": "False", "DEFAULT_FORKS": "3"}, false)
}

// TestSSHPassAnswersWhereAnsibleCannot takes away what Ansible needs to answer ssh itself.
func TestSSHPassAnswersWhereAnsibleCannot(t *testing.T) {
	t.Parallel()
	bin, dir := t.TempDir(), t.TempDir()
	tool := &Tool{config: Config{Playbook: filepath.Join(bin, "ansible-playbook")}}
	put := func(name string, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(bin, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	mechanism := func(run map[string]string) string {
		t.Helper()
		run["PATH"] = bin
		env, _ := tool.environment(t.Context(), &job{dir: dir}, run, execution.Play{}, findCfg(run, dir))
		return env["ANSIBLE_SSH_PASSWORD_MECHANISM"]
	}
	for _, step := range []struct {
		name string
		mode os.FileMode
		want string
	}{
		{"ansible-playbook", 0o700, ""}, {"sshpass", 0o700, "sshpass"}, {"ansible", 0o600, "sshpass"},
		{"ansible", 0o700, ""},
	} {
		put(step.name, step.mode)
		// The superuser may execute what anybody may, so only a bit of the mode decides.
		if got := mechanism(map[string]string{}); got != step.want {
			t.Errorf("with %s of mode %o: %q", step.name, step.mode, got)
		}
	}
	if err := os.Remove(filepath.Join(bin, "ansible")); err != nil {
		t.Fatal(err)
	}
	if got := mechanism(map[string]string{"ANSIBLE_SSH_PASSWORD_MECHANISM": "disable"}); got != "disable" {
		t.Errorf("the run's own setting became %q", got)
	}
	if err := os.WriteFile(filepath.Join(dir, "ansible.cfg"), []byte("[ssh_connection]\npassword_mechanism = disable\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	if got := mechanism(map[string]string{}); got != "" {
		t.Errorf("the project's own setting became %q", got)
	}
}

func TestLimitLines(t *testing.T) {
	t.Parallel()
	for limit, want := range map[string][]string{
		"":              {"a", "b.c"},
		"web":           {"a", "b.c", "&web"},
		"web[0:1]:!x":   {"a", "b.c", "&web[0:1]", "!x"},
		"web, db ,&y":   {"web", "db", `&~^(?:a|b\.c)$`, "&y"},
		"::1":           {"a", "b.c", "&::1"},
		"host:2222":     {"a", "b.c", "&host:2222"},
		"!gone":         {"a", "b.c", "!gone"},
		"web:&staging ": {"a", "b.c", "&web", "&staging"},
	} {
		got, err := limitLines(limit, []string{"a", "b.c"})
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q: %v %s", limit, err, diff)
		}
	}
}

// TestInstalledRequirementsComeFirst checks that they precede the effective search path.
func TestInstalledRequirementsComeFirst(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tool := &Tool{plugin: "/plugin", config: Config{Home: "/opt/w"}}
	j := &job{dir: filepath.Join(t.TempDir(), "ansible"), sockets: "/tmp/s"}
	if err := os.MkdirAll(j.path("home"), 0o700); err != nil {
		t.Fatal(err)
	}
	p := execution.Play{Roles: "/deps/roles", Collections: "/deps/collections"}
	check := func(run map[string]string, roles, collections string) {
		t.Helper()
		run["PATH"] = "/usr/bin:/bin"
		env, _ := tool.environment(t.Context(), j, run, p, findCfg(run, dir))
		got := dump(t, dir, env)
		if got["DEFAULT_ROLES_PATH"] != roles || !strings.HasPrefix(got["COLLECTIONS_PATHS"], collections) {
			t.Errorf("roles %s, collections %s", got["DEFAULT_ROLES_PATH"], got["COLLECTIONS_PATHS"])
		}
	}
	check(map[string]string{},
		"['/deps/roles', '/opt/w/.ansible/roles', '/usr/share/ansible/roles', '/etc/ansible/roles']",
		"['/deps/collections', '/opt/w/.ansible/collections'")
	if err := os.WriteFile(filepath.Join(dir, "ansible.cfg"),
		[]byte("[defaults]\nroles_path = own:/opt/roles\ncollections_paths = c\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	check(map[string]string{}, "['/deps/roles', '"+dir+"/own', '/opt/roles']", "['/deps/collections', '"+dir+"/c'")
	check(map[string]string{"ANSIBLE_ROLES_PATH": "/mine", "ANSIBLE_COLLECTIONS_PATHS": "/yours"},
		"['/deps/roles', '/mine']", "['/deps/collections', '/yours'")
}
