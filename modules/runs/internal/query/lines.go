package query

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/writ-automation/writ/ports/runs"
)

// Bounds of the index of lines: the lines between two marks, the logs that it knows, and the bytes of an answer.
const (
	lineStep     = 4096
	indexedLogs  = 64
	maxLineBytes = 4 << 20
)

// lineIndex remembers where every lineStep-th line of the logs begins that were asked for last.
type lineIndex struct {
	mu   sync.Mutex
	logs []*logLines // the one asked for last is the last
}

// logLines are the marks of one log. Its lines are numbered as a search in the log numbers them: a gap ends a line and
// has none.
type logLines struct {
	id      string
	omitted int64 // bytes that the log lacked; with others the lines have other numbers

	mu    sync.Mutex // held while the log is read
	marks []int64
	read  lineScan
}

func (x *lineIndex) of(r *runs.Run) *logLines {
	x.mu.Lock()
	defer x.mu.Unlock()
	i := slices.IndexFunc(x.logs, func(l *logLines) bool { return l.id == r.ID && l.omitted == r.LogOmitted })
	if i < 0 {
		x.logs = slices.DeleteFunc(x.logs, func(l *logLines) bool { return l.id == r.ID })
		x.logs = append(x.logs, &logLines{id: r.ID, omitted: r.LogOmitted, read: lineScan{line: 1}})
		x.logs = x.logs[max(0, len(x.logs)-indexedLogs):]
		i = len(x.logs) - 1
	}
	l := x.logs[i]
	x.logs = append(slices.Delete(x.logs, i, i+1), l)
	return l
}

// lineScan counts the lines of chunks in order.
type lineScan struct {
	line int64 // the number of the line at the place at
	at   int64
	open bool // the line has bytes before at
}

// add calls begin with each line that begins in the chunk, until it returns false.
func (s *lineScan) add(c runs.LogChunk, begin func(line, at int64) bool) bool {
	if c.Offset != s.at && s.open {
		s.line++
		s.open = false
	}
	s.at = c.Offset
	for data := c.Data; len(data) > 0; {
		if !s.open && !begin(s.line, s.at) {
			return false
		}
		n := bytes.IndexByte(data, '\n')
		if n < 0 {
			s.at, s.open = s.at+int64(len(data)), true
			return true
		}
		s.line, s.at, s.open = s.line+1, s.at+int64(n)+1, false
		data = data[n+1:]
	}
	return true
}

// count is how many lines end at the place at, or are open there.
func (s *lineScan) count() int64 {
	if s.open {
		return s.line
	}
	return s.line - 1
}

// errFound ends a read.
var errFound = errors.New("the line is found")

// lines sets the range of a view to the lines [first, first+n). The log before them is read at most once by this
// process, as long as its index holds the log.
func (q *Reader) lines(ctx context.Context, r *runs.Run, v *runs.LogView, first, n int64) error {
	l := q.index.of(r)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := q.indexTo(ctx, r, l, first+n); err != nil {
		return err
	}
	if l.read.at >= r.LogBytes {
		v.Lines = l.read.count()
	}
	at, s := int64(0), lineScan{line: 1}
	if m := min((first-1)/lineStep, int64(len(l.marks)-1)); m >= 0 {
		at, s = l.marks[m], lineScan{line: 1 + m*lineStep, at: l.marks[m]}
	}
	v.Line, v.From, v.To = first, r.LogBytes, r.LogBytes
	found := false
	err := q.logs.ReadLog(ctx, r.ID, at, r.LogBytes, func(c runs.LogChunk) error {
		more := s.add(c, func(line, at int64) bool {
			if line == first {
				v.From, found = at, true
			}
			if line >= first+n {
				v.To = at
			}
			return line < first+n
		})
		if more && found && s.at-v.From >= maxLineBytes {
			v.To, more = v.From+maxLineBytes, false
		}
		if !more {
			return errFound
		}
		return nil
	})
	if errors.Is(err, errFound) {
		err = nil
	}
	if !found {
		v.Line = s.count() + 1
	}
	return err
}

// indexTo reads on until a line begins, or to the end.
func (q *Reader) indexTo(ctx context.Context, r *runs.Run, l *logLines, line int64) error {
	if l.read.line > line || l.read.at >= r.LogBytes {
		return nil
	}
	err := q.logs.ReadLog(ctx, r.ID, l.read.at, r.LogBytes, func(c runs.LogChunk) error {
		l.read.add(c, func(line, at int64) bool {
			if (line-1)%lineStep == 0 && int64(len(l.marks)) == (line-1)/lineStep {
				l.marks = append(l.marks, at)
			}
			return true
		})
		if l.read.line > line {
			return errFound
		}
		return ctx.Err()
	})
	if errors.Is(err, errFound) {
		return nil
	}
	return err
}
