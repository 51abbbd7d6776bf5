package insight

import (
	"bytes"
	"context"
	"regexp"
	"strings"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
)

// Bounds of a search. A line longer than maxLine is searched in pieces of that length.
const (
	defaultHits = 100
	maxHits     = 1000
	maxPattern  = 1000
	maxLine     = 64 << 10
	maxHitText  = 1 << 10
)

func (x *Insight) Find(ctx context.Context, id string, q runs.LogQuery) (*runs.LogHits, error) {
	match, err := matcher(q)
	if err != nil {
		return nil, err
	}
	r, err := x.store.ByID(ctx, id)
	if err != nil {
		return nil, err
	}
	s := &search{match: match, limit: page.Clamp(q.Limit, defaultHits, maxHits), line: 1, hits: &runs.LogHits{}}
	if r.LogBytes > 0 {
		err = x.logs.ReadLog(ctx, id, 0, r.LogBytes, func(c runs.LogChunk) error {
			s.add(c)
			return ctx.Err()
		})
		if err != nil {
			return nil, err
		}
	}
	s.end()
	return s.hits, nil
}

// CheckQuery returns the Invalid fault that Find returns for the query.
func CheckQuery(q runs.LogQuery) error {
	_, err := matcher(q)
	return err
}

func matcher(q runs.LogQuery) (func([]byte) bool, error) {
	if q.Text == "" || len(q.Text) > maxPattern {
		return nil, fault.BadField("q", "must have from 1 to %d bytes", maxPattern)
	}
	if q.Case && !q.Regex {
		text := []byte(q.Text)
		return func(line []byte) bool { return bytes.Contains(line, text) }, nil
	}
	expr := q.Text
	if !q.Regex {
		expr = regexp.QuoteMeta(expr)
	}
	if !q.Case {
		expr = "(?i)" + expr
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, fault.BadField("q", "is not a regular expression of RE2").Because(err)
	}
	return re.Match, nil
}

// search reads a log in chunks and matches its lines.
type search struct {
	match func([]byte) bool
	limit int
	hits  *runs.LogHits
	line  int64
	start int64 // where buf begins
	buf   []byte
}

func (s *search) add(c runs.LogChunk) {
	if end := s.start + int64(len(s.buf)); c.Offset != end {
		s.end() // a gap ends the line
		s.start = c.Offset
	}
	data := c.Data
	for len(data) > 0 {
		nl := bytes.IndexByte(data, '\n')
		if nl < 0 {
			s.piece(data)
			return
		}
		s.piece(data[:nl])
		s.matchLine()
		s.line++
		s.start++ // the line break
		data = data[nl+1:]
	}
}

// piece appends to the line. It matches a line of maxLine bytes at once.
func (s *search) piece(b []byte) {
	for len(s.buf)+len(b) > maxLine {
		n := maxLine - len(s.buf)
		s.buf = append(s.buf, b[:n]...)
		b = b[n:]
		s.matchLine()
	}
	s.buf = append(s.buf, b...)
}

func (s *search) matchLine() {
	if s.match(s.buf) {
		s.hits.Total++
		if len(s.hits.Hits) < s.limit {
			text := strings.ToValidUTF8(string(s.buf[:min(len(s.buf), maxHitText)]), "\uFFFD")
			s.hits.Hits = append(s.hits.Hits, runs.LogHit{Line: s.line, Offset: s.start, Text: strings.TrimSuffix(text, "\r")})
		}
	}
	s.start += int64(len(s.buf))
	s.buf = s.buf[:0]
}

func (s *search) end() {
	if len(s.buf) > 0 {
		s.matchLine()
		s.line++
	}
}
