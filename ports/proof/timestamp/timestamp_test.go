package timestamp

import (
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	library "github.com/digitorus/timestamp"
	"pgregory.net/rapid"

	"github.com/writ-automation/writ/ports/proof/timestamp/timestamptest"
)

var stampedAt = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

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
	if err != nil || got.Time.Year() < 2026 || got.Time.Location() != time.UTC || !got.Covers([]byte(stamped)) ||
		!got.Signed {
		t.Errorf("%+v, %v", got, err)
	}
	if got.Covers([]byte("another head\n")) {
		t.Error("a token of something else passes")
	}
	for name, der := range map[string][]byte{
		"digest": answer(t, "sha512.tsr"), "refused": answer(t, "refused.tsr"), "empty": nil, "cut": good[:len(good)-1],
		"longer": append(good[:len(good):len(good)], 0),
		"zeros":  make([]byte, 100),
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

// Keeps T50.
func TestVerify(t *testing.T) {
	t.Parallel()
	a, b := timestamptest.New(t), timestamptest.New(t)
	plain := func(c *x509.Certificate) {
		c.ExtraExtensions, c.ExtKeyUsage = nil, []x509.ExtKeyUsage{x509.ExtKeyUsageTimeStamping}
	}
	server := func(c *x509.Certificate) {
		c.ExtraExtensions, c.ExtKeyUsage = nil, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	}
	younger := func(c *x509.Certificate) { c.NotBefore = stampedAt.AddDate(0, 0, 1) }
	bare := func(ts *library.Timestamp) { ts.AddTSACertificate = false }
	uncritical, wrong, old := timestamptest.New(t, plain), timestamptest.New(t, server), timestamptest.New(t, younger)
	for name, c := range map[string]struct {
		der   []byte
		roots []*x509.Certificate
		ok    bool
		none  bool // nothing is known of the authority
	}{
		"good": {a.Stamp(t, []byte(stamped), stampedAt), []*x509.Certificate{b.Root, a.Root}, true,
			false},
		"its certificate is given": {a.Stamp(t, []byte(stamped), stampedAt), []*x509.Certificate{a.Cert}, true, false},
		"no certificate, but given": {a.Stamp(t, []byte(stamped), stampedAt, bare), []*x509.Certificate{a.Root, a.Cert}, true,
			false},
		"no certificate": {a.Stamp(t, []byte(stamped), stampedAt, bare), []*x509.Certificate{a.Root}, false, true},
		"another root":   {a.Stamp(t, []byte(stamped), stampedAt), []*x509.Certificate{b.Root}, false, true},
		"no root":        {a.Stamp(t, []byte(stamped), stampedAt), nil, false, true},
		"usage is not critical": {uncritical.Stamp(t, []byte(stamped), stampedAt), []*x509.Certificate{uncritical.Root},
			false, false},
		"certificate of a server": {wrong.Stamp(t, []byte(stamped), stampedAt), []*x509.Certificate{wrong.Root}, false,
			false},
		"certificate came later": {old.Stamp(t, []byte(stamped), stampedAt), []*x509.Certificate{old.Root}, false, false},
		"another authority's key": {timestamptest.Authority{Root: a.Root, Cert: a.Cert, Key: b.Key}.Stamp(t, []byte(stamped),
			stampedAt, bare), []*x509.Certificate{a.Root, a.Cert}, false, false},
		"OpenSSL's, of an unknown": {answer(t, "granted.tsr"), []*x509.Certificate{a.Root}, false, true},
	} {
		got, err := Parse(c.der)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := got.Verify(c.roots); (err == nil) != c.ok || errors.Is(err, ErrUnknownAuthority) != c.none {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestNoByteMayChange changes bytes of a valid token: the signature covers everything that is read.
func TestNoByteMayChange(t *testing.T) {
	t.Parallel()
	a := timestamptest.New(t)
	good := a.Stamp(t, []byte(stamped), stampedAt)
	before, err := Parse(good)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		der := append([]byte(nil), good...)
		der[rapid.IntRange(0, len(der)-1).Draw(rt, "at")] ^= byte(rapid.IntRange(1, 255).Draw(rt, "bits"))
		got, err := Parse(der)
		if err != nil || got.Verify([]*x509.Certificate{a.Root}) != nil {
			return
		}
		if got.Imprint != before.Imprint || !got.Time.Equal(before.Time) {
			rt.Fatalf("%+v verifies", got)
		}
	})
}

func TestRootsAreRead(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "x", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
		"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"} {
		if got, err := ParseRoots([]byte(bad)); err == nil {
			t.Errorf("%q is %d certificates", bad, len(got))
		}
	}
}
