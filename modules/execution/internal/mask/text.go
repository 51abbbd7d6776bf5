package mask

import (
	"bytes"
	"encoding/json"
)

// String masks one text.
func (m *Masker) String(s string) string {
	if s == "" || m.Empty() || !m.found(s) {
		return s
	}
	st := m.Stream()
	return string(st.Close(st.Append(nil, []byte(s))))
}

// JSON masks every string of a document after decoding it, including object keys, so that no escape hides a secret. A
// number that contains a secret becomes the replacement as a string. Invalid JSON is returned as a JSON string.
func (m *Masker) JSON(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || m.Empty() {
		return raw
	}
	if !json.Valid(raw) {
		return encode(m.String(string(raw)))
	}
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); {
		switch c := raw[i]; {
		case c == '"':
			end := i + stringEnd(raw[i:])
			out = m.literal(out, raw[i:end])
			i = end
		case c == '-' || c >= '0' && c <= '9':
			end := i + numberEnd(raw[i:])
			if n := raw[i:end]; m.found(string(n)) {
				out = append(out, `"`+Replacement+`"`...)
			} else {
				out = append(out, n...)
			}
			i = end
		default:
			out = append(out, c)
			i++
		}
	}
	return out
}

// literal appends a masked string literal.
func (m *Masker) literal(out, lit []byte) []byte {
	text := string(lit[1 : len(lit)-1])
	if bytes.IndexByte(lit, '\\') >= 0 && json.Unmarshal(lit, &text) != nil {
		return append(out, `"`+Replacement+`"`...)
	}
	if !m.found(text) {
		return append(out, lit...)
	}
	return append(out, encode(m.String(text))...)
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
