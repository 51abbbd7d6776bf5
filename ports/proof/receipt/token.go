package receipt

import (
	"crypto/sha256"
	"encoding/asn1"
	"time"

	"github.com/writ-automation/writ/ports/proof/keys"
)

// Token is what a time-stamp response says. Nobody verified its signature: whose certificate to trust is the reader's.
type Token struct {
	Imprint [sha256.Size]byte // of SHA-256
	Time    time.Time
}

// Covers reports whether the token speaks of these bytes.
func (t Token) Covers(data []byte) bool { return t.Imprint == sha256.Sum256(data) }

var (
	oidSignedData = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 2}
	oidTSTInfo    = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 1, 4}
	oidSHA256     = asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 1}
)

// The types of RFC 3161 and RFC 5652 as far as they are read. What stands behind the last member of each is passed over.
type (
	timeStampResp struct {
		Status struct{ Status int }
		Token  struct {
			Type    asn1.ObjectIdentifier
			Content asn1.RawValue // [0] SignedData
		}
	}
	signedData struct {
		Version  int
		Digests  asn1.RawValue
		Contents struct {
			Type    asn1.ObjectIdentifier
			Content asn1.RawValue // [0] OCTET STRING
		}
	}
	tstInfo struct {
		Version int
		Policy  asn1.ObjectIdentifier
		Imprint struct {
			Algorithm struct{ Algorithm asn1.ObjectIdentifier }
			Sum       []byte
		}
		Serial asn1.RawValue
		Time   time.Time `asn1:"generalized"`
	}
)

// ReadToken reads the DER of a TimeStampResp of RFC 3161 that was granted, over a SHA-256. Fault: FormatInvalid.
func ReadToken(der []byte) (Token, error) {
	bad := keys.FormatInvalid.New("the token is no granted time-stamp response over a SHA-256")
	var resp timeStampResp
	rest, err := asn1.Unmarshal(der, &resp)
	if err != nil || len(rest) > 0 || resp.Status.Status < 0 || resp.Status.Status > 1 || !resp.Token.Type.Equal(oidSignedData) {
		return Token{}, bad.Because(err)
	}
	var signed signedData
	if !inZero(resp.Token.Content, &signed) || !signed.Contents.Type.Equal(oidTSTInfo) {
		return Token{}, bad
	}
	var text []byte
	if !inZero(signed.Contents.Content, &text) {
		return Token{}, bad
	}
	var info tstInfo
	if rest, err := asn1.Unmarshal(text, &info); err != nil || len(rest) > 0 {
		return Token{}, bad.Because(err)
	}
	if !info.Imprint.Algorithm.Algorithm.Equal(oidSHA256) || len(info.Imprint.Sum) != sha256.Size {
		return Token{}, bad
	}
	return Token{Imprint: [sha256.Size]byte(info.Imprint.Sum), Time: info.Time.UTC()}, nil
}

// inZero reads what stands under an explicit tag of zero.
func inZero(v asn1.RawValue, into any) bool {
	if v.Class != asn1.ClassContextSpecific || v.Tag != 0 || !v.IsCompound {
		return false
	}
	rest, err := asn1.Unmarshal(v.Bytes, into)
	return err == nil && len(rest) == 0
}
