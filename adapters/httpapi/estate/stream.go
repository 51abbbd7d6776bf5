package estate

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/writ-automation/writ/adapters/httpapi"
	"github.com/writ-automation/writ/ports/estate"
)

// piece is how much of an answer is written at once.
const piece = 32 << 10

// writeObject writes an object: the list under member, row by row, and then the members of the rest.
func writeObject(
	ctx context.Context, w io.Writer, member string,
	read func(ctx context.Context, yield func(any) error) (rest any, err error),
) error {
	out := bufio.NewWriterSize(w, piece)
	fmt.Fprintf(out, "{%q:[", member)
	first := true
	rest, err := read(ctx, func(row any) error {
		if !first {
			_ = out.WriteByte(',')
		}
		first = false
		text, err := encode(row)
		if err != nil {
			return fmt.Errorf("encode a row: %w", err)
		}
		_, err = out.Write(text)
		return err
	})
	if err != nil {
		return err
	}
	text, err := httpapi.Encode(rest)
	if err != nil {
		return fmt.Errorf("encode the rest: %w", err)
	}
	_, _ = out.WriteString("],")
	_, _ = out.Write(text[1:])
	return out.Flush()
}

// encode returns the JSON of a row. Facts are JSON that was checked when it was stored: hundreds of values are joined,
// which takes a tenth of the time of an encoder that reads them again.
func encode(row any) ([]byte, error) {
	switch row := row.(type) {
	case HostFactsBody:
		keys := slices.Sorted(maps.Keys(row.Facts))
		facts := row.Facts
		row.Facts = estate.Facts{}
		return fill(row, "{}", len(keys), func(out []byte, i int) ([]byte, error) {
			out, err := name(out, keys[i])
			return append(append(out, ':'), facts[keys[i]]...), err
		})
	case HostChangeBody:
		facts := row.Facts
		row.Facts = []FactChangeBody{}
		return fill(row, "[]", len(facts), func(out []byte, i int) ([]byte, error) {
			out, err := name(append(out, `{"key":`...), facts[i].Key)
			for k, v := range []any{facts[i].From, facts[i].To} {
				if v, ok := v.(json.RawMessage); ok {
					out = append(append(out, [...]string{`,"from":`, `,"to":`}[k]...), v...)
				}
			}
			return append(out, '}'), err
		})
	default:
		return httpapi.Encode(row)
	}
}

// fill encodes a row whose facts are empty, and writes n items between their brackets.
func fill(row any, brackets string, n int, item func(out []byte, i int) ([]byte, error)) ([]byte, error) {
	frame, err := httpapi.Encode(row)
	if err != nil || n == 0 {
		return frame, err
	}
	// The quotes of a host with such a name are escaped.
	head, tail, _ := bytes.Cut(frame, []byte(`"facts":`+brackets))
	out := append(append(make([]byte, 0, 64*n), head...), `"facts":`...)
	out = append(out, brackets[0])
	for i := range n {
		if i > 0 {
			out = append(out, ',')
		}
		if out, err = item(out, i); err != nil {
			return nil, err
		}
	}
	return append(append(out, brackets[1]), tail...), nil
}

// name adds a text in quotes.
func name(out []byte, s string) ([]byte, error) {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			text, err := httpapi.Encode(s)
			return append(out, text...), err
		}
	}
	return append(append(append(out, '"'), s...), '"'), nil
}
