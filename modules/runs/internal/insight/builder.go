package insight

import (
	"encoding/json"
	"strconv"
	"sync"

	"github.com/writ-automation/writ/ports/runs"
)

// Bounds of one builder. Hosts, tasks and cells beyond them are left out of the matrix.
const (
	maxRows  = 50_000
	maxCols  = 5_000
	maxCells = 8 << 20
)

// builder makes the matrix and the failure groups of one run from its events, or from those of a parent's children.
type builder struct {
	mu    sync.Mutex
	feeds map[string]*feed // by run
	rev   int64            // grows by one with each event taken
	order int64            // changes with the order of hosts and tasks
	began int64            // the revision at which the order began
	hosts map[string]int
	names []string
	tasks []runs.MatrixTask
	index map[string]int
	cells [][]byte // by column, each as long as its last host with a result
	size  int
	fold  folder
	past  history
}

// feed records which events of one run the builder has taken.
type feed struct {
	seq    int64          // the last event taken
	unseen int64          // the last event that was counted as taken and has to be looked at
	cols   map[string]int // by task id
	seen   map[string]int // how often a task of this name began
	prefix string         // separates the tasks of runs that share none
}

func newBuilder() *builder {
	return &builder{feeds: map[string]*feed{}, hosts: map[string]int{}, index: map[string]int{}, fold: newFolder()}
}

// feed returns the feed of a run, and creates it if necessary. Tasks of two runs share a column if prefix and name
// are equal.
func (b *builder) feed(run, prefix string) *feed {
	f := b.feeds[run]
	if f == nil {
		f = &feed{cols: map[string]int{}, seen: map[string]int{}, prefix: prefix}
		b.feeds[run] = f
	}
	return f
}

// take applies the events after the last one taken. It returns false if there is a gap before one of them.
func (b *builder) take(f *feed, events []runs.Event) bool {
	for i := range events {
		e := &events[i]
		switch {
		case e.Seq <= f.seq:
			continue
		case e.Seq > f.seq+1:
			return false
		}
		b.skip(f, e.Seq)
		b.apply(f, e)
	}
	return true
}

// skip counts the events up to seq as taken.
func (b *builder) skip(f *feed, seq int64) {
	b.rev += seq - f.seq
	f.seq = seq
}

func (b *builder) apply(f *feed, e *runs.Event) {
	switch e.Type {
	case runs.EventTaskStarted:
		b.column(f, e)
	case runs.EventStats:
		b.stats(e.Stats)
	case runs.EventHostFailed, runs.EventHostUnreachable:
		b.set(f, e)
		b.fold.add(e)
	default:
		b.set(f, e)
	}
}

// cell returns the result of a host in a task; ok is false for an event without one.
func cell(e *runs.Event) (c runs.Cell, ok bool) {
	switch e.Type {
	case runs.EventHostOK:
		if e.Changed {
			return runs.CellChanged, true
		}
		return runs.CellOK, true
	case runs.EventHostSkipped:
		return runs.CellSkipped, true
	case runs.EventHostFailed:
		if e.Ignored {
			return runs.CellIgnored, true
		}
		return runs.CellFailed, true
	case runs.EventHostUnreachable:
		return runs.CellUnreachable, true
	case runs.EventHostRetry, runs.EventItemOK, runs.EventItemFailed, runs.EventItemSkipped:
		return runs.CellRunning, true
	default:
		return runs.CellNone, false
	}
}

func (b *builder) set(f *feed, e *runs.Event) {
	c, ok := cell(e)
	if !ok || e.Host == "" {
		return
	}
	col, row := b.column(f, e), b.row(e.Host)
	if col < 0 || row < 0 {
		return
	}
	if grow := row + 1 - len(b.cells[col]); grow > 0 {
		if b.size+grow > maxCells {
			return
		}
		b.size += grow
		b.cells[col] = append(b.cells[col], make([]byte, grow)...)
	}
	if c == runs.CellRunning && b.cells[col][row] != byte(runs.CellNone) {
		return
	}
	b.put(col, row, c)
}

// put changes a cell and adds the change to the history.
func (b *builder) put(col, row int, c runs.Cell) {
	if b.cells[col][row] == byte(c) {
		return
	}
	b.cells[col][row] = byte(c)
	b.past.add(change{rev: b.rev, col: int32(col), row: int32(row)})
}

// column returns the column of an event's task. It adds one for a new task, and returns -1 if the matrix is full.
// Batches of hosts and shards that run the same task share its column.
func (b *builder) column(f *feed, e *runs.Event) int {
	key := e.TaskID
	if key == "" {
		key = e.Play + "\x00" + e.Task
	}
	if i, ok := f.cols[key]; ok {
		return i
	}
	name := f.prefix + "\x00" + e.Play + "\x00" + e.Task
	f.seen[name]++
	shared := name + "\x00" + strconv.Itoa(f.seen[name])
	i, ok := b.index[shared]
	if !ok {
		if len(b.tasks) >= maxCols {
			return -1
		}
		i = len(b.tasks)
		b.index[shared] = i
		b.tasks = append(b.tasks, runs.MatrixTask{ID: e.TaskID, Name: e.Task, Play: e.Play})
		b.cells = append(b.cells, make([]byte, 0, len(b.names)))
		b.past.tasks = append(b.past.tasks, b.rev)
	}
	f.cols[key] = i
	return i
}

func (b *builder) row(host string) int {
	if i, ok := b.hosts[host]; ok {
		return i
	}
	if len(b.names) >= maxRows {
		return -1
	}
	i := len(b.names)
	b.hosts[host] = i
	b.names = append(b.names, host)
	b.past.names = append(b.past.names, b.rev)
	return i
}

// stats marks failures of hosts as rescued. The tool reports that only in its recap.
func (b *builder) stats(raw json.RawMessage) {
	var by map[string]runs.HostStats
	if json.Unmarshal(raw, &by) != nil {
		return
	}
	for host, s := range by {
		row, ok := b.hosts[host]
		if !ok || s.Rescued == 0 || s.Failed > 0 {
			continue
		}
		b.fold.rescue(host)
		for i, col := range b.cells {
			if row < len(col) && col[row] == byte(runs.CellFailed) {
				b.put(i, row, runs.CellRescued)
			}
		}
	}
}
