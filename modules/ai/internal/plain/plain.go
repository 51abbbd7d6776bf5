// Package plain removes what does not belong into a text of people.
package plain

import (
	"strings"

	"github.com/writ-automation/writ/ports/lazyregexp"
	"github.com/writ-automation/writ/ports/plaintext"
)

// escapes are the sequences by which programs move a terminal's cursor and color its text.
var escapes = lazyregexp.New("\x1b(\\[[0-9;:?]*[ -/]*[@-~]|\\][^\x07\x1b]*(\x07|\x1b\\\\)?)")

// Text returns a text without control characters and without the characters that hide or reorder others. Line ends and
// tabs stay.
func Text(s string) string {
	return plaintext.Lines(s, -1)
}

// Output is Text for the output of programs, which may color it.
func Output(s string) string {
	if strings.Contains(s, "\x1b") {
		s = escapes.Get().ReplaceAllLiteralString(s, "")
	}
	return Text(s)
}

// Head returns the beginning of a text of at most n bytes, which ends between two characters.
func Head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}

// Tail returns the end of a text of at most n bytes, which begins between two characters.
func Tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[len(s)-n:], "")
}
