package saml

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"net/url"
	"strings"
	"testing"
	"time"

	dsig "github.com/russellhaering/goxmldsig"

	"github.com/writ-automation/writ/platform/clock"
)

// TestDefectiveLetters sends answers with valid signatures and invalid content.
func TestDefectiveLetters(t *testing.T) {
	t.Parallel()
	const restriction = "<saml:AudienceRestriction><saml:Audience>%</saml:Audience></saml:AudienceRestriction>"
	audience := func(s string) string { return strings.ReplaceAll(restriction, "%", s) }
	sp := audience(here + metadataPath)
	session := func(end string) letter {
		return letter{edit: []string{"<saml:AuthnStatement", `<saml:AuthnStatement SessionNotOnOrAfter="` + end + `"`}}
	}
	nameID := func(s string) letter { return letter{nameID: s} }
	for name, tc := range map[string]struct {
		letter letter
		cause  string
	}{
		"unsigned":                    {letter{unsigned: true}, "Assertion is not signed"},
		"only the response is signed": {letter{unsigned: true, signResponse: true}, "Assertion is not signed"},
		"wrong audience":              {letter{audience: audience("https://other.example.com")}, "another audience"},
		"one of two audiences wrong":  {letter{audience: sp + audience("https://other.example.com")}, "another audience"},
		"no audience":                 {letter{audience: " "}, "has no audience"},
		"unknown condition":           {letter{audience: sp + "<saml:Condition/>"}, "a condition that is not understood"},
		"wrong recipient":             {letter{recipient: "https://evil.example.com" + acsPath}, "another recipient"},
		"no recipient":                {letter{recipient: none}, "another recipient"},
		"wrong destination":           {letter{destination: here + "/elsewhere"}, "another destination"},
		"no destination":              {letter{destination: none}, "another destination"},
		"wrong InResponseTo": {letter{responseTo: "id-other", assertionTo: "id-other"},
			"the response answers another request"},
		"wrong inner InResponseTo":  {letter{assertionTo: "id-other"}, "the assertion answers another request"},
		"no InResponseTo":           {letter{responseTo: none, assertionTo: none}, "the response answers no request"},
		"no inner InResponseTo":     {letter{assertionTo: none}, "the assertion answers no request"},
		"expired":                   {letter{notOnOrAfter: start().Add(-time.Minute)}, "the assertion expired at"},
		"expired confirmation":      {letter{confirm: start().Add(-time.Minute)}, "the confirmation of the subject expired"},
		"not yet valid":             {letter{notBefore: start().Add(61 * time.Second)}, "is not valid before"},
		"wrong issuer":              {letter{issuer: "https://evil.example.com"}, "the issuer is another one"},
		"status":                    {letter{status: statusPrefix + "Responder"}, "the provider's status is Responder"},
		"odd status":                {letter{status: "admin&#10;admin"}, "the provider's status is another one"},
		"key of nobody":             {letter{key: wrongKey()}, "fits no key of the provider's metadata"},
		"key of nobody, in KeyInfo": {letter{key: wrongKey(), how: method{keyInfo: keyInfo(wrongKey())}}, "fits no key"},
		"comment in the NameID":     {nameID("admin<!-- -->.example"), "a comment in NameID"},
		"comment in an attribute": {letter{attributes: `<saml:Attribute Name="groups"><saml:AttributeValue>a<!---->b</saml:AttributeValue>` +
			`</saml:Attribute>`}, "a comment in AttributeValue"},
		"element in the NameID":     {nameID("alice<saml:b/>"), "NameID holds more than text"},
		"instruction in the NameID": {nameID("alice<?x y?>"), "a processing instruction"},
		"empty NameID":              {nameID(" "), "NameID has white space"},
		"two NameIDs":               {nameID("alice</saml:NameID><saml:NameID>admin"), "Subject has 2 of NameID"},
		"control characters":        {nameID("alice&#10;admin"), "control characters"},
		"long NameID":               {nameID(strings.Repeat("a", maxName+1)), "NameID is too long"},
		"transient":                 {letter{format: transientFormat}, "NameID is transient"},
		"subject of an attribute": {nameID("attribute:uid=alice.a"),
			"looks like the subject of somebody who is known by an attribute"},
		"prefix alone":    {nameID("attribute:"), "looks like the subject of somebody"},
		"prefix in CDATA": {nameID("<![CDATA[attri]]>bute:uid=alice.a"), "looks like the subject of somebody"},
		"prefix, transient": {letter{nameID: "attribute:uid=alice.a", format: transientFormat},
			"looks like the subject of somebody"},
		"empty ID": {letter{assertionID: "1-starts-with-a-digit"}, "no usable ID"},
		"no version": {letter{edit: []string{`ID="_assertion" Version="2.0"`, `ID="_assertion"`}},
			"no SAML 2.0 assertion"},
		"no inner issuer": {letter{edit: []string{"saml:Issuer>", "saml:Other>"}}, "has 0 of Issuer"},
		"issuer of another format": {letter{edit: []string{"<saml:Issuer>", `<saml:Issuer Format="urn:x">`}},
			"the issuer is no entity id"},
		"no subject": {letter{edit: []string{"saml:Subject>", "saml:Other>"}}, "has 0 of Subject"},
		"nobody signed in": {letter{edit: []string{"saml:AuthnStatement", "saml:Other"}},
			"does not say that anybody signed in"},
		"session ended":        {session("2026-03-01T11:59:00Z"), "session at the provider has ended"},
		"session without zone": {session("2026-03-01T11:59:00"), "session at the provider has ended"},
		"session without end":  {session("later"), "SessionNotOnOrAfter is no time"},
		"no confirmation": {letter{edit: []string{bearerMethod, "urn:oasis:names:tc:SAML:2.0:cm:sender-vouches"}},
			"no bearer confirmation"},
		"no confirmation data": {letter{edit: []string{"saml:SubjectConfirmationData", "saml:Other"}},
			"has 0 of SubjectConfirmationData"},
		"confirmation without end": {letter{edit: []string{`acs" NotOnOrAfter=`, `acs" Ends=`}}, "has no end"},
		"early confirmation": {letter{edit: []string{`acs" NotOnOrAfter=`,
			`acs" NotBefore="2026-03-01T12:02:00Z" NotOnOrAfter=`}}, "is not valid before"},
		"no conditions": {letter{edit: []string{"saml:Conditions", "saml:Other"}}, "has 0 of Conditions"},
		"encrypted NameID": {letter{edit: []string{"<saml:Subject>", "<saml:Subject><saml:EncryptedID/>"}},
			"the NameID is encrypted"},
		"no NameID":     {letter{edit: []string{"saml:NameID", "saml:BaseID"}}, "has 0 of NameID"},
		"same ID twice": {letter{assertionID: "_response"}, "ID is there twice"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			l := tc.letter
			var relay string
			l.request, relay = b.begin(t)
			got, err := b.answered(t, answer(write(t, l.build(t)), relay))
			refused(t, b, got, err, tc.cause)
		})
	}
}

