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
	d := json.NewDecoder(bytes.NewReader(body))
	if start, err := d.Token(); err != nil || start != json.Delim('[') {
		return malformed(1, "the JSON is not a list")
	}
	for d.More() {
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return jsonFault(body, d.InputOffset(), err)
		}
		if err := bounded(raw); err != nil {
			return err
		}
		if err := fn(raw); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return jsonFault(body, d.InputOffset(), err)
	}
	if len(bytes.TrimSpace(body[d.InputOffset():])) > 0 {
		return malformed(line(body, d.InputOffset()), "text follows the JSON value")
	}
	return nil
}
