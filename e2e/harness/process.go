package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Eventually polls until ok returns true, and ends the test if the limit passes first.
func Eventually(t testing.TB, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	var p pause
	for deadline := time.Now().Add(limit); !ok(); p.wait() {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", limit, what)
		}
	}
}

// pause waits between two polls, longer each time, so that many waiting tests leave the processors to the work.
type pause time.Duration

func (p *pause) wait() {
	const first, last = 5 * time.Millisecond, 50 * time.Millisecond
	*p = pause(min(max(time.Duration(*p)*3/2, first), last))
	<-time.After(time.Duration(*p))
}

// Alive reports whether a process exists and is no zombie.
func Alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return !strings.HasPrefix(rest, "Z")
}

// PIDs reads the process ids that a run printed, one per line after a mark, and returns the ids that these processes
// have here. The run executes, perhaps in a namespace of its own.
func PIDs(t testing.TB, id, log, mark string) []int {
	t.Helper()
	own, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		t.Fatal(err)
	}
	space, all := own, map[string]int{}
	for _, environ := range Marked(t, []string{id}) {
		if ns, err := os.Readlink(filepath.Join(filepath.Dir(environ), "ns", "pid")); err == nil {
			space = ns
		}
	}
	if space != own {
		all = inNamespace(t, space)
	}
	var out []int
	for line := range strings.Lines(log) {
		v, ok := strings.CutPrefix(strings.TrimSpace(line), mark)
		if !ok {
			continue
		}
		n, err := strconv.Atoi(v)
		if err != nil {
			t.Fatalf("pid %q: %v", v, err)
		}
		if space != own {
			n = all[v]
		}
		if n != 0 { // it has ended
			out = append(out, n)
		}
	}
	return out
}

// inNamespace returns the processes of a namespace, by their ids inside.
func inNamespace(t testing.TB, space string) map[string]int {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int{}
	for _, dir := range dirs {
		status, err := os.ReadFile(filepath.Join(dir, "status"))
		ns, errNS := os.Readlink(filepath.Join(dir, "ns", "pid"))
		if err != nil || errNS != nil || ns != space {
			continue
		}
		_, rest, _ := strings.Cut(string(status), "\nNSpid:")
		line, _, _ := strings.Cut(rest, "\n")
		if ids := strings.Fields(line); len(ids) > 0 {
			out[ids[len(ids)-1]], _ = strconv.Atoi(ids[0])
		}
	}
	return out
}

// Marked lists processes that have one of the runs' ids in their environment.
func Marked(t testing.TB, ids []string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range files {
		env, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		for _, id := range ids {
			if strings.Contains(string(env), "WRIT_RUN_ID="+id+"\x00") {
				out = append(out, f)
			}
		}
	}
	return out
}

// CheckOnce reads a file to which each process appended its line: every line once, n in all.
func CheckOnce(t testing.TB, file string, n int) {
	t.Helper()
	seen := lines(t, file)
	for name, k := range seen {
		if k != 1 {
			t.Errorf("%s started %d times", name, k)
		}
	}
	if len(seen) != n {
		t.Errorf("%d of %d started", len(seen), n)
	}
}

// lines counts the lines of a file; a missing one has none.
func lines(t testing.TB, file string) map[string]int {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for line := range strings.Lines(string(b)) {
		seen[strings.TrimSpace(line)]++
	}
	return seen
}
