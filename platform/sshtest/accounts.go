package sshtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Accounts gives a server other accounts than the machine has: operator and root have the given passwords there, for
// ssh and for su. It returns the value for Config.Before. Only a process that may mount can run it.
func Accounts(t testing.TB, operator, root string) []string {
	t.Helper()
	dir, err := os.MkdirTemp("", "accounts") // not the test's own, which other accounts cannot read
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(dir, "home")
	if err := os.Mkdir(home, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(home, 65500, 65500); err != nil {
		t.Fatal(err)
	}
	passwd := "root:x:0:0::/:/bin/bash\nsshd:x:65501:65534::/run/sshd:/usr/sbin/nologin\n" +
		"operator:x:65500:65500::" + home + ":/bin/bash\n"
	shadow := fmt.Sprintf("root:%s:20000:0:99999:7:::\nsshd:!:20000::::::\noperator:%s:20000:0:99999:7:::\n",
		hash(t, root), hash(t, operator))
	if err := os.WriteFile(filepath.Join(dir, "shadow"), []byte(shadow), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "passwd"), []byte(passwd), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "passwd"), 0o644); err != nil { // regardless of the umask
		t.Fatal(err)
	}
	mount := `mount --bind %[1]s/passwd /etc/passwd && mount --bind %[1]s/shadow /etc/shadow && exec "$@"`
	return []string{"unshare", "--mount", "sh", "-c", fmt.Sprintf(mount, dir), "sh"}
}

// hash returns the shadow entry of a password.
func hash(t testing.TB, password string) string {
	t.Helper()
	c := exec.Command("openssl", "passwd", "-6", "-stdin")
	c.Stdin = strings.NewReader(password)
	out, err := c.Output()
	if err != nil {
		t.Fatalf("hash a password with openssl: %v", err)
	}
	return strings.TrimSpace(string(out))
}
