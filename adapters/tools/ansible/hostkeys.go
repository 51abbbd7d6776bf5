package ansible

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/writ-automation/writ/ports/execution"
)

// hostKeyOptions returns the options by which ssh checks the keys of hosts. The first value of an option counts.
func hostKeyOptions(k execution.HostKeys) string {
	// ssh reads a list of paths with percent tokens, and Ansible splits the options as a shell does.
	path := strings.NewReplacer("%", "%%", "'", `'"'"'`).Replace(k.File)
	options := `-o 'UserKnownHostsFile="` + path + `"'`
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

// hostKeyEnvironment sets how the keys of hosts are checked. Enforced options come before all others and after them,
// since a variable of the inventory or the play replaces one of the two. Options that are not enforced only come last:
// everything else takes precedence.
func hostKeyEnvironment(env map[string]string, c cfg, k execution.HostKeys) {
	if k.File == "" {
		return
	}
	options := hostKeyOptions(k)
	if k.Enforced {
		env["ANSIBLE_SSH_ARGS"] = options + " " + sshOption(env, c, "ssh_args")
		adds := "1"
		if k.Strict {
			adds = "0"
		}
		for _, name := range []string{"ANSIBLE_HOST_KEY_CHECKING", "ANSIBLE_SSH_HOST_KEY_CHECKING",
			"ANSIBLE_PARAMIKO_HOST_KEY_CHECKING"} {
			env[name] = "1"
		}
		for _, name := range []string{"ANSIBLE_HOST_KEY_AUTO_ADD", "ANSIBLE_PARAMIKO_HOST_KEY_AUTO_ADD",
			"ANSIBLE_LIBSSH_HOST_KEY_AUTO_ADD"} {
			env[name] = adds
		}
	}
	for _, key := range []string{"ssh_extra_args", "scp_extra_args", "sftp_extra_args"} {
		env["ANSIBLE_"+strings.ToUpper(key)] = strings.TrimSpace(sshOption(env, c, key) + " " + options)
	}
}

// hostKeyVariables returns the extra variables of a play. The one that replaces ANSIBLE_SSH_ARGS begins with the
// enforced options as well.
func hostKeyVariables(vars map[string]any, k execution.HostKeys) map[string]any {
	const name = "ansible_ssh_args"
	own, ok := vars[name]
	if !ok || !k.Enforced || k.File == "" {
		return vars
	}
	vars = maps.Clone(vars)
	vars[name] = fmt.Sprintf("%s %v", hostKeyOptions(k), own)
	return vars
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

// refusedKey tells why ssh or paramiko refused the key of a host: it is another one than the known one, or there is no
// known one.
func refusedKey(text string) (changed, unknown bool) {
	has := func(marks ...string) bool {
		return slices.ContainsFunc(marks, func(m string) bool { return strings.Contains(text, m) })
	}
	if has("HOST IDENTIFICATION HAS CHANGED", "REVOKED HOST KEY DETECTED", "host key mismatch") {
		return true, false
	}
	return false, has("Host key verification failed", "authenticity of host")
}

const (
	changedKey = " (The key of this host is not the known one, or is revoked. Nothing was executed on the host. If the " +
		"key was replaced on purpose, replace it in known_hosts of the inventory.)"
	unknownKey = " (The key of this host is not known, and only known ones are accepted. Nothing was executed on the " +
		"host. Add the key to known_hosts of the inventory.)"
)