// keyInfo returns a key in the form in which a message contains it.
func keyInfo(k *identityKey) string {
	return "<ds:KeyInfo><ds:X509Data><ds:X509Certificate>" + base64.StdEncoding.EncodeToString(k.cert.Raw) +
		"</ds:X509Certificate></ds:X509Data></ds:KeyInfo>"
}

// TestDefectiveSignatures sends valid assertions with correct signatures by forbidden methods.
func TestDefectiveSignatures(t *testing.T) {
	t.Parallel()
	const enveloped = `<ds:Transform Algorithm="` + nsSignature + `enveloped-signature"/>`
	const exclusive = `<ds:Transform Algorithm="` + nsExclusive + `"/>`
	extra := func(alg string) method {
		return method{transforms: enveloped + exclusive + `<ds:Transform Algorithm="` + alg + `"/>`}
	}
	shared := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: idpKey().cert.Raw})
	public, err := x509.MarshalPKIXPublicKey(&idpKey().key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	const hmacMethod = "http://www.w3.org/2001/04/xmldsig-more#hmac-sha256"
	for name, tc := range map[string]struct {
		how   method
		key   any
		cause string
	}{
		"SHA-1": {method{signature: dsig.RSASHA1SignatureMethod, digest: nsSignature + "sha1", hash: crypto.SHA1}, nil,
			"signature method is not allowed"},
		"SHA-1 digest":        {method{digest: nsSignature + "sha1"}, nil, "digest method is not allowed"},
		"HMAC with the PEM":   {method{signature: hmacMethod}, shared, "signature method is not allowed"},
		"HMAC with the key":   {method{signature: hmacMethod}, public, "signature method is not allowed"},
		"no signature method": {method{signature: "none"}, nil, "signature method is not allowed"},
		"ECDSA by an RSA key": {method{signature: dsig.ECDSASHA256SignatureMethod}, nil, "fits no key"},
		"XSLT":                {extra("http://www.w3.org/TR/1999/REC-xslt-19991116"), nil, "transforms are not allowed"},
		"XPath":               {extra("http://www.w3.org/TR/1999/REC-xpath-19991116"), nil, "transforms are not allowed"},
		"base64":              {extra(nsSignature + "base64"), nil, "transforms are not allowed"},
		"no enveloped":        {method{transforms: exclusive}, nil, "transforms are not allowed"},
		"no canonicalization": {method{transforms: enveloped}, nil, "transforms are not allowed"},
		"twice enveloped":     {method{transforms: enveloped + enveloped}, nil, "transforms are not allowed"},
		"turned":              {method{transforms: exclusive + enveloped}, nil, "transforms are not allowed"},
		"XPath in a transform": {method{transforms: strings.Replace(enveloped, "/>", "><ds:XPath>1</ds:XPath></ds:Transform>",
			1) + exclusive}, nil,
			"transforms are not allowed"},
		"inclusive c14n": {method{c14n: string(dsig.CanonicalXML10RecAlgorithmId)}, nil,
			"canonicalization of the signature is not allowed"},
		"c14n with comments": {method{c14n: nsExclusive + "WithComments"}, nil,
			"canonicalization of the signature is not allowed"},
		"whole document":       {method{uri: " "}, nil, "refers to another element"},
		"another element":      {method{uri: "#_response"}, nil, "refers to another element"},
		"by XPointer":          {method{uri: "#xpointer(id('_assertion'))"}, nil, "refers to another element"},
		"outside":              {method{uri: "https://evil.example.com/_assertion"}, nil, "refers to another element"},
		"two references":       {method{references: 2}, nil, "not exactly one reference"},
		"an object":            {method{more: "<ds:Object/>"}, nil, "Object in an unexpected place"},
		"two signature values": {method{keyInfo: "<ds:SignatureValue/>"}, nil, "other parts than expected"},
		"two key infos": {method{keyInfo: keyInfo(idpKey()), more: keyInfo(wrongKey())}, nil,
			"other parts than expected"},
		"a foreign part": {method{more: `<x:SignedInfo xmlns:x="urn:another"/>`}, nil, "other parts than expected"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			request, relay := b.begin(t)
			l := letter{request: request, unsigned: true}
			root := l.build(t)
			assertion := find(t, root, "Assertion")
			root.RemoveChild(assertion)
			if tc.key == nil {
				tc.key = idpKey().key
			}
			root.AddChild(tc.how.sign(t, element(t, string(write(t, assertion))), tc.key))
			got, err := b.answered(t, answer(write(t, root), relay))
			refused(t, b, got, err, tc.cause)
		})
	}
}

