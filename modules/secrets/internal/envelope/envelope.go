package envelope

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
)

// errBroken contains nothing of the document, which consists of secrets.
var errBroken = errors.New("the secrets of a credential are not in their form")

// Document is the sealed part of a credential. Its String contains nothing of it.
type Document struct {
	// Secret are the secret members by name.
	Secret secrets.Values
	// Source are the secret members of the source's config, as encoding/json reads them: a number is a float64.
	Source map[string]any
}

// Empty reports whether there is nothing to seal.
func (d Document) Empty() bool { return len(d.Secret) == 0 && len(d.Source) == 0 }

// Format prints asterisks for every verb.
func (d Document) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, secret.Mask) }

// form is the JSON form of a document. It has plain strings, since secret.Text marshals as asterisks.
type form struct {
	Secret map[string]string `json:"secret,omitempty"`
	Source map[string]any    `json:"source,omitempty"`
}

// Encode returns the JSON of a document. It fails for values of Source that JSON cannot represent; the error contains
// nothing of them.
func Encode(d Document) ([]byte, error) {
	out := form{Source: d.Source}
	if len(d.Secret) > 0 {
		out.Secret = make(map[string]string, len(d.Secret))
	}
	for name, text := range d.Secret {
		out.Secret[name] = text.Reveal()
	}
	data, err := json.Marshal(out)
	if err != nil {
		return nil, errBroken
	}
	return data, nil
}

// Decode reads the output of Encode. Its error contains nothing of the document.
func Decode(data []byte) (Document, error) {
	in := form{}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&in); err != nil {
		return Document{}, errBroken
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return Document{}, errBroken
	}
	out := Document{Source: in.Source}
	if len(in.Secret) > 0 {
		out.Secret = make(secrets.Values, len(in.Secret))
	}
	for name, text := range in.Secret {
		out.Secret[name] = secret.Text(text)
	}
	return out, nil
}
