package leaf

import "strings"

// key is one of the closed set: its name, the text before its value, its rank and whether it is optional.
type key struct {
	name     string
	lead     string
	rank     int
	optional bool
}

// The keys, in the order of RFC 8785.
var (
	keyAct  = key{name: "act", lead: `{"act":`, rank: 0}
	keyAt   = key{name: "at", lead: `,"at":`, rank: 1}
	keyDet  = key{name: "det", lead: `,"det":`, rank: 2, optional: true}
	keyID   = key{name: "id", lead: `,"id":`, rank: 3, optional: true}
	keyMet  = key{name: "met", lead: `,"met":`, rank: 4, optional: true}
	keyObj  = key{name: "obj", lead: `,"obj":`, rank: 5, optional: true}
	keyOut  = key{name: "out", lead: `,"out":`, rank: 6}
	keyPrev = key{name: "prev", lead: `,"prev":`, rank: 7}
	keyReq  = key{name: "req", lead: `,"req":`, rank: 8, optional: true}
	keyRun  = key{name: "run", lead: `,"run":`, rank: 9, optional: true}
	keySD   = key{name: "sd", lead: `,"sd":`, rank: 10, optional: true}
	keySeq  = key{name: "seq", lead: `,"seq":`, rank: 11}
	keySub  = key{name: "sub", lead: `,"sub":`, rank: 12, optional: true}
	keyV    = key{name: "v", lead: `,"v":`, rank: 13}
	names   = []string{"act", "at", "det", "id", "met", "obj", "out", "prev", "req", "run", "sd", "seq", "sub", "v"}
)

// form checks the text of a key. Every text has at least one character.
type form func(string) bool

func isAny(string) bool { return true }

// isAct accepts [a-z]+(\.[a-z_]+)+.
func isAct(s string) bool {
	dots, length := 0, 0
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z' || c == '_' && dots > 0:
			length++
		case c == '.' && length > 0:
			dots, length = dots+1, 0
		default:
			return false
		}
	}
	return dots > 0 && length > 0
}

// isAt accepts a valid time from the year 1 on, without leap seconds.
func isAt(s string) bool {
	const shape = "0000-00-00T00:00:00.000000Z"
	if len(s) != len(shape) {
		return false
	}
	for i := range len(shape) {
		if shape[i] == '0' && (s[i] < '0' || s[i] > '9') || shape[i] != '0' && s[i] != shape[i] {
			return false
		}
	}
	two := func(i int) int { return int(s[i]-'0')*10 + int(s[i+1]-'0') }
	year, month, day := two(0)*100+two(2), two(5), two(8)
	return year > 0 && month >= 1 && month <= 12 && day >= 1 && day <= days(year, month) &&
		two(11) < 24 && two(14) < 60 && two(17) < 60
}

func days(year, month int) int {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

// classes has the character classes of each byte.
var classes = func() (t [256]byte) {
	add := func(class byte, members string) {
		for i := range len(members) {
			t[members[i]] |= class
		}
	}
	const lower, upper, digits = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"
	add(hexDigit, digits+"abcdef")
	add(urlDigit, lower+upper+digits+"-_")
	return t
}()

const (
	hexDigit byte = 1 << iota // in lower case
	urlDigit                  // of base64url
)

// every reports whether all bytes of s are of a class.
func every(s string, class byte) bool {
	all := class
	for i := range len(s) {
		all &= classes[s[i]]
	}
	return all == class
}

// isDet accepts "sha256:" and 64 hex digits in lower case.
func isDet(s string) bool {
	hex, ok := strings.CutPrefix(s, "sha256:")
	return ok && len(hex) == 64 && every(hex, hexDigit)
}

// isID accepts "aud_" and at least one digit or lower-case letter.
func isID(s string) bool {
	rest, ok := strings.CutPrefix(s, "aud_")
	for i := range len(rest) {
		if c := rest[i]; !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z') {
			return false
		}
	}
	return ok && rest != ""
}

// isMet accepts up to sixteen upper-case letters.
func isMet(s string) bool {
	for i := range len(s) {
		if s[i] < 'A' || s[i] > 'Z' {
			return false
		}
	}
	return len(s) <= 16
}

// isObj accepts [a-z][a-z_]*/ and any text after it.
func isObj(s string) bool {
	kind, id, ok := strings.Cut(s, "/")
	if !ok || kind == "" || id == "" || kind[0] == '_' {
		return false
	}
	for i := range len(kind) {
		if c := kind[i]; !(c >= 'a' && c <= 'z' || c == '_') {
			return false
		}
	}
	return true
}

func isOut(s string) bool { return s == Applied || s == Denied || s == Failed }

// isDigest accepts 32 bytes in base64url without padding. The last character has four bits of data; its other two bits
// are zero.
func isDigest(s string) bool {
	return len(s) == 43 && every(s, urlDigit) && strings.IndexByte("AEIMQUYcgkosw048", s[42]) >= 0
}
