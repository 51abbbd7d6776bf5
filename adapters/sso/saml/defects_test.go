package saml

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/beevik/etree"
)

const idpName = "https://idp.example.com/saml"

// defects is a provider that can create any answer, a valid one by default.
type defects struct {
	server *httptest.Server
	key    atomic.Pointer[identityKey] // the one in its metadata
	prolog atomic.Pointer[string]      // before its metadata
	status atomic.Int64
	reads  atomic.Int64
}

func newDefects(t testing.TB) *defects {
	d := &defects{}
	d.key.Store(idpKey())
	d.status.Store(http.StatusOK)
	d.server = serve(t, func() (int, []byte) {
		d.reads.Add(1)
		doc := describeIDP(d.key.Load())
		if prolog := d.prolog.Load(); prolog != nil {
			doc = append([]byte(*prolog), doc...)
		}
		return int(d.status.Load()), doc
	})
	return d
}

func describeIDP(keys ...*identityKey) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, `<EntityDescriptor xmlns="%s" entityID="%s"><IDPSSODescriptor protocolSupportEnumeration="%s">`,
		nsMetadata, idpName, nsProtocol)
	for _, k := range keys {
		fmt.Fprintf(&b,
			`<KeyDescriptor use="signing"><KeyInfo xmlns="%s"><X509Data><X509Certificate>%s</X509Certificate></X509Data>`+
				`</KeyInfo></KeyDescriptor>`, nsSignature, base64.StdEncoding.EncodeToString(k.cert.Raw))
	}
	b.WriteString(`<SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" ` +
		`Location="https://idp.example.com/sso?tenant=1"/></IDPSSODescriptor></EntityDescriptor>`)
	return []byte(b.String())
}

// letter is the content of an answer. fill replaces zero values with valid ones.
type letter struct {
	request                          string // the request id in the response and the assertion
	responseTo, assertionTo          string // other values for one of them
	responseID, assertionID          string
	issuer, destination, recipient   string
	audience, status                 string
	nameID, format, attributes       string // XML
	notBefore, notOnOrAfter, confirm time.Time
	key                              *identityKey
	how                              method
	unsigned, signResponse           bool
	edit                             []string // pairs of old and new text in the assertion
}

const none = "-" // marks an attribute to omit

func (l letter) fill() letter {
	set := func(s *string, v string) {
		if *s == "" {
			*s = v
		}
	}
	set(&l.responseID, "_response")
	set(&l.assertionID, "_assertion")
	set(&l.responseTo, l.request)
	set(&l.assertionTo, l.request)
	set(&l.issuer, idpName)
	set(&l.destination, here+acsPath)
	set(&l.recipient, here+acsPath)
	set(&l.audience, "<saml:AudienceRestriction><saml:Audience>"+here+metadataPath+
		"</saml:Audience></saml:AudienceRestriction>")
	set(&l.status, statusSuccess)
	set(&l.nameID, "alice")
	set(&l.format, "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent")
	set(&l.attributes, `<saml:Attribute Name="uid"><saml:AttributeValue>alice.a</saml:AttributeValue></saml:Attribute>`+
		`<saml:Attribute Name="urn:groups" FriendlyName="groups"><saml:AttributeValue>ops</saml:AttributeValue>`+
		`<saml:AttributeValue>dev</saml:AttributeValue></saml:Attribute>`)
	for at, d := range map[*time.Time]time.Duration{&l.notBefore: -time.Minute, &l.notOnOrAfter: 5 * time.Minute,
		&l.confirm: 5 * time.Minute} {
		if at.IsZero() {
			*at = start().Add(d)
		}
	}
	if l.key == nil {
		l.key = idpKey()
	}
	return l
}

// optional returns an attribute unless it is to be omitted.
func optional(name, value string) string {
	if value == none {
		return ""
	}
	return fmt.Sprintf(` %s="%s"`, name, value)
}

func (l letter) assertion() string {
	stamp := func(t time.Time) string { return t.Format(time.RFC3339) }
	return `<saml:Assertion xmlns:saml="` + nsAssertion + `" ID="` + l.assertionID + `" Version="2.0" IssueInstant="` +
		stamp(start()) + `">` +
		`<saml:Issuer>` + l.issuer + `</saml:Issuer><saml:Subject><saml:NameID Format="` + l.format + `">` + l.nameID +
		`</saml:NameID>` +
		`<saml:SubjectConfirmation Method="` + bearerMethod + `"><saml:SubjectConfirmationData` +
		optional("InResponseTo", l.assertionTo) +
		optional("Recipient", l.recipient) + ` NotOnOrAfter="` + stamp(l.confirm) +
		`"/></saml:SubjectConfirmation></saml:Subject>` +
		`<saml:Conditions NotBefore="` + stamp(l.notBefore) + `" NotOnOrAfter="` + stamp(l.notOnOrAfter) + `">` + l.audience +
		`</saml:Conditions><saml:AuthnStatement AuthnInstant="` + stamp(start()) +
		`"><saml:AuthnContext/></saml:AuthnStatement>` +
		`<saml:AttributeStatement>` + l.attributes + `</saml:AttributeStatement></saml:Assertion>`
}

func (l letter) response() string {
	return `<samlp:Response xmlns:samlp="` + nsProtocol + `" xmlns:saml="` + nsAssertion + `" ID="` + l.responseID +
		`" Version="2.0"` +
		optional("InResponseTo", l.responseTo) + optional("Destination", l.destination) + ` IssueInstant="` + start().
		Format(time.RFC3339) + `">` +
		`<saml:Issuer>` + l.issuer + `</saml:Issuer><samlp:Status><samlp:StatusCode Value="` + l.status +
		`"/></samlp:Status></samlp:Response>`
}

// build returns the response with its assertion, signed according to the letter.
func (l letter) build(t testing.TB) *etree.Element {
	t.Helper()
	l = l.fill()
	assertion := element(t, strings.NewReplacer(l.edit...).Replace(l.assertion()))
	if !l.unsigned {
		assertion = l.how.sign(t, assertion, l.key.key)
	}
	root := element(t, l.response())
	root.AddChild(assertion)
	if l.signResponse {
		root = l.how.sign(t, root, l.key.key)
	}
	return root
}

// element parses without the checks under test.
func element(t testing.TB, s string) *etree.Element {
	t.Helper()
	doc := etree.NewDocument()
	if err := doc.ReadFromString(s); err != nil {
		t.Fatal(err)
	}
	return doc.Root()
}

func write(t testing.TB, el *etree.Element) []byte {
	t.Helper()
	doc := etree.NewDocument()
	doc.SetRoot(el.Copy())
	b, err := doc.WriteToBytes()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func inflate(t testing.TB, s string) []byte {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(flate.NewReader(bytes.NewReader(raw)))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// find returns the first element with a name below el.
func find(t testing.TB, el *etree.Element, tag string) *etree.Element {
	t.Helper()
	got := el.FindElement(".//" + tag)
	if got == nil {
		t.Fatalf("no %s", tag)
	}
	return got
}
