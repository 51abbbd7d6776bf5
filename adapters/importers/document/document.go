// Package document reads JSON, YAML and XML that nobody vouches for, within bounds of depth and number. Its faults are
// Malformed and name the line.
package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/importer"
)

// The limits of a document.
const (
	MaxDepth  = 200
	maxMemory = 192 << 20 // bytes that the values of a document may take, by the estimates below
)

// What values take in memory besides their text, in bytes.
const (
	valueSize = 40
	mapSize   = 320
)

// Text returns a body without a byte-order mark. A body that is not UTF-8 is Malformed.
func Text(body []byte) ([]byte, error) {
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	if !utf8.Valid(body) {
		return nil, malformed(0, "the text is not UTF-8")
	}
	return body, nil
}

// JSON decodes a body that is one JSON value. Numbers in values of the type any are json.Number.
func JSON(body []byte, into any) error {
	body, err := Text(body)
	if err != nil {
		return err
	}
	if err := bounded(body); err != nil {
		return err
	}
	if quick(body, into) {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		return jsonFault(body, d.InputOffset(), err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return malformed(line(body, d.InputOffset()), "text follows the JSON value")
	}
	return nil
}

// quick sets plain values, and the members of an object, from JSON that is valid. The decoder of the library copies the
// body several times.
func quick(body []byte, into any) bool {
	switch into := into.(type) {
	case *any:
		if json.Valid(body) {
			*into = Decode(body)
			return true
		}
	case *map[string]json.RawMessage:
		if len(*into) == 0 && json.Valid(body) {
			if m := Object(body); m != nil {
				*into = m
				return true
			}
		}
	}
	return false
}

// invalid returns what is wrong with JSON that is not valid.
func invalid(body []byte) error {
	var v json.RawMessage
	if err := JSON(body, &v); err != nil {
		return err
	}
	return malformed(0, "the JSON is not valid")
}

// bounded refuses JSON that nests too deeply or has too many values, before anything is built from it.
func bounded(body []byte) error {
	n, size := 0, 0
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case c == '"':
			i = closing(body, i)
		case c == '{' || c == '[':
			if n++; n > MaxDepth {
				return malformed(line(body, int64(i)), "the JSON nests deeper than %d levels", MaxDepth)
			}
			if size += valueSize; c == '{' {
				size += mapSize
			}
		case c == ',':
			size += valueSize
		case c == '}' || c == ']':
			n--
		}
		if size > maxMemory {
			return malformed(line(body, int64(i)), "the JSON has too many values")
		}
	}
	return nil
}

func jsonFault(body []byte, at int64, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return malformed(line(body, syntax.Offset), "the JSON is not valid: %s", syntax.Error())
	case errors.As(err, &kind):
		return malformed(line(body, kind.Offset), "%s", misplaced(kind))
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return malformed(line(body, int64(len(body))), "the JSON ends too early")
	}
	return malformed(line(body, at), "the JSON is not valid")
}

// misplaced says which value has a type that its reader does not accept.
func misplaced(err *json.UnmarshalTypeError) string {
	kind, _, _ := strings.Cut(err.Value, " ") // without a number itself
	if err.Field == "" {
		return fmt.Sprintf("a value of the type %s does not belong there", kind)
	}
	return fmt.Sprintf("%q is of the type %s, which does not belong there", err.Field, kind)
}

// line returns the line of an offset, from 1.
func line(body []byte, offset int64) int {
	return 1 + bytes.Count(body[:min(max(offset, 0), int64(len(body)))], []byte("\n"))
}

func malformed(line int, format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	if line == 0 {
		return importer.Malformed.New("%s", text)
	}
	err := importer.Malformed.New("line %d: %s", line, text)
	err.Fields = []fault.Field{{Location: fmt.Sprintf("line %d", line), Message: text}}
	return err
}
