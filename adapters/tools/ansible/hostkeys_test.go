package ansible_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/platform/sshtest"
	"github.com/writ-automation/writ/ports/depthtest"
	"github.com/writ-automation/writ/ports/runs"
)

// keyed is a project over one ssh host. Its inventory asks not to check host keys, and its play writes a file on it.
type keyed struct {
	*project
	host   *sshtest.Server
	canary string
}

// careless are the arguments of an inventory, a project or a play that would switch the check off.
const careless = "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o GlobalKnownHostsFile=/dev/null"

func newKeyed(t *testing.T, vars string) *keyed {
	t.Helper()
	dir := t.TempDir()
	key := filepath.Join(dir, "key")
	output(t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
	k := &keyed{host: sshtest.New(t, sshtest.Config{Lines: []string{"AuthorizedKeysFile " + key + ".pub"}}),
		canary: filepath.Join(dir, "canary")}
	k.project = newProject(t, map[string]string{
		"site.yml": "- hosts: all\n  gather_facts: false\n" + vars + "  tasks: [{raw: 'touch " + k.canary + "'}]\n",
		"inventory": fmt.Sprintf("h1 ansible_host=127.0.0.1 ansible_port=%d ansible_ssh_private_key_file=%s\n"+
			"[all:vars]\nansible_ssh_common_args='-F none -o IdentitiesOnly=yes %s'\n", k.host.Port(), key, careless),
	})
	k.play.Login.User = me(t)
	return k
}

// knows gives the play known hosts, in a directory whose name has everything that ssh and Ansible treat specially.
func (k *keyed) knows(text string) {
	k.t.Helper()
	dir := filepath.Join(k.t.TempDir(), "a b%h'$c")
	if err := os.Mkdir(dir, 0o700); err != nil {
		k.t.Fatal(err)
	}
	k.play.HostKeys.File = save(k.t, filepath.Join(dir, "known_hosts"), text)
}

func (k *keyed) known() string {
	k.t.Helper()
	b, err := os.ReadFile(k.play.HostKeys.File)
	if err != nil {
		k.t.Fatal(err)
	}
	return string(b)
}

// line returns the known_hosts line of the server, with its own or another key.
func (k *keyed) line(other bool) string {
	k.t.Helper()
	line := output(k.t, "cat", k.host.KnownHosts())
	if other {
		path := filepath.Join(k.t.TempDir(), "other")
		output(k.t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path)
		line = strings.Fields(line)[0] + " " + output(k.t, "cat", path+".pub")
	}
	return line
}

// ends checks whether the play wrote its file on the host, and the warnings.
func (k *keyed) ends(executed bool, codes ...string) {
	k.t.Helper()
	res := k.run()
	_, err := os.Stat(k.canary)
	var got []string
	for _, w := range res.Warnings {
		got = append(got, w.Code)
	}
	if executed != (err == nil) || executed != (res.ExitCode == 0) || !cmp.Equal(codes, got) {
		k.t.Errorf("executed: %v, exit code %d, %v\n%s", err == nil, res.ExitCode, res.Warnings, &k.out)
	}
}

func TestHostKeys(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		known           func(k *keyed) string
		strict, learned bool
		says            string // "" if the play executes
		code            string
	}{
		"first contact": {known: func(*keyed) string { return "" }, learned: true},
		"first contact, strict": {known: func(*keyed) string { return "" }, strict: true,
			says: "The key of this host is not known", code: runs.WarnHostKeyUnknown},
		"known":         {known: func(k *keyed) string { return k.line(false) }},
		"known, strict": {known: func(k *keyed) string { return k.line(false) }, strict: true},
		"changed": {known: func(k *keyed) string { return k.line(true) }, says: "The key of this host is not the known one",
			code: runs.WarnHostKeyChanged},
		"changed, strict": {known: func(k *keyed) string { return k.line(true) }, strict: true,
			says: "The key of this host is not the known one", code: runs.WarnHostKeyChanged},
		"revoked": {known: func(k *keyed) string { return "@revoked " + k.line(false) },
			says: "or is revoked", code: runs.WarnHostKeyChanged},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKeyed(t, "")
			before := c.known(k)
			k.knows(before)
			k.play.HostKeys.Enforced, k.play.HostKeys.Alone, k.play.HostKeys.Strict = true, before != "", c.strict
			if c.says == "" {
				k.ends(true)
			} else {
				k.ends(false, c.code, runs.WarnHostsUnreachable)
				if e := k.of(runs.EventHostUnreachable); len(e) != 1 || !strings.Contains(e[0].Message, c.says) {
					t.Errorf("%+v", e)
				}
			}
			want := before
			if c.learned {
				want = k.line(false)
			}
			learned := strings.Fields(k.known())
			if d := cmp.Diff(strings.Fields(want), learned[:min(len(learned), len(strings.Fields(want)))]); d != "" ||
				!c.learned && k.known() != before {
				t.Errorf("the known hosts are %q", k.known())
			}
		})
	}
}

