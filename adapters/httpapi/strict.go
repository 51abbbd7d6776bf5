package httpapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/writ-automation/writ/ports/fault"
)

// maxDepth is the limit of the nesting of a body, and maxReported that of a body with program output, which is the
// limit of encoding/json.
const (
	maxDepth    = 64
	maxReported = 10_000
)

// badBody is the fault of a body that is not strict JSON. An empty path is the body as a whole.
func badBody(path, format string, args ...any) *fault.Error {
	path = cmp.Or(path, "body")
	return fault.BadField(path, format, args...)
}

// Strict checks that body is exactly one JSON value that all readers decode the same: no duplicate member, no NUL, no
// lone surrogate, no invalid UTF-8, nothing after it, and no more than 64 levels. It returns an Invalid fault that
// names the place.
func Strict(body []byte) error { return scan(body, false) }

// scan is Strict. With verbatim it accepts program output: texts with NUL characters or halves of surrogate pairs,
// numbers of any size, and the depth that encoding/json accepts. Duplicate members are then accepted too, except in
// objects of the API itself.
func scan(body []byte, verbatim bool) error {
	if !utf8.Valid(body) {
		return badBody("", "is not UTF-8")
	}
	s := scanner{dec: json.NewDecoder(bytes.NewReader(body)), body: body, deepest: maxDepth, verbatim: verbatim}
	if verbatim {
		s.deepest = maxReported
	}
	s.dec.UseNumber()
	if err := s.value(0); err != nil {
		return err
	}
	if _, err := s.dec.Token(); !errors.Is(err, io.EOF) {
		return badBody("", "has data behind its JSON value")
	}
	return nil
}

type scanner struct {
	dec  *json.Decoder
	body []byte
	path []string // ".name" or "[1]"

	deepest  int
	verbatim bool
}

// named reports whether the API defines the members of the object that begins here: those of the body itself and of the
// objects in its lists. A program made the members of deeper objects.
func (s *scanner) named() bool {
	return !s.verbatim || len(s.path) == 0 || len(s.path) == 2 && s.path[1][0] == '['
}

func (s *scanner) here() string { return strings.TrimPrefix(strings.Join(s.path, ""), ".") }

// token returns the next token and checks the raw form of a string token.
func (s *scanner) token() (json.Token, error) {
	from := s.dec.InputOffset()
	t, err := s.dec.Token()
	if err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, badBody(s.here(), "the JSON ends too early")
		}
		return nil, badBody(s.here(), "is not valid JSON at byte %d", s.dec.InputOffset())
	}
	if s.verbatim {
		return t, nil
	}
	switch v := t.(type) {
	case string:
		if strings.ContainsRune(v, 0) {
			return nil, badBody(s.here(), "holds a NUL character")
		}
		if loneSurrogate(s.body[from:s.dec.InputOffset()]) {
			return nil, badBody(s.here(), "holds half of a surrogate pair")
		}
	case json.Number:
		if _, err := strconv.ParseFloat(string(v), 64); err != nil {
			return nil, badBody(s.here(), "the number is out of range")
		}
	}
	return t, nil
}

func (s *scanner) value(depth int) error {
	t, err := s.token()
	if err != nil {
		return err
	}
	d, ok := t.(json.Delim)
	if !ok {
		return nil
	}
	if depth >= s.deepest {
		return badBody("", "nests deeper than %d levels", s.deepest)
	}
	if d == '{' {
		err = s.object(depth + 1)
	} else {
		err = s.array(depth + 1)
	}
	if err != nil {
		return err
	}
	_, err = s.token()
	return err
}

func (s *scanner) object(depth int) error {
	seen, once := make(map[string]bool), s.named()
	for s.dec.More() {
		t, err := s.token()
		if err != nil {
			return err
		}
		name, _ := t.(string)
		s.path = append(s.path, "."+name)
		if seen[name] && once {
			return badBody(s.here(), "is given twice")
		}
		seen[name] = true
		if err := s.value(depth); err != nil {
			return err
		}
		s.path = s.path[:len(s.path)-1]
	}
	return nil
}

func (s *scanner) array(depth int) error {
	for i := 0; s.dec.More(); i++ {
		s.path = append(s.path, fmt.Sprintf("[%d]", i))
		if err := s.value(depth); err != nil {
			return err
		}
		s.path = s.path[:len(s.path)-1]
	}
	return nil
}

// loneSurrogate reports whether raw, a JSON string in its original form, escapes one half of a surrogate pair. Decoders
// replace it silently, so that the checked text would differ from the sent one.
func loneSurrogate(raw []byte) bool {
	for i := 0; i+1 < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		i++
		if raw[i] != 'u' {
			continue
		}
		switch u := hex4(raw[i+1:]); {
		case u >= 0xdc00 && u <= 0xdfff:
			return true
		case u >= 0xd800 && u <= 0xdbff:
			rest := raw[min(i+5, len(raw)):]
			if len(rest) < 6 || rest[0] != '\\' || rest[1] != 'u' {
				return true
			}
			if low := hex4(rest[2:]); low < 0xdc00 || low > 0xdfff {
				return true
			}
			i += 6
		}
		i += 4
	}
	return false
}

func hex4(b []byte) int {
	if len(b) < 4 {
		return 0
	}
	n, err := strconv.ParseUint(string(b[:4]), 16, 32)
	if err != nil {
		return 0
	}
	return int(n)
}

// decodeError describes an error of the decoder in the terms of the API: "path: message", without the value.
func decodeError(err error) error {
	var t *json.UnmarshalTypeError
	if !errors.As(err, &t) {
		return errors.New("body: is not valid JSON")
	}
	// The decoder also names embedded types, which are not part of the API; members begin with a small letter.
	field := strings.Join(slices.DeleteFunc(strings.Split(t.Field, "."), func(s string) bool {
		return s != "" && s[0] >= 'A' && s[0] <= 'Z'
	}), ".")
	field = cmp.Or(field, "body")
	if strings.Contains(t.Type.Kind().String(), "int") {
		return fmt.Errorf("%s: expected a whole number in range", field)
	}
	return fmt.Errorf("%s: wrong type", field)
}
