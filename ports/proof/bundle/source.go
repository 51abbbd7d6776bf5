package bundle

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/writ-automation/writ/ports/proof/jcs"
	"github.com/writ-automation/writ/ports/proof/keys"
	"github.com/writ-automation/writ/ports/proof/tree"
)

// source reads tokens of a document and hashes the bytes read. Its buffer grows at most to the largest token.
type source struct {
	r      io.Reader
	buf    []byte // read from r and not yet processed
	at     int    // where the next token begins
	hashed int    // the end of the bytes of buf that are in sum
	sum    hash.Hash
	total  int64
	limit  int64
	err    error // the final error of r
}

func newSource(r io.Reader) *source {
	return &source{r: r, buf: make([]byte, 0, 128<<10), sum: sha256.New(), limit: MaxBytes}
}

var errEnd = keys.FormatInvalid.New("the document is truncated")

// fill reads at least one more byte.
func (s *source) fill() error {
	s.digest()
	if s.at > 0 {
		s.buf, s.at, s.hashed = s.buf[:copy(s.buf, s.buf[s.at:])], 0, 0
	}
	n := len(s.buf)
	if n == cap(s.buf) {
		s.buf = append(make([]byte, 0, 2*n), s.buf...)
	}
	for tries := 0; s.err == nil; tries++ {
		read, err := s.r.Read(s.buf[n:cap(s.buf)])
		s.buf, s.err = s.buf[:n+read], err
		if s.total += int64(read); s.total > s.limit {
			s.err = ErrTooLarge
			return s.err
		}
		if read > 0 {
			return nil
		}
		if tries == 100 {
			s.err = io.ErrNoProgress
		}
	}
	if errors.Is(s.err, io.EOF) {
		return errEnd
	}
	return fmt.Errorf("bundle: read: %w", s.err)
}

func (s *source) digest() {
	_, _ = s.sum.Write(s.buf[s.hashed:s.at]) // a hash never fails
	s.hashed = s.at
}

// read returns the digest of all processed bytes.
func (s *source) read() tree.Hash {
	s.digest()
	return tree.Hash(s.sum.Sum(nil))
}

// has reports whether the document continues with this text, and skips the text.
func (s *source) has(text string) (bool, error) {
	for len(s.buf)-s.at < len(text) {
		if err := s.fill(); err != nil {
			return false, err
		}
	}
	if string(s.buf[s.at:s.at+len(text)]) != text {
		return false, nil
	}
	s.at += len(text)
	return true, nil
}

// want requires this text.
func (s *source) want(text string) error {
	ok, err := s.has(text)
	if err == nil && !ok {
		err = keys.FormatInvalid.New("%s is expected", text)
	}
	return err
}

// text reads a string of at most limit bytes without decoding it.
func (s *source) text(limit int) (string, error) {
	if ok, err := s.has(`"`); err != nil || !ok {
		return "", orElse(err, "a string is expected")
	}
	s.at--
	i := 1
	for {
		b := s.buf[s.at:]
		for i < len(b) && b[i] != '"' {
			if b[i] == '\\' {
				i++
			}
			i++
		}
		if i >= limit {
			return "", keys.FormatInvalid.New("a string is too long")
		}
		if i < len(b) {
			break
		}
		if err := s.fill(); err != nil {
			return "", err
		}
	}
	text, _, flaw := jcs.Scan(string(s.buf[s.at:s.at+i+1]), 0)
	if flaw != jcs.None {
		return "", keys.FormatInvalid.New("a string is not in its canonical form: %s", flaw)
	}
	s.at += i + 1
	return text, nil
}

// integer reads an unsigned number.
func (s *source) integer() (int64, error) {
	for i := 0; ; i++ {
		if s.at+i == len(s.buf) {
			if err := s.fill(); err != nil {
				return 0, err
			}
		}
		if c := s.buf[s.at+i]; c >= '0' && c <= '9' && i < maxIntegerLen {
			continue
		}
		n, err := keys.ParseSize(string(s.buf[s.at : s.at+i]))
		s.at += i
		return n, err
	}
}

// value reads an object or a list of at most limit bytes without decoding it.
func (s *source) value(limit int) ([]byte, error) {
	depth, quoted := 0, false
	for i := 0; i < limit; i++ {
		for s.at+i >= len(s.buf) {
			if err := s.fill(); err != nil {
				return nil, err
			}
		}
		switch c := s.buf[s.at+i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
		if depth > maxDepth || depth == 0 && i == 0 {
			return nil, keys.FormatInvalid.New("an object or a list is expected, or is nested too deep")
		}
		if depth == 0 {
			out := bytes.Clone(s.buf[s.at : s.at+i+1])
			s.at += i + 1
			return out, nil
		}
	}
	return nil, keys.FormatInvalid.New("an object or a list is too long")
}

// end requires the end of the document.
func (s *source) end() error {
	if s.at < len(s.buf) {
		return keys.FormatInvalid.New("the document has trailing data")
	}
	err := s.fill()
	switch {
	case err == nil:
		return keys.FormatInvalid.New("the document has trailing data")
	case errors.Is(s.err, io.EOF):
		return nil
	}
	return err
}

func orElse(err error, text string) error {
	if err != nil {
		return err
	}
	return keys.FormatInvalid.New("%s", text)
}
