package disclosure

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/writ-automation/writ/ports/proof/jcs"
)

// Name is the kind of a private value.
type Name string

// The names. No others are valid.
const (
	SubName  Name = "sub.name"  // name of the actor
	SubEmail Name = "sub.email" // mail address of the actor
	NetAddr  Name = "net.addr"  // address of the client
	NetAgent Name = "net.agent" // program that made the request
	ObjName  Name = "obj.name"  // name of the object
	Path     Name = "path"      // path of the request
	Text     Name = "text"      // free text, such as the reason of a decision
	Host     Name = "host"      // name of a host; the only name that a leaf may have several times
)

var nameList = [...]Name{SubName, SubEmail, NetAddr, NetAgent, ObjName, Path, Text, Host}

// Names returns every name.
func Names() []Name { return slices.Clone(nameList[:]) }

const (
	// MaxSize bounds the characters of an encoded disclosure.
	MaxSize = 16 << 10
	// MaxValue is the number of bytes of a value that Fit keeps. Even if all of them need escapes, the value fits.
	MaxValue = 1024

	saltSize = 16
	saltText = 22 // characters of an encoded salt
)

// Code names the flaw of a disclosure. Every verifier reports the same one.
type Code string

// The codes, in the order of the checks.
const (
	CodeSize      Code = "size"       // more than MaxSize characters
	CodeEncoding  Code = "encoding"   // not in base64url without padding, or empty
	CodeJSON      Code = "json"       // not the canonical text of a list of three strings
	CodeSalt      Code = "salt"       // not 16 bytes in base64url
	CodeName      Code = "name"       // an unknown name
	CodeMismatch  Code = "mismatch"   // its digest is not in the leaf
	CodeTwice     Code = "twice"      // the same disclosure twice
	CodeNameTwice Code = "name_twice" // a second value of a name that a leaf has once
)

// Error is the refusal of a disclosure. It never contains a part of the disclosure.
type Error struct{ Code Code }

// Error returns the code in a sentence.
func (e *Error) Error() string { return "disclosure: " + string(e.Code) }

func refuse(c Code) error { return &Error{Code: c} }

// Disclosure is one private value. Its salt makes the digest impossible to guess, so it is as secret as the value.
type Disclosure struct {
	Salt  [saltSize]byte
	Name  Name
	Value string
}

// New returns the disclosure of a value under a fresh random salt.
func New(name Name, value string) (Disclosure, error) {
	d := Disclosure{Name: name, Value: value}
	if _, err := rand.Read(d.Salt[:]); err != nil {
		return Disclosure{}, fmt.Errorf("disclosure: salt: %w", err)
	}
	return d, nil
}

// Fit returns the part of an outside text that can be disclosed: its first MaxValue bytes, with U+FFFD for invalid
// UTF-8 and for U+0000.
func Fit(text string) string {
	if len(text) > MaxValue+utf8.UTFMax {
		text = text[:MaxValue+utf8.UTFMax]
	}
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\x00", "\ufffd")
	if len(text) <= MaxValue {
		return text
	}
	end := MaxValue
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// known reports whether the name is valid.
func known(n Name) bool { return slices.Contains(nameList[:], n) }

// Encode returns the text that is stored, published and hashed.
func (d Disclosure) Encode() (string, error) {
	b, err := d.AppendTo(nil)
	return string(b), err
}

// AppendTo appends the result of Encode. On an error it returns b unchanged.
func (d Disclosure) AppendTo(b []byte) ([]byte, error) {
	if !known(d.Name) {
		return b, refuse(CodeName)
	}
	var space [512]byte // enough for a usual value
	list := append(space[:0], '[', '"')
	list = base64.RawURLEncoding.AppendEncode(list, d.Salt[:])
	list = append(list, '"', ',', '"')
	list = append(list, d.Name...)
	list = append(list, '"', ',')
	list, flaw := jcs.Append(list, d.Value)
	if flaw != jcs.None {
		return b, refuse(CodeJSON)
	}
	list = append(list, ']')
	if base64.RawURLEncoding.EncodedLen(len(list)) > MaxSize {
		return b, refuse(CodeSize)
	}
	return base64.RawURLEncoding.AppendEncode(b, list), nil
}

// DigestSize is the number of characters of a digest.
const DigestSize = 43

// Digest returns the digest of an encoded disclosure for the leaf.
func Digest(encoded string) string { return string(AppendDigest(nil, []byte(encoded))) }

// AppendDigest appends the result of Digest.
func AppendDigest(b, encoded []byte) []byte {
	sum := sha256.Sum256(encoded)
	return base64.RawURLEncoding.AppendEncode(b, sum[:])
}

// Parse reads an encoded disclosure. It accepts exactly the results of Encode; everything else is an *Error.
func Parse(encoded string) (Disclosure, error) {
	if len(encoded) > MaxSize {
		return Disclosure{}, refuse(CodeSize)
	}
	b, ok := decode(encoded)
	if !ok || len(b) == 0 {
		return Disclosure{}, refuse(CodeEncoding)
	}
	parts, ok := list(string(b))
	if !ok {
		return Disclosure{}, refuse(CodeJSON)
	}
	salt, ok := decode(parts[0])
	if !ok || len(salt) != saltSize || len(parts[0]) != saltText {
		return Disclosure{}, refuse(CodeSalt)
	}
	if !known(Name(parts[1])) {
		return Disclosure{}, refuse(CodeName)
	}
	return Disclosure{Salt: [saltSize]byte(salt), Name: Name(parts[1]), Value: parts[2]}, nil
}

// decode is stricter than the library, which ignores line breaks.
func decode(s string) ([]byte, bool) {
	if strings.ContainsAny(s, "\r\n") {
		return nil, false
	}
	b, err := strict.DecodeString(s)
	return b, err == nil
}

// list reads a canonical list of three strings.
func list(s string) (parts [3]string, ok bool) {
	at := 0
	for i, lead := range []byte("[,,") {
		if at >= len(s) || s[at] != lead {
			return parts, false
		}
		text, next, flaw := jcs.Scan(s, at+1)
		if flaw != jcs.None {
			return parts, false
		}
		parts[i], at = text, next
	}
	return parts, s[at:] == "]"
}
