package insight

import (
	"encoding/json"
	"sync"

	"github.com/writ-automation/writ/ports/runs"
)

// Bounds of one builder. What lies beyond is left out of the matrix.
const (
	maxRows  = 50_000
	maxCols  = 5_000
	maxCells = 8 << 20
)

// builder makes the matrix and the failure groups of one run of its events.
type builder struct {
	mu    sync.Mutex
	seq   int64 // the last event taken
	hosts map[string]int
	names []string
	tasks []runs.MatrixTask
	index map[string]int
	cells [][]byte // by column, each as long as its last host with a result
	size  int
	fold  folder
}

func newBuilder() *builder {
	return &builder{hosts: map[string]int{}, index: map[string]int{}, fold: newFolder()}
}

// take applies the events that follow what was taken, and reports whether there was no gap before them.
func (b *builder) take(events []runs.Event) bool {
	for i := range events {
		e := &events[i]
		switch {
		case e.Seq <= b.seq:
			continue
		case e.Seq > b.seq+1:
			return false
		}
		b.seq = e.Seq
		b.apply(e)
	}
	return true
}

func (b *builder) apply(e *runs.Event) {
	switch e.Type {
	case runs.EventTaskStarted:
		b.column(e)
	case runs.EventStats:
		b.stats(e.Stats)
	case runs.EventHostFailed, runs.EventHostUnreachable:
		b.set(e)
		if !e.Ignored {
			b.fold.add(e)
		}
	default:
		b.set(e)
	}
}

// cell returns what an event says of its host in its task; ok is false for one that says nothing of that.
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

func (b *builder) set(e *runs.Event) {
	c, ok := cell(e)
	if !ok || e.Host == "" {
		return
	}
	col, row := b.column(e), b.row(e.Host)
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
	b.cells[col][row] = byte(c)
}

// column returns the place of an event's task, a new one for a task not seen; -1 where there is no room. One task
// that several batches of hosts pass keeps its column.
func (b *builder) column(e *runs.Event) int {
	key := e.TaskID
	if key == "" {
		key = e.Play + "\x00" + e.Task
	}
	if i, ok := b.index[key]; ok {
		return i
	}
	if len(b.tasks) >= maxCols {
		return -1
	}
	i := len(b.tasks)
	b.index[key] = i
	b.tasks = append(b.tasks, runs.MatrixTask{ID: e.TaskID, Name: e.Task, Play: e.Play})
	b.cells = append(b.cells, make([]byte, 0, len(b.names)))
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
	return i
}

// stats turns the failures of hosts that were rescued: that a failure is, the tool says only in its recap.
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
		for _, col := range b.cells {
			if row < len(col) && col[row] == byte(runs.CellFailed) {
				col[row] = byte(runs.CellRescued)
			}
		}
	}
}
