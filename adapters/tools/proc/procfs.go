package proc

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"sync"
	"time"
)

// stat describes one process, from /proc.
type stat struct {
	pid, ppid, group, session int
	state                     byte
	start                     uint64 // clock ticks since boot; with the pid it identifies a process uniquely
	bare                      bool   // its program was started with an empty environment
}

// alive reports whether the process still executes; a zombie does not.
func (s stat) alive() bool { return s.state != 'Z' && s.state != 'X' }

func readStat(pid int) (stat, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return stat{}, err
	}
	return parseStat(b)
}

// parseStat reads a stat line. The name in parentheses may hold anything, so fields are counted from the last one.
func parseStat(b []byte) (stat, error) {
	i, j := bytes.IndexByte(b, ' '), bytes.LastIndexByte(b, ')')
	if i < 0 || j < i {
		return stat{}, fmt.Errorf("proc: unreadable stat line")
	}
	f := bytes.Fields(b[j+1:])
	if len(f) < 20 || len(f[0]) != 1 {
		return stat{}, fmt.Errorf("proc: short stat line")
	}
	s := stat{state: f[0][0]}
	var err error
	for _, n := range []struct {
		to   *int
		text []byte
	}{{&s.pid, b[:i]}, {&s.ppid, f[1]}, {&s.group, f[2]}, {&s.session, f[3]}} {
		if *n.to, err = strconv.Atoi(string(n.text)); err != nil {
			return stat{}, fmt.Errorf("proc: stat line: %w", err)
		}
	}
	if s.start, err = strconv.ParseUint(string(f[19]), 10, 64); err != nil {
		return stat{}, fmt.Errorf("proc: stat line: %w", err)
	}
	// The bounds of the environment in memory. Both are 0 while the process replaces its program.
	if len(f) > 48 {
		s.bare = bytes.Equal(f[47], f[48]) && string(f[48]) != "0"
	}
	return s, nil
}

// processes lists every process; it omits those that end meanwhile.
func processes() []stat {
	d, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil
	}
	out := make([]stat, 0, len(names))
	for _, n := range names {
		pid, err := strconv.Atoi(n)
		if err != nil {
			continue
		}
		if s, err := readStat(pid); err == nil {
			out = append(out, s)
		}
	}
	return out
}

// marked reports whether the process was started with the run's id in its environment. While a process replaces its
// program its environment reads as empty, on a busy machine for seconds. An empty one counts only where the kernel
// reports that the new program has an empty environment.
func marked(s stat, runID string) bool {
	if s.pid == 2 || s.ppid == 2 {
		return false // kernel threads have no environment
	}
	want, pause := []byte(RunIDVar+"="+runID), shortest
	for range killWait / longest {
		b, err := os.ReadFile("/proc/" + strconv.Itoa(s.pid) + "/environ")
		if errors.Is(err, fs.ErrPermission) {
			return false // another user's process
		}
		for kv := range bytes.SplitSeq(b, []byte{0}) {
			if bytes.Equal(kv, want) {
				return true
			}
		}
		if len(b) > 0 {
			return false
		}
		now, err := readStat(s.pid)
		if err != nil || now.start != s.start || !now.alive() || now.bare {
			return false
		}
		<-time.After(pause)
		pause = min(2*pause, longest)
	}
	return false
}

// members finds the living processes of a run: the given and the marked ones among those that may be members, all
// processes in a session or group of these, and the descendants of all of them. This process, its ancestors and its
// own session are never members, even if a run started this server.
func members(all []stat, runID string, inGroup, may func(stat) bool) []process {
	c := processTable{byPID: make(map[int]stat, len(all)), in: map[int]bool{}, shared: map[int]bool{}}
	for _, s := range all {
		c.byPID[s.pid] = s
	}
	c.bar()
	for _, s := range all {
		if c.eligible(s) && may(s) && (inGroup(s) || runID != "" && marked(s, runID)) {
			c.seed(s)
		}
	}
	for grew := len(c.in) > 0; grew; {
		grew = false
		for _, s := range all {
			if c.eligible(s) && !c.in[s.pid] && c.joins(s) {
				c.in[s.pid], grew = true, true
			}
		}
	}
	out := make([]process, 0, len(c.in))
	for pid := range c.in {
		out = append(out, process{pid, c.byPID[pid].start})
	}
	return out
}

// processTable is one scan of all processes.
type processTable struct {
	byPID    map[int]stat
	excluded map[int]bool // this process and its ancestors
	session  int          // this process's
	in       map[int]bool
	shared   map[int]bool // sessions and groups of the members
}

func (c *processTable) bar() {
	c.excluded = map[int]bool{0: true, 1: true}
	self := c.byPID[os.Getpid()]
	c.session = self.session
	for p := self; p.pid > 1; p = c.byPID[p.ppid] {
		c.excluded[p.pid] = true
	}
}

func (c *processTable) eligible(s stat) bool { return s.alive() && !c.excluded[s.pid] }

func (c *processTable) seed(s stat) {
	c.in[s.pid] = true
	if s.session != c.session {
		c.shared[s.session], c.shared[s.group] = true, true
	}
}

func (c *processTable) joins(s stat) bool {
	return c.in[s.ppid] || s.session != c.session && (c.shared[s.session] || c.shared[s.group])
}

// scanner shares scans of all processes: callers that arrive during a scan get the next one together.
type scanner struct {
	scanning sync.Mutex // held during a scan
	mu       sync.Mutex
	next     *scan
}

type scan struct {
	done chan struct{}
	all  []stat
}

// processes returns the result of a scan that began after the call.
func (o *scanner) processes() []stat {
	o.mu.Lock()
	mine := o.next == nil
	if mine {
		o.next = &scan{done: make(chan struct{})}
	}
	l := o.next
	o.mu.Unlock()
	if !mine {
		<-l.done
		return l.all
	}
	o.scanning.Lock()
	defer o.scanning.Unlock()
	o.mu.Lock()
	o.next = nil
	o.mu.Unlock()
	l.all = processes()
	close(l.done)
	return l.all
}
