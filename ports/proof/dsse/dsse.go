package dsse

import (
	"encoding/base64"
	"strconv"

	"github.com/writ-automation/writ/ports/proof/keys"
)

const (
	// StatementType is the payload type of in-toto Statements.
	StatementType = "application/vnd.in-toto+json"
	// SealType is the payload type of the signature that seal.json carries.
	SealType = "application/vnd.writ.seal+json"
	// MaxPayload bounds a payload, a receipt of 30,000 entries among them.
	MaxPayload = 24 << 20
	// MaxEnvelope bounds an envelope.
	MaxEnvelope = MaxPayload/3*4 + 256<<10
	// MaxSignatures bounds the signatures of an envelope.
	MaxSignatures = 16
)

// maxSignature lets a post-quantum signature pass as one of a key that is not known here.
const maxSignature = 8 << 10

// Signature is a signature and the id of the key that it claims to be by.
type Signature struct {
	KeyID string
	Sig   []byte
}

// Envelope is an envelope that has its form. Nothing of it is verified.
type Envelope struct {
	PayloadType string
	Payload     []byte
	Signatures  []Signature
}

// The wire types are the JSON form.
type wireEnvelope struct {
	Payload     string          `json:"payload"`
	PayloadType string          `json:"payloadType"`
	Signatures  []wireSignature `json:"signatures"`
}

type wireSignature struct {
	KeyID string `json:"keyid"`
	Sig   string `json:"sig"`
}

// PAE returns the pre-authentication encoding, the bytes that are signed.
func PAE(payloadType string, payload []byte) []byte {
	b := make([]byte, 0, len("DSSEv1")+len(payloadType)+len(payload)+2*20+4)
	b = append(b, "DSSEv1 "...)
	b = strconv.AppendInt(b, int64(len(payloadType)), 10)
	b = append(append(b, ' '), payloadType...)
	b = append(b, ' ')
	b = strconv.AppendInt(b, int64(len(payload)), 10)
	return append(append(b, ' '), payload...)
}

// Sign makes an envelope with one signature for each signer. Faults: KeyUntrusted for a signer that is none of
// statements, FormatInvalid for no signer or one twice and for a payload that is too large.
func Sign(payloadType string, payload []byte, signers ...keys.Signer) (Envelope, error) {
	e := Envelope{PayloadType: payloadType, Payload: payload}
	msg := PAE(payloadType, payload)
	for _, s := range signers {
		if s == nil || s.Use() != keys.Statement {
			return Envelope{}, keys.KeyUntrusted.New("the signer is no statement key")
		}
		k, err := keys.NewKey(s.Public(), keys.Statement, "")
		if err != nil {
			return Envelope{}, err
		}
		sig, err := s.Sign(msg)
		if err != nil {
			return Envelope{}, keys.SignatureInvalid.New("the payload could not be signed").Because(err)
		}
		ring, err := keys.NewRing(k)
		if err != nil {
			return Envelope{}, err
		}
		if err := ring.Verify(k.ID, msg, sig); err != nil {
			return Envelope{}, err
		}
		e.Signatures = append(e.Signatures, Signature{KeyID: k.ID, Sig: sig})
	}
	return e, e.check(payloadType)
}

// Marshal returns the envelope in its canonical form.
func (e Envelope) Marshal() ([]byte, error) {
	if err := e.check(e.PayloadType); err != nil {
		return nil, err
	}
	w := wireEnvelope{Payload: base64.StdEncoding.EncodeToString(e.Payload), PayloadType: e.PayloadType}
	for _, s := range e.Signatures {
		w.Signatures = append(w.Signatures, wireSignature{KeyID: s.KeyID, Sig: base64.StdEncoding.EncodeToString(s.Sig)})
	}
	return keys.Encode(w)
}

// Parse reads an envelope of this payload type in its canonical form, without verifying it. Fault: FormatInvalid.
func Parse(data []byte, payloadType string) (Envelope, error) {
	if len(data) > MaxEnvelope {
		return Envelope{}, keys.FormatInvalid.New("an envelope has at most %d bytes", MaxEnvelope)
	}
	var w wireEnvelope
	if err := keys.Decode(data, &w); err != nil {
		return Envelope{}, err
	}
	payload, err := keys.Base64(w.Payload)
	if err != nil {
		return Envelope{}, err
	}
	e := Envelope{PayloadType: w.PayloadType, Payload: payload}
	for _, s := range w.Signatures {
		sig, err := keys.Base64(s.Sig)
		if err != nil {
			return Envelope{}, err
		}
		e.Signatures = append(e.Signatures, Signature{KeyID: s.KeyID, Sig: sig})
	}
	return e, e.check(payloadType)
}

func (e Envelope) check(payloadType string) error {
	switch {
	case e.PayloadType != payloadType:
		return keys.FormatInvalid.New("the payload is not of the type %s", payloadType)
	case len(e.Payload) == 0 || len(e.Payload) > MaxPayload:
		return keys.FormatInvalid.New("a payload has one to %d bytes", MaxPayload)
	case len(e.Signatures) == 0 || len(e.Signatures) > MaxSignatures:
		return keys.FormatInvalid.New("an envelope has one to %d signatures", MaxSignatures)
	}
	seen := make(map[string]bool, len(e.Signatures))
	for _, s := range e.Signatures {
		if err := keys.CheckID(s.KeyID); err != nil {
			return err
		}
		if seen[s.KeyID] || len(s.Sig) == 0 || len(s.Sig) > maxSignature {
			return keys.FormatInvalid.New("the envelope has two signatures of key %s, or one of an impossible length", s.KeyID)
		}
		seen[s.KeyID] = true
	}
	return nil
}

// Verify verifies each signature of a trusted key and returns those keys. At least one has to be there, and one of each
// key whose id is in need. Signatures of other keys are ignored; one of a trusted key that does not fit refuses the
// envelope. For which sizes of the tree the keys may speak is not known here: see Opened.Admit.
//
// Faults: KeyUntrusted, SignatureInvalid.
func (e Envelope) Verify(trusted keys.Ring, need ...string) ([]keys.Key, error) {
	for _, id := range need {
		if !trusted.Has(id, keys.Statement) {
			return nil, keys.KeyUntrusted.New("key %s is needed and not trusted for statements", id)
		}
	}
	var by []keys.Key
	have := make(map[string]bool)
	msg := PAE(e.PayloadType, e.Payload)
	for _, s := range e.Signatures {
		k, ok := trusted.Statement(s.KeyID)
		if !ok {
			continue
		}
		if err := trusted.Verify(k.ID, msg, s.Sig); err != nil {
			return nil, err
		}
		have[k.ID] = true
		by = append(by, k)
	}
	if len(by) == 0 {
		return nil, keys.KeyUntrusted.New("no signature of the envelope is by a trusted key")
	}
	for _, id := range need {
		if !have[id] {
			return nil, keys.SignatureInvalid.New("the signature of key %s is missing", id)
		}
	}
	return by, nil
}
