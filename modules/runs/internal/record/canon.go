package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/writ-automation/writ/ports/proof/jcs"
)

// sum returns "sha256:<hex>" of the canonical JSON of a document: RFC 8785, but numbers keep the form in which they
// were written, so that none loses a digit. The document consists of values from decode, and of int and int64.
func sum(doc any) (string, error) {
	b, err := appendJSON(nil, doc)
	if err != nil {
		return "", err
	}
	return ofBytes(b), nil
}

// ofBytes returns "sha256:<hex>" of the bytes.
func ofBytes(b []byte) string {
	h := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(h[:])
}

// decode reads JSON with its numbers as they were written.
func decode(b []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

// appendJSON accepts every JSON that a server can have stored: null, any number, U+0000, and the depth that
// encoding/json reads.
func appendJSON(b []byte, v any) ([]byte, error) {
	b, err := jcs.Form{Null: true, Written: true, NUL: true, Text: valid, Name: valid, Depth: 10_000}.Append(b, v)
	if err != nil {
		return nil, fmt.Errorf("make canonical JSON: %w", err)
	}
	return b, nil
}

func valid(s string) string { return strings.ToValidUTF8(s, "\ufffd") }
