package keep

import (
	"bytes"
	"crypto/sha256"
	"encoding/asn1"
	"errors"
	"fmt"
	"time"
)

// maxStamp bounds an answer of a time-stamping authority.
const maxStamp = 64 << 10

// What of RFC 3161 and RFC 5652 is read. Members that come behind and are not asked for are left as they are.
type (
	stampResponse struct {
		Status stampStatus
		Token  contentInfo `asn1:"optional"`
	}
	stampStatus struct {
		Status int
		Text   asn1.RawValue `asn1:"optional"`
		Failed asn1.RawValue `asn1:"optional"`
	}
	contentInfo struct {
		Type    asn1.ObjectIdentifier
		Content asn1.RawValue `asn1:"explicit,optional,tag:0"`
	}
	signedData struct {
		Version int
		Digests asn1.RawValue
		Encap   struct {
			Type    asn1.ObjectIdentifier
			Content []byte `asn1:"explicit,optional,tag:0"`
		}
		Rest1 asn1.RawValue `asn1:"optional"`
		Rest2 asn1.RawValue `asn1:"optional"`
		Rest3 asn1.RawValue `asn1:"optional"`
	}
	algorithm struct {
		ID     asn1.ObjectIdentifier
		Params asn1.RawValue `asn1:"optional"`
	}
	imprint struct {
		Algorithm algorithm
		Digest    []byte
	}
)

// readStamp returns the time of a TimeStampResp over the data. It does not verify who signed: whom to believe is up to those
// who read the token later.
func readStamp(der, data []byte) (time.Time, error) {
	if len(der) > maxStamp {
		return time.Time{}, fmt.Errorf("it has more than %d bytes", maxStamp)
	}
	var r stampResponse
	if rest, err := asn1.Unmarshal(der, &r); err != nil || len(rest) != 0 {
		return time.Time{}, errors.New("it is no time-stamp response")
	}
	if r.Status.Status != 0 && r.Status.Status != 1 { // granted, with modifications or without
		return time.Time{}, fmt.Errorf("the authority refused with status %d", r.Status.Status)
	}
	var s signedData
	if !r.Token.Type.Equal(asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 2}) {
		return time.Time{}, errors.New("it holds no signed data")
	}
	if rest, err := asn1.Unmarshal(r.Token.Content.Bytes, &s); err != nil || len(rest) != 0 {
		return time.Time{}, errors.New("its signed data cannot be read")
	}
	if !s.Encap.Type.Equal(asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 1, 4}) {
		return time.Time{}, errors.New("it signs something else than a time stamp")
	}
	return readInfo(s.Encap.Content, sha256.Sum256(data))
}

// readInfo reads the TSTInfo member by member, since optional ones follow.
func readInfo(der []byte, want [sha256.Size]byte) (time.Time, error) {
	bad := errors.New("its time stamp cannot be read")
	var info asn1.RawValue
	rest, err := asn1.Unmarshal(der, &info)
	if err != nil || len(rest) != 0 || info.Tag != asn1.TagSequence {
		return time.Time{}, bad
	}
	var (
		version int
		policy  asn1.ObjectIdentifier
		over    imprint
		serial  asn1.RawValue
		at      asn1.RawValue
	)
	rest = info.Bytes
	for _, member := range []any{&version, &policy, &over, &serial, &at} {
		if rest, err = asn1.Unmarshal(rest, member); err != nil {
			return time.Time{}, bad
		}
	}
	if !over.Algorithm.ID.Equal(asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 1}) || !bytes.Equal(over.Digest, want[:]) {
		return time.Time{}, errors.New("it is of something else")
	}
	// RFC 3161 allows fractions of a second, which encoding/asn1 does not read.
	const layout = "20060102150405.999999999Z"
	made, err := time.Parse(layout, string(at.Bytes))
	if err != nil || at.Tag != asn1.TagGeneralizedTime {
		return time.Time{}, bad
	}
	return made.UTC().Truncate(time.Microsecond), nil
}
