package saml

import (
	"crypto/x509"
	"testing"

	"github.com/beevik/etree"
)

// forgery puts a forged assertion for "admin" around, next to or into the signed content.
type forgery struct {
	name  string
	cause string
	make  func(t testing.TB, root *etree.Element)
}

// evil renames an element and changes its subject to the admin.
func evil(t testing.TB, el *etree.Element) *etree.Element {
	t.Helper()
	el.SelectAttr("ID").Value = "_evil"
	find(t, el, "NameID").SetText("admin")
	return el
}

// bare returns a copy without its own signature.
func bare(t testing.TB, el *etree.Element) *etree.Element {
	t.Helper()
	c := el.Copy()
	for _, sig := range c.SelectElements("Signature") {
		c.RemoveChild(sig)
	}
	return c
}

// wrappings are the eight classic variants, in their usual order, and later ones.
func wrappings() []forgery {
	return append([]forgery{
		{"1: the response in its own signature", "Response in an unexpected place", func(t testing.TB, root *etree.Element) {
			original := bare(t, root)
			find(t, root, "Signature").AddChild(original)
			evil(t, root)
		}},
		{"2: the response beside its signature", "Response in an unexpected place", func(t testing.TB, root *etree.Element) {
			original, sig := bare(t, root), find(t, root, "Signature")
			root.InsertChildAt(sig.Index(), original)
			root.SelectAttr("ID").Value = "_evil"
			find(t, find(t, root, "Assertion"), "NameID").SetText("admin")
		}},
		{"3: a forged assertion in front", "more than one assertion", func(t testing.TB, root *etree.Element) {
			original := find(t, root, "Assertion")
			root.InsertChildAt(original.Index(), evil(t, bare(t, original)))
		}},
		{"4: the assertion in a forged one", "Assertion in an unexpected place", func(t testing.TB, root *etree.Element) {
			original := find(t, root, "Assertion")
			forged := evil(t, bare(t, original))
			root.RemoveChild(original)
			forged.AddChild(original)
			root.AddChild(forged)
		}},
		{"5: a forged one with the signature, the assertion behind", "more than one assertion",
			func(t testing.TB, root *etree.Element) {
				forged := find(t, root, "Assertion")
				root.AddChild(bare(t, forged))
				evil(t, forged)
			}},
		{"6: a forged one whose signature holds the assertion", "Assertion in an unexpected place",
			func(t testing.TB, root *etree.Element) {
				forged := find(t, root, "Assertion")
				original := bare(t, forged)
				evil(t, forged)
				find(t, forged, "Signature").AddChild(original)
			}},
		{"7: a forged one in extensions", "Assertion in an unexpected place", func(t testing.TB, root *etree.Element) {
			original := find(t, root, "Assertion")
			extensions := etree.NewElement("samlp:Extensions")
			extensions.AddChild(evil(t, bare(t, original)))
			root.InsertChildAt(original.Index(), extensions)
		}},
		{"8: a forged one whose signature holds the assertion as an object", "in an unexpected place",
			func(t testing.TB, root *etree.Element) {
				forged := find(t, root, "Assertion")
				original := bare(t, forged)
				evil(t, forged)
				find(t, forged, "Signature").CreateElement("ds:Object").AddChild(original)
			}},
	}, laterWrappings()...)
}

