package saml

import (
	"strings"
	"time"

	"github.com/beevik/etree"

	"github.com/writ-automation/writ/ports/identity"
)

const (
	version       = "2.0"
	entityFormat  = "urn:oasis:names:tc:SAML:2.0:nameid-format:entity"
	statusPrefix  = "urn:oasis:names:tc:SAML:2.0:status:"
	statusSuccess = statusPrefix + "Success"
	maxID         = 256
)

// claims is the content of a verified assertion.
type claims struct {
	external    identity.External
	assertionID string
	until       time.Time // from then on the assertion is refused as expired
}

// verify checks a response and returns the claims of its assertion.
func (sp *serviceProvider) verify(raw []byte, idp *issuer, request string, now time.Time) (*claims, error) {
	root, err := parse(raw, messageBounds())
	if err != nil {
		return nil, err
	}
	if !is(root, nsProtocol, "Response") || attr(root, "Version") != version {
		return nil, refuse("the document is no SAML 2.0 response")
	}
	if err := succeeded(root); err != nil {
		return nil, err
	}
	seen := elementCounter{ids: map[string]bool{}}
	if err := seen.count(root, root); err != nil {
		return nil, err
	}
	if err := sp.addressed(root, idp, request); err != nil {
		return nil, err
	}
	if len(children(root, nsSignature, "Signature")) > 0 {
		if _, err := verifySigned(root, idp.certs, now); err != nil {
			return nil, err
		}
	}
	assertion, err := sp.assertion(root, &seen)
	if err != nil {
		return nil, err
	}
	verified, err := verifySigned(assertion, idp.certs, now)
	if err != nil {
		return nil, err
	}
	return sp.read(verified, idp, request, now)
}

// succeeded returns a refusal with the provider's status unless that is success.
func succeeded(root *etree.Element) error {
	status, err := child(root, nsProtocol, "Status")
	if err != nil {
		return err
	}
	code, err := child(status, nsProtocol, "StatusCode")
	if err != nil {
		return err
	}
	value := attr(code, "Value")
	if value == statusSuccess {
		return nil
	}
	names := statusName(value)
	for _, second := range children(code, nsProtocol, "StatusCode") {
		names += " " + statusName(attr(second, "Value"))
	}
	return refuse("the provider's status is %s", names)
}

// statusName shortens the codes of the standard and omits others.
func statusName(code string) string {
	name, ok := strings.CutPrefix(code, statusPrefix)
	if !ok || len(name) > 40 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return "another one"
	}
	return name
}

// addressed checks the issuer, the destination and the request id of the response itself. It may be unsigned, so the
// assertion must contain them too.
func (sp *serviceProvider) addressed(root *etree.Element, idp *issuer, request string) error {
	switch attr(root, "InResponseTo") {
	case request:
	case "":
		return refuse("the response answers no request")
	default:
		return refuse("the response answers another request")
	}
	if attr(root, "Destination") != sp.acs {
		return refuse("the response has another destination")
	}
	issuers := children(root, nsAssertion, "Issuer")
	if len(issuers) > 1 {
		return refuse("the response has more than one issuer")
	}
	for _, el := range issuers {
		if err := issuedBy(el, idp); err != nil {
			return err
		}
	}
	return nil
}

func issuedBy(el *etree.Element, idp *issuer) error {
	if format := attr(el, "Format"); format != "" && format != entityFormat {
		return refuse("the issuer is no entity id")
	}
	if name, err := address(el); err != nil || name != idp.entityID {
		return refuse("the issuer is another one")
	}
	return nil
}

// assertion returns the one assertion of a response, decrypted if it is encrypted.
func (sp *serviceProvider) assertion(root *etree.Element, seen *elementCounter) (*etree.Element, error) {
	plain, sealed := children(root, nsAssertion, "Assertion"), children(root, nsAssertion, "EncryptedAssertion")
	switch {
	case len(plain)+len(sealed) == 0:
		return nil, refuse("the response has no assertion")
	case len(plain)+len(sealed) > 1:
		return nil, refuse("the response has more than one assertion")
	case len(plain) == 1:
		return plain[0], nil
	}
	if sp.pair == nil {
		return nil, refuse("the assertion is encrypted and no key is configured")
	}
	el, err := open(sealed[0], sp.pair.key)
	if err != nil {
		return nil, err
	}
	if err := seen.count(el, el); err != nil {
		return nil, err
	}
	return el, nil
}

// elementCounter refuses duplicate and misplaced elements.
type elementCounter struct{ ids map[string]bool }

// count checks an element and its descendants. It compares names in every namespace, so that a lookup by name can find
// only the assertion and the signature in their place.
func (c *elementCounter) count(el, root *etree.Element) error {
	for _, a := range el.Attr {
		if a.Space == "xmlns" || !strings.EqualFold(a.Key, "id") {
			continue
		}
		if a.Value == "" || len(a.Value) > maxID {
			return refuse("an ID is empty or too long")
		}
		if c.ids[a.Value] {
			return refuse("an ID is there twice")
		}
		c.ids[a.Value] = true
	}
	if el != root && !placed(el, root) {
		return refuse("%s in an unexpected place", el.Tag)
	}
	for _, sub := range el.ChildElements() {
		if err := c.count(sub, root); err != nil {
			return err
		}
	}
	return nil
}

// placed reports whether an element below the root may be at its position.
func placed(el, root *etree.Element) bool {
	above := el.Parent()
	switch el.Tag {
	case "Response", "Object":
		return false
	case "Assertion", "EncryptedAssertion":
		return above == root && el.NamespaceURI() == nsAssertion && is(root, nsProtocol, "Response")
	case "Signature":
		signed := above == root || above.Parent() == root && is(above, nsAssertion, "Assertion")
		return signed && el.NamespaceURI() == nsSignature
	default:
		return true
	}
}
