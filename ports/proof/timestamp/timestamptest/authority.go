// Package timestamptest makes time-stamping authorities and their tokens for tests.
package timestamptest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	"github.com/digitorus/timestamp"
)

// Authority is a time-stamping authority with a certificate under its own root.
type Authority struct {
	Root, Cert *x509.Certificate
	Key        crypto.Signer
}

// Begin is the start of validity of an authority's certificates. The library also signs the present time, so they are
// valid beyond it.
var Begin = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

// New makes an authority; change may edit its certificate before it is signed.
func New(t testing.TB, change ...func(*x509.Certificate)) Authority {
	t.Helper()
	rootKey, key := newKey(t), newKey(t)
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "root"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: Begin, NotAfter: Begin.AddDate(100, 0, 0), KeyUsage: x509.KeyUsageCertSign,
	}
	root = certify(t, root, root, rootKey, rootKey)
	usage, err := asn1.Marshal([]asn1.ObjectIdentifier{{1, 3, 6, 1, 5, 5, 7, 3, 8}})
	if err != nil {
		t.Fatal(err)
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "stamps"}, NotBefore: Begin,
		NotAfter:        Begin.AddDate(100, 0, 0),
		ExtraExtensions: []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 37}, Critical: true, Value: usage}},
	}
	for _, c := range change {
		c(leaf)
	}
	return Authority{Root: root, Cert: certify(t, leaf, root, key, rootKey), Key: key}
}

// PEM returns the root as a file of roots.
func (a Authority) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.Root.Raw})
}

// Stamp makes a response over the data with that time.
func (a Authority) Stamp(t testing.TB, data []byte, at time.Time, change ...func(*timestamp.Timestamp)) []byte {
	t.Helper()
	h := crypto.SHA256.New()
	h.Write(data)
	ts := &timestamp.Timestamp{
		HashAlgorithm: crypto.SHA256, HashedMessage: h.Sum(nil), Time: at, SerialNumber: big.NewInt(7),
		Policy: asn1.ObjectIdentifier{1, 2, 3}, Nonce: big.NewInt(9), AddTSACertificate: true,
	}
	for _, c := range change {
		c(ts)
	}
	der, err := ts.CreateResponseWithOpts(a.Cert, a.Key, crypto.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func certify(t testing.TB, template, parent *x509.Certificate, of, by crypto.Signer) *x509.Certificate {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, of.Public(), by)
	if err != nil {
		t.Fatal(err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
