package secrets_test

import (
	"fmt"
	"os/user"
	"testing"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/platform/sshtest"
)

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

// withAccounts starts a server with accounts of its own: operator and root have the given passwords, for ssh and for
// su.
func withAccounts(t *testing.T, operator, root string) *sshtest.Server {
	t.Helper()
	needsRoot(t, "nobody else may give a server accounts of its own, with unshare and mount")
	return sshtest.New(t, sshtest.Config{
		Dir:    harness.Shared(t), // runs read its host key there
		Before: sshtest.Accounts(t, operator, root), Lines: []string{"PasswordAuthentication yes", "AllowUsers operator"},
	})
}
