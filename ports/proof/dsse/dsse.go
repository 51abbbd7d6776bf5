package dsse

import (
	"context"
	"crypto"
	"encoding/base64"
	"errors"
	"slices"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"

	"github.com/writ-automation/writ/ports/proof/keys"
)

const (
	// StatementType is the payload type of in-toto Statements.
	StatementType = "application/vnd.in-toto+json"
	// SealType is the payload type of the signature in seal.json.
	SealType = "application/vnd.writ.seal+json"
	// MaxPayload bounds a payload; a receipt of 30,000 entries fits.
	MaxPayload = 24 << 20
	// MaxEnvelope bounds an envelope.
	MaxEnvelope = MaxPayload/3*4 + 256<<10
	// MaxSignatures bounds the signatures of an envelope.
	MaxSignatures = 16
)

// maxSignature is large enough for a post-quantum signature of an unknown key.
const maxSignature = 8 << 10

// Signature is a signature and the claimed id of its key.
type Signature struct {
	KeyID string
	Sig   []byte
}

// Envelope is a well-formed envelope. Nothing of it is verified.
type Envelope struct {
	PayloadType string
	Payload     []byte
	Signatures  []Signature
}

// Sign makes an envelope with one signature for each signer. Faults: KeyUntrusted for a signer that is not for
// statements, FormatInvalid for no signer, for a signer that is listed twice and for a payload that is too large.
func Sign(payloadType string, payload []byte, signers ...keys.Signer) (Envelope, error) {
	e := Envelope{PayloadType: payloadType, Payload: payload}
	var by []dsse.Signer
	for _, s := range signers {
		if s == nil || s.Use() != keys.Statement {
			return Envelope{}, keys.KeyUntrusted.New("the signer is not a statement key")
		}
		k, err := keys.NewKey(s.Public(), keys.Statement, "")
		if err != nil {
			return Envelope{}, err
		}
		by = append(by, librarySigner{s, k.ID})
	}
	if len(by) == 0 {
		return e, e.check(payloadType)
	}
	library, err := dsse.NewEnvelopeSigner(by...)
	if err != nil {
		return Envelope{}, keys.SignatureInvalid.New("the payload could not be signed").Because(err)
	}
	signed, err := library.SignPayload(context.Background(), payloadType, payload)
	if err != nil {
		var e *keys.Error
		if errors.As(err, &e) {
			return Envelope{}, e
		}
		return Envelope{}, keys.SignatureInvalid.New("the payload could not be signed").Because(err)
	}
	if e, err = fromLibrary(signed); err != nil {
		return Envelope{}, err
	}
	return e, e.check(payloadType)
}

// librarySigner lets the library sign with one of our keys. It verifies each signature at once, since the key may be
// in hardware.
type librarySigner struct {
	keys.Signer
	id string
}

// Sign signs the encoding of the library.
func (s librarySigner) Sign(_ context.Context, msg []byte) ([]byte, error) {
	sig, err := s.Signer.Sign(msg)
	if err != nil {
		return nil, err
	}
	k, err := keys.NewKey(s.Public(), keys.Statement, "")
	if err != nil {
		return nil, err
	}
	ring, err := keys.NewRing(k)
	if err != nil {
		return nil, err
	}
	return sig, ring.Verify(s.id, msg, sig)
}

// KeyID returns the id in envelopes.
func (s librarySigner) KeyID() (string, error) { return s.id, nil }

// libraryVerifier lets the library verify with a trusted key.
type libraryVerifier struct {
	ring keys.Ring
	key  keys.Key
}

// Verify verifies the encoding of the library.
func (v libraryVerifier) Verify(_ context.Context, msg, sig []byte) error {
	return v.ring.Verify(v.key.ID, msg, sig)
}

// KeyID returns the id in envelopes.
func (v libraryVerifier) KeyID() (string, error) { return v.key.ID, nil }

// Public returns the key.
func (v libraryVerifier) Public() crypto.PublicKey {
	public, _ := v.key.Public() // the ring has parsed it before
	return public
}

func (e Envelope) toLibrary() *dsse.Envelope {
	w := &dsse.Envelope{Payload: base64.StdEncoding.EncodeToString(e.Payload), PayloadType: e.PayloadType}
	for _, s := range e.Signatures {
		w.Signatures = append(w.Signatures, dsse.Signature{KeyID: s.KeyID, Sig: base64.StdEncoding.EncodeToString(s.Sig)})
	}
	return w
}

// fromLibrary decodes strictly; the library does not.
func fromLibrary(w *dsse.Envelope) (Envelope, error) {
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
	return e, nil
}

// Marshal returns the envelope in its canonical form.
func (e Envelope) Marshal() ([]byte, error) {
	if err := e.check(e.PayloadType); err != nil {
		return nil, err
	}
	return keys.Encode(e.toLibrary())
}

// Parse reads an envelope of this payload type in its canonical form, without verifying it. Fault: FormatInvalid.
func Parse(data []byte, payloadType string) (Envelope, error) {
	if len(data) > MaxEnvelope {
		return Envelope{}, keys.FormatInvalid.New("an envelope has at most %d bytes", MaxEnvelope)
	}
	var w dsse.Envelope
	if err := keys.Decode(data, &w); err != nil {
		return Envelope{}, err
	}
	e, err := fromLibrary(&w)
	if err != nil {
		return Envelope{}, err
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
			return keys.FormatInvalid.New("the envelope has two signatures of key %s, or one of an invalid length", s.KeyID)
		}
		seen[s.KeyID] = true
	}
	return nil
}

// Verify verifies each signature of a trusted key and returns those keys. It requires at least one, and one of each
// key whose id is in need. Signatures of other keys are ignored; an invalid one of a trusted key makes the envelope
// invalid. It does not check the sizes for which the keys are valid: see Opened.Admit.
//
// Faults: KeyUntrusted, SignatureInvalid.
func (e Envelope) Verify(trusted keys.Ring, need ...string) ([]keys.Key, error) {
	for _, id := range need {
		if !trusted.Has(id, keys.Statement) {
			return nil, keys.KeyUntrusted.New("key %s is required and not trusted for statements", id)
		}
	}
	var by []keys.Key
	var with []dsse.Verifier
	have := make(map[string]bool)
	for _, s := range e.Signatures {
		if k, ok := trusted.Statement(s.KeyID); ok {
			by, with, have[k.ID] = append(by, k), append(with, libraryVerifier{trusted, k}), true
		}
	}
	if len(by) == 0 {
		return nil, keys.KeyUntrusted.New("no signature of the envelope is by a trusted key")
	}
	library, err := dsse.NewMultiEnvelopeVerifier(len(with), with...)
	if err != nil {
		return nil, keys.SignatureInvalid.New("the envelope cannot be verified").Because(err)
	}
	if fits, err := library.Verify(context.Background(), e.toLibrary()); err != nil {
		for _, k := range by {
			if !slices.ContainsFunc(fits, func(a dsse.AcceptedKey) bool { return a.KeyID == k.ID }) {
				return nil, keys.SignatureInvalid.New("the signature does not verify with key %s", k.ID).Because(err)
			}
		}
		return nil, keys.SignatureInvalid.New("the envelope does not verify").Because(err)
	}
	for _, id := range need {
		if !have[id] {
			return nil, keys.SignatureInvalid.New("the signature of key %s is missing", id)
		}
	}
	return by, nil
}
