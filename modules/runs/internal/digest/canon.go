package digest

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// Sum returns "sha256:<hex>" of the canonical JSON of a document: RFC 8785, but a number stands as it was written, so that none
// loses a digit. Its values are those that Decode makes, int and int64.
func Sum(doc any) (string, error) {
	b, err := appendJSON(nil, doc)
	if err != nil {
		return "", err
	}
	return ofBytes(b), nil
}

// ofBytes returns "sha256:<hex>" of the bytes.
func ofBytes(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// decode reads JSON with its numbers as they were written.
func decode(b []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

func appendJSON(b []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...), nil
	case bool:
		return strconv.AppendBool(b, v), nil
	case int:
		return strconv.AppendInt(b, int64(v), 10), nil
	case int64:
		return strconv.AppendInt(b, v, 10), nil
	case json.Number:
		return append(b, v...), nil
	case string:
		return appendString(b, v), nil
	case []any:
		return appendList(b, v)
	case map[string]any:
		return appendObject(b, v)
	default:
		return b, fmt.Errorf("make canonical JSON: a value of type %T", v)
	}
}

func appendList(b []byte, list []any) (_ []byte, err error) {
	b = append(b, '[')
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = appendJSON(b, v); err != nil {
			return b, err
		}
	}
	return append(b, ']'), nil
}

func appendObject(b []byte, m map[string]any) (_ []byte, err error) {
	b = append(b, '{')
	for i, k := range slices.SortedFunc(maps.Keys(m), byUTF16) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, k), ':')
		if b, err = appendJSON(b, m[k]); err != nil {
			return b, err
		}
	}
	return append(b, '}'), nil
}

// byUTF16 orders names by their UTF-16 units. Those of ASCII are in the order of their bytes.
func byUTF16(x, y string) int {
	for i := range min(len(x), len(y)) {
		if x[i] >= 0x80 || y[i] >= 0x80 {
			return slices.Compare(utf16.Encode([]rune(x)), utf16.Encode([]rune(y)))
		}
		if x[i] != y[i] {
			return cmp.Compare(x[i], y[i])
		}
	}
	return cmp.Compare(len(x), len(y))
}

const short = "\"\\\b\t\n\f\r"

func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for _, r := range strings.ToValidUTF8(s, "\ufffd") {
		switch i := strings.IndexRune(short, r); {
		case i >= 0:
			b = append(b, '\\', "\"\\btnfr"[i])
		case r < 0x20:
			b = fmt.Appendf(b, `\u%04x`, r)
		default:
			b = append(b, string(r)...)
		}
	}
	return append(b, '"')
}