// laughs returns a document with entities that expand to gigabytes.
func laughs() string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY lol0 "lol">`)
	for i := 1; i < 10; i++ {
		b.WriteString(`<!ENTITY lol` + string(rune('0'+i)) + ` "` + strings.Repeat("&lol"+string(rune('0'+i-1))+";",
			10) + `">`)
	}
	b.WriteString(`]><samlp:Response xmlns:samlp="` + nsProtocol + `">&lol9;</samlp:Response>`)
	return b.String()
}

// TestDefectiveDocuments sends documents that are refused quickly, before their content is read.
// Keeps T13, T29.
func TestDefectiveDocuments(t *testing.T) {
	t.Parallel()
	whole := string(write(t, letter{request: "r"}.build(t)))
	inside := func(s string) string { return strings.Replace(whole, "<samlp:Status>", s+"<samlp:Status>", 1) }
	many := func(n int, s string) string { return strings.Repeat(s, n) }
	for name, tc := range map[string]struct{ doc, cause string }{
		"document type":    {"<!DOCTYPE samlp:Response>" + whole, "a document type"},
		"entity":           {`<!DOCTYPE r [<!ENTITY a SYSTEM "file:///etc/passwd">]>` + whole, "a document type"},
		"late type":        {inside(`<!DOCTYPE r>`), "a document type"},
		"billion laughs":   {laughs(), "a document type"},
		"unknown entity":   {inside("&evil;"), "no XML"},
		"instruction":      {inside("<?php evil?>"), "a processing instruction"},
		"comment":          {inside("<!-- evil -->"), "a comment in Response"},
		"comment in front": {"<!-- evil -->" + whole, "a comment in front or behind"},
		"deep":             {inside(many(40, "<a>") + many(40, "</a>")), "too deep"},
		"very deep":        {inside(many(20_000, "<a>") + many(20_000, "</a>")), "too deep"},
		"many parts":       {inside(many(20_000, "<a/>")), "too many parts"},
		"many attributes":  {inside("<a " + attributes(100) + "/>"), "too many attributes"},
		"same attribute": {strings.Replace(whole, ` ID="_response"`, ` ID="_response" ID="_response"`, 1),
			"an attribute twice"},
		"namespaces":      {inside("<a" + namespaces(40) + "><a" + namespaces(40) + "/></a>"), "too many namespaces"},
		"reserved prefix": {inside(`<a xmlns:xml="urn:c"/>`), "a reserved namespace"},
		"relative":        {inside(`<a xmlns:b="c"/>`), "a relative namespace"},
		"void prefix":     {inside(`<a xmlns:b=""/>`), "a relative namespace"},
		"UTF-16":          {"\xfe\xff" + whole, "not UTF-8"},
		"other encoding":  {`<?xml version="1.0" encoding="ISO-8859-1"?>` + whole, "no XML"},
		"colons":          {inside(`<a:b:c xmlns:a="urn:a"/>`), "XML"},
		"two roots":       {whole + whole, "no XML"},
		"text behind":     {whole + "evil", "no XML"},
		"cut":             {whole[:len(whole)/2], "no XML"},
		"empty root":      {"<a/>", "no SAML 2.0 response"},
		"another root": {strings.NewReplacer("samlp:Response", "samlp:LogoutResponse").Replace(whole),
			"no SAML 2.0 response"},
		"another version":    {strings.Replace(whole, `Version="2.0"`, `Version="1.1"`, 1), "no SAML 2.0 response"},
		"no status":          {strings.NewReplacer("samlp:Status>", "samlp:Other>").Replace(whole), "has 0 of Status"},
		"text":               {"alice", "no XML"},
		"changes on writing": {inside(`<a ::x="1"/>`), "the document"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			_, relay := b.begin(t)
			watch := clock.Start()
			got, err := b.answered(t, answer([]byte(tc.doc), relay))
			took := watch.Elapsed()
			refused(t, b, got, err, tc.cause)
			t.Logf("%d bytes refused in %v", len(tc.doc), took)
			if name == "billion laughs" && took > 50*time.Millisecond {
				t.Errorf("it took %v", took)
			}
		})
	}
}

