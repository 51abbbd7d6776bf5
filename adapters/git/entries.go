package git

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
)

// maxEntry is the maximum size of one record of a listing in bytes.
const maxEntry = 64 << 10

var errEntry = errors.New("the list of git cannot be read")

// entry is one record of ls-tree.
type entry struct {
	mode string
	id   string
	size int64
	name string
}

const (
	modeLink = "120000"
	modeDir  = "040000"
	modeSub  = "160000"
)

// entrySink parses the output of ls-tree -z -l. An error of each ends the listing and stops git.
type entrySink struct {
	each func(entry) error
	err  error
	rest []byte
}

func (s *entrySink) Write(b []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	s.rest = append(s.rest, b...)
	for {
		record, after, ok := bytes.Cut(s.rest, []byte{0})
		if !ok {
			break
		}
		e, err := parseEntry(string(record))
		if err == nil {
			err = s.each(e)
		}
		if err != nil {
			s.err = err
			return 0, err
		}
		s.rest = after
	}
	if len(s.rest) > maxEntry {
		s.err = errEntry
		return 0, s.err
	}
	s.rest = append([]byte(nil), s.rest...)
	return len(b), nil
}

// parseEntry parses "mode type id size<tab>name". The size is a dash for anything but a file.
func parseEntry(record string) (entry, error) {
	head, name, ok := strings.Cut(record, "\t")
	f := strings.Fields(head)
	if !ok || len(f) != 4 || name == "" {
		return entry{}, errEntry
	}
	e := entry{mode: f[0], id: f[2], name: name}
	if f[3] == "-" {
		return e, nil
	}
	size, err := strconv.ParseInt(f[3], 10, 64)
	if err != nil || size < 0 {
		return entry{}, errEntry
	}
	e.size = size
	return e, nil
}
