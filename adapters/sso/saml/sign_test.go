package saml

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	_ "crypto/sha1"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/beevik/etree"
	dsig "github.com/russellhaering/goxmldsig"
)

// method describes the signature of an element. fill replaces zero values with valid ones. The XML is written by hand,
// so that it can have any form.
type method struct {
	signature, digest, c14n, uri, prefixes string
	hash                                   crypto.Hash
	transforms, keyInfo, more              string // XML
	references                             int
}

func (m method) fill(id string) method {
	set := func(s *string, v string) {
		if *s == "" {
			*s = v
		}
	}
	set(&m.signature, dsig.RSASHA256SignatureMethod)
	set(&m.digest, nsEncryption+"sha256")
	set(&m.c14n, nsExclusive)
	set(&m.uri, "#"+id)
	inclusive := ""
	if m.prefixes != "" {
		inclusive = `<ec:InclusiveNamespaces xmlns:ec="` + nsExclusive + `" PrefixList="` + m.prefixes + `"/>`
	}
	set(&m.transforms, `<ds:Transform Algorithm="`+nsSignature+`enveloped-signature"/>`+
		`<ds:Transform Algorithm="`+nsExclusive+`">`+inclusive+`</ds:Transform>`)
	if m.hash == 0 {
		m.hash = crypto.SHA256
	}
	if m.references == 0 {
		m.references = 1
	}
	return m
}

// sign adds an enveloped signature after the issuer. The key is an RSA or ECDSA key, or the shared key of an HMAC.
func (m method) sign(t testing.TB, el *etree.Element, key any) *etree.Element {
	t.Helper()
	m = m.fill(el.SelectAttrValue("ID", ""))
	canonical, err := dsig.MakeC14N10ExclusiveCanonicalizerWithPrefixList(m.prefixes).Canonicalize(el.Copy())
	if err != nil {
		t.Fatal(err)
	}
	reference := fmt.Sprintf(`<ds:Reference URI="%s"><ds:Transforms>%s</ds:Transforms><ds:DigestMethod Algorithm="%s"></ds:DigestMethod>`+
		`<ds:DigestValue>%s</ds:DigestValue></ds:Reference>`, m.uri, m.transforms, m.digest,
		base64.StdEncoding.EncodeToString(m.sum(canonical)))
	info := fmt.Sprintf(`<ds:SignedInfo xmlns:ds="%s"><ds:CanonicalizationMethod Algorithm="%s"></ds:CanonicalizationMethod>`+
		`<ds:SignatureMethod Algorithm="%s"></ds:SignatureMethod>%s</ds:SignedInfo>`,
		nsSignature, m.c14n, m.signature, strings.Repeat(reference, m.references))
	digested, err := dsig.MakeC14N10ExclusiveCanonicalizerWithPrefixList("").Canonicalize(element(t, info))
	if err != nil {
		t.Fatal(err)
	}
	sig := element(t,
		fmt.Sprintf(`<ds:Signature xmlns:ds="%s">%s<ds:SignatureValue>%s</ds:SignatureValue>%s%s</ds:Signature>`,
			nsSignature, info, base64.StdEncoding.EncodeToString(m.value(t, digested, key)), m.keyInfo, m.more))
	el.InsertChildAt(1, sig)
	return element(t, string(write(t, el)))
}

func (m method) sum(b []byte) []byte {
	h := m.hash.New()
	h.Write(b)
	return h.Sum(nil)
}

func (m method) value(t testing.TB, b []byte, key any) []byte {
	t.Helper()
	switch key := key.(type) {
	case *rsa.PrivateKey:
		sig, err := rsa.SignPKCS1v15(rand.Reader, key, m.hash, m.sum(b))
		if err != nil {
			t.Fatal(err)
		}
		return sig
	case *ecdsa.PrivateKey:
		r, s, err := ecdsa.Sign(rand.Reader, key, m.sum(b))
		if err != nil {
			t.Fatal(err)
		}
		size := (key.Curve.Params().BitSize + 7) / 8
		return append(r.FillBytes(make([]byte, size)), s.FillBytes(make([]byte, size))...)
	case []byte:
		mac := hmac.New(m.hash.New, key)
		mac.Write(b)
		return mac.Sum(nil)
	default:
		t.Fatalf("no key: %T", key)
		return nil
	}
}

// TestEllipticCurves verifies signatures in the form of the standard and of the library.
func TestEllipticCurves(t *testing.T) {
	t.Parallel()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: start().AddDate(-1, 0, 0),
		NotAfter: start().AddDate(1, 0, 0)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	certs := []*x509.Certificate{idpKey().cert, cert}
	el := method{signature: dsig.ECDSASHA256SignatureMethod}.sign(t,
		element(t, letter{request: "r"}.fill().assertion()), key)
	got, err := verifySigned(el, certs, start())
	if err != nil || attr(got, "ID") != "_assertion" {
		t.Fatalf("%v %v", got, err)
	}
	value := find(t, el, "SignatureValue")
	raw, err := base64.StdEncoding.DecodeString(value.Text())
	if err != nil {
		t.Fatal(err)
	}
	inLibrary, err := asn1.Marshal(struct{ R, S *big.Int }{new(big.Int).SetBytes(raw[:32]),
		new(big.Int).SetBytes(raw[32:])})
	if err != nil {
		t.Fatal(err)
	}
	value.SetText(base64.StdEncoding.EncodeToString(inLibrary))
	if _, err := verifySigned(el, certs, start()); err != nil {
		t.Error(err)
	}
	raw[40] ^= 1
	value.SetText(base64.StdEncoding.EncodeToString(raw))
	if _, err := verifySigned(el, certs, start()); err == nil || !strings.Contains(err.Error(), "fits no key") {
		t.Errorf("a changed signature: %v", err)
	}
}

// TestVerifiedBytes: the result is the signed content, without the signature and the content around it.
func TestVerifiedBytes(t *testing.T) {
	t.Parallel()
	root := letter{request: "r"}.build(t)
	el := find(t, root, "Assertion")
	got, err := verifySigned(el, []*x509.Certificate{idpKey().cert}, start())
	if err != nil {
		t.Fatal(err)
	}
	find(t, el, "NameID").SetText("admin")
	if who := find(t, got, "NameID").Text(); who != "alice" || got.FindElement(".//Signature") != nil || got == el {
		t.Errorf("%q was verified", who)
	}
	if _, err := verifySigned(el, []*x509.Certificate{idpKey().cert}, start()); err == nil ||
		!strings.Contains(err.Error(), "was altered") {
		t.Errorf("an altered assertion: %v", err)
	}
}
