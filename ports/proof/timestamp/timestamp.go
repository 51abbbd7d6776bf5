package timestamp

import (
	"crypto/sha256"
	"encoding/asn1"
	"errors"
	"fmt"
	"math/big"
	"time"
)

// MaxSize bounds the stored responses.
const MaxSize = 64 << 10

// Token is the content of a response.
type Token struct {
	Imprint [sha256.Size]byte // of SHA-256
	Time    time.Time
	Nonce   *big.Int // or nil
	Signed  bool     // whether there is a signature by any signer
	cms     []byte
}

// Covers reports whether the token is about these bytes.
func (t Token) Covers(data []byte) bool { return t.Imprint == sha256.Sum256(data) }

// Refusal is a response without a token.
type Refusal struct {
	Status int
	Reason string // the authority's reason, an outside text
}

// Error returns the status and the reason, quoted.
func (r *Refusal) Error() string { return fmt.Sprintf("status %d: %q", r.Status, r.Reason) }

// maxReason bounds the bytes of a stored reason.
const maxReason = 256

var (
	oidSignedData = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 2}
	oidTSTInfo    = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 1, 4}
	oidSHA256     = asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 1}
)

// The types of RFC 3161 and RFC 5652, as far as they are needed. Bytes after the last member of each are ignored.
type (
	response struct {
		Status struct {
			Status int
			Text   []asn1.RawValue `asn1:"optional"`
		}
		Token asn1.RawValue `asn1:"optional"`
	}
	contentInfo struct {
		Type    asn1.ObjectIdentifier
		Content asn1.RawValue // [0] SignedData
	}
	signedData struct {
		Version  int
		Digests  asn1.RawValue
		Contents struct {
			Type    asn1.ObjectIdentifier
			Content asn1.RawValue // [0] OCTET STRING
		}
		Certs   asn1.RawValue `asn1:"tag:0,optional"`
		CRLs    asn1.RawValue `asn1:"tag:1,optional"`
		Signers asn1.RawValue `asn1:"set,optional"`
	}
	imprint struct {
		Algorithm struct{ Algorithm asn1.ObjectIdentifier }
		Sum       []byte
	}
)

// Parse reads the DER of a granted TimeStampResp over a SHA-256. A response that was not granted is a *Refusal. Parse
// verifies no signature. The caller bounds the bytes.
func Parse(der []byte) (Token, error) {
	var resp response
	if err := whole(der, &resp); err != nil {
		return Token{}, fmt.Errorf("not a time-stamp response: %w", err)
	}
	if s := resp.Status.Status; s != 0 && s != 1 { // granted, with modifications or without
		var text []byte
		for _, t := range resp.Status.Text {
			text = append(append(text, t.Bytes...), ' ')
		}
		return Token{}, &Refusal{Status: s, Reason: string(text[:min(len(text), maxReason)])}
	}
	var info contentInfo
	if err := whole(resp.Token.FullBytes, &info); err != nil || !info.Type.Equal(oidSignedData) {
		return Token{}, errors.Join(errors.New("the response has no signed data"), err)
	}
	var signed signedData
	if err := underZero(info.Content, &signed); err != nil || !signed.Contents.Type.Equal(oidTSTInfo) {
		return Token{}, errors.Join(errors.New("the signed content is not a time stamp"), err)
	}
	var text []byte
	if err := underZero(signed.Contents.Content, &text); err != nil {
		return Token{}, fmt.Errorf("the time stamp: %w", err)
	}
	t, err := parseInfo(text)
	t.Signed, t.cms = len(signed.Signers.Bytes) > 0, resp.Token.FullBytes
	return t, err
}

// parseInfo reads a TSTInfo (RFC 3161, 2.4.2) up to its nonce.
func parseInfo(der []byte) (t Token, err error) {
	var members []asn1.RawValue
	if err := whole(der, &members); err != nil {
		return t, fmt.Errorf("the time stamp: %w", err)
	}
	if len(members) < 5 {
		return t, errors.New("the time stamp is truncated")
	}
	var version int
	var policy asn1.ObjectIdentifier
	var over imprint
	err = errors.Join(whole(members[0].FullBytes, &version), whole(members[1].FullBytes, &policy),
		whole(members[2].FullBytes, &over))
	if err != nil {
		return t, fmt.Errorf("the time stamp: %w", err)
	}
	if !over.Algorithm.Algorithm.Equal(oidSHA256) || len(over.Sum) != sha256.Size {
		return t, errors.New("the time stamp does not cover a SHA-256")
	}
	if rest, err := asn1.UnmarshalWithParams(members[4].FullBytes, &t.Time, "generalized"); err != nil || len(rest) > 0 {
		return t, errors.Join(errors.New("the time stamp has no time"), err)
	}
	t.Imprint, t.Time = [sha256.Size]byte(over.Sum), t.Time.UTC()
	// After the time follow, each optional, accuracy (a sequence), ordering (a boolean), nonce (an integer) and
	// members with tags of their own.
	for _, v := range members[5:] {
		if v.Class == asn1.ClassUniversal && v.Tag == asn1.TagInteger {
			return t, whole(v.FullBytes, &t.Nonce)
		}
	}
	return t, nil
}

// whole decodes a value without trailing bytes.
func whole(der []byte, v any) error {
	rest, err := asn1.Unmarshal(der, v)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%d trailing bytes", len(rest))
	}
	return err
}

// underZero decodes the contents of an explicit tag of zero.
func underZero(v asn1.RawValue, into any) error {
	if v.Class != asn1.ClassContextSpecific || v.Tag != 0 || !v.IsCompound {
		return errors.New("no member with the tag 0")
	}
	return whole(v.Bytes, into)
}
