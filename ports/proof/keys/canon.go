package keys

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/writ-automation/writ/ports/proof/jcs"
)

// MaxInteger is the largest integer of a canonical document.
const MaxInteger = jcs.MaxInteger

// Encode returns the one canonical form of a value: RFC 8785 order and escapes, no white space, and of numbers only
// integers up to MaxInteger. Fault: FormatInvalid for null, other numbers and what lies too deep.
func Encode(v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, FormatInvalid.New("the value has no JSON form").Because(err)
	}
	b, err := jcs.Form{Negative: true}.Transform(make([]byte, 0, len(raw)), raw)
	if err != nil {
		var e *jcs.Error
		if errors.As(err, &e) {
			return nil, FormatInvalid.New("the document holds %s", e.What)
		}
		return nil, FormatInvalid.New("the document is no JSON").Because(err)
	}
	return b, nil
}

// Decode reads a document that has to be, byte for byte, the canonical form of what was understood of it. A duplicate
// or unknown member, a name in other case, white space, a lone surrogate and trailing data are all refused by that one
// comparison.
func Decode(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return FormatInvalid.New("the document cannot be read").Because(err)
	}
	again, err := Encode(v)
	if err != nil {
		return err
	}
	if !bytes.Equal(again, data) {
		return FormatInvalid.New("the document is not in its canonical form")
	}
	return nil
}
