package ansible_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"testing"

	"github.com/writ-automation/writ/platform/sshtest"
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

// inventoryOf names a server as h1.
func inventoryOf(s *sshtest.Server) string {
	return fmt.Sprintf("h1 ansible_host=127.0.0.1 ansible_port=%d ansible_python_interpreter=/usr/bin/python3\n"+
		"[all:vars]\nansible_ssh_common_args='-F none -o UserKnownHostsFile=%s -o GlobalKnownHostsFile=/dev/null "+
		"-o StrictHostKeyChecking=yes -o IdentitiesOnly=yes'\n", s.Port(), s.KnownHosts())
}

func me(t testing.TB) string {
	t.Helper()
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	return u.Username
}
