package inventory

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/writ-automation/writ/ports/lazyregexp"
)

// The scalars of YAML 1.1, as Ansible's YAML library recognizes them: yes is true, 010 is 8 and 1:30 is 90. The types
// of YAML 1.2 differ.
var (
	yamlInt   = lazyregexp.New(`^[-+]?(0b[01_]+|0x[0-9a-fA-F_]+|0[0-7_]*|[1-9][0-9_]*(:[0-5]?[0-9])*)$`)
	yamlFloat = lazyregexp.New(
		`^([-+]?[0-9][0-9_]*\.[0-9_]*([eE][-+][0-9]+)?|\.[0-9][0-9_]*([eE][-+][0-9]+)?|[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$`)
	yamlDate = lazyregexp.New(`^([0-9]{4})-([0-9]{2})-([0-9]{2})$`)
	yamlTime = lazyregexp.New(
		`^([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})([Tt]|[ \t]+)([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]*))?(?:[ \t]*(Z|([-+])([0-9]{1,2})(?::?([0-9]{2}))?))?$`)
)

// moment is a date or a time in its JSON form. It cannot be a key.
type moment string

// constant returns the value of the words of YAML 1.1 that are not strings.
func constant(s string) (value any, ok bool) {
	switch s {
	case "", "~", "null", "Null", "NULL":
		return nil, true
	case "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON":
		return true, true
	case "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF":
		return false, true
	default:
		return nil, false
	}
}

// scalar returns nil, a bool, an int64, a json.Number, a float64, a string, a moment, or a map for an encrypted or
// unsafe text. The fault is empty or describes the error, without the value, which may be a password.
func scalar(n *yaml.Node) (value any, fault string) {
	if n.Style&yaml.TaggedStyle != 0 {
		return tagged(n.Tag, n.Value)
	}
	if n.Style != 0 && n.Style != yaml.FlowStyle {
		return n.Value, ""
	}
	s := n.Value
	if v, ok := constant(s); ok {
		return v, ""
	}
	switch {
	case s == "=" || s == "<<":
		return nil, "expected quotation marks around " + s
	case s[0] > '9' || strings.IndexByte("+-.0123456789", s[0]) < 0:
		return s, ""
	case yamlInt.MatchString(s):
		return parseInt(s)
	case yamlFloat.MatchString(s):
		return floating(s)
	case yamlDate.MatchString(s), yamlTime.MatchString(s):
		return timestamp(s)
	default:
		return s, ""
	}
}

// tagged parses a scalar with an explicit type.
func tagged(tag, s string) (value any, fault string) {
	switch tag {
	case "!!str":
		return s, ""
	case "!!int":
		return parseInt(s)
	case "!!float":
		return floating(s)
	case "!!bool":
		if v, ok := constant(strings.ToLower(s)); ok && v != nil {
			return v, ""
		}
		return nil, "expected yes or no behind !!bool"
	case "!!null":
		return nil, ""
	case "!!timestamp":
		return timestamp(s)
	case "!vault", "!vault-encrypted":
		return map[string]any{vaultKey: s}, ""
	case "!unsafe":
		return map[string]any{unsafeKey: s}, ""
	case "!!binary":
		return nil, "expected a value that JSON can hold, got bytes (!!binary)"
	default:
		return nil, "expected a value that Ansible knows, got another tag"
	}
}

func parseInt(s string) (value any, fault string) {
	const wrong = "expected a whole number"
	digits := strings.ReplaceAll(s, "_", "")
	negative := strings.HasPrefix(digits, "-")
	digits = strings.TrimLeft(digits, "+-")
	n, base := new(big.Int), 10
	switch {
	case strings.HasPrefix(digits, "0b"):
		digits, base = digits[2:], 2
	case strings.HasPrefix(digits, "0x"):
		digits, base = digits[2:], 16
	case strings.HasPrefix(digits, "0") && len(digits) > 1:
		digits, base = digits[1:], 8
	}
	if len(digits) > maxDigits/2 {
		return nil, wrong
	}
	for i, part := range strings.Split(digits, ":") {
		if i > 0 && base != 10 {
			return nil, wrong
		}
		if part == "" || part[0] == '+' || part[0] == '-' {
			return nil, wrong
		}
		d, ok := new(big.Int).SetString(part, base)
		if !ok {
			return nil, wrong
		}
		n.Add(n.Mul(n, big.NewInt(60)), d)
	}
	if negative {
		n.Neg(n)
	}
	return integral(n), ""
}

func floating(s string) (value any, fault string) {
	digits := strings.ToLower(strings.ReplaceAll(s, "_", ""))
	sign := 1.0
	if strings.HasPrefix(digits, "-") {
		sign = -1
	}
	digits = strings.TrimLeft(digits, "+-")
	f := 0.0
	for _, part := range strings.Split(digits, ":") {
		x, err := strconv.ParseFloat(part, 64)
		if strings.HasSuffix(part, ".inf") || math.IsInf(x, 0) || strings.HasSuffix(part, "nan") {
			return nil, "expected a number that JSON can hold"
		}
		if err != nil {
			return nil, "expected a number"
		}
		f = f*60 + x
	}
	return sign * f, ""
}

// timestamp formats a date or a time in ISO 8601, with microseconds if they are not zero.
func timestamp(s string) (value any, fault string) {
	const wrong = "expected a date or a time"
	if m := yamlDate.FindStringSubmatch(s); m != nil {
		if _, err := time.Parse(time.DateOnly, s); err != nil || m[1] == "0000" {
			return nil, wrong
		}
		return moment(s), ""
	}
	m := yamlTime.FindStringSubmatch(s)
	if m == nil {
		return nil, wrong
	}
	pad := func(s string) string { return strings.Repeat("0", max(0, 2-len(s))) + s }
	iso := m[1] + "-" + pad(m[2]) + "-" + pad(m[3]) + "T" + pad(m[5]) + ":" + m[6] + ":" + m[7]
	if _, err := time.Parse("2006-01-02T15:04:05", iso); err != nil || m[1] == "0000" {
		return nil, wrong
	}
	if micro := (m[8] + "000000")[:6]; micro != "000000" {
		iso += "." + micro
	}
	switch {
	case m[9] == "Z":
		iso += "+00:00"
	case m[9] != "":
		hours, _ := strconv.Atoi(m[11])
		minutes, _ := strconv.Atoi("0" + m[12])
		if hours*60+minutes >= 24*60 {
			return nil, wrong
		}
		sign := m[10]
		if hours+minutes == 0 {
			sign = "+"
		}
		iso += sign + pad(strconv.Itoa(hours+minutes/60)) + ":" + pad(strconv.Itoa(minutes%60))
	}
	return moment(iso), ""
}
