// Package secret defines the type of texts that must not be shown.
package secret

import (
	"fmt"
	"io"
	"log/slog"
)

// Mask replaces a secret.
const Mask = "***"

// Text is a secret. It prints as asterisks wherever it is formatted, logged or marshalled; only Reveal returns its
// value.
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

// Format prints asterisks for every verb, including %#v and %x.
func (t Text) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, t.String()) }

func (t Text) LogValue() slog.Value { return slog.StringValue(t.String()) }

// MarshalText returns asterisks, for JSON, YAML and other text encodings.
func (t Text) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// FileMark returns a placeholder for the path of a private file that is not written yet. A name is that of a file, or
// dir/file for a file in a directory. "dir/" stands for the path of that directory, without a slash at the end. The
// code that writes the files replaces the marks by the paths. Only marks contain NUL characters.
func FileMark(name string) string { return "\x00file:" + name + "\x00" }
