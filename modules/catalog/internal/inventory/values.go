package inventory

import (
	"encoding/json"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// maxDigits is the maximum number of digits that Python parses.
const maxDigits = 4300

func negative(v any) any {
	switch v := v.(type) {
	case int64:
		return -v
	case float64:
		return -v
	case json.Number:
		n, _ := new(big.Int).SetString(string(v), 10)
		return integral(n.Neg(n))
	default:
		return v
	}
}

// integral returns the value of a whole number.
func integral(n *big.Int) any {
	if n.IsInt64() {
		return n.Int64()
	}
	return json.Number(n.String())
}

// number parses an unsigned number. A number with more digits than Python parses is not a literal.
func (p *literals) number() (any, bool) {
	start := p.i
	for p.i < len(p.s) && (p.s[p.i] == '_' || p.s[p.i] == '.' || alphanumeric(p.s[p.i]) || exponent(p.s[start:p.i+1])) {
		p.i++
	}
	return parseNumber(p.s[start:p.i], p)
}

// exponent reports whether s ends with the e and the sign of a float's exponent.
func exponent(s string) bool {
	if len(s) < 3 || s[len(s)-1] != '+' && s[len(s)-1] != '-' {
		return false
	}
	return s[len(s)-2]|0x20 == 'e' && !(len(s) > 2 && s[0] == '0' && s[1]|0x20 == 'x')
}

func parseNumber(s string, p *literals) (any, bool) {
	if strings.HasPrefix(s, "...") {
		return odd("an ellipsis"), s == "..."
	}
	if j := len(s) - 1; j > 0 && s[j]|0x20 == 'j' && !(len(s) > 1 && s[0] == '0' && s[1]|0x20 == 'x') {
		_, ok := parseFloat(s[:j])
		return odd("a complex number"), ok
	}
	if len(s) > 1 && s[0] == '0' && strings.IndexByte("xXoObB", s[1]) >= 0 {
		return based(s, p)
	}
	if strings.Trim(s, "0123456789_") != "" {
		f, ok := parseFloat(s)
		return f, ok
	}
	digits, ok := underscored(s)
	if !ok || len(digits) > maxDigits || digits[0] == '0' && strings.Trim(digits, "0") != "" {
		return nil, false
	}
	if n, err := strconv.ParseInt(digits, 10, 64); err == nil {
		return n, true
	}
	n, ok := new(big.Int).SetString(digits, 10)
	return integral(n), ok
}

// based parses a number with a base prefix.
func based(s string, p *literals) (any, bool) {
	base := map[byte]int{'x': 16, 'o': 8, 'b': 2}[s[1]|0x20]
	rest := strings.TrimPrefix(s[2:], "_")
	digits, ok := underscored(rest)
	if !ok || strings.HasPrefix(s[2:], "__") {
		return nil, false
	}
	if len(digits) > maxDigits/2 {
		p.fail("expected a number of fewer digits")
		return int64(0), true
	}
	n, ok := new(big.Int).SetString(digits, base)
	if !ok {
		return nil, false
	}
	return integral(n), true
}

// underscored removes single underscores between digits.
func underscored(s string) (string, bool) {
	if s == "" || s[0] == '_' || s[len(s)-1] == '_' || strings.Contains(s, "__") {
		return "", false
	}
	return strings.ReplaceAll(s, "_", ""), true
}

// parseFloat parses a Python float, with underscores only between digits.
func parseFloat(s string) (float64, bool) {
	for i := range len(s) {
		if s[i] == '_' && (i == 0 || i == len(s)-1 || s[i-1] < '0' || s[i-1] > '9' || s[i+1] < '0' || s[i+1] > '9') {
			return 0, false
		}
	}
	if strings.Trim(s, "0123456789._eE+-") != "" {
		return 0, false
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64)
	return f, err == nil || math.IsInf(f, 0)
}

// dict collects the members of a mapping as Python does: 1, 1.0 and True are the same key, and the first form is kept.
type dict struct {
	at   map[any]int
	keys []string
	vals []any
}

func newDict() *dict { return &dict{at: map[any]int{}} }

// put adds a member, and reports whether JSON can represent the key.
func (d *dict) put(key, value any) bool {
	name, ok := jsonKey(key)
	if !ok {
		return false
	}
	id := identity(key)
	if i, ok := d.at[id]; ok {
		d.vals[i] = value
		return true
	}
	d.at[id] = len(d.keys)
	d.keys = append(d.keys, name)
	d.vals = append(d.vals, value)
	return true
}

// values returns the members with their JSON keys. The last of two members with the same JSON key wins.
func (d *dict) values() map[string]any {
	m := make(map[string]any, len(d.keys))
	for i, k := range d.keys {
		m[k] = d.vals[i]
	}
	return m
}

// identity returns equal values for keys that are equal in Python. Keys are scalars.
func identity(key any) any {
	switch k := key.(type) {
	case bool:
		if k {
			return int64(1)
		}
		return int64(0)
	case float64:
		if k == math.Trunc(k) && math.Abs(k) < 1<<53 {
			return int64(k)
		}
		return k
	default:
		return k
	}
}

// jsonKey formats a key as Python's JSON does.
func jsonKey(key any) (string, bool) {
	switch k := key.(type) {
	case nil:
		return "null", true
	case bool:
		return strconv.FormatBool(k), true
	case int64:
		return strconv.FormatInt(k, 10), true
	case json.Number:
		return string(k), true
	case float64:
		return floatKey(k), true
	case string:
		return k, true
	default:
		return "", false
	}
}

// floatKey formats a float as Python does: the shortest digits, with an exponent below 1e-4 and from 1e16.
func floatKey(f float64) string {
	size := math.Abs(f)
	if size != 0 && (size < 1e-4 || size >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}
