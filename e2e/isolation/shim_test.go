package isolation

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
)

// maxInside is the limit in KiB of the code and of the private memory of the process inside the boundary.
const maxInside = 2 << 10

// TestShim looks at the process that waits for a tool, as root and as another user: the binary of "make build" carries
// a small program for it. Each running run costs that memory.
func TestShim(t *testing.T) {
	t.Parallel()
	harness.EachUser(t, func(t *testing.T, o harness.Options, _ bool) {
		o.Tags = []string{harness.Release}
		s := harness.Start(t, o)
		t.Cleanup(s.Kill)
		id := s.Submit(harness.Body{"tool": "bash", "command": "echo here; sleep 600"}).ID
		s.Until(id, time.Minute, func(harness.Run) bool { return strings.Contains(s.Log(id), "here") })
		inside := childrenOf(t, s.PID)
		if len(inside) != 1 {
			t.Fatalf("the server has the children %v", inside)
		}
		for _, name := range []string{"VmExe", "RssAnon"} {
			if kib := memoryOf(t, inside[0], name); kib == 0 || kib > maxInside {
				t.Errorf("%s of the process inside is %d KiB", name, kib)
			}
		}
	})
}

// childrenOf lists the children of a process, by whichever of its threads.
func childrenOf(t *testing.T, pid int) (list []string) {
	t.Helper()
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, task.Name()))
		if err == nil { // a thread may have ended
			list = append(list, strings.Fields(string(b))...)
		}
	}
	return list
}

// memoryOf returns a number of KiB from the status of a process.
func memoryOf(t *testing.T, pid, name string) (kib int) {
	t.Helper()
	f, err := os.Open("/proc/" + pid + "/status")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), name+":"); ok {
			if _, err := fmt.Sscan(value, &kib); err != nil {
				t.Fatal(err)
			}
		}
	}
	return kib
}
