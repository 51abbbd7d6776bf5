package disclosure

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"
)

// usual bounds the characters of a disclosure that Count reads without memory of its own.
const usual = 512

// strict is the decoder of everything encoded here.
var strict = base64.RawURLEncoding.Strict()

// Count is Match without the values: it returns how many are present and how many are missing, and has the errors of
// Match. Each of the digests has to be there once, as in a leaf that was scanned.
func Count(sd, encoded []string) (open, missing int, err error) {
	var few [16]int
	places := few[:0] // of the digests that were found
	names := 0        // a bit for each name
	for _, text := range encoded {
		name, digest, err := nameAndDigest(text)
		if err != nil {
			return 0, 0, err
		}
		place := -1
		for i := range sd {
			if sd[i] == string(digest[:]) {
				place = i
				break
			}
		}
		bit := 1 << slices.Index(nameList[:], name)
		switch {
		case slices.Contains(places, place):
			return 0, 0, refuse(CodeTwice)
		case place < 0:
			return 0, 0, refuse(CodeMismatch)
		case names&bit != 0 && name != Host:
			return 0, 0, refuse(CodeNameTwice)
		}
		places, names = append(places, place), names|bit
	}
	return len(places), len(sd) - len(places), nil
}

// nameAndDigest returns the name and the digest of an encoded disclosure that Parse accepts.
func nameAndDigest(encoded string) (name Name, digest [DigestSize]byte, err error) {
	var space [usual]byte
	text := append(space[:0], encoded...)
	name, ok := plainName(text)
	if !ok {
		d, err := Parse(encoded)
		if err != nil {
			return "", digest, err
		}
		name = d.Name
	}
	sum := sha256.Sum256(text)
	base64.RawURLEncoding.Encode(digest[:], sum[:])
	return name, digest, nil
}

// plainName returns the name of a disclosure of the usual form: it is short, and its value has no character with an
// escape or beyond ASCII. Where ok is false, Parse has to decide.
func plainName(text []byte) (name Name, ok bool) {
	const lead, between, end = `["`, `","`, `"]`
	const named = len(lead) + saltText + len(between) // the place of the name
	var space [usual * 3 / 4]byte
	if len(text) > usual || bytes.IndexByte(text, '\n') >= 0 || bytes.IndexByte(text, '\r') >= 0 {
		return "", false
	}
	n, err := strict.Decode(space[:], text)
	list := space[:n]
	if err != nil || n < named+len(end) || string(list[:len(lead)]) != lead ||
		string(list[named-len(between):named]) != between || !isSalt(list[len(lead):len(lead)+saltText]) {
		return "", false
	}
	rest := list[named : n-len(end)]
	quote := bytes.IndexByte(rest, '"')
	if quote < 0 || len(rest) < quote+len(between) || string(rest[quote:quote+len(between)]) != between ||
		string(list[n-len(end):]) != end {
		return "", false
	}
	for _, c := range rest[quote+len(between):] {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			return "", false
		}
	}
	for _, known := range nameList {
		if string(rest[:quote]) == string(known) {
			return known, true
		}
	}
	return "", false
}

// isSalt reports whether a text is 16 bytes in base64url without padding: its last character has two bits of data, and
// the other four are zero.
func isSalt(text []byte) bool {
	for _, c := range text {
		if !(c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_') {
			return false
		}
	}
	return len(text) == saltText && strings.IndexByte("AQgw", text[saltText-1]) >= 0
}
