// Package secret has the one type of texts that must not be shown.
package secret

import (
	"fmt"
	"io"
	"log/slog"
)

// Mask stands where a secret would.
const Mask = "***"

// Text is a secret. It prints as asterisks wherever it is formatted, logged or marshalled; Reveal is the one way to
// its value.
type Text string

// Reveal returns the secret itself.
func (t Text) Reveal() string { return string(t) }

// String returns asterisks, or nothing for an empty secret.
func (t Text) String() string {
	if t == "" {
		return ""
	}
	return Mask
}

// Format prints asterisks for every verb, %#v and %x among them.
func (t Text) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, t.String()) }

func (t Text) LogValue() slog.Value { return slog.StringValue(t.String()) }

// MarshalText prints asterisks in JSON, YAML and whatever else asks for text.
func (t Text) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// FileMark returns what stands for the path of a private file until the file has one. A name is that of a file, or
// dir/file for one in a directory of its own; "dir/", which ends in a slash, stands for the path of that directory,
// without a slash at its end. Marks are put where the paths belong by whoever writes the files. Nothing but a mark
// holds a NUL character.
func FileMark(name string) string { return "\x00file:" + name + "\x00" }
