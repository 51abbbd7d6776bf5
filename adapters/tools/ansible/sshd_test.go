package ansible_test

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
)

// output runs a program and returns what it printed.
func output(t testing.TB, program string, args ...string) string {
	t.Helper()
	var errs bytes.Buffer
	c := exec.Command(program, args...)
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", program, err, &errs)
	}
	return string(out)
}

func save(t testing.TB, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// host is a real ssh server.
type host struct {
	port  int
	known string // its key, as ssh wants it
}

// inventory names the server as h1.
func (h host) inventory(variables ...string) string {
	return fmt.Sprintf("h1 ansible_host=127.0.0.1 ansible_port=%d ansible_python_interpreter=/usr/bin/python3 %s\n[all:vars]\n"+
		"ansible_ssh_common_args='-F none -o UserKnownHostsFile=%s -o GlobalKnownHostsFile=/dev/null -o StrictHostKeyChecking=yes -o IdentitiesOnly=yes'\n",
		h.port, strings.Join(variables, " "), h.known)
}

// serve starts a server with lines of configuration of the test's own, by the program that is put before it.
func serve(t testing.TB, before []string, lines ...string) host {
	t.Helper()
	if os.Geteuid() == 0 {
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	h := host{port: l.Addr().(*net.TCPAddr).Port}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	output(t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, "host"))
	key, err := os.ReadFile(filepath.Join(dir, "host.pub"))
	if err != nil {
		t.Fatal(err)
	}
	h.known = save(t, filepath.Join(dir, "known"), fmt.Sprintf("[127.0.0.1]:%d %s", h.port, key))
	config := append([]string{
		"ListenAddress " + address, "HostKey " + filepath.Join(dir, "host"), "PidFile none", "StrictModes no", "UsePAM no", "UseDNS no",
		"KbdInteractiveAuthentication no", "Subsystem sftp internal-sftp",
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
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	for {
		if conn, err := net.Dial("tcp", address); err == nil {
			_ = conn.Close()
			return h
		}
		select {
		case <-deadline.C:
			t.Fatalf("sshd does not answer: %s", &log)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func me(t testing.TB) string {
	t.Helper()
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	return u.Username
}
