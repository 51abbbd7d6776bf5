package agent_test

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-automation/writ/platform/sshtest"
	"github.com/writ-automation/writ/ports/secrets"
)

// sshd starts a real server that accepts the public keys, and returns the arguments with which ssh reaches it.
func sshd(t *testing.T, publics ...string) []string {
	t.Helper()
	me, err := user.Current()
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
	path := filepath.Join(t.TempDir(), "allowed")
	if err := os.WriteFile(path, allowed, 0o600); err != nil {
		t.Fatal(err)
	}
	s := sshtest.New(t, sshtest.Config{Lines: []string{"AuthorizedKeysFile " + path}})
	return []string{
		"-F", "none", "-p", fmt.Sprint(s.Port()), "-l", me.Username,
		"-o", "UserKnownHostsFile=" + s.KnownHosts(), "-o", "BatchMode=yes",
	}
}

// TestSSHLogsIn uses the real client and server, which bind the agent to their session before they use it.
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
		// With IdentitiesOnly, ssh only offers the agent's key that has this public half.
		out := must(t, a.Socket(), "ssh", append(args, "-v", "-o", "IdentitiesOnly=yes", "-i", public, "127.0.0.1",
			"echo logged in")...)
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
