package pack

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Document returns the column of a value that is kept as JSON. Raw members keep their characters as they are. It fails where JSON has no
// form for the value.
func Document(v any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", fmt.Errorf("make a stored document: %w", err)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// Read undoes Document: it sets what into points to. Numbers of no declared type are json.Number, so that they stay as they were
// written. It fails where the column does not hold such a value.
func Read(column string, into any) error {
	dec := json.NewDecoder(strings.NewReader(column))
	dec.UseNumber()
	if err := dec.Decode(into); err != nil {
		return fmt.Errorf("read a stored document: %w", err)
	}
	return nil
}
