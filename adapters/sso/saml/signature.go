package saml

import (
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/beevik/etree"
	dsig "github.com/russellhaering/goxmldsig"
	"github.com/russellhaering/goxmldsig/etreeutils"

	"github.com/writ-automation/writ/ports/lazyregexp"
)

// signatureMethods are the accepted methods: no SHA-1 and no shared keys.
func signatureMethods() map[string]x509.SignatureAlgorithm {
	return map[string]x509.SignatureAlgorithm{
		dsig.RSASHA256SignatureMethod: x509.SHA256WithRSA, dsig.ECDSASHA256SignatureMethod: x509.ECDSAWithSHA256,
		dsig.RSASHA384SignatureMethod: x509.SHA384WithRSA, dsig.ECDSASHA384SignatureMethod: x509.ECDSAWithSHA384,
		dsig.RSASHA512SignatureMethod: x509.SHA512WithRSA, dsig.ECDSASHA512SignatureMethod: x509.ECDSAWithSHA512,
	}
}

// digestMethods are the accepted methods.
func digestMethods() []string {
	return []string{nsEncryption + "sha256", "http://www.w3.org/2001/04/xmldsig-more#sha384", nsEncryption + "sha512"}
}

// ncName is an ID that a reference can name without escaping.
var ncName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_.-]*$`)

// verifySigned returns the element that its own signature covers: parsed again from the digested canonical bytes,
// without the signature. The caller must use it instead of the given one.
func verifySigned(el *etree.Element, certs []*x509.Certificate, now time.Time) (*etree.Element, error) {
	sig, err := signatureOf(el)
	if err != nil {
		return nil, err
	}
	if err := checkParts(sig, attr(el, "ID")); err != nil {
		return nil, err
	}
	err = errors.New("the metadata has no certificate that is valid now")
	for _, cert := range certs {
		if now.Before(cert.NotBefore) || now.After(cert.NotAfter) {
			continue
		}
		alone, lost := detach(el, cert)
		if lost != nil {
			return nil, &refusal{text: el.Tag, cause: lost}
		}
		if err = checkKey(alone, cert); err != nil {
			continue
		}
		got, err := validate(alone, cert, now)
		if err != nil {
			return nil, refuse("%s was altered after it was signed", el.Tag)
		}
		return sameElement(got, el)
	}
	return nil, &refusal{text: el.Tag, cause: fmt.Errorf("%w: %w", errUnknownKey, err)}
}

func signatureOf(el *etree.Element) (*etree.Element, error) {
	switch all := children(el, nsSignature, "Signature"); len(all) {
	case 0:
		return nil, refuse("%s is not signed", el.Tag)
	case 1:
		return all[0], nil
	default:
		return nil, refuse("%s has more than one signature", el.Tag)
	}
}

// detach copies a signed element for verification with the key of cert. The copy contains no keys of the message.
func detach(el *etree.Element, cert *x509.Certificate) (*etree.Element, error) {
	above, err := etreeutils.NSBuildParentContext(el)
	if err != nil {
		return nil, err
	}
	alone, err := etreeutils.NSDetatch(above, el)
	if err != nil {
		return nil, err
	}
	sig, err := child(alone, nsSignature, "Signature")
	if err != nil {
		return nil, err
	}
	for _, info := range children(sig, nsSignature, "KeyInfo") {
		sig.RemoveChild(info)
	}
	value, err := child(sig, nsSignature, "SignatureValue")
	if err != nil {
		return nil, err
	}
	value.SetText(inDER(strip(value.Text()), cert))
	return alone, nil
}

// checkKey reports an error if another key than that of cert made the signature of a detached element. It does not
// check what the signature covers.
func checkKey(alone *etree.Element, cert *x509.Certificate) error {
	sig, err := child(alone, nsSignature, "Signature")
	if err != nil {
		return err
	}
	info, value := sig.ChildElements()[0], sig.ChildElements()[1]
	raw, err := base64.StdEncoding.DecodeString(value.Text())
	if err != nil {
		return err
	}
	above, err := etreeutils.NSBuildParentContext(info)
	if err != nil {
		return err
	}
	signed, err := etreeutils.NSDetatch(above, info)
	if err != nil {
		return err
	}
	method := attr(signed.ChildElements()[1], "Algorithm")
	canonical, err := dsig.MakeC14N10ExclusiveCanonicalizerWithPrefixList("").Canonicalize(signed)
	if err != nil {
		return err
	}
	return cert.CheckSignature(signatureMethods()[method], canonical, raw)
}

// validate verifies the signature and what it covers.
func validate(alone *etree.Element, cert *x509.Certificate, now time.Time) (*etree.Element, error) {
	ctx := dsig.NewDefaultValidationContext(&dsig.MemoryX509CertificateStore{Roots: []*x509.Certificate{cert}})
	ctx.IdAttribute = "ID"
	ctx.Clock = dsig.NewFakeClockAt(now)
	return ctx.Validate(alone)
}

// inDER converts an elliptic curve signature from the form in XML, two concatenated numbers, to DER, which the library
// reads.
func inDER(value string, cert *x509.Certificate) string {
	key, ok := cert.PublicKey.(*ecdsa.PublicKey)
	if !ok {
		return value
	}
	size := (key.Curve.Params().BitSize + 7) / 8
	raw, err := base64.StdEncoding.DecodeString(value)
	if err != nil || len(raw) != 2*size {
		return value
	}
	der, err := asn1.Marshal(struct{ R, S *big.Int }{new(big.Int).SetBytes(raw[:size]), new(big.Int).SetBytes(raw[size:])})
	if err != nil {
		return value
	}
	return base64.StdEncoding.EncodeToString(der)
}

// sameElement checks that the verified element is the requested one.
func sameElement(got, asked *etree.Element) (*etree.Element, error) {
	if got == nil || !is(got, asked.NamespaceURI(), asked.Tag) || attr(got, "ID") != attr(asked, "ID") {
		return nil, refuse("the signature covers another element")
	}
	if len(children(got, nsSignature, "Signature")) != 0 {
		return nil, refuse("the signature is part of what it covers")
	}
	return got, nil
}

// checkParts accepts a signature that has exactly the parts of an enveloped one, in their order, and refers to the
// element that it is in.
func checkParts(sig *etree.Element, id string) error {
	parts := tags(sig)
	if parts != "SignedInfo SignatureValue" && parts != "SignedInfo SignatureValue KeyInfo" {
		return refuse("the signature has other parts than expected")
	}
	if !ncName.MatchString(id) {
		return refuse("what is signed has no usable ID")
	}
	info := sig.ChildElements()[0]
	if tags(info) != "CanonicalizationMethod SignatureMethod Reference" {
		return refuse("the signature has other parts than expected, or not exactly one reference")
	}
	c14n, method, ref := info.ChildElements()[0], info.ChildElements()[1], info.ChildElements()[2]
	if attr(c14n, "Algorithm") != nsExclusive || len(c14n.ChildElements()) != 0 {
		return refuse("the canonicalization of the signature is not allowed")
	}
	if signatureMethods()[attr(method, "Algorithm")] == x509.UnknownSignatureAlgorithm ||
		len(method.ChildElements()) != 0 {
		return refuse("the signature method is not allowed")
	}
	if tags(ref) != "Transforms DigestMethod DigestValue" {
		return refuse("the reference has other parts than expected")
	}
	if attr(ref, "URI") != "#"+id {
		return refuse("the signature refers to another element")
	}
	transform, digest := ref.ChildElements()[0], ref.ChildElements()[1]
	if !slices.Contains(digestMethods(), attr(digest, "Algorithm")) || len(digest.ChildElements()) != 0 {
		return refuse("the digest method is not allowed")
	}
	return transforms(transform)
}

// transforms accepts the enveloped-signature transform followed by exclusive canonicalization, and nothing else.
func transforms(el *etree.Element) error {
	if tags(el) != "Transform Transform" {
		return refuse("the transforms are not allowed")
	}
	enveloped, c14n := el.ChildElements()[0], el.ChildElements()[1]
	if attr(enveloped, "Algorithm") != nsSignature+"enveloped-signature" || len(enveloped.ChildElements()) != 0 {
		return refuse("the transforms are not allowed")
	}
	if attr(c14n, "Algorithm") != nsExclusive {
		return refuse("the transforms are not allowed")
	}
	for _, sub := range c14n.ChildElements() {
		if !is(sub, nsExclusive, "InclusiveNamespaces") || len(sub.ChildElements()) != 0 || len(c14n.ChildElements()) != 1 {
			return refuse("the transforms are not allowed")
		}
	}
	return nil
}

// tags joins the names of the children. A child from another namespace makes the result invalid.
func tags(el *etree.Element) string {
	var out []string
	for _, c := range el.ChildElements() {
		if c.NamespaceURI() != nsSignature {
			return "foreign"
		}
		out = append(out, c.Tag)
	}
	return strings.Join(out, " ")
}