// TestNothingSwitchesHostKeysOff runs plays whose project, environment, inventory and variables ask not to check, over
// a host with a changed key.
func TestNothingSwitchesHostKeysOff(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(k *keyed){
		"ansible.cfg": func(k *keyed) {
			k.write("ansible.cfg", "[defaults]\nhost_key_checking = False\n[ssh_connection]\nssh_args = \""+careless+
				"\"\nssh_extra_args = "+careless+"\n")
		},
		"the environment": func(k *keyed) {
			for name, value := range map[string]string{
				"ANSIBLE_SSH_ARGS": careless, "ANSIBLE_HOST_KEY_CHECKING": "no", "ANSIBLE_SSH_HOST_KEY_CHECKING": "no",
				"ANSIBLE_SSH_COMMON_ARGS": careless, "ANSIBLE_SSH_EXTRA_ARGS": careless,
			} {
				k.spec.Env[name] = value
			}
		},
		"variables": func(k *keyed) {
			k.spec.ExtraVars = map[string]any{"ansible_ssh_common_args": k.common(), "ansible_ssh_extra_args": careless,
				"ansible_ssh_args":          careless,
				"ansible_host_key_checking": false, "ansible_ssh_host_key_checking": false}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKeyed(t, "")
			k.knows(k.line(true))
			k.play.HostKeys.Enforced, k.play.HostKeys.Alone = true, true
			prepare(k)
			k.ends(false, runs.WarnHostKeyChanged, runs.WarnHostsUnreachable)
		})
	}
}

func (k *keyed) common() string { return "-F none -o IdentitiesOnly=yes " + careless }

// TestArgumentsOfSSH checks that variables of a play and of an inventory in place of the arguments of ssh replace the
// arguments and not the check, each alone and all together.
func TestArgumentsOfSSH(t *testing.T) {
	t.Parallel()
	lines := map[string]string{"ansible_ssh_args": "-o ControlMaster=no " + careless, "ansible_ssh_extra_args": careless,
		"ansible_ssh_common_args": "-F none -o IdentitiesOnly=yes " + careless, "ansible_host_key_checking": "false",
		"ansible_ssh_host_key_checking": "false"}
	cases := map[string]map[string]string{"all": lines}
	for name, value := range lines {
		cases[name] = map[string]string{name: value}
	}
	for name, vars := range cases {
		for _, place := range []string{"play", "inventory"} {
			if place == "play" && name != "all" && !depthtest.Long {
				continue
			}
			t.Run(name+" of the "+place, func(t *testing.T) {
				t.Parallel()
				play, hosts := "  vars:\n", "[all:vars]\n"
				for name, value := range vars {
					play += "    " + name + ": " + value + "\n"
					hosts += name + "='" + value + "'\n"
				}
				if place == "inventory" {
					play = ""
				}
				k := newKeyed(t, play)
				if place == "inventory" {
					k.write("inventory", output(t, "cat", filepath.Join(k.dir, "inventory"))+hosts)
				}
				k.knows(k.line(true))
				k.play.HostKeys.Enforced, k.play.HostKeys.Alone = true, true
				k.ends(false, runs.WarnHostKeyChanged, runs.WarnHostsUnreachable)
			})
		}
	}
}

