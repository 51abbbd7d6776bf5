package access

import (
	"encoding/base64"
	"net/url"
	"testing"

	"github.com/beevik/etree"
	dsig "github.com/russellhaering/goxmldsig"
)

// document reads the response of a form.
func document(t *testing.T, form url.Values) *etree.Document {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(form.Get("SAMLResponse"))
	if err != nil {
		t.Fatal(err)
	}
	doc := etree.NewDocument()
	if err := doc.ReadFromBytes(raw); err != nil {
		t.Fatal(err)
	}
	return doc
}

// with returns the form with another response.
func (f *federated) with(t *testing.T, form url.Values, doc *etree.Document) url.Values {
	t.Helper()
	raw, err := doc.WriteToBytes()
	if err != nil {
		t.Fatal(err)
	}
	text := base64.StdEncoding.EncodeToString(raw)
	f.secrets(text)
	return url.Values{"SAMLResponse": {text}, "RelayState": form["RelayState"]}
}

// sign signs an element with a key.
func sign(t *testing.T, el *etree.Element) *etree.Element {
	t.Helper()
	ctx := dsig.NewDefaultSigningContext(dsig.TLSCertKeyStore(pair(t)))
	ctx.Canonicalizer = dsig.MakeC14N10ExclusiveCanonicalizerWithPrefixList("")
	if err := ctx.SetSignatureMethod(dsig.RSASHA256SignatureMethod); err != nil {
		t.Fatal(err)
	}
	signed, err := ctx.SignEnveloped(el)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

// forgeries are altered, unsigned, signed by a stranger, and wrapped in the classic ways.
func forgeries() []forgery {
	return []forgery{
		{"a group of the response altered", "Response was altered after it was signed", true,
			func(_ *testing.T, root, _ *etree.Element) {
				promote(root)
			}},
		{"a group altered", "Assertion was altered after it was signed", false, func(_ *testing.T, root, _ *etree.Element) {
			promote(root)
		}},
		{"the NameID altered", "Assertion was altered after it was signed", false,
			func(t *testing.T, root, _ *etree.Element) {
				root.FindElement(".//NameID").SetText("admin")
			}},
		{"unsigned", "Assertion is not signed", false, func(_ *testing.T, _, a *etree.Element) { strip(a) }},
		{"unsigned and forged", "Assertion is not signed", false, func(_ *testing.T, _, a *etree.Element) { strip(evil(a)) }},
		{"signed by a stranger who brings the key",
			"Assertion: the signature fits no key of the provider's metadata: crypto/rsa: verification error", false,
			func(t *testing.T, root, a *etree.Element) {
				root.RemoveChild(a)
				root.AddChild(sign(t, evil(strip(a.Copy()))))
			}},
		{"a comment in the NameID", "the document has a comment in NameID", true, func(t *testing.T, root, _ *etree.Element) {
			root.FindElement(".//NameID").CreateComment("x")
		}},
		{"a document type", "the document has a document type", true, func(_ *testing.T, root, _ *etree.Element) {
			doc := root.Parent()
			doc.InsertChildAt(0, etree.NewDirective(`DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]`))
		}},
		{"wrapped: the response in its own signature", "Response in an unexpected place", true,
			func(_ *testing.T, root, a *etree.Element) {
				original := strip(root.Copy())
				root.SelectElement("Signature").AddChild(original)
				root.CreateAttr("ID", "_evil-response")
				evil(a)
			}},
		{"wrapped: a forged one in front", "the response has more than one assertion", false,
			func(_ *testing.T, root, a *etree.Element) {
				root.InsertChildAt(a.Index(), evil(strip(a.Copy())))
			}},
		{"wrapped: a forged one behind", "the response has more than one assertion", false,
			func(_ *testing.T, root, a *etree.Element) {
				root.AddChild(evil(strip(a.Copy())))
			}},
		{"wrapped: the assertion in a forged one", "Assertion in an unexpected place", false,
			func(_ *testing.T, root, a *etree.Element) {
				forged := evil(strip(a.Copy()))
				root.RemoveChild(a)
				forged.AddChild(a)
				root.AddChild(forged)
			}},
		{"wrapped: the assertion in the signature of a forged one", "Object in an unexpected place", false,
			func(_ *testing.T, _, a *etree.Element) {
				original := strip(a.Copy())
				evil(a).SelectElement("Signature").CreateElement("ds:Object").AddChild(original)
			}},
		{"wrapped: a forged one in extensions", "Assertion in an unexpected place", false,
			func(_ *testing.T, root, a *etree.Element) {
				extensions := etree.NewElement("samlp:Extensions")
				extensions.AddChild(evil(strip(a.Copy())))
				root.InsertChildAt(a.Index(), extensions)
			}},
		{"wrapped: a forged one of the same ID", "an ID is there twice", false, func(_ *testing.T, root, a *etree.Element) {
			forged := evil(strip(a.Copy()))
			forged.CreateAttr("ID", a.SelectAttrValue("ID", ""))
			root.InsertChildAt(a.Index(), forged)
		}},
	}
}
