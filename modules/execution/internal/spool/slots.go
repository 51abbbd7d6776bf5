package spool

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
)

const (
	slotHeader = 16
	slotSize   = slotHeader + blockSize
)

// slots is a file of equal slots, each with an offset, a length and a block, so that the log can be reassembled after
// its process ended.
type slots struct {
	path   string
	f      *os.File
	limit  int
	made   int // slots that exist in the file
	spare  []int
	broken bool // the disk is full; only existing slots are used
	buf    []byte
}

func newSlots(path string, limit int) *slots { return &slots{path: path, limit: limit} }

// put writes the entry's data to a slot and reports whether there was space.
func (s *slots) put(e *entry) bool {
	if s.f == nil && !s.open() {
		return false
	}
	slot := s.made
	if n := len(s.spare); n > 0 {
		slot = s.spare[n-1]
		s.spare = s.spare[:n-1]
	} else if s.broken || s.made >= s.limit {
		return false
	}
	s.buf = binary.LittleEndian.AppendUint64(s.buf[:0], uint64(e.off))
	s.buf = binary.LittleEndian.AppendUint64(s.buf, uint64(e.n))
	s.buf = append(s.buf, e.data...)
	if _, err := s.f.WriteAt(s.buf, int64(slot)*slotSize); err != nil {
		s.broken = true // a slot that failed is never used again
		if slot == s.made {
			_ = s.f.Truncate(int64(slot) * slotSize) // half a slot must not remain
		}
		return false
	}
	if slot == s.made {
		s.made++
	}
	e.slot = slot
	return true
}

func (s *slots) open() bool {
	if s.broken {
		return false
	}
	f, err := os.OpenFile(s.path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	s.f, s.broken = f, err != nil
	return err == nil
}

func (s *slots) release(slot int) { s.spare = append(s.spare, slot) }

// load returns an entry's data.
func (s *slots) load(e *entry) ([]byte, bool) {
	if e.data != nil {
		return e.data, true
	}
	if s.f == nil {
		return nil, false
	}
	p := make([]byte, e.n)
	_, err := s.f.ReadAt(p, int64(e.slot)*slotSize+slotHeader)
	return p, err == nil
}

func (s *slots) close() {
	if s.f != nil {
		_ = s.f.Close() // later readers open it by its path
		s.f = nil
		s.broken = true
	}
}

// ReadLog calls yield with the blocks of a log's file by their offsets; some may have been acknowledged before the
// process ended. A missing file has none.
func ReadLog(path string, yield func(off int64, data []byte) error) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the spooled log: %w", err)
	}
	defer func() { _ = f.Close() }()
	found, err := scanSlots(f)
	if err != nil {
		return err
	}
	for _, e := range found {
		p := make([]byte, e.n)
		if _, err := f.ReadAt(p, int64(e.slot)*slotSize+slotHeader); err != nil {
			continue // incomplete, as after a kill
		}
		if err := yield(e.off, p); err != nil {
			return err
		}
	}
	return nil
}

func scanSlots(f *os.File) ([]entry, error) {
	var found []entry
	var h [slotHeader]byte
	for slot := 0; ; slot++ {
		_, err := f.ReadAt(h[:], int64(slot)*slotSize)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read the spooled log: %w", err)
		}
		e := entry{off: int64(binary.LittleEndian.Uint64(h[:8])), n: int(binary.LittleEndian.Uint64(h[8:])), slot: slot}
		if e.n > 0 && e.n <= blockSize && e.off >= 0 {
			found = append(found, e)
		}
	}
	slices.SortStableFunc(found, func(a, b entry) int { return cmp.Compare(a.off, b.off) })
	return found, nil
}
