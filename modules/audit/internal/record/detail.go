package record

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/proof/jcs"
	"github.com/writ-automation/writ/ports/proof/leaf"
)

const (
	// maxDetail bounds a document of details, in bytes.
	maxDetail = 1 << 20
	maxDepth  = 32
	// The members that are added to a document. Nobody else gives them.
	memberSalt    = "salt"
	memberEntries = "entries"
)

type digest = [sha256.Size]byte

func hashText(d digest) string {
	var b [7 + 2*len(d)]byte
	copy(b[:], "sha256:")
	hex.Encode(b[7:], d[:])
	return string(b[:])
}

// detailHash returns what the leaf holds of a document.
func detailHash(doc string) string { return hashText(sha256.Sum256([]byte(doc))) }

// saltedDetail returns the canonical document with a salt, without which nobody can guess what it said once it is erased.
func saltedDetail(members map[string]any) (string, error) {
	var salt [16]byte
	if _, err := rand.Read(salt[:]); err != nil {
		return "", audit.Unrecorded.New("an entry has no salt").Because(err)
	}
	var text [22]byte
	base64.RawURLEncoding.Encode(text[:], salt[:])
	return document(members, memberSalt, string(text[:]))
}

// finalDetail returns the canonical document of the end of a run, with the number of the run's entries before it and the
// digest over them.
func finalDetail(members map[string]any, count int, entries digest) (string, error) {
	return document(members, memberEntries, map[string]any{"count": count, "digest": hashText(entries)})
}

// document writes the members and one more, which must not be among them.
func document(members map[string]any, name string, extra any) (string, error) {
	for _, reserved := range []string{memberSalt, memberEntries} {
		if _, ok := members[reserved]; ok && (reserved == name || reserved == memberSalt) {
			return "", wrong("the details of an entry have a member %s of their own", reserved)
		}
	}
	w := writer{b: make([]byte, 0, 64+48*len(members))}
	w.object(members, name, extra, 0)
	switch {
	case w.flaw != "":
		return "", wrong("the details of an entry hold %s", w.flaw)
	case len(w.b) > maxDetail:
		return "", wrong("the details of an entry have more than %d bytes", maxDetail)
	}
	return string(w.b), nil
}

// writer writes values in the form of RFC 8785. It keeps the first flaw, and stops at the bound.
type writer struct {
	b    []byte
	flaw string
}

func (w *writer) fail(flaw string) {
	if w.flaw == "" {
		w.flaw = flaw
	}
}

func (w *writer) value(v any, depth int) {
	if depth > maxDepth {
		w.fail("a value that is nested too deeply")
	}
	if w.flaw != "" || len(w.b) > maxDetail {
		return
	}
	switch x := v.(type) {
	case string:
		w.b, _ = jcs.Append(w.b, mended(x))
	case bool:
		w.b = strconv.AppendBool(w.b, x)
	case map[string]any:
		w.object(x, "", nil, depth)
	case map[string]string:
		members := make(map[string]any, len(x))
		for name, s := range x {
			members[name] = s
		}
		w.object(members, "", nil, depth)
	case []any:
		list(w, x, depth)
	case []string:
		list(w, x, depth)
	case []int64:
		list(w, x, depth)
	case []map[string]any:
		list(w, x, depth)
	default:
		n, ok := whole(v)
		if !ok {
			w.fail("a value that is no text, boolean, whole number from 0 to 2^53-1, list or object")
			return
		}
		w.b = strconv.AppendInt(w.b, n, 10)
	}
}

func list[T any](w *writer, values []T, depth int) {
	w.b = append(w.b, '[')
	for i, v := range values {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		w.value(v, depth+1)
	}
	w.b = append(w.b, ']')
}

// object writes members, and one more where it has a name.
func (w *writer) object(members map[string]any, name string, extra any, depth int) {
	names := make([]string, 0, len(members)+1)
	for n := range members {
		names = append(names, n)
	}
	if name != "" {
		names = append(names, name)
	}
	slices.SortFunc(names, compareNames)
	w.b = append(w.b, '{')
	for i, n := range names {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		b, flaw := jcs.Append(w.b, n)
		if flaw != jcs.None {
			w.fail("a name that is no text")
			return
		}
		w.b = append(b, ':')
		if n == name && name != "" {
			w.value(extra, depth+1)
		} else {
			w.value(members[n], depth+1)
		}
	}
	w.b = append(w.b, '}')
}

// whole returns a number that every reader of JSON holds exactly.
func whole(v any) (n int64, ok bool) {
	switch x := v.(type) {
	case int:
		n = int64(x)
	case int64:
		n = x
	case int32:
		n = int64(x)
	case uint32:
		n = int64(x)
	case uint64:
		n = int64(min(x, leaf.MaxInt+1))
	case float64: // what encoding/json makes of a number
		if n = int64(x); float64(n) != x || x < 0 || x > leaf.MaxInt {
			return 0, false
		}
	case json.Number:
		parsed, err := strconv.ParseUint(x.String(), 10, 53)
		if err != nil || strconv.FormatUint(parsed, 10) != x.String() {
			return 0, false
		}
		n = int64(parsed)
	default:
		return 0, false
	}
	return n, n >= 0 && n <= leaf.MaxInt
}

// compareNames orders by UTF-16 code units, which is the order of the bytes where all of them are ASCII.
func compareNames(a, b string) int {
	if ascii(a) && ascii(b) {
		return strings.Compare(a, b)
	}
	return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
