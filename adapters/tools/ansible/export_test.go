package ansible

import (
	"cmp"
	"os"
	"path/filepath"
)

// UnderTest is the environment variable that names the directory of the Ansible to test; it is the installed one
// otherwise.
const UnderTest = "WRIT_TEST_ANSIBLE"

// Program returns the path of a program of the Ansible under test.
func Program(name string) string {
	return filepath.Join(cmp.Or(os.Getenv(UnderTest), "/usr/bin"), name)
}
