package lifecycle_test

import (
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/writ-automation/writ/platform/lifecycle"
)

// TestUnmapProgram goes on after its own pages are unmapped, with fewer of them.
func TestUnmapProgram(t *testing.T) {
	before := filePages(t)
	if err := lifecycle.UnmapProgram(); err != nil {
		t.Fatal(err)
	}
	if after := filePages(t); after >= before {
		t.Errorf("%d KiB of the file are mapped, before %d", after, before)
	}
}

// filePages returns the mapped size of files in KiB.
func filePages(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`RssFile:\s+(\d+) kB`).FindSubmatch(status)
	if m == nil {
		t.Fatalf("no size of mapped files:\n%s", status)
	}
	n, err := strconv.Atoi(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}
