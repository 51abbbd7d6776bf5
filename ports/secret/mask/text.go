package mask

import (
	"bytes"
	"encoding/json"
)

// String masks one text.
func (m *Masker) String(s string) string {
	if !m.Found(s) {
		return s
	}
	st := m.Stream()
	return string(st.Close(st.Append(nil, []byte(s))))
}

// Prefix masks the beginning of a longer text. It leaves out what is at its end and may be the beginning of a secret.
func (m *Masker) Prefix(s string) string {
	if m.Empty() {
		return s
	}
	return string(m.Stream().Append(nil, []byte(s)))
}

// JSON masks every string of a document after decoding it, including object keys, so that no escape hides a secret. A
// number that contains a secret becomes a masked string. Invalid JSON is returned as a JSON string.
func (m *Masker) JSON(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || m.Empty() {
		return raw
	}
	return MapJSON(raw, m.String)
}

// MapJSON replaces each string of a document, including object keys, by what f makes of its value. A number is passed
// as it is written, and becomes a string if f changes it. Invalid JSON is replaced as one text.
func MapJSON(raw json.RawMessage, f func(string) string) json.RawMessage {
	if !json.Valid(raw) {
		return encode(f(string(raw)))
	}
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); {
		end := i + 1
		switch c := raw[i]; {
		case c == '"':
			end = i + stringEnd(raw[i:])
			out = literal(out, raw[i:end], f)
		case c == '-' || c >= '0' && c <= '9':
			end = i + numberEnd(raw[i:])
			number := string(raw[i:end])
			if got := f(number); got != number {
				out = append(out, encode(got)...)
			} else {
				out = append(out, number...)
			}
		default:
			out = append(out, c)
		}
		i = end
	}
	return out
}

// literal appends a replaced string literal.
func literal(out, lit []byte, f func(string) string) []byte {
	text := string(lit[1 : len(lit)-1])
	if bytes.IndexByte(lit, '\\') >= 0 && json.Unmarshal(lit, &text) != nil {
		return append(out, `"`+Replacement+`"`...)
	}
	if got := f(text); got != text {
		return append(out, encode(got)...)
	}
	return append(out, lit...)
}

// stringEnd returns the length of the string literal at the start of valid JSON.
func stringEnd(p []byte) int {
	for i := 1; i < len(p); i++ {
		switch p[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(p)
}

func numberEnd(p []byte) int {
	for i := range p {
		if bytes.IndexByte([]byte("+-.eE0123456789"), p[i]) < 0 {
			return i
		}
	}
	return len(p)
}

func encode(s string) json.RawMessage {
	b, err := json.Marshal(s)
	if err != nil {
		return json.RawMessage(`"` + Replacement + `"`)
	}
	return b
}
