package isolation

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/e2e/harness"
	"github.com/writ-automation/writ/platform/cgroup/cgrouptest"
)

// TestContainerMemory limits the memory of runs in a container, to less than the flag does. A run over the limit ends
// as a whole and says why, one that was killed does not, and neither leaves a process, a group or a file of the engine.
// Where nothing limits the memory, the server says so and the run goes on.
// Keeps F35.
func TestContainerMemory(t *testing.T) {
	t.Parallel()
	harness.EachUser(t, func(t *testing.T, o harness.Options, _ bool) {
		dir := ""
		if len(o.Wrap) == 0 {
			dir = cgrouptest.Dir(t)
		}
		o = contained(t, o, "    memory: 128MiB\n", "bash", "head", "sleep", "tail")
		if dir != "" {
			o.Wrap = inGroup(dir)
		}
		o.Flags = append(o.Flags, "--run-memory", "1GiB")
		s := harness.Start(t, o)
		mark := strconv.FormatInt(time.Now().UnixNano(), 10)
		last := "sleep 600"
		if dir == "" {
			last = "echo survived"
		}
		// tail holds the last line of its input, which has no end of a line.
		greedy := s.Await(s.Submit(harness.Body{"tool": "bash", "command": "(sleep " + mark +
			") & head -c 400M /dev/zero | tail -n 1 >/dev/null; " + last}).ID)
		if dir != "" && (greedy.Status != "failed" || greedy.Error !=
			"memory limit reached: the run used more than 128 MiB, and the kernel ended it") {
			t.Errorf("over the limit: %s (%s)\n%s", greedy.Status, greedy.Error, s.Log(greedy.ID))
		}
		if dir == "" && (greedy.Status != "succeeded" || !strings.Contains(s.Log(greedy.ID), "survived")) {
			t.Errorf("without a limit: %s (%s)\n%s", greedy.Status, greedy.Error, s.Log(greedy.ID))
		}
		gone(t, mark)
		for name, command := range map[string]string{
			"the tool": "kill -KILL $$", "a child": "(kill -KILL $BASHPID); exit $?",
		} {
			if r := s.Await(s.Submit(harness.Body{"tool": "bash", "command": command}).ID); r.Status != "failed" ||
				!strings.Contains(r.Error, "signal 9") || strings.Contains(r.Error, "memory") {
				t.Errorf("%s is killed: %s (%s)", name, r.Status, r.Error)
			}
		}
		withoutFiles(t, s.Dir, greedy.ID)
		says(t, s, dir != "")
		ends(t, s)
	})
}
