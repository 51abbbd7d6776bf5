package compose

import (
	"strings"
	"testing"
	"time"
)

// TestLockOfAnEndingProcess opens a directory whose lock is held a moment longer, as by a program that a killed server
// was starting, and one whose lock stays.
func TestLockOfAnEndingProcess(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	first, err := openDataDir(root)
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(lockWait/20, func() { _ = first.close() })
	second, err := openDataDir(root)
	if err != nil {
		t.Fatal(err)
	}
	defer second.close()
	if _, err = openDataDir(root); err == nil || !strings.Contains(err.Error(), "another writ process uses "+root) {
		t.Errorf("a lock that stays: %v", err)
	}
}
