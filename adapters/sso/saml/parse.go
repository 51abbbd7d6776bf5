package saml

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/beevik/etree"
	xrv "github.com/mattermost/xml-roundtrip-validator"
)

// The namespaces.
const (
	nsProtocol   = "urn:oasis:names:tc:SAML:2.0:protocol"
	nsAssertion  = "urn:oasis:names:tc:SAML:2.0:assertion"
	nsMetadata   = "urn:oasis:names:tc:SAML:2.0:metadata"
	nsSignature  = "http://www.w3.org/2000/09/xmldsig#"
	nsEncryption = "http://www.w3.org/2001/04/xmlenc#"
	nsExclusive  = "http://www.w3.org/2001/10/xml-exc-c14n#"
)

// bounds are the limits of a document before it is parsed to a tree. Namespaces are counted where they are in scope,
// because some providers declare them again on each value.
type bounds struct {
	depth, tokens, attrs, namespaces int
	comments                         bool
}

func messageBounds() bounds { return bounds{depth: 32, tokens: 10_000, attrs: 64, namespaces: 64} }

func metadataBounds() bounds {
	return bounds{depth: 32, tokens: 200_000, attrs: 64, namespaces: 64, comments: true}
}

// parse returns the tree of a document that is within its limits and survives a round trip, so that all parsers read
// the same document.
func parse(b []byte, limit bounds) (*etree.Element, error) {
	if !utf8.Valid(b) {
		return nil, refuse("the document is not UTF-8")
	}
	if err := scan(b, limit); err != nil {
		return nil, err
	}
	if err := xrv.Validate(bytes.NewReader(b)); err != nil {
		return nil, refuse("the document changes when it is written and read again")
	}
	doc := etree.NewDocument()
	if err := doc.ReadFromBytes(b); err != nil || doc.Root() == nil {
		return nil, refuse("the document is no XML")
	}
	return doc.Root(), nil
}

// scanner counts the tokens of a document.
type scanner struct {
	limit         bounds
	path          []level
	roots, tokens int
}

// level is an open element.
type level struct {
	name       string
	namespaces int // declared in it and its ancestors
}

// scan reads the tokens of a document one by one and refuses the first one that is not allowed.
func scan(b []byte, limit bounds) error {
	d := xml.NewDecoder(bytes.NewReader(b))
	s := scanner{limit: limit}
	for {
		at := d.InputOffset()
		t, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return refuse("the document is no XML")
		}
		if s.tokens++; s.tokens > limit.tokens {
			return refuse("the document has too many parts")
		}
		if err := s.token(t, at); err != nil {
			return err
		}
	}
	if len(s.path) != 0 || s.roots != 1 {
		return refuse("the document is no XML")
	}
	return nil
}

func (s *scanner) token(t xml.Token, at int64) error {
	switch t := t.(type) {
	case xml.Directive:
		return refuse("the document has a document type")
	case xml.ProcInst:
		if t.Target != "xml" || at != 0 {
			return refuse("the document has a processing instruction")
		}
	case xml.Comment:
		if !s.limit.comments {
			return refuse("the document has a comment in %s", s.where())
		}
	case xml.CharData:
		if len(s.path) == 0 && len(bytes.TrimSpace(t)) != 0 {
			return refuse("the document is no XML")
		}
	case xml.StartElement:
		return s.start(t)
	case xml.EndElement:
		if len(s.path) == 0 {
			return refuse("the document is no XML")
		}
		s.path = s.path[:len(s.path)-1]
	}
	return nil
}

func (s *scanner) start(t xml.StartElement) error {
	if len(s.path) == 0 {
		s.roots++
	}
	here := level{name: t.Name.Local}
	if len(s.path) > 0 {
		here.namespaces = s.path[len(s.path)-1].namespaces
	}
	if len(s.path) >= s.limit.depth {
		return refuse("the document is too deep")
	}
	if len(t.Attr) > s.limit.attrs {
		return refuse("an element has too many attributes")
	}
	seen := make(map[xml.Name]bool, len(t.Attr))
	for _, a := range t.Attr {
		if seen[a.Name] {
			return refuse("an element has an attribute twice")
		}
		seen[a.Name] = true
		if a.Name.Space != "xmlns" && (a.Name.Space != "" || a.Name.Local != "xmlns") {
			continue
		}
		if here.namespaces++; here.namespaces > s.limit.namespaces {
			return refuse("the document declares too many namespaces")
		}
		if err := namespace(a); err != nil {
			return err
		}
	}
	s.path = append(s.path, here)
	return nil
}

// namespace refuses declarations that parsers and canonicalizers interpret differently.
func namespace(a xml.Attr) error {
	if a.Name.Space == "xmlns" && (a.Name.Local == "xml" || a.Name.Local == "xmlns") {
		return refuse("the document declares a reserved namespace")
	}
	if a.Name.Space == "" && a.Value == "" {
		return nil // resets the default namespace
	}
	if !strings.Contains(a.Value, ":") {
		return refuse("the document declares a relative namespace")
	}
	return nil
}

// where returns the name of the open element if it is a well-known one.
func (s *scanner) where() string {
	if len(s.path) == 0 {
		return "front or behind"
	}
	switch name := s.path[len(s.path)-1].name; name {
	case "NameID", "AttributeValue", "Attribute", "Subject", "Assertion", "Response", "Issuer", "Audience":
		return name
	default:
		return "another element"
	}
}

// is reports whether an element has this name.
func is(el *etree.Element, ns, tag string) bool { return el.Tag == tag && el.NamespaceURI() == ns }

// children returns the children with this name.
func children(el *etree.Element, ns, tag string) []*etree.Element {
	var out []*etree.Element
	for _, c := range el.ChildElements() {
		if is(c, ns, tag) {
			out = append(out, c)
		}
	}
	return out
}

// child returns the only child with this name.
func child(el *etree.Element, ns, tag string) (*etree.Element, error) {
	all := children(el, ns, tag)
	if len(all) != 1 {
		return nil, refuse("%s has %d of %s, expected one", el.Tag, len(all), tag)
	}
	return all[0], nil
}

// attr returns an attribute without a namespace, empty if there is none.
func attr(el *etree.Element, name string) string {
	for _, a := range el.Attr {
		if a.Space == "" && a.Key == name {
			return a.Value
		}
	}
	return ""
}

// text returns the text of an element without children.
func text(el *etree.Element) (string, error) {
	var b strings.Builder
	for _, c := range el.Child {
		data, ok := c.(*etree.CharData)
		if !ok {
			return "", refuse("%s holds more than text", el.Tag)
		}
		b.WriteString(data.Data)
	}
	return b.String(), nil
}

// address returns the text of an element with a URI, without surrounding white space.
func address(el *etree.Element) (string, error) {
	s, err := text(el)
	return strings.TrimSpace(s), err
}
