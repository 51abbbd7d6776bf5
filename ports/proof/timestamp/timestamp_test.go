package timestamp

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	library "github.com/digitorus/timestamp"
	"pgregory.net/rapid"
)

// The answers in testdata are those of OpenSSL to a query over this text.
const stamped = "a head of the log\n"

func answer(t testing.TB, name string) []byte {
	t.Helper()
	der, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func TestAnswersOfATimeStampingAuthority(t *testing.T) {
	t.Parallel()
	good := answer(t, "granted.tsr")
	got, err := Parse(good)
	if err != nil || got.Time.Year() < 2026 || got.Time.Location() != time.UTC || !got.Covers([]byte(stamped)) || !got.Signed {
		t.Errorf("%+v, %v", got, err)
	}
	if got.Covers([]byte("another head\n")) {
		t.Error("a token of something else passes")
	}
	for name, der := range map[string][]byte{
		"digest": answer(t, "sha512.tsr"), "refused": answer(t, "refused.tsr"), "empty": nil, "cut": good[:len(good)-1], "longer": append(good[:len(good):len(good)], 0),
		"zeros": make([]byte, 100),
	} {
		if _, err := Parse(der); err == nil {
			t.Errorf("%s passes", name)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(answer(f, "granted.tsr"))
	f.Add(answer(f, "refused.tsr"))
	f.Fuzz(func(t *testing.T, der []byte) {
		got, err := Parse(der)
		if err == nil && got.Time.IsZero() {
			t.Error("a token without a time passes")
		}
		if err == nil && got.Verify(nil) == nil {
			t.Error("a token verifies under nobody's certificate")
		}
	})
}

// authority is a time-stamping authority with a certificate of its own root.
type authority struct {
	root, cert *x509.Certificate
	key        crypto.Signer
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func certify(t testing.TB, template, parent *x509.Certificate, of crypto.Signer, by crypto.Signer) *x509.Certificate {
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

// The library signs the present time as well, so that certificates last beyond it.
var stampedAt = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func newAuthority(t testing.TB, change ...func(*x509.Certificate)) authority {
	t.Helper()
	rootKey, key := newKey(t), newKey(t)
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "root"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: stampedAt.AddDate(-1, 0, 0), NotAfter: stampedAt.AddDate(100, 0, 0), KeyUsage: x509.KeyUsageCertSign,
	}
	root = certify(t, root, root, rootKey, rootKey)
	usage, err := asn1.Marshal([]asn1.ObjectIdentifier{{1, 3, 6, 1, 5, 5, 7, 3, 8}})
	if err != nil {
		t.Fatal(err)
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "stamps"},
		NotBefore: stampedAt.AddDate(0, -1, 0), NotAfter: stampedAt.AddDate(100, 0, 0),
		ExtraExtensions: []pkix.Extension{{Id: oidExtKeyUsage, Critical: true, Value: usage}},
	}
	for _, c := range change {
		c(leaf)
	}
	return authority{root: root, cert: certify(t, leaf, root, key, rootKey), key: key}
}

// stamp makes a response over the text.
func (a authority) stamp(t testing.TB, change ...func(*library.Timestamp)) []byte {
	t.Helper()
	h := crypto.SHA256.New()
	h.Write([]byte(stamped))
	ts := &library.Timestamp{
		HashAlgorithm: crypto.SHA256, HashedMessage: h.Sum(nil), Time: stampedAt, SerialNumber: big.NewInt(7),
		Policy: asn1.ObjectIdentifier{1, 2, 3}, Nonce: big.NewInt(9), AddTSACertificate: true,
	}
	for _, c := range change {
		c(ts)
	}
	der, err := ts.CreateResponseWithOpts(a.cert, a.key, crypto.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func TestVerify(t *testing.T) {
	t.Parallel()
	a, b := newAuthority(t), newAuthority(t)
	plain := func(c *x509.Certificate) {
		c.ExtraExtensions, c.ExtKeyUsage = nil, []x509.ExtKeyUsage{x509.ExtKeyUsageTimeStamping}
	}
	server := func(c *x509.Certificate) {
		c.ExtraExtensions, c.ExtKeyUsage = nil, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	}
	younger := func(c *x509.Certificate) { c.NotBefore = stampedAt.AddDate(0, 0, 1) }
	bare := func(ts *library.Timestamp) { ts.AddTSACertificate = false }
	uncritical, wrong, old := newAuthority(t, plain), newAuthority(t, server), newAuthority(t, younger)
	for name, c := range map[string]struct {
		der   []byte
		roots []*x509.Certificate
		ok    bool
	}{
		"good":                      {a.stamp(t), []*x509.Certificate{b.root, a.root}, true},
		"its certificate is given":  {a.stamp(t), []*x509.Certificate{a.cert}, true},
		"no certificate, but given": {a.stamp(t, bare), []*x509.Certificate{a.root, a.cert}, true},
		"no certificate":            {a.stamp(t, bare), []*x509.Certificate{a.root}, false},
		"another root":              {a.stamp(t), []*x509.Certificate{b.root}, false},
		"no root":                   {a.stamp(t), nil, false},
		"usage is not critical":     {uncritical.stamp(t), []*x509.Certificate{uncritical.root}, false},
		"certificate of a server":   {wrong.stamp(t), []*x509.Certificate{wrong.root}, false},
		"certificate came later":    {old.stamp(t), []*x509.Certificate{old.root}, false},
		"another authority's key":   {authority{a.root, a.cert, b.key}.stamp(t, bare), []*x509.Certificate{a.root, a.cert}, false},
		"OpenSSL's, of an unknown":  {answer(t, "granted.tsr"), []*x509.Certificate{a.root}, false},
	} {
		got, err := Parse(c.der)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := got.Verify(c.roots); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestNoByteMayChange changes bytes of a good token: the signature covers what is read of it.
func TestNoByteMayChange(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	good := a.stamp(t)
	before, err := Parse(good)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		der := append([]byte(nil), good...)
		der[rapid.IntRange(0, len(der)-1).Draw(rt, "at")] ^= byte(rapid.IntRange(1, 255).Draw(rt, "bits"))
		got, err := Parse(der)
		if err != nil || got.Verify([]*x509.Certificate{a.root}) != nil {
			return
		}
		if got.Imprint != before.Imprint || !got.Time.Equal(before.Time) {
			rt.Fatalf("%+v verifies", got)
		}
	})
}

func TestRootsAreRead(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "x", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"} {
		if got, err := ParseRoots([]byte(bad)); err == nil {
			t.Errorf("%q is %d certificates", bad, len(got))
		}
	}
}
