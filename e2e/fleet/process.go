package fleet

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// descendants lists a process and all that it started, children after their parents. Connections of sshd leave its
// process group, so the tree is read from /proc.
func descendants(root int) []int {
	children := make(map[int][]int)
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return []int{root}
	}
	for _, path := range stats {
		if pid, parent, _, ok := readStat(path); ok {
			children[parent] = append(children[parent], pid)
		}
	}
	out := []int{root}
	for i := 0; i < len(out); i++ {
		out = append(out, children[out[i]]...)
	}
	return out
}

// readStat reads id, parent and state. The name in between may hold anything, so it is cut at its last parenthesis.
func readStat(path string) (pid, parent int, state string, ok bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, 0, "", false
	}
	end := strings.LastIndexByte(string(text), ')')
	if end < 0 {
		return 0, 0, "", false
	}
	fields := strings.Fields(string(text[end+1:]))
	if len(fields) < 2 {
		return 0, 0, "", false
	}
	pid, err1 := strconv.Atoi(filepath.Base(filepath.Dir(path)))
	parent, err2 := strconv.Atoi(fields[1])
	return pid, parent, fields[0], err1 == nil && err2 == nil
}

// anyAlive reports whether one of the processes still runs. One that ended and was not collected does not.
func anyAlive(pids []int) bool {
	for _, pid := range pids {
		_, _, state, ok := readStat("/proc/" + strconv.Itoa(pid) + "/stat")
		if ok && state != "Z" && state != "X" {
			return true
		}
	}
	return false
}
