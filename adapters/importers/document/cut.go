package document

import (
	"bytes"
	"encoding/json"
	"iter"
)

// The functions of this file read JSON that is known to be valid. They cut it into parts without a copy, so that an
// export of the largest size is never in memory as a whole tree.

// closing returns the offset of the quote that ends the text which begins at an offset, or the length of s.
func closing(s []byte, at int) int {
	for i := at + 1; i < len(s); i++ {
		n := bytes.IndexByte(s[i:], '"')
		if n < 0 {
			break
		}
		i += n
		back := i
		for s[back-1] == '\\' {
			back--
		}
		if (i-back)%2 == 0 {
			return i
		}
	}
	return len(s)
}

// end returns the offset after the value that begins at an offset of a text.
func end(s []byte, at int) int {
	depth := 0
	for i := at; i < len(s); i++ {
		switch c := s[i]; c {
		case '"':
			if i = closing(s, i); depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\n', '\r', ':':
			if depth == 0 {
				return i
			}
		}
	}
	return len(s)
}

// skipped returns the offset of the next value or bracket.
func skipped(s []byte, at int) int {
	for at < len(s) && (s[at] <= ' ' || s[at] == ',' || s[at] == ':') {
		at++
	}
	return at
}

// Elements returns the texts of the elements of a list, none of anything else.
func Elements(s []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if s = bytes.TrimSpace(s); len(s) == 0 || s[0] != '[' {
			return
		}
		for at := skipped(s, 1); at < len(s)-1; {
			to := end(s, at)
			if !yield(s[at:to]) {
				return
			}
			at = skipped(s, to)
		}
	}
}

// Members returns the names and the texts of the members of an object, none of anything else.
func Members(s []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		if s = bytes.TrimSpace(s); len(s) == 0 || s[0] != '{' {
			return
		}
		for at := skipped(s, 1); at < len(s)-1; {
			to := end(s, at)
			name := unquoted(s[at:to])
			at = skipped(s, to)
			to = end(s, at)
			if !yield(name, s[at:to]) {
				return
			}
			at = skipped(s, to)
		}
	}
}

// Object returns the texts of the members of an object by their names, nil for anything else.
func Object(s []byte) map[string]json.RawMessage {
	if s = bytes.TrimSpace(s); len(s) == 0 || s[0] != '{' {
		return nil
	}
	out := map[string]json.RawMessage{}
	for name, member := range Members(s) {
		out[name] = member
	}
	return out
}

func unquoted(s []byte) string {
	if inner := s[1 : len(s)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return string(inner)
	}
	var out string
	_ = json.Unmarshal(s, &out) // it is valid
	return out
}

// Decode returns the value of a text: nil, a bool, a string, a json.Number, a []any or a map[string]any.
func Decode(s []byte) any {
	if s = bytes.TrimSpace(s); len(s) == 0 {
		return nil
	}
	v, _ := value(s, 0)
	return v
}

// value returns the value at an offset, and the offset after it.
func value(s []byte, at int) (any, int) {
	switch s[at] {
	case '{':
		out := map[string]any{}
		for at = skipped(s, at+1); s[at] != '}'; at = skipped(s, at) {
			to := end(s, at)
			name := unquoted(s[at:to])
			out[name], at = value(s, skipped(s, to))
		}
		return out, at + 1
	case '[':
		out := []any{}
		for at = skipped(s, at+1); s[at] != ']'; at = skipped(s, at) {
			var v any
			v, at = value(s, at)
			out = append(out, v)
		}
		return out, at + 1
	}
	to := end(s, at)
	switch s[at] {
	case '"':
		return unquoted(s[at:to]), to
	case 't':
		return true, to
	case 'f':
		return false, to
	case 'n':
		return nil, to
	default:
		return json.Number(s[at:to]), to
	}
}

// Depth returns how deeply a text nests.
func Depth(s []byte) int {
	most, n := 0, 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			i = closing(s, i)
		case '{', '[':
			n++
			most = max(most, n)
		case '}', ']':
			n--
		}
	}
	return most
}
