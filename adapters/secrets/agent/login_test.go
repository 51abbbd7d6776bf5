package agent_test

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

	"github.com/writ-automation/writ/ports/secrets"
)

// sshd starts a real server that lets the public halves in, and returns the arguments by which ssh reaches it.
func sshd(t *testing.T, publics ...string) []string {
	t.Helper()
	dir := folder(t)
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			t.Fatal(err)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address, port := l.Addr().String(), fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	must(t, "", "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, "host"))
	host, err := os.ReadFile(filepath.Join(dir, "host.pub"))
	if err != nil {
		t.Fatal(err)
	}
	var allowed []byte
	for _, p := range publics {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		allowed = append(allowed, b...)
	}
	config := fmt.Sprintf("ListenAddress %s\nHostKey %s/host\nPidFile none\nAuthorizedKeysFile %s/allowed\nStrictModes no\n"+
		"PasswordAuthentication no\nKbdInteractiveAuthentication no\nUsePAM no\nUseDNS no\nMaxStartups 100\n", address, dir, dir)
	for name, text := range map[string][]byte{
		"allowed": allowed, "config": []byte(config), "known": fmt.Appendf(nil, "[127.0.0.1]:%s %s", port, host),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var log bytes.Buffer
	c := exec.Command("/usr/sbin/sshd", "-D", "-e", "-f", filepath.Join(dir, "config"))
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
			break
		}
		select {
		case <-deadline.C:
			t.Fatalf("sshd does not answer: %s", &log)
		case <-time.After(10 * time.Millisecond):
		}
	}
	return []string{"-F", "none", "-p", port, "-l", me.Username, "-o", "UserKnownHostsFile=" + filepath.Join(dir, "known"), "-o", "BatchMode=yes"}
}

// TestSSHLogsIn has the real client and the real server, which bind the agent to their session before they use it.
func TestSSHLogsIn(t *testing.T) {
	t.Parallel()
	var keys []secrets.Key
	var publics []string
	for _, kind := range [][]string{{"-t", "ed25519"}, {"-t", "rsa", "-b", "2048"}, {"-t", "ecdsa"}} {
		key, path := generate(t, kind...)
		keys, publics = append(keys, key), append(publics, path+".pub")
	}
	args := sshd(t, publics...)
	a := start(t, folder(t), keys...)
	for _, public := range a.PublicKeys() {
		// IdentitiesOnly leaves the agent's key with this public half alone.
		out := must(t, a.Socket(), "ssh", append(args, "-v", "-o", "IdentitiesOnly=yes", "-i", public, "127.0.0.1", "echo logged in")...)
		if !strings.Contains(out, "logged in\n") || !strings.Contains(out, "Server accepts key: "+public) {
			t.Errorf("%s: %s", public, out)
		}
	}
	if out := must(t, a.Socket(), "ssh", append(args, "127.0.0.1", "echo logged in")...); out != "logged in\n" {
		t.Errorf("without a name of the key: %s", out)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if out, err := do(t, a.Socket(), "ssh", append(args, "127.0.0.1", "true")...); err == nil {
		t.Errorf("without an agent: %s", out)
	}
}
