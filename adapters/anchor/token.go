package anchor

import (
	"bytes"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"math/big"
)

// timeStampReq is RFC 3161, 2.4.1, without what is never sent: a policy and extensions.
type timeStampReq struct {
	Version int
	Imprint messageImprint
	Nonce   *big.Int
	CertReq bool
}

type messageImprint struct {
	Algorithm pkix.AlgorithmIdentifier
	Hashed    []byte
}

// pkiStatusInfo is RFC 3161, 2.4.2.
type pkiStatusInfo struct {
	Status int
	Text   []asn1.RawValue `asn1:"optional"`
	Fail   asn1.BitString  `asn1:"optional"`
}

type timeStampResp struct {
	Status pkiStatusInfo
	Token  contentInfo `asn1:"optional"`
}

type contentInfo struct {
	Type    asn1.ObjectIdentifier
	Content asn1.RawValue `asn1:"tag:0,explicit,optional"`
}

// signedData is the beginning of RFC 5652, 5.1; certificates and signatures are left as they are.
type signedData struct {
	Version int
	Digests asn1.RawValue
	Content encapsulated
	Certs   asn1.RawValue `asn1:"tag:0,optional"`
	CRLs    asn1.RawValue `asn1:"tag:1,optional"`
	Signers asn1.RawValue
}

type encapsulated struct {
	Type    asn1.ObjectIdentifier
	Content []byte `asn1:"tag:0,explicit,optional"`
}

func oidSHA256() asn1.ObjectIdentifier     { return asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 1} }
func oidSignedData() asn1.ObjectIdentifier { return asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 2} }
func oidTSTInfo() asn1.ObjectIdentifier {
	return asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 1, 4}
}

// The statuses that come with a token.
const (
	granted         = 0
	grantedWithMods = 1
)

// maxReason is how many bytes are kept of what an authority says about a refusal.
const maxReason = 256

// checkResponse holds a TimeStampResp to the question: granted, over this digest, with this nonce, signed by somebody.
func checkResponse(der []byte, sum [32]byte, nonce *big.Int) error {
	var r timeStampResp
	if err := whole(der, &r); err != nil {
		return fmt.Errorf("the response: %w", err)
	}
	if s := r.Status.Status; s != granted && s != grantedWithMods {
		var said []byte
		for _, t := range r.Status.Text {
			said = append(append(said, t.Bytes...), ' ')
		}
		return &refusal{status: s, reason: string(said[:min(len(said), maxReason)])}
	}
	if !r.Token.Type.Equal(oidSignedData()) {
		return errors.New("the token is no signed data")
	}
	var sd signedData
	if err := whole(r.Token.Content.Bytes, &sd); err != nil {
		return fmt.Errorf("the signed data: %w", err)
	}
	if !sd.Content.Type.Equal(oidTSTInfo()) {
		return errors.New("what is signed is no time stamp")
	}
	if len(sd.Signers.Bytes) == 0 {
		return errors.New("nobody signed")
	}
	return checkInfo(sd.Content.Content, sum, nonce)
}

// checkInfo reads a TSTInfo (RFC 3161, 2.4.2) up to its nonce.
func checkInfo(der []byte, sum [32]byte, nonce *big.Int) error {
	var info []asn1.RawValue
	if err := whole(der, &info); err != nil {
		return fmt.Errorf("the time stamp: %w", err)
	}
	if len(info) < 5 {
		return errors.New("the time stamp is not whole")
	}
	var version int
	var imprint messageImprint
	if err := errors.Join(whole(info[0].FullBytes, &version), whole(info[2].FullBytes, &imprint)); err != nil {
		return fmt.Errorf("the time stamp: %w", err)
	}
	if version != 1 {
		return fmt.Errorf("a time stamp of version %d", version)
	}
	if !imprint.Algorithm.Algorithm.Equal(oidSHA256()) || !bytes.Equal(imprint.Hashed, sum[:]) {
		return errors.New("the time stamp is of other bytes")
	}
	if t := info[4]; t.Class != asn1.ClassUniversal || t.Tag != asn1.TagGeneralizedTime {
		return errors.New("the time stamp has no time")
	}
	// Behind the time stand, each optional, accuracy (a sequence), ordering (a boolean), nonce (an integer) and what has
	// tags of its own.
	for _, v := range info[5:] {
		if v.Class != asn1.ClassUniversal || v.Tag != asn1.TagInteger {
			continue
		}
		var got *big.Int
		if err := whole(v.FullBytes, &got); err != nil {
			return fmt.Errorf("the nonce: %w", err)
		}
		if got.Cmp(nonce) != 0 {
			return errors.New("the time stamp answers another question")
		}
		return nil
	}
	return errors.New("the time stamp has no nonce")
}

// whole decodes a value that nothing follows.
func whole(der []byte, v any) error {
	rest, err := asn1.Unmarshal(der, v)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return fmt.Errorf("%d bytes behind the end", len(rest))
	}
	return nil
}