// TestProgramsOfSSH transfers files by each program, with arguments of the play and the project's own ssh.
func TestProgramsOfSSH(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"sftp", "scp", "piped"} {
		for _, changed := range []bool{false, true} {
			if changed && method != "sftp" && !depthtest.Long {
				continue // ssh refuses the host before anything is transferred
			}
			t.Run(fmt.Sprintf("%s %t", method, changed), func(t *testing.T) {
				t.Parallel()
				k := newKeyed(t, "  vars: {ansible_ssh_args: '-o ControlMaster=no -o ConnectTimeout=60 "+careless+"', "+
					"ansible_python_interpreter: /usr/bin/python3, ansible_ssh_transfer_method: "+method+"}\n")
				k.write("site.yml", strings.ReplaceAll(output(t, "cat", filepath.Join(k.dir, "site.yml")),
					"raw: 'touch "+k.canary+"'", "copy: {content: x, dest: '"+k.canary+"'}"))
				used := filepath.Join(k.dir, "it's used")
				save(t, filepath.Join(k.dir, "own ssh"), "#!/bin/sh\n: >\""+used+"\"\nexec ssh \"$@\"\n")
				if err := os.Chmod(filepath.Join(k.dir, "own ssh"), 0o755); err != nil { //nolint:gosec // a program
					t.Fatal(err)
				}
				k.write("ansible.cfg", "[ssh_connection]\npipelining = no\nssh_executable = "+k.dir+"/own ssh\n")
				k.knows(k.line(changed))
				k.play.HostKeys.Enforced, k.play.HostKeys.Alone = true, true
				if changed {
					k.ends(false, runs.WarnHostKeyChanged, runs.WarnHostsUnreachable)
				} else {
					k.ends(true)
				}
				if _, err := os.Stat(used); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// TestHostKeysOfParamiko runs plays over the other ssh of Ansible, whose inventory asks not to check.
func TestHostKeysOfParamiko(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		known           func(k *keyed) string
		strict, learned bool
		code            string
	}{
		"first contact":         {known: func(*keyed) string { return "" }, learned: true},
		"first contact, strict": {known: func(*keyed) string { return "" }, strict: true, code: runs.WarnHostKeyUnknown},
		"known, strict":         {known: func(k *keyed) string { return k.line(false) }, strict: true},
		"changed":               {known: func(k *keyed) string { return k.line(true) }, code: runs.WarnHostKeyChanged},
	} {
		for _, home := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s %t", name, home), func(t *testing.T) {
				t.Parallel()
				k := newKeyed(t, "  vars: {ansible_paramiko_host_key_checking: false}\n")
				k.write("inventory", output(t, "cat", filepath.Join(k.dir, "inventory"))+
					"ansible_connection=paramiko\nansible_host_key_checking=false\n")
				before := c.known(k)
				dir := t.TempDir()
				if err := os.Mkdir(filepath.Join(dir, ".ssh"), 0o700); err != nil {
					t.Fatal(err)
				}
				file := save(t, filepath.Join(dir, ".ssh", "known_hosts"), before)
				k.spec.Env["HOME"] = dir
				if k.play.HostKeys.File = file; !home {
					k.knows(before)
				}
				k.play.HostKeys.Enforced, k.play.HostKeys.Strict = true, c.strict
				if c.code == "" {
					k.ends(true)
				} else {
					k.ends(false, c.code, runs.WarnHostsUnreachable)
				}
				if after := output(t, "cat", file); (after != before) != (c.learned && home) {
					t.Errorf("the known hosts are %q", after)
				}
			})
		}
	}
}

// libssh is a connection plugin that refuses a host as that of libssh does, and tells whether it would add the key.
const libssh = `
import os
from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.connection import ConnectionBase
DOCUMENTATION = "name: libssh\nshort_description: x\ndescription: [x]\nauthor: [x]\noptions: {}\n"
class Connection(ConnectionBase):
    transport = "libssh"
    def _connect(self):
        raise AnsibleConnectionFailure("libssh: The authenticity of host 'h1' can't be established due to 'Host key for "
            "server has changed: ab'. It adds " + os.environ["ANSIBLE_LIBSSH_HOST_KEY_AUTO_ADD"] + " keys.")
    def exec_command(self, *args, **kwargs): self._connect()
    def put_file(self, *args): self._connect()
    def fetch_file(self, *args): self._connect()
    def close(self): pass
`

// TestHostKeysOfLibssh checks that libssh adds no key, since it adds changed ones as well, and that its refusal is
// reported as one.
func TestHostKeysOfLibssh(t *testing.T) {
	t.Parallel()
	for _, strict := range []bool{true, false} {
		k := newKeyed(t, "")
		k.write("connection_plugins/libssh.py", libssh)
		k.write("inventory", "h1 ansible_connection=libssh\n")
		k.knows("")
		k.play.HostKeys.Enforced, k.play.HostKeys.Strict = true, strict
		k.ends(false, runs.WarnHostKeyChanged, runs.WarnHostsUnreachable)
		if e := k.of(runs.EventHostUnreachable); len(e) != 1 || !strings.Contains(e[0].Message, "It adds 0 keys") {
			t.Errorf("strict %t: %+v", strict, e)
		}
	}
}

// TestHostKeysOfAProject checks that without a stored inventory the project's own arguments take precedence, and that
// otherwise the known hosts of the run count.
func TestHostKeysOfAProject(t *testing.T) {
	t.Parallel()
	k := newKeyed(t, "")
	k.knows(k.line(true))
	k.ends(true)
	k = newKeyed(t, "  vars: {ansible_ssh_common_args: '-F none -o IdentitiesOnly=yes'}\n")
	k.knows(k.line(true))
	k.ends(false, runs.WarnHostKeyChanged, runs.WarnHostsUnreachable)
	k = newKeyed(t, "  vars: {ansible_ssh_common_args: '-F none -o IdentitiesOnly=yes'}\n")
	k.knows("")
	k.ends(true)
	if learned := k.known(); !strings.HasPrefix(learned, strings.Fields(k.line(false))[0]+" ") {
		t.Errorf("the known hosts are %q", learned)
	}
}
