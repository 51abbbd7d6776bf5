package saml

import (
	"bytes"
	"compress/flate"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/url"
	"time"

	"github.com/beevik/etree"
	"github.com/crewjam/saml"
	dsig "github.com/russellhaering/goxmldsig"
)

// redirect returns the address that sends a request to the provider. It requests no NameID format, because the
// provider configures the format for this server.
func (sp *serviceProvider) redirect(sso, id, relay string, now time.Time) (string, error) {
	create := true
	req := saml.AuthnRequest{
		ID: id, Version: "2.0", IssueInstant: now, Destination: sso,
		AssertionConsumerServiceURL: sp.acs, ProtocolBinding: saml.HTTPPostBinding,
		Issuer:       &saml.Issuer{Format: entityFormat, Value: sp.entityID},
		NameIDPolicy: &saml.NameIDPolicy{AllowCreate: &create},
	}
	message, err := deflate(req.Element())
	if err != nil {
		return "", err
	}
	query := "SAMLRequest=" + url.QueryEscape(message) + "&RelayState=" + url.QueryEscape(relay)
	if sp.pair != nil {
		query += "&SigAlg=" + url.QueryEscape(dsig.RSASHA256SignatureMethod)
		digest := sha256.Sum256([]byte(query))
		sig, err := rsa.SignPKCS1v15(rand.Reader, sp.pair.key, crypto.SHA256, digest[:])
		if err != nil {
			return "", fmt.Errorf("sign: %w", err)
		}
		query += "&Signature=" + url.QueryEscape(base64.StdEncoding.EncodeToString(sig))
	}
	target, err := url.Parse(sso)
	if err != nil {
		return "", fmt.Errorf("the provider's address: %w", err)
	}
	// The signature does not cover the provider's own query.
	if target.RawQuery != "" {
		query = target.RawQuery + "&" + query
	}
	target.RawQuery = query
	return target.String(), nil
}

func deflate(el *etree.Element) (string, error) {
	doc := etree.NewDocument()
	doc.SetRoot(el)
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestCompression)
	if err != nil {
		return "", err
	}
	if _, err := doc.WriteTo(w); err != nil {
		return "", err
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(b.Bytes()), nil
}
