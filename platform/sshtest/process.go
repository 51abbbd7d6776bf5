package sshtest

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// suspend stops processes with all their descendants and returns them, parents before children. A stopped process
// starts no children, so the search ends. The mark is the end of an environment variable that identifies further
// processes.
func suspend(roots []int, mark string) []int {
	var out []int
	held := make(map[int]bool)
	for again := true; again; {
		again = false
		for _, pid := range family(roots, mark) {
			if !held[pid] {
				_ = syscall.Kill(pid, syscall.SIGSTOP) // it may be gone already
				held[pid], again = true, true
				out = append(out, pid)
			}
		}
	}
	return out
}

// family lists processes, all their descendants, and the processes with the mark. Sessions leave the process group of
// their sshd, so the tree is read from /proc.
func family(roots []int, mark string) []int {
	out := append([]int(nil), roots...)
	seen := make(map[int]bool)
	children := make(map[int][]int)
	for _, pid := range roots {
		seen[pid] = true
	}
	dirs, _ := filepath.Glob("/proc/[0-9]*") // the pattern is well formed
	for _, dir := range dirs {
		pid, parent, state, ok := readStat(dir)
		if !ok || !alive(state) {
			continue
		}
		children[parent] = append(children[parent], pid)
		if !seen[pid] && marked(dir, mark) {
			seen[pid] = true
			out = append(out, pid)
		}
	}
	for i := 0; i < len(out); i++ {
		for _, pid := range children[out[i]] {
			if !seen[pid] {
				seen[pid] = true
				out = append(out, pid)
			}
		}
	}
	return out
}

// marked reports whether a process belongs to a session of the server: sshd sets a variable with its connection.
func marked(dir, mark string) bool {
	env, err := os.ReadFile(filepath.Join(dir, "environ"))
	if err != nil {
		return false // ended, or of another account
	}
	for v := range bytes.SplitSeq(env, []byte{0}) {
		if bytes.HasPrefix(v, []byte("SSH_CONNECTION=")) {
			return bytes.HasSuffix(v, []byte(mark))
		}
	}
	return false
}

// readStat reads id, parent and state. The name between them may contain any character, so the line is cut at its last
// parenthesis.
func readStat(dir string) (pid, parent int, state string, ok bool) {
	text, err := os.ReadFile(filepath.Join(dir, "stat"))
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
	pid, err1 := strconv.Atoi(filepath.Base(dir))
	parent, err2 := strconv.Atoi(fields[1])
	return pid, parent, fields[0], err1 == nil && err2 == nil
}

// alive reports whether a process of that state still runs. A zombie does not.
func alive(state string) bool { return state != "Z" && state != "X" }

func anyAlive(pids []int) bool {
	for _, pid := range pids {
		_, _, state, ok := readStat("/proc/" + strconv.Itoa(pid))
		if ok && alive(state) {
			return true
		}
	}
	return false
}
