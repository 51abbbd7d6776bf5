package keys

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/writ-automation/writ/ports/proof/jcs"
)

// MaxInteger is the largest integer of a canonical document.
const MaxInteger = jcs.MaxInteger

// Encode returns the canonical form of a value: RFC 8785 order and escapes, no white space, and only integers up to
// MaxInteger as numbers. Fault: FormatInvalid for null, other numbers and deep nesting.
func Encode(v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, FormatInvalid.New("the value has no JSON form").Because(err)
	}
	b, err := jcs.Form{Negative: true}.Transform(make([]byte, 0, len(raw)), raw)
	if err != nil {
		var e *jcs.Error
		if errors.As(err, &e) {
			return nil, FormatInvalid.New("the document has %s", e.What)
		}
		return nil, FormatInvalid.New("the document is not JSON").Because(err)
	}
	return b, nil
}

// Decode reads a document and requires that it is, byte for byte, the canonical form of the decoded value. This
// comparison refuses duplicate and unknown members, names in other case, white space, lone surrogates and trailing
// data.
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
