package ansible_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// world is where operator logs in and becomes root, each by a password.
type world struct {
	inventory  string
	method     string // to become root
	user, root string // what the host calls them
	asked      string // where whom to become is written down, empty for nowhere
}

// realOnes is a server with sshd's own check of passwords, and su's.
func realOnes(t testing.TB, login, root string) world {
	t.Helper()
	return world{inventory: withAccounts(t, login, root).inventory(), method: "su", user: "operator", root: "root"}
}

// withAccounts starts a server that knows other accounts than the machine: operator and root have the given passwords there, for ssh and
// for su. Only who may mount can do that.
func withAccounts(t testing.TB, operator, root string) host {
	t.Helper()
	dir, err := os.MkdirTemp("", "accounts") // not the test's own, into which nobody else may look
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	hash := func(password string) string {
		c := exec.Command("openssl", "passwd", "-6", "-stdin")
		c.Stdin = strings.NewReader(password)
		out, err := c.Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	home := filepath.Join(dir, "home")
	if err := os.Mkdir(home, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(home, 65500, 65500); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"passwd": "root:x:0:0::/root:/bin/bash\nsshd:x:65501:65534::/run/sshd:/usr/sbin/nologin\noperator:x:65500:65500::" + home + ":/bin/bash\n",
		"shadow": "root:" + hash(root) + ":20000:0:99999:7:::\nsshd:!:20000::::::\noperator:" + hash(operator) + ":20000:0:99999:7:::\n",
	} {
		mode := map[string]os.FileMode{"passwd": 0o644, "shadow": 0o600}[name]
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	mount := fmt.Sprintf(`mount --bind %[1]s/passwd /etc/passwd && mount --bind %[1]s/shadow /etc/shadow && exec "$@"`, dir)
	return serve(t, []string{"unshare", "--mount", "sh", "-c", mount, "sh"}, "PasswordAuthentication yes", "AllowUsers operator")
}

// mayMount reports whether this process may make a world of its own for a server.
func mayMount() bool {
	return os.Geteuid() == 0 && exec.Command("unshare", "--mount", "mount", "--bind", "/etc/passwd", "/etc/passwd").Run() == nil
}

// standIns are for whom may not mount: sshpass is the real one, and what it starts asks as ssh does. All is done as this process's user.
func standIns(t testing.TB, login, root string) world {
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
	inventory := fmt.Sprintf("h1 ansible_python_interpreter=/usr/bin/python3 ansible_ssh_executable=%s ansible_become_exe=%s\n",
		program("ssh", ssh, login), program("sudo", sudo, root))
	return world{inventory: inventory, method: "sudo", user: me(t), root: me(t), asked: filepath.Join(dir, "asked")}
}

// ssh stands for the real one: it asks on its terminal, twice at the most, and has the last argument done.
const ssh = `#!/bin/bash
[ $# -gt 3 ] || exit 0 # what it can do is asked
for command; do :; done
for try in 1 2; do
	printf 'password: ' >/dev/tty
	IFS= read -r answer </dev/tty
	[ "$answer" != "$(cat %[1]s/ssh.expected)" ] || exec sh -c "$command"
done
exit 255
`

// sudo stands for the real one, which not every machine has: it asks as told, reads the answer and does what it was asked for as nobody else.
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
