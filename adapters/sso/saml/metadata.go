package saml

import (
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/beevik/etree"
	"github.com/crewjam/saml"
	"github.com/russellhaering/goxmldsig/etreeutils"
)

// parseMetadata parses the description of exactly one identity provider.
func parseMetadata(b []byte) (*issuer, error) {
	root, err := parse(b, metadataBounds())
	if err != nil {
		// Not wrapped: a refusal is about an answer, and there is no answer yet.
		return nil, errors.New(err.Error())
	}
	entity, err := entityOf(root)
	if err != nil {
		return nil, err
	}
	p := &issuer{entityID: entity.EntityID}
	if p.entityID == "" || len(entity.IDPSSODescriptors) != 1 {
		return nil, errors.New("it does not describe exactly one identity provider")
	}
	if p.validUntil, err = firstEnd(root); err != nil {
		return nil, err
	}
	idp := entity.IDPSSODescriptors[0]
	for _, e := range idp.SingleSignOnServices {
		if e.Binding == saml.HTTPRedirectBinding && e.Location != "" && p.sso == "" {
			p.sso = e.Location
		}
	}
	if p.sso == "" {
		return nil, errors.New("the provider takes no requests by redirect")
	}
	if err := trustedAddress(p.sso); err != nil {
		return nil, fmt.Errorf("where the provider takes requests: %w", err)
	}
	p.certs, err = signingKeys(idp.KeyDescriptors)
	return p, err
}

// entityOf parses the element of an identity provider. A collection may contain one.
func entityOf(root *etree.Element) (*saml.EntityDescriptor, error) {
	var found []*etree.Element
	for _, el := range append(children(root, nsMetadata, "EntityDescriptor"), root) {
		if is(el, nsMetadata, "EntityDescriptor") && len(children(el, nsMetadata, "IDPSSODescriptor")) > 0 {
			found = append(found, el)
		}
	}
	if len(found) != 1 {
		return nil, errors.New("it does not describe exactly one identity provider")
	}
	b, err := detached(found[0])
	if err != nil {
		return nil, err
	}
	var e saml.EntityDescriptor
	if err := xml.Unmarshal(b, &e); err != nil {
		return nil, fmt.Errorf("read the description: %w", err)
	}
	return &e, nil
}

// firstEnd returns when the description of the provider expires: the earliest validUntil of the element and its
// ancestors, zero for none.
func firstEnd(root *etree.Element) (time.Time, error) {
	all := []*etree.Element{root}
	for _, el := range append(children(root, nsMetadata, "EntityDescriptor"), root) {
		if roles := children(el, nsMetadata, "IDPSSODescriptor"); len(roles) > 0 {
			all = append(append(all, el), roles...)
		}
	}
	var first time.Time
	for _, el := range all {
		end, err := instant(el, "validUntil")
		if err != nil {
			return first, errors.New(err.Error()) // as in parseMetadata
		}
		if !end.IsZero() && (first.IsZero() || end.Before(first)) {
			first = end
		}
	}
	return first, nil
}

// signingKeys returns the certificates for signing. It skips weak keys.
func signingKeys(keys []saml.KeyDescriptor) ([]*x509.Certificate, error) {
	var out []*x509.Certificate
	for _, k := range keys {
		if k.Use != "" && k.Use != "signing" {
			continue
		}
		for _, c := range k.KeyInfo.X509Data.X509Certificates {
			der, err := base64.StdEncoding.DecodeString(strip(c.Data))
			if err != nil {
				return nil, errors.New("a certificate is no base64")
			}
			cert, err := x509.ParseCertificate(der)
			if err != nil {
				return nil, fmt.Errorf("a certificate: %w", err)
			}
			if strong(cert) {
				out = append(out, cert)
			}
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("it has no signing certificate with an ECDSA key or an RSA key of %d bits", minKeyBits)
	}
	return out, nil
}

func strong(cert *x509.Certificate) bool {
	switch key := cert.PublicKey.(type) {
	case *rsa.PublicKey:
		return key.N.BitLen() >= minKeyBits
	case *ecdsa.PublicKey:
		return !strings.Contains(key.Curve.Params().Name, "224")
	default:
		return false
	}
}

// detached serializes an element with the namespaces of its ancestors.
func detached(el *etree.Element) ([]byte, error) {
	above, err := etreeutils.NSBuildParentContext(el)
	if err != nil {
		return nil, err
	}
	copied, err := etreeutils.NSDetatch(above, el)
	if err != nil {
		return nil, err
	}
	doc := etree.NewDocument()
	doc.SetRoot(copied)
	return doc.WriteToBytes()
}
