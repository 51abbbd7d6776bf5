package ansible

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/writ-automation/writ/ports/execution"
)

// hostKeyOptions returns the options by which ssh checks the keys of hosts. The first value of an option counts.
func hostKeyOptions(k execution.HostKeys) string {
	// ssh reads a list of paths with percent tokens, and Ansible splits the options as a shell does.
	options := "-o " + quoted(`UserKnownHostsFile="`+strings.ReplaceAll(k.File, "%", "%%")+`"`)
	policy := "accept-new"
	if k.Strict {
		policy = "yes"
	}
	for _, o := range []string{"StrictHostKeyChecking=" + policy, "UpdateHostKeys=no", "HashKnownHosts=no",
		"CheckHostIP=no", "VerifyHostKeyDNS=no", "NoHostAuthenticationForLocalhost=no"} {
		options += " -o " + o
	}
	if k.Alone {
		options += " -o GlobalKnownHostsFile=/dev/null"
	}
	return options
}

// sshPrograms are those that Ansible starts, with the setting that names each.
func sshPrograms() map[string]string {
	return map[string]string{"ssh": "ssh_executable", "scp": "scp_executable", "sftp": "sftp_executable"}
}

// hostKeyPrograms writes programs that call those of ssh with the enforced options first, before everything that
// Ansible, the inventory or a play adds.
func (j *job) hostKeyPrograms(env map[string]string, c cfg, k execution.HostKeys) error {
	if k.File == "" || !k.Enforced {
		return nil
	}
	dir := j.path("ssh")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for name, key := range sshPrograms() {
		program := cmp.Or(sshOption(env, c, key), name)
		text := "#!/bin/sh\nexec " + quoted(program) + " " + hostKeyOptions(k) + ` "$@"` + "\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil { //nolint:gosec // a program
			return err
		}
	}
	return nil
}

// quoted returns a text as one word of a shell.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'"'"'`) + "'" }

// hostKeyEnvironment sets how the keys of hosts are checked. Enforced options come first by the programs of
// hostKeyPrograms, and besides as the first and the last arguments, in case a variable names another program. Options
// that are not enforced only come last: everything else takes precedence.
func (j *job) hostKeyEnvironment(env map[string]string, c cfg, k execution.HostKeys) {
	if k.File == "" {
		return
	}
	options := hostKeyOptions(k)
	if k.Enforced {
		for name, key := range sshPrograms() {
			env["ANSIBLE_"+strings.ToUpper(key)] = filepath.Join(j.path("ssh"), name)
		}
		env["ANSIBLE_SSH_ARGS"] = options + " " + sshOption(env, c, "ssh_args")
		adds := "1"
		if k.Strict {
			adds = "0"
		}
		for _, name := range []string{"ANSIBLE_HOST_KEY_CHECKING", "ANSIBLE_SSH_HOST_KEY_CHECKING",
			"ANSIBLE_PARAMIKO_HOST_KEY_CHECKING", "ANSIBLE_LIBSSH_HOST_KEY_CHECKING"} {
			env[name] = "1"
		}
		for _, name := range []string{"ANSIBLE_HOST_KEY_AUTO_ADD", "ANSIBLE_PARAMIKO_HOST_KEY_AUTO_ADD"} {
			env[name] = adds
		}
		// libssh would add a changed key as it adds a new one.
		env["ANSIBLE_LIBSSH_HOST_KEY_AUTO_ADD"] = "0"
		if filepath.Join(env["HOME"], ".ssh", "known_hosts") != k.File { // paramiko knows no other file
			env["ANSIBLE_PARAMIKO_RECORD_HOST_KEYS"] = "0"
		}
	}
	for _, key := range []string{"ssh_extra_args", "scp_extra_args", "sftp_extra_args"} {
		env["ANSIBLE_"+strings.ToUpper(key)] = strings.TrimSpace(sshOption(env, c, key) + " " + options)
	}
}

// hostKeyVariables returns the extra variables of a play. Those that switch the check on take precedence over the same
// of the inventory and the play, which are the only way to switch it off for connections other than ssh.
func hostKeyVariables(vars map[string]any, k execution.HostKeys) map[string]any {
	if k.File == "" || !k.Enforced {
		return vars
	}
	out := map[string]any{}
	maps.Copy(out, vars)
	for _, connection := range []string{"", "ssh_", "paramiko_", "libssh_"} {
		out["ansible_"+connection+"host_key_checking"] = true
	}
	return out
}

// sshOption returns arguments of ssh that are set, as Ansible reads them: without the quotes around a value of a file.
func sshOption(env map[string]string, c cfg, key string) string {
	if own, ok := env["ANSIBLE_"+strings.ToUpper(key)]; ok {
		return own
	}
	own, _ := c.get(sshSection, key)
	if n := len(own); n > 1 && own[0] == own[n-1] && strings.ContainsRune(`'"`, rune(own[0])) && own[n-2] != '\\' {
		own = own[1 : n-1]
	}
	return own
}

// refusedKey tells why ssh, paramiko or libssh refused the key of a host: it is another one than the known one, or
// there is no known one.
func refusedKey(text string) (changed, unknown bool) {
	has := func(marks ...string) bool {
		return slices.ContainsFunc(marks, func(m string) bool { return strings.Contains(text, m) })
	}
	if has("HOST IDENTIFICATION HAS CHANGED", "REVOKED HOST KEY DETECTED", "host key mismatch",
		"Host key for server has changed", "Host key type for server has changed") {
		return true, false
	}
	// Some versions of Ansible ask at a terminal about a key that is new to paramiko, and a run has none.
	return false, has("Host key verification failed", "authenticity of host", "Inappropriate ioctl for device",
		"stdin is not interactive")
}

const (
	changedKey = " (The key of this host is not the known one, or is revoked. Nothing was executed on the host. If the " +
		"key was replaced on purpose, replace it in known_hosts of the inventory.)"
	unknownKey = " (The key of this host is not known, and only known ones are accepted. Nothing was executed on the " +
		"host. Add the key to known_hosts of the inventory.)"
)
