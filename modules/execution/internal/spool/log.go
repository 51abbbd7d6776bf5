package spool

import "sync"

const (
	blockSize  = 64 << 10
	firstBlock = 4 << 10
	memBlocks  = 16 // sealed blocks kept in memory before the file is used
	minSlots   = 8
)

// entry is a sealed block: in memory, in a slot of the file, or both.
type entry struct {
	off  int64
	n    int
	data []byte // nil if the block is only in the file
	slot int    // -1 if the block is only in memory
}

func (e *entry) end() int64 { return e.off + int64(e.n) }

// Log is the queue of a run's output. Offsets count from the start of the output. One goroutine may append while
// another reads.
type Log struct {
	mu       sync.Mutex
	file     *slots
	begin    []entry // what is sent next; never dropped
	tail     []entry // the newest; its oldest is dropped when there is no space
	inTail   bool    // new blocks go to the tail
	inMemory int     // sealed blocks that are only in memory
	off      int64   // offset of the current block
	cur      []byte
	sent     int64 // everything before was acknowledged
	omitted  int64
}

// NewLog makes a queue that spills to a file at path, created on first use, of about limit bytes.
func NewLog(path string, limit int64) *Log {
	return &Log{file: newSlots(path, int(max(minSlots, limit/blockSize)))}
}

// Append adds bytes and calls show with each stored piece and its offset; the piece never changes.
func (l *Log) Append(p []byte, show func(off int64, data []byte)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(p) > 0 {
		if l.cur == nil {
			size := blockSize
			if l.off == 0 && len(p) <= firstBlock {
				size = firstBlock // a short log needs no whole block
			}
			l.cur = make([]byte, 0, size)
		}
		n := min(len(p), cap(l.cur)-len(l.cur))
		at := len(l.cur)
		l.cur = append(l.cur, p[:n]...)
		p = p[n:]
		show(l.off+int64(at), l.cur[at:at+n:at+n])
		if len(l.cur) == cap(l.cur) {
			l.seal()
		}
	}
}

// seal moves the current block into the queue.
func (l *Log) seal() {
	e := entry{off: l.off, n: len(l.cur), data: l.cur, slot: -1}
	l.off, l.cur = e.end(), nil
	if e.end() <= l.sent {
		return
	}
	if l.inMemory >= memBlocks {
		l.spill(&e)
	} else {
		l.inMemory++
	}
	l.push(e)
}

// spill moves an entry to the file, and drops the oldest of the tail if there is no space. If the file accepts
// nothing, the entry stays in memory and the tail is kept short instead.
func (l *Log) spill(e *entry) {
	for !l.file.put(e) {
		if len(l.tail) == 0 || l.file.broken && l.inMemory < 2*memBlocks {
			l.inMemory++
			return
		}
		l.drop()
	}
	e.data = nil
}

func (l *Log) drop() {
	e := l.tail[0]
	l.tail = l.tail[1:]
	l.omitted += int64(e.n)
	l.free(&e)
}

func (l *Log) free(e *entry) {
	if e.slot >= 0 {
		l.file.release(e.slot)
	} else {
		l.inMemory--
	}
}

func (l *Log) push(e entry) {
	if l.inTail || len(l.begin) >= max(memBlocks, l.file.limit/2) || l.file.broken && len(l.begin) >= memBlocks {
		l.inTail = true
		l.tail = append(l.tail, e)
		return
	}
	l.begin = append(l.begin, e)
}

// Peek returns the next bytes that were not acknowledged, at most limit and without a gap. It returns the same again
// until Ack. The bytes never change; there are none when all were acknowledged.
func (l *Log) Peek(limit int) (off int64, data []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.advance()
	if len(l.begin) == 0 {
		skip := max(0, l.sent-l.off)
		data = l.cur[skip:len(l.cur):len(l.cur)]
		return l.off + skip, data[:min(limit, len(data)):min(limit, len(data))]
	}
	off = max(l.begin[0].off, l.sent)
	for i := 0; i < len(l.begin) && len(data) < limit; i++ {
		e := &l.begin[i]
		at := off + int64(len(data))
		if e.off > at {
			break
		}
		part, ok := l.file.load(e)
		if !ok {
			if len(data) == 0 { // unreadable: counts as dropped
				l.omitted += e.end() - at
				l.sent = e.end()
				l.advance()
				off, i = max(l.next(), l.sent), -1
				continue
			}
			break
		}
		part = part[at-e.off:]
		data = append(data, part[:min(len(part), limit-len(data))]...)
	}
	if off+int64(len(data)) == l.off && len(data) < limit {
		data = append(data, l.cur[:min(len(l.cur), limit-len(data))]...)
	}
	return off, data
}

// next returns the offset of the first byte in the queue.
func (l *Log) next() int64 {
	if len(l.begin) > 0 {
		return l.begin[0].off
	}
	return l.off
}

// advance removes acknowledged entries and makes the tail the head if the head is empty.
func (l *Log) advance() {
	for {
		for len(l.begin) > 0 && l.begin[0].end() <= l.sent {
			l.free(&l.begin[0])
			l.begin = l.begin[1:]
		}
		if len(l.begin) > 0 || !l.inTail {
			return
		}
		l.begin, l.tail, l.inTail = l.tail, nil, false
	}
}

// Ack marks everything before the given offset as taken over.
func (l *Log) Ack(until int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent = max(l.sent, until)
	l.advance()
}

// Pending returns how many bytes wait.
func (l *Log) Pending() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.advance()
	var n int64
	for _, q := range [][]entry{l.begin, l.tail} {
		for i := range q {
			n += q[i].end() - max(q[i].off, min(l.sent, q[i].end()))
		}
	}
	return n + int64(len(l.cur)) - min(int64(len(l.cur)), max(0, l.sent-l.off))
}

// Total returns how many bytes were appended, and how many of these were dropped.
func (l *Log) Total() (total, omitted int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.off + int64(len(l.cur)), l.omitted
}

// Persist copies data that is only in memory to the file, while there is space.
func (l *Log) Persist() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, q := range [][]entry{l.begin, l.tail} {
		for i := range q {
			if q[i].slot < 0 && l.file.put(&q[i]) {
				l.inMemory--
			}
		}
	}
	if len(l.cur) > 0 {
		e := entry{off: l.off, n: len(l.cur), data: l.cur, slot: -1}
		l.file.put(&e)
	}
}

// Close closes the file and does not remove it.
func (l *Log) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.file.close()
}
