package shell

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// listed reads the values of a field whose type makes a list or an object of lines: ":many", ":some", ":set" and
// ":pairs". ok is false for another type.
func listed(kind string, values []string) (v any, ok bool, err error) {
	last := values[len(values)-1]
	switch kind {
	case "many", "some":
		chosen := slices.DeleteFunc(slices.Clone(values), func(s string) bool { return s == "" })
		if kind == "some" && len(chosen) == 0 {
			return nil, true, nil
		}
		return chosen, true, nil
	case "set":
		return append([]string{}, lines(last)...), true, nil
	case "pairs":
		all := lines(last)
		if len(all) == 0 {
			return nil, true, nil
		}
		out := map[string]string{}
		for i, line := range all {
			name, text, found := strings.Cut(line, "=")
			if name = strings.TrimSpace(name); !found || name == "" {
				return nil, true, fmt.Errorf("line %d is not name=value", i+1)
			}
			out[name] = text
		}
		return out, true, nil
	}
	return nil, false, nil
}

// lines returns the lines of a text that are not empty.
func lines(text string) []string {
	return slices.DeleteFunc(strings.FieldsFunc(text, func(c rune) bool { return c == '\n' || c == '\r' }),
		func(s string) bool { return strings.TrimSpace(s) == "" })
}

// parseJSON reads one JSON value. An error names the line.
func parseJSON(text string) (any, error) {
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.UseNumber()
	var out any
	err := d.Decode(&out)
	at := d.InputOffset()
	if err == nil {
		if _, err = d.Token(); errors.Is(err, io.EOF) {
			return out, nil
		}
		err = errors.New("there is more after the value")
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		at = syntax.Offset
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		at, err = int64(len(text)), errors.New("it ends too early")
	}
	line := 1 + strings.Count(text[:min(int(at), len(text))], "\n")
	return nil, fmt.Errorf("is not JSON at line %d: %w", line, err)
}
