package secrets_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/big"
	"strings"
	"testing"
)

const letters = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789"

// fresh returns random letters and digits, which only base64 encodes differently.
func fresh(n int) string {
	b := make([]byte, n)
	for i := range b {
		at, err := rand.Int(rand.Reader, big.NewInt(int64(len(letters))))
		if err != nil {
			panic(err)
		}
		b[i] = letters[at.Int64()]
	}
	return string(b)
}

// odd are characters that encodings change.
const odd = `"\'%+/?&<>=; $#~é|` + "`"

// canaries are the canaries of a test. Each contains the mark several times, so that a leaked part of one is found as
// well.
type canaries struct {
	t      *testing.T
	mark   string
	values map[string]string // canaries by name
	needle map[string]string // searched texts, each with the canary that it encodes
}

func newCanaries(t *testing.T) *canaries {
	f := &canaries{t: t, mark: fresh(14), values: map[string]string{}, needle: map[string]string{}}
	f.look("the mark", f.mark)
	return f
}

// look adds a text to the searched ones, with its hexadecimal digits and its base64 at each of the three alignments
// without the characters that neighbouring bytes affect.
func (f *canaries) look(what, text string) {
	f.needle[text] = what
	f.needle[hex.EncodeToString([]byte(text))] = what + " in hex"
	f.needle[strings.ToUpper(hex.EncodeToString([]byte(text)))] = what + " in hex"
	for offset := range 3 {
		raw := base64.RawStdEncoding.EncodeToString(append(make([]byte, offset), text...))
		end := len(raw)
		if (offset+len(text))%3 != 0 {
			end--
		}
		f.needle[raw[(offset*8+5)/6:end]] = fmt.Sprintf("%s in base64 at %d", what, offset)
	}
}

// line makes a canary on one line.
func (f *canaries) line(name string) string {
	return f.record(name, f.mark+fresh(8)+odd+f.mark+fresh(8))
}

// lines makes a canary on several lines, with a break at its end.
func (f *canaries) lines(name string) string {
	one := func() string { return f.mark + fresh(6) + odd + f.mark }
	return f.record(name, one()+"\n  "+one()+"\n"+one()+"\n")
}

// short makes a canary that is valid in headers and password files.
func (f *canaries) short(name string) string { return f.record(name, f.mark+fresh(8)) }

// record adds a secret that cannot contain the mark, such as a key: every line of it but the first and the last is
// searched for.
func (f *canaries) record(name, value string) string {
	f.values[name] = value
	if !strings.Contains(value, f.mark) {
		list := strings.Split(strings.TrimSpace(value), "\n")
		for i, l := range list {
			if i > 1 && i < len(list)-1 && len(l) >= 20 {
				f.look(name, l[:len(l)-2])
			}
		}
	}
	return value
}

// search fails the test if a text contains a canary, and prints the surroundings.
func (f *canaries) search(where string, text []byte) bool {
	f.t.Helper()
	for needle, what := range f.needle {
		at := bytes.Index(text, []byte(needle))
		if at < 0 {
			continue
		}
		f.t.Errorf("LEAK: %s holds %s: ...%q...", where, what, text[max(0, at-200):min(len(text), at+len(needle)+60)])
		return true
	}
	return false
}

// TestCanariesAreFound checks that the search finds every form.
func TestCanariesAreFound(t *testing.T) {
	t.Parallel()
	f := newCanaries(t)
	value := f.line("x")
	for i := range 6 {
		text := base64.StdEncoding.EncodeToString([]byte(fresh(i) + value + "tail"))
		found := false
		for needle := range f.needle {
			found = found || strings.Contains(text, needle)
		}
		if !found {
			t.Errorf("%q hides %q", text, value)
		}
	}
}
