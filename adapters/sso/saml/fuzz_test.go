package saml

import (
	"crypto/sha1"
	"crypto/x509"
	"errors"
	"strings"
	"testing"
)

// FuzzResponse changes documents that the provider signed for another server. Nothing may panic, and none may be
// accepted, because that needs other signed content.
func FuzzResponse(f *testing.F) {
	foreign := letter{
		request: "r",
		audience: "<saml:AudienceRestriction><saml:Audience>https://other.example.com</saml:Audience></saml:AudienceRestric" +
			"tion>",
	}
	f.Add(write(f, foreign.build(f)))
	whole := foreign
	whole.signResponse = true
	f.Add(write(f, whole.build(f)))
	f.Add(sealed(f, foreign, envelope{alg: aes256GCM, wrap: oaepMGF1, size: 32, oaep: sha1.New}, &ownKey().key.PublicKey))
	for i, w := range wrappings() {
		l := foreign
		l.signResponse = i < 2
		root := l.build(f)
		w.make(f, root)
		f.Add(write(f, root))
	}
	f.Add([]byte(laughs()))
	f.Add([]byte("<a/>"))
	sp := serviceProvider{
		entityID: here + metadataPath, acs: here + acsPath, pair: &keyPair{cert: ownKey().cert, key: ownKey().key},
		groupsAttr: "groups",
	}
	idp := &issuer{entityID: idpName, certs: []*x509.Certificate{idpKey().cert}}
	f.Fuzz(func(t *testing.T, doc []byte) {
		c, err := sp.verify(doc, idp, "r", start())
		var why *refusal
		if c != nil || !errors.As(err, &why) {
			t.Errorf("%v %v", c, err)
		}
	})
}

// FuzzMetadata changes descriptions. Nothing may panic, and an accepted description is complete: a name, strong keys
// and a valid address for requests.
func FuzzMetadata(f *testing.F) {
	good := string(describeIDP(idpKey()))
	f.Add([]byte(good))
	f.Add(describeIDP(idpKey(), nextKey()))
	f.Add(describeIDP())
	f.Add(describeIDP(newKey(1024, start(), start().AddDate(1, 0, 0))))
	for _, end := range []string{"2026-03-01T12:30:00Z", "2026-03-01T12:30:00", "later", ""} {
		f.Add([]byte(`<EntitiesDescriptor xmlns="` + nsMetadata + `" validUntil="` + end + `">` + good +
			`</EntitiesDescriptor>`))
		f.Add([]byte(strings.Replace(good, "entityID", `validUntil="`+end+`" entityID`, 1)))
		f.Add([]byte(strings.Replace(good, "<IDPSSODescriptor", `<IDPSSODescriptor validUntil="`+end+`"`, 1)))
	}
	for _, address := range []string{"http://idp.example.com", "javascript:alert(1)", "/sso",
		"https://a:b@idp.example.com", "http://127.0.0.1/sso"} {
		f.Add([]byte(strings.Replace(good, "https://idp.example.com/sso?tenant=1", address, 1)))
	}
	f.Add([]byte("<!-- ours -->" + good))
	f.Add([]byte("<!DOCTYPE a>" + good))
	f.Add([]byte(laughs()))
	f.Add([]byte(strings.Replace(good, "MII", "AAAA", 1)))
	f.Fuzz(func(t *testing.T, doc []byte) {
		p, err := parseMetadata(doc)
		var why *refusal
		if err != nil {
			if errors.As(err, &why) {
				t.Errorf("what is wrong with metadata is no refusal of an answer: %v", err)
			}
			return
		}
		if p.entityID == "" || len(p.certs) == 0 || trustedAddress(p.sso) != nil {
			t.Errorf("%+v", p)
		}
		for _, c := range p.certs {
			if !strong(c) {
				t.Errorf("a weak key of %s", p.entityID)
			}
		}
		if _, err := (&serviceProvider{entityID: here, acs: here}).redirect(p.sso, "id-1", "relay", start()); err != nil {
			t.Errorf("no request can be sent to %q: %v", p.sso, err)
		}
	})
}
