package boundary

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestProgramInMemory knows what can be started from memory: what is no program is not used. A shim without a plan ends
// with a code of its own, and other programs are no shims.
func TestProgramInMemory(t *testing.T) {
	t.Parallel()
	other, err := os.ReadFile("/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"text": []byte("no program"), "another program": other} {
		f, err := sealed(name, unix.MFD_EXEC, content)
		if err != nil {
			t.Fatal(err)
		}
		if executes(f) {
			t.Errorf("%s is taken for a shim", name)
		}
		if _, err := f.WriteAt([]byte("x"), 0); err == nil {
			t.Errorf("%s can be changed", name)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}
