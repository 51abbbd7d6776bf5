package harness

import (
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"testing"
)

// EachUser runs a test as the user of the tests, and as another one where that is root. The other one may also read the
// binary and what the tests wrote.
func EachUser(t *testing.T, test func(t *testing.T, o Options, first bool)) {
	t.Helper()
	t.Run("this user", func(t *testing.T) { t.Parallel(); test(t, Options{}, true) })
	if os.Geteuid() != 0 {
		return
	}
	t.Run("nobody", func(t *testing.T) {
		t.Parallel()
		test(t, Options{Dir: DirOf(t, "nobody"), Wrap: As("nobody", "nogroup")}, false)
	})
}

// DirOf makes a directory of a user.
func DirOf(t testing.TB, name string) string {
	t.Helper()
	who, err := user.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	uid, err := strconv.Atoi(who.Uid)
	dir := t.TempDir()
	if err := errors.Join(err, os.Chown(dir, uid, -1), os.Chmod(filepath.Dir(dir),
		0o755)); err != nil { //nolint:gosec // the user passes
		t.Fatal(err)
	}
	return dir
}

// As is the program that turns itself into another one as another user.
func As(name, group string) []string {
	return []string{"setpriv", "--reuid", name, "--regid", group, "--clear-groups", "--inh-caps", "+dac_override",
		"--ambient-caps", "+dac_override"}
}
