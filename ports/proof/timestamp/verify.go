package timestamp

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // ESSCertID of RFC 2634 has no other; the certificate is verified beside it
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/digitorus/pkcs7"
	"github.com/digitorus/timestamp"
)

// maxRoots bounds the certificates of a file.
const maxRoots = 128

// ParseRoots reads one or more certificates as PEM blocks. Certificates that are not roots are accepted too: every
// listed certificate is trusted.
func ParseRoots(text []byte) ([]*x509.Certificate, error) {
	var out []*x509.Certificate
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" || len(out) == maxRoots {
			return nil, fmt.Errorf("a file of roots has up to %d PEM blocks of the type CERTIFICATE and nothing else",
				maxRoots)
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d: %w", len(out)+1, err)
		}
		out = append(out, cert)
	}
	if len(out) == 0 {
		return nil, errors.New("a file of roots has at least one PEM block of the type CERTIFICATE")
	}
	return out, nil
}

var (
	oidContentType   = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 3}
	oidSigningCert   = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 2, 12}
	oidSigningCertV2 = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 2, 47}
	oidSHA384        = asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 2}
	oidSHA512        = asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 3}
	oidExtKeyUsage   = asn1.ObjectIdentifier{2, 5, 29, 37}
)

// ErrUnknownAuthority means that no root leads to the token's authority, so its signer is unknown.
var ErrUnknownAuthority = errors.New("the authority that signed the token is not under a trusted root")

// Verify checks that an authority signed the token whose certificate leads to one of the roots: the CMS signature over
// imprint and time, a certificate that the signed data names, that is for time stamps only, and that was valid at the
// token's time. It does not check revocation.
func (t Token) Verify(roots []*x509.Certificate) error {
	p7, err := pkcs7.Parse(t.cms)
	if err != nil {
		return fmt.Errorf("the token: %w", err)
	}
	p7.Certificates = append(p7.Certificates, roots...)
	if len(p7.Signers) != 1 {
		return errors.New("the token does not have exactly one signer")
	}
	signer := p7.GetOnlySigner()
	if signer == nil {
		return fmt.Errorf("%w: its certificate is missing", ErrUnknownAuthority)
	}
	if err := attributes(p7, signer); err != nil {
		return err
	}
	if err := stampsOnly(signer); err != nil {
		return err
	}
	trusted, between := x509.NewCertPool(), x509.NewCertPool()
	for _, c := range roots {
		trusted.AddCert(c)
	}
	for _, c := range p7.Certificates {
		between.AddCert(c)
	}
	opts := x509.VerifyOptions{
		Roots: trusted, Intermediates: between, CurrentTime: t.Time,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageTimeStamping},
	}
	var unknown x509.UnknownAuthorityError
	if _, err := signer.Verify(opts); errors.As(err, &unknown) {
		return fmt.Errorf("%w: %w", ErrUnknownAuthority, err)
	}
	if err := p7.VerifyWithOpts(opts); err != nil {
		return fmt.Errorf("the signature of the token: %w", err)
	}
	// The library parsed the signed data too, and has to agree with the parser of this package.
	stated, err := timestamp.Parse(t.cms)
	if err != nil {
		return fmt.Errorf("the token: %w", err)
	}
	if !bytes.Equal(stated.HashedMessage, t.Imprint[:]) || !stated.Time.Equal(t.Time) {
		return errors.New("the token cannot be read unambiguously")
	}
	return nil
}

// attributes checks the signed attributes by RFC 3161: the content is a time stamp and the certificate is the one of
// the signer.
func attributes(p7 *pkcs7.PKCS7, signer *x509.Certificate) error {
	var kind asn1.ObjectIdentifier
	if err := p7.UnmarshalSignedAttribute(oidContentType, &kind); err != nil || !kind.Equal(oidTSTInfo) {
		return errors.Join(errors.New("the signed attributes do not name a time stamp as the content"), err)
	}
	var list struct{ Certs []asn1.RawValue }
	if err := p7.UnmarshalSignedAttribute(oidSigningCertV2, &list); err == nil && len(list.Certs) > 0 {
		if namesV2(list.Certs[0].Bytes, signer.Raw) {
			return nil
		}
		return errors.New("the signed attributes name another certificate")
	}
	if err := p7.UnmarshalSignedAttribute(oidSigningCert, &list); err == nil && len(list.Certs) > 0 {
		var sum []byte
		_, err := asn1.Unmarshal(list.Certs[0].Bytes, &sum)
		if want := sha1.Sum(signer.Raw); err == nil && bytes.Equal(sum, want[:]) { //nolint:gosec // see above
			return nil
		}
		return errors.New("the signed attributes name another certificate")
	}
	return errors.New("the signed attributes name no certificate")
}

// namesV2 compares an ESSCertIDv2 (RFC 5035), whose default algorithm is SHA-256.
func namesV2(id, cert []byte) bool {
	var algorithm struct{ Algorithm asn1.ObjectIdentifier }
	rest, err := asn1.Unmarshal(id, &algorithm)
	if err != nil {
		algorithm.Algorithm, rest = oidSHA256, id
	}
	var sum []byte
	if _, err := asn1.Unmarshal(rest, &sum); err != nil {
		return false
	}
	var want []byte
	switch a := algorithm.Algorithm; {
	case a.Equal(oidSHA256):
		s := sha256.Sum256(cert)
		want = s[:]
	case a.Equal(oidSHA384):
		s := sha512.Sum384(cert)
		want = s[:]
	case a.Equal(oidSHA512):
		s := sha512.Sum512(cert)
		want = s[:]
	}
	return want != nil && bytes.Equal(sum, want)
}

// stampsOnly requires the one critical key usage that RFC 3161 demands of an authority's certificate.
func stampsOnly(c *x509.Certificate) error {
	if len(c.ExtKeyUsage) == 1 && c.ExtKeyUsage[0] == x509.ExtKeyUsageTimeStamping && len(c.UnknownExtKeyUsage) == 0 {
		for _, e := range c.Extensions {
			if e.Id.Equal(oidExtKeyUsage) && e.Critical {
				return nil
			}
		}
	}
	return errors.New("the certificate of the signer is not for time stamps only")
}
