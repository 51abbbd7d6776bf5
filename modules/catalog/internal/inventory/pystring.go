package inventory

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// strings parses adjacent string literals, which form one string. Bytes and text cannot be mixed.
func (p *literals) strings() (any, bool) {
	var whole strings.Builder
	asBytes := false
	for first := true; ; first = false {
		prefix, quote, ok := p.opening()
		if !ok {
			if first {
				return nil, false
			}
			break
		}
		isBytes := strings.ContainsAny(prefix, "bB")
		if !first && isBytes != asBytes {
			return nil, false
		}
		asBytes = isBytes
		if !p.body(&whole, quote, strings.ContainsAny(prefix, "rR"), isBytes) {
			return nil, false
		}
	}
	if asBytes {
		return octets(whole.String()), true
	}
	if !utf8.ValidString(whole.String()) {
		p.fail("expected text, got a half of a surrogate pair")
	}
	return whole.String(), true
}

// opening parses the prefix and the opening quotation mark of a string, one or three characters. If there is none, it
// consumes nothing.
func (p *literals) opening() (prefix, quote string, ok bool) {
	p.next()
	i := p.i
	for i < len(p.s) && strings.IndexByte("bBrRuU", p.s[i]) >= 0 {
		i++
	}
	switch prefix = p.s[p.i:i]; strings.ToLower(prefix) {
	case "", "b", "r", "u", "br", "rb":
	default:
		return "", "", false
	}
	if i == len(p.s) || p.s[i] != '"' && p.s[i] != '\'' {
		return "", "", false
	}
	quote = p.s[i : i+1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(p.s[i:], triple) {
		quote = triple
	}
	p.i = i + len(quote)
	return prefix, quote, true
}

// body parses a string up to its closing quotation mark.
func (p *literals) body(out *strings.Builder, quote string, raw, isBytes bool) bool {
	for p.i < len(p.s) {
		c := p.s[p.i]
		switch {
		case strings.HasPrefix(p.s[p.i:], quote):
			p.i += len(quote)
			return true
		case isBytes && c >= utf8.RuneSelf:
			return false
		case c != '\\':
			out.WriteByte(c)
			p.i++
		case p.i+1 == len(p.s):
			return false
		case raw:
			// A quotation mark after a backslash does not end a raw string either. The escaped character may be longer
			// than one byte.
			out.WriteString(p.s[p.i : p.i+2])
			p.i += 2
		default:
			if !p.escape(out, isBytes) {
				return false
			}
		}
	}
	return false
}

// simple contains the escapes of one character.
const simple = `\'"abfnrtv`

// escape parses one escape. An unknown escape is literal, including the backslash.
func (p *literals) escape(out *strings.Builder, isBytes bool) bool {
	c := p.s[p.i+1]
	if i := strings.IndexByte(simple, c); i >= 0 {
		out.WriteByte("\\'\"\a\b\f\n\r\t\v"[i])
		p.i += 2
		return true
	}
	digits := 0
	switch {
	case c >= '0' && c <= '7':
		end := p.i + 1
		for end < len(p.s) && end < p.i+4 && p.s[end] >= '0' && p.s[end] <= '7' {
			end++
		}
		n, _ := strconv.ParseUint(p.s[p.i+1:end], 8, 32)
		p.i = end
		return point(out, n, isBytes)
	case c == 'x':
		digits = 2
	case c == 'u' && !isBytes:
		digits = 4
	case c == 'U' && !isBytes:
		digits = 8
	case c == 'N' && !isBytes:
		p.unknown = `expected a character or its number (\u...), got its name (\N)`
		return false
	default:
		out.WriteByte('\\')
		p.i++
		return true
	}
	end := p.i + 2 + digits
	if end > len(p.s) {
		return false
	}
	n, err := strconv.ParseUint(p.s[p.i+2:end], 16, 32)
	if err != nil || p.s[p.i+2] == '+' {
		return false
	}
	p.i = end
	return point(out, n, isBytes)
}

// point writes a character or a byte. An unpaired surrogate becomes invalid UTF-8, which is detected when the string is
// complete.
func point(out *strings.Builder, n uint64, isBytes bool) bool {
	switch {
	case n > utf8.MaxRune:
		return false
	case isBytes:
		out.WriteByte(byte(n))
	case n >= 0xd800 && n < 0xe000:
		out.WriteByte(0xff)
	default:
		out.WriteRune(rune(n))
	}
	return true
}
