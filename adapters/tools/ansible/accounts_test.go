package ansible_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/writ-automation/writ/platform/sshtest"
)

// loginTarget is a host where operator logs in and becomes root, each by a password.
type loginTarget struct {
	inventory  string
	method     string // to become root
	user, root string // what the host calls them
	asked      string // where whom to become is written down, empty for nowhere
}

// realPrograms is a server with sshd's own check of passwords, and su's.
func realPrograms(t testing.TB, login, root string) loginTarget {
	t.Helper()
	s := sshtest.New(t, sshtest.Config{
		Before: sshtest.Accounts(t, login, root), Lines: []string{"PasswordAuthentication yes", "AllowUsers operator"},
	})
	return loginTarget{inventory: inventoryOf(s), method: "su", user: "operator", root: "root"}
}

// mayMount reports whether this process may create a mount namespace for a server.
func mayMount() bool {
	return os.Geteuid() == 0 && exec.Command("unshare", "--mount", "mount", "--bind", "/etc/passwd", "/etc/passwd").
		Run() == nil
}

// fakePrograms are used without the right to mount: sshpass is the real one, and its child prompts as ssh does.
// Everything runs as this process's user.
func fakePrograms(t testing.TB, login, root string) loginTarget {
	t.Helper()
	dir := t.TempDir()
	program := func(name, text, password string) string {
		save(t, filepath.Join(dir, name+".expected"), password)
		path := save(t, filepath.Join(dir, name), fmt.Sprintf(text, dir))
		if err := os.Chmod(path, 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	inventory := fmt.Sprintf("h1 ansible_python_interpreter=/usr/bin/python3 ansible_ssh_executable=%s "+
		"ansible_become_exe=%s\n",
		program("ssh", ssh, login), program("sudo", sudo, root))
	return loginTarget{inventory: inventory, method: "sudo", user: me(t), root: me(t), asked: filepath.Join(dir, "asked")}
}

// ssh replaces the real one: it asks the program that SSH_ASKPASS names or prompts on its terminal, at most twice, and
// executes the last argument.
const ssh = `#!/bin/bash
[ $# -gt 3 ] || exit 0 # what it can do is asked
for command; do :; done
for try in 1 2; do
	if [ "$SSH_ASKPASS_REQUIRE" = force ]; then
		answer=$("$SSH_ASKPASS" 'password: ')
	else
		printf 'password: ' >/dev/tty
		IFS= read -r answer </dev/tty
	fi
	[ "$answer" != "$(cat %[1]s/ssh.expected)" ] || exec sh -c "$command"
done
exit 255
`

// sudo replaces the real one, which not every machine has: it prompts, reads the answer and executes its command as
// the same user.
const sudo = `#!/bin/bash
while [ $# -gt 0 ]; do
	case "$1" in
	-p) prompt=$2; shift 2 ;;
	-u) echo "$2" >"%[1]s/asked"; shift 2 ;;
	-*) shift ;;
	*) break ;;
	esac
done
printf '%%s' "$prompt" >&2
IFS= read -r answer
if [ "$answer" != "$(cat %[1]s/sudo.expected)" ]; then echo "Sorry, try again." >&2; exit 1; fi
echo >&2
exec "$@"
`