func laterWrappings() []forgery {
	return []forgery{
		{"the same assertion twice", "ID is there twice", func(t testing.TB, root *etree.Element) {
			root.AddChild(find(t, root, "Assertion").Copy())
		}},
		{"a second assertion with the same ID", "ID is there twice", func(t testing.TB, root *etree.Element) {
			forged := evil(t, bare(t, find(t, root, "Assertion")))
			forged.SelectAttr("ID").Value = "_assertion"
			root.InsertChildAt(1, forged)
		}},
		{"a second assertion with its own signature", "more than one assertion", func(t testing.TB, root *etree.Element) {
			root.AddChild(letter{nameID: "admin", assertionID: "_other", key: wrongKey()}.build(t).SelectElement("Assertion"))
		}},
		{"an assertion of another namespace in front", "Assertion in an unexpected place",
			func(t testing.TB, root *etree.Element) {
				forged := evil(t, bare(t, find(t, root, "Assertion")))
				forged.CreateAttr("xmlns:saml", "urn:another")
				root.InsertChildAt(1, forged)
			}},
		{"the signature in extensions", "Signature in an unexpected place", func(t testing.TB, root *etree.Element) {
			assertion := find(t, root, "Assertion")
			sig := find(t, assertion, "Signature")
			assertion.RemoveChild(sig)
			extensions := etree.NewElement("samlp:Extensions")
			extensions.AddChild(sig)
			root.InsertChildAt(1, extensions)
			find(t, assertion, "NameID").SetText("admin")
		}},
		{"the signed assertion as an object", "Object in an unexpected place", func(t testing.TB, root *etree.Element) {
			forged := find(t, root, "Assertion")
			original := forged.Copy()
			evil(t, forged)
			find(t, forged, "Signature").CreateElement("ds:Object").AddChild(original)
		}},
		{"the assertion in the advice of a forged one", "Assertion in an unexpected place",
			func(t testing.TB, root *etree.Element) {
				original := find(t, root, "Assertion")
				forged := evil(t, bare(t, original))
				forged.AddChild(find(t, original, "Signature").Copy())
				root.RemoveChild(original)
				forged.CreateElement("saml:Advice").AddChild(original)
				root.AddChild(forged)
			}},
		{"a second ID attribute", "ID is there twice", func(t testing.TB, root *etree.Element) {
			find(t, root, "NameID").CreateAttr("Id", "_assertion")
		}},
		{"an altered name", "was altered after it was signed", func(t testing.TB, root *etree.Element) {
			find(t, root, "NameID").SetText("admin")
		}},
		{"a second NameID", "was altered after it was signed", func(t testing.TB, root *etree.Element) {
			find(t, root, "Subject").CreateElement("saml:NameID").SetText("admin")
		}},
		{"a namespace that is bound anew", "Signature in an unexpected place", func(t testing.TB, root *etree.Element) {
			find(t, root, "Signature").CreateAttr("xmlns:ds", "urn:another")
			find(t, root, "NameID").SetText("admin")
		}},
		{"a default namespace below the signed element", "was altered after it was signed",
			func(t testing.TB, root *etree.Element) {
				id := find(t, root, "NameID")
				id.CreateAttr("xmlns:saml", "urn:another")
				id.SetText("admin")
			}},
		{"a renamed ID", "refers to another element", func(t testing.TB, root *etree.Element) {
			find(t, root, "Assertion").SelectAttr("ID").Value = "_evil"
		}},
		{"an ID of another case", "ID is there twice", func(t testing.TB, root *etree.Element) {
			find(t, root, "Assertion").CreateAttr("id", "_assertion")
		}},
	}
}

// TestWrappings tries every forgery on an answer with a signed response and assertion, and on one with only a signed
// assertion if the variant does not need the response's signature.
// Keeps T29.
func TestWrappings(t *testing.T) {
	t.Parallel()
	for i, f := range wrappings() {
		for _, whole := range []bool{true, false} {
			if !whole && i < 2 {
				continue
			}
			name := f.name
			if whole {
				name += ", response signed"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				b := newBench(t)
				request, relay := b.begin(t)
				root := letter{request: request, signResponse: whole}.build(t)
				f.apply(t, root, whole)
				got, err := b.answered(t, answer(write(t, root), relay))
				cause := f.cause
				if whole && i >= 2 {
					cause = "" // the check of the response's signature may fail first
				}
				refused(t, b, got, err, cause)
			})
		}
	}
}

// apply makes the forgery. The signature of the response comes before all others, so a variant for the assertion takes
// the next one.
func (f forgery) apply(t testing.TB, root *etree.Element, whole bool) {
	t.Helper()
	own := root.SelectElement("Signature")
	if !whole || f.name[1] == ':' && f.name[0] <= '2' {
		f.make(t, root)
		return
	}
	root.RemoveChild(own)
	f.make(t, root)
	root.InsertChildAt(1, own)
}

// TestWrappingsBelowTheCensus skips the first defence, the count of elements, and checks that the verification of
// signatures never accepts the forged name.
func TestWrappingsBelowTheCensus(t *testing.T) {
	t.Parallel()
	tried := 0
	for i, f := range wrappings() {
		root := letter{request: "r", signResponse: i < 2}.build(t)
		f.make(t, root)
		for _, el := range append(root.FindElements("//Assertion"), root) {
			tried++
			got, err := verifySigned(el, []*x509.Certificate{idpKey().cert}, start())
			if err != nil {
				continue
			}
			for _, id := range append(got.FindElements(".//NameID"), got.SelectElements("NameID")...) {
				if id.Text() != "alice" {
					t.Errorf("%s: %q was vouched for", f.name, id.Text())
				}
			}
		}
	}
	if tried < 40 {
		t.Errorf("%d were tried", tried)
	}
}
