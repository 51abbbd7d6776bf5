package logging

import (
	"fmt"
	"io"
	"log/slog"
)

// Mask stands where a secret would.
const Mask = "***"

// Secret is a text that prints as asterisks wherever it is formatted, logged or marshalled. Reveal is the one way to
// its value.
type Secret string

// Reveal returns the secret itself.
func (s Secret) Reveal() string { return string(s) }

// String returns asterisks, or nothing for an empty secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return Mask
}

// Format prints asterisks for every verb, %#v and %x among them.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// LogValue implements slog.LogValuer.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText prints asterisks in JSON, YAML and whatever else asks for text.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