func attributes(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(" a" + strings.Repeat("x", i) + `="1"`)
	}
	return b.String()
}

func namespaces(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(" xmlns:a" + strings.Repeat("x", i) + `="urn:a"`)
	}
	return b.String()
}

// TestDefectiveForms posts forms that are no answer.
func TestDefectiveForms(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	request, relay := b.begin(t)
	good := answer(write(t, letter{request: request}.build(t)), relay)
	with := func(name string, values ...string) url.Values {
		v := url.Values{"SAMLResponse": good["SAMLResponse"], "RelayState": good["RelayState"]}
		v[name] = values
		return v
	}
	large := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte(" "), maxResponse+1))
	for name, tc := range map[string]struct {
		form  url.Values
		cause string
	}{
		"nothing":            {url.Values{}, "exactly one SAMLResponse"},
		"no response":        {with("SAMLResponse"), "exactly one SAMLResponse"},
		"two responses":      {with("SAMLResponse", "PGEvPg==", "PGEvPg=="), "exactly one SAMLResponse"},
		"no RelayState":      {with("RelayState"), "exactly one RelayState"},
		"two RelayStates":    {with("RelayState", relay, relay), "exactly one RelayState"},
		"another RelayState": {with("RelayState", random()), "RelayState is unknown"},
		"long RelayState":    {with("RelayState", strings.Repeat("a", 200)), "RelayState is too long"},
		"garbage":            {with("SAMLResponse", "%%% no base64 %%%"), "no base64"},
		"large":              {with("SAMLResponse", large), "too large"},
		"very large":         {with("SAMLResponse", strings.Repeat("A", 8<<20)), "too large"},
		"an artifact":        {url.Values{"SAMLart": {"x"}, "RelayState": {relay}}, "exactly one SAMLResponse"},
	} {
		got, err := b.answered(t, tc.form)
		t.Run(name, func(t *testing.T) { refused(t, b, got, err, tc.cause) })
	}
	// None of them used up the request.
	if got, err := b.answered(t, good); err != nil || got.Username != "alice" {
		t.Errorf("%v %v", got, err)
	}
}

// TestDefectiveAttributes refuses answers without exactly one value of the user name's attribute.
func TestDefectiveAttributes(t *testing.T) {
	t.Parallel()
	value := func(s string) string {
		return `<saml:Attribute Name="uid"><saml:AttributeValue>` + s + `</saml:AttributeValue></saml:Attribute>`
	}
	for name, tc := range map[string]struct{ attributes, cause string }{
		"none":    {`<saml:Attribute Name="other"/>`, "the user name has 0 values"},
		"two":     {value("alice") + value("admin"), "the user name has 2 values"},
		"nested":  {value("<saml:NameID>admin</saml:NameID>"), "AttributeValue holds more than text"},
		"empty":   {value(""), "AttributeValue is empty"},
		"groups":  {value("alice") + strings.Replace(value("<saml:x/>"), "uid", "groups", 1), "holds more than text"},
		"overage": {value("alice") + strings.Replace(value("https://graph"), "uid", overage, 1), "(overage)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, func(c *Config) { c.UsernameAttr = "uid" })
			request, relay := b.begin(t)
			root := letter{request: request, attributes: tc.attributes}.build(t)
			got, err := b.answered(t, answer(write(t, root), relay))
			refused(t, b, got, err, tc.cause)
		})
	}
}
