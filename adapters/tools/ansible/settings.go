package ansible

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/writ-automation/writ/ports/execution"
)

// setting is a value that a run gets unless the run's environment or the project's ansible.cfg sets it under one of
// the names.
type setting struct {
	value string
	env   []string    // the first is the variable to set
	cfg   [][2]string // section and key
}

const (
	sshArgs    = "-o ControlMaster=auto -o ControlPersist=60s"
	defaults   = "defaults"
	sshSection = "ssh_connection"
)

// settings lists the settings of every run.
func (t *Tool) settings(j *job) []setting {
	args := sshArgs
	if t.config.Compression {
		args = "-C " + args
	}
	list := []setting{
		{args, []string{"ANSIBLE_SSH_ARGS"}, [][2]string{{sshSection, "ssh_args"}}},
		{"piped", []string{"ANSIBLE_SSH_TRANSFER_METHOD", "ANSIBLE_SCP_IF_SSH"},
			[][2]string{{sshSection, "transfer_method"}, {sshSection, "scp_if_ssh"}}},
		// The default directory is shared and a socket's name does not depend on the key: a run without the credential
		// could use the connection of a run that has it.
		{j.sockets, []string{"ANSIBLE_SSH_CONTROL_PATH_DIR", "ANSIBLE_SSH_CONTROL_PATH"},
			[][2]string{{sshSection, "control_path_dir"}, {sshSection, "control_path"}}},
		{"0", []string{"ANSIBLE_RETRY_FILES_ENABLED"}, [][2]string{{defaults, "retry_files_enabled"}}},
		{j.path("tmp"), []string{"ANSIBLE_LOCAL_TEMP"}, [][2]string{{defaults, "local_tmp"}}},
		{j.path("home/.ansible"), []string{"ANSIBLE_HOME"}, [][2]string{{defaults, "home"}}},
		{"1", []string{"ANSIBLE_FORCE_COLOR", "ANSIBLE_NOCOLOR", "NO_COLOR"},
			[][2]string{{defaults, "force_color"}, {defaults, "nocolor"}}},
		{j.home, []string{"HOME"}, nil},
		// The private ANSIBLE_HOME would hide the content that is installed for the account.
		t.collections(), t.roles(),
		{j.path("tmp"), []string{"TMPDIR"}, nil},
	}
	if j.dryRun { // ansible-core 2.21 and newer omit what a result is about
		list = append(list, setting{"1", []string{"ANSIBLE_INJECT_INVOCATION"},
			[][2]string{{defaults, "inject_invocation"}}})
	}
	if !t.config.NoPipelining {
		list = append(list, setting{"1", []string{"ANSIBLE_PIPELINING", "ANSIBLE_SSH_PIPELINING"}, pipeliningKeys()})
	}
	if n := t.config.DefaultForks; n > 0 {
		list = append(list, setting{strconv.Itoa(n), []string{"ANSIBLE_FORKS"}, [][2]string{{defaults, "forks"}}})
	}
	return list
}

func (t *Tool) collections() setting {
	return setting{
		t.config.Home + "/.ansible/collections:/usr/share/ansible/collections",
		[]string{"ANSIBLE_COLLECTIONS_PATH", "ANSIBLE_COLLECTIONS_PATHS"},
		[][2]string{{defaults, "collections_path"}, {defaults, "collections_paths"}},
	}
}

func (t *Tool) roles() setting {
	return setting{
		t.config.Home + "/.ansible/roles:/usr/share/ansible/roles:/etc/ansible/roles",
		[]string{"ANSIBLE_ROLES_PATH"}, [][2]string{{defaults, "roles_path"}},
	}
}

// before puts a directory in front of a search path, wherever that was set. An empty directory changes nothing.
func (s setting) before(env map[string]string, c cfg, dir string) {
	if dir == "" {
		return
	}
	path := s.value
	for _, k := range s.cfg {
		if own, ok := c.get(k[0], k[1]); ok {
			path = absolute(own, c.dir)
		}
	}
	for _, name := range s.env {
		if own, ok := env[name]; ok {
			path = own
			delete(env, name)
		}
	}
	env[s.env[0]] = dir + ":" + path
}

func pipeliningKeys() [][2]string {
	return [][2]string{{sshSection, "pipelining"}, {"connection", "pipelining"}, {defaults, "pipelining"}}
}

// environment returns the environment of a run's ansible commands and whether pipelining is in effect.
func (t *Tool) environment(
	ctx context.Context, j *job, run map[string]string, p execution.Play, c cfg,
) (map[string]string, bool) {
	env := maps.Clone(run)
	if env == nil {
		env = map[string]string{}
	}
	for _, s := range append(t.settings(j), t.passwords(ctx, run)...) {
		if !s.isSet(run, c) {
			env[s.env[0]] = s.value
		}
	}
	t.collections().before(env, c, p.Collections)
	t.roles().before(env, c, p.Roles)
	// Ansible requires UTF-8.
	if l := strings.ToUpper(env["LC_ALL"]); !strings.HasSuffix(l, "UTF-8") && !strings.HasSuffix(l, "UTF8") {
		env["LC_ALL"] = "C.UTF-8"
	}
	loginEnvironment(env, p.Login)
	j.hostKeyEnvironment(env, c, p.HostKeys)
	env["ANSIBLE_CALLBACK_PLUGINS"] = t.plugin + ":" + callbackPath(run, c)
	return env, pipelined(env, c)
}

func (s setting) isSet(run map[string]string, c cfg) bool {
	for _, name := range s.env {
		if _, ok := run[name]; ok {
			return true
		}
	}
	for _, k := range s.cfg {
		if _, ok := c.get(k[0], k[1]); ok {
			return true
		}
	}
	return false
}

// callbackPath returns the directories of the run's own callback plugins. The variable replaces the file's value, and
// paths in the file are relative to it.
func callbackPath(run map[string]string, c cfg) string {
	if own, ok := run["ANSIBLE_CALLBACK_PLUGINS"]; ok {
		return own
	}
	own, ok := c.get(defaults, "callback_plugins")
	if !ok {
		return "~/.ansible/plugins/callback:/usr/share/ansible/plugins/callback"
	}
	return absolute(own, c.dir)
}

// absolute resolves the relative directories of a search path against the directory of its file.
func absolute(path, base string) string {
	var out []string
	for dir := range strings.SplitSeq(path, ":") {
		dir = strings.TrimSpace(dir)
		if dir != "" && !filepath.IsAbs(dir) && dir[0] != '~' && dir[0] != '$' && !strings.HasPrefix(dir, "{{CWD}}") {
			dir = filepath.Join(base, dir)
		}
		out = append(out, dir)
	}
	return strings.Join(out, ":")
}

func pipelined(env map[string]string, c cfg) bool {
	for _, name := range []string{"ANSIBLE_SSH_PIPELINING", "ANSIBLE_PIPELINING"} {
		if v, ok := env[name]; ok {
			return truthy(v)
		}
	}
	for _, k := range pipeliningKeys() {
		if v, ok := c.get(k[0], k[1]); ok {
			return truthy(v)
		}
	}
	return false
}

// truthy reads a boolean as Ansible does.
func truthy(s string) bool {
	return slices.Contains([]string{"1", "1.0", "y", "yes", "on", "t", "true"}, strings.ToLower(strings.TrimSpace(s)))
}
