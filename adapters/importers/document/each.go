package document

import (
	"bytes"
	"encoding/json"
)

// Each calls fn with each element of a body that is a JSON array, so that not all of them are in memory as values. It
// stops at the first error of fn.
func Each(body []byte, fn func(raw json.RawMessage) error) error {
	body, err := Text(body)
	if err != nil {
		return err
	}
	if text := bytes.TrimSpace(body); len(text) == 0 || text[0] != '[' {
		return malformed(1, "the JSON is not a list")
	}
	if !json.Valid(body) {
		return invalid(body)
	}
	for raw := range Elements(body) {
		if err := bounded(raw); err != nil {
			return err
		}
		if err := fn(raw); err != nil {
			return err
		}
	}
	return nil
}
