package secrets_test

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

// host is a real ssh server on a loopback address.
type host struct {
	port  int
	known string // its key, as ssh wants it
}

// inventory names the server as h1.
func (h host) inventory() string {
	return fmt.Sprintf("h1 ansible_host=127.0.0.1 ansible_port=%d ansible_python_interpreter=/usr/bin/python3\n[all:vars]\n"+
		"ansible_ssh_common_args='-F none -o UserKnownHostsFile=%s -o GlobalKnownHostsFile=/dev/null -o StrictHostKeyChecking=yes -o IdentitiesOnly=yes'\n",
		h.port, h.known)
}

// serve starts a server with lines of configuration of the test's own, by the program that is put before it.
func serve(t *testing.T, before []string, lines ...string) host {
	t.Helper()
	if os.Geteuid() == 0 {
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			t.Fatal(err)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a listener of a test
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	h := host{port: l.Addr().(*net.TCPAddr).Port}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	key := keyPair(t, "")
	dir := t.TempDir()
	h.known = save(t, filepath.Join(dir, "known"), fmt.Sprintf("[127.0.0.1]:%d %s", h.port, read(t, key+".pub")))
	config := append([]string{
		"ListenAddress " + address, "HostKey " + key, "PidFile none", "StrictModes no", "UsePAM no", "UseDNS no", "KbdInteractiveAuthentication no",
		"PermitRootLogin prohibit-password", "PrintMotd no", "Subsystem sftp internal-sftp",
	}, lines...)
	argv := append(before, "/usr/sbin/sshd", "-D", "-e", "-f", save(t, filepath.Join(dir, "config"), strings.Join(config, "\n")+"\n"))
	var log bytes.Buffer
	c := exec.Command(argv[0], argv[1:]...)
	c.Stderr = &log
	if err := c.Start(); err != nil {
		t.Fatalf("start sshd, which apt-get install openssh-server installs: %v", err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	harness.Eventually(t, 20*time.Second, "sshd answers", func() bool {
		conn, err := net.DialTimeout("tcp", address, time.Second) //nolint:noctx // bounded
		return err == nil && conn.Close() == nil
	})
	return h
}

func me(t testing.TB) string {
	t.Helper()
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	return u.Username
}

// withAccounts starts a server that knows other accounts than the machine: operator and root have the given passwords there, for ssh and
// for su.
func withAccounts(t *testing.T, operator, root string) host {
	t.Helper()
	needsRoot(t, "nobody else may give a server accounts of its own, with unshare and mount")
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
	save(t, filepath.Join(dir, "shadow"),
		"root:"+hash(root)+":20000:0:99999:7:::\nsshd:!:20000::::::\noperator:"+hash(operator)+":20000:0:99999:7:::\n")
	passwd := save(t, filepath.Join(dir, "passwd"),
		"root:x:0:0::/:/bin/bash\nsshd:x:65501:65534::/run/sshd:/usr/sbin/nologin\noperator:x:65500:65500::"+home+":/bin/bash\n")
	if err := os.Chmod(passwd, 0o644); err != nil {
		t.Fatal(err)
	}
	mount := fmt.Sprintf(`mount --bind %[1]s/passwd /etc/passwd && mount --bind %[1]s/shadow /etc/shadow && exec "$@"`, dir)
	return serve(t, []string{"unshare", "--mount", "sh", "-c", mount, "sh"}, "PasswordAuthentication yes", "AllowUsers operator")
}
