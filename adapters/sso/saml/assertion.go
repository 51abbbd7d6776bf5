package saml

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/beevik/etree"

	"github.com/writ-automation/writ/ports/identity"
)

const (
	bearerMethod    = "urn:oasis:names:tc:SAML:2.0:cm:bearer"
	transientFormat = "urn:oasis:names:tc:SAML:2.0:nameid-format:transient"
	maxName         = 512 // characters of a NameID or a user name

	// attributeSubject is the prefix of a subject that comes from an attribute. No NameID may have it.
	attributeSubject = "attribute:"

	// overage is the attribute that Entra ID sends instead of too many groups.
	overage = "http://schemas.microsoft.com/claims/groups.link"
)

// read returns the claims of a verified assertion after checking that it is meant for this server, valid now, and an
// answer to the request.
func (sp *serviceProvider) read(el *etree.Element, idp *issuer, request string, now time.Time) (*claims, error) {
	if !is(el, nsAssertion, "Assertion") || attr(el, "Version") != version {
		return nil, refuse("the element is no SAML 2.0 assertion")
	}
	by, err := child(el, nsAssertion, "Issuer")
	if err != nil {
		return nil, err
	}
	if err := issuedBy(by, idp); err != nil {
		return nil, err
	}
	subject, err := child(el, nsAssertion, "Subject")
	if err != nil {
		return nil, err
	}
	until, err := sp.confirmed(subject, request, now)
	if err != nil {
		return nil, err
	}
	if err := sp.conditions(el, now); err != nil {
		return nil, err
	}
	if err := authenticated(el, now); err != nil {
		return nil, err
	}
	external, err := sp.subject(el, subject)
	if err != nil {
		return nil, err
	}
	external.Link.Issuer = idp.entityID
	return &claims{external: external, assertionID: attr(el, "ID"), until: until}, nil
}

// confirmed finds a valid bearer confirmation and returns when it ends.
func (sp *serviceProvider) confirmed(subject *etree.Element, request string, now time.Time) (time.Time, error) {
	err := refuse("the subject has no bearer confirmation")
	for _, c := range children(subject, nsAssertion, "SubjectConfirmation") {
		if attr(c, "Method") != bearerMethod {
			continue
		}
		var until time.Time
		if until, err = sp.bearer(c, request, now); err == nil {
			return until, nil
		}
	}
	return time.Time{}, err
}

func (sp *serviceProvider) bearer(c *etree.Element, request string, now time.Time) (time.Time, error) {
	var none time.Time
	data, err := child(c, nsAssertion, "SubjectConfirmationData")
	if err != nil {
		return none, err
	}
	switch attr(data, "InResponseTo") {
	case request:
	case "":
		return none, refuse("the assertion answers no request")
	default:
		return none, refuse("the assertion answers another request")
	}
	if attr(data, "Recipient") != sp.acs {
		return none, refuse("the assertion has another recipient")
	}
	if attr(data, "NotOnOrAfter") == "" {
		return none, refuse("the confirmation of the subject has no end")
	}
	return window(data, "the confirmation of the subject", now)
}

// window checks the two times of an element against the clock and returns the end, zero for none.
func window(el *etree.Element, what string, now time.Time) (time.Time, error) {
	from, err := instant(el, "NotBefore")
	if err != nil {
		return from, err
	}
	until, err := instant(el, "NotOnOrAfter")
	if err != nil {
		return until, err
	}
	if !from.IsZero() && from.Add(-skew).After(now) {
		return until, refuse("%s is not valid before %s", what, from.Format(time.RFC3339))
	}
	if !until.IsZero() && !until.Add(skew).After(now) {
		return until, refuse("%s expired at %s", what, until.Format(time.RFC3339))
	}
	return until, nil
}

// instant parses a time, which is always UTC in SAML; zero for none.
func instant(el *etree.Element, name string) (time.Time, error) {
	value := attr(el, name)
	if value == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999"} {
		if t, err := time.Parse(layout, value); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, refuse("%s is no time", name)
}

// conditions checks the times, and that every audience restriction contains this server. An unknown condition
// invalidates the assertion, as the standard requires.
func (sp *serviceProvider) conditions(el *etree.Element, now time.Time) error {
	c, err := child(el, nsAssertion, "Conditions")
	if err != nil {
		return err
	}
	if _, err := window(c, "the assertion", now); err != nil {
		return err
	}
	restricted := false
	for _, sub := range c.ChildElements() {
		switch {
		case is(sub, nsAssertion, "AudienceRestriction"):
			if !sp.addressee(sub) {
				return refuse("the assertion has another audience")
			}
			restricted = true
		case is(sub, nsAssertion, "OneTimeUse"), is(sub, nsAssertion, "ProxyRestriction"):
		default:
			return refuse("the assertion has a condition that is not understood")
		}
	}
	if !restricted {
		return refuse("the assertion has no audience")
	}
	return nil
}

func (sp *serviceProvider) addressee(restriction *etree.Element) bool {
	return slices.ContainsFunc(children(restriction, nsAssertion, "Audience"), func(el *etree.Element) bool {
		name, err := address(el)
		return err == nil && name == sp.entityID
	})
}

// authenticated requires a statement of an authentication whose session has not ended.
func authenticated(el *etree.Element, now time.Time) error {
	all := children(el, nsAssertion, "AuthnStatement")
	if len(all) == 0 {
		return refuse("the assertion does not say that anybody signed in")
	}
	for _, s := range all {
		end, err := instant(s, "SessionNotOnOrAfter")
		if err != nil {
			return err
		}
		if !end.IsZero() && !end.Add(skew).After(now) {
			return refuse("the session at the provider has ended")
		}
	}
	return nil
}

// subject returns the identity of the assertion's subject. A transient NameID changes with each sign-in and identifies
// no account; if an attribute for the user name is configured, its value with the prefix attributeSubject is the
// subject instead.
func (sp *serviceProvider) subject(el, subject *etree.Element) (identity.External, error) {
	e := identity.External{Link: identity.Link{Protocol: identity.SAML}}
	if len(children(subject, nsAssertion, "EncryptedID")) > 0 {
		return e, refuse("the NameID is encrypted")
	}
	id, err := child(subject, nsAssertion, "NameID")
	if err != nil {
		return e, err
	}
	if e.Link.Subject, err = name(id); err != nil {
		return e, err
	}
	if strings.HasPrefix(e.Link.Subject, attributeSubject) {
		return e, refuse("the NameID looks like the subject of somebody who is known by an attribute")
	}
	e.Username = e.Link.Subject
	if sp.usernameAttr != "" {
		if e.Username, err = sp.username(el); err != nil {
			return e, err
		}
	}
	if attr(id, "Format") == transientFormat {
		if sp.usernameAttr == "" {
			return e, refuse("the NameID is transient and no attribute names the user")
		}
		e.Link.Subject = attributeSubject + sp.usernameAttr + "=" + e.Username
	}
	if sp.groupsAttr == "" {
		return e, nil
	}
	e.Groups, err = groups(el, sp.groupsAttr)
	if err == nil && len(e.Groups) == 0 && len(attribute(el, overage)) > 0 {
		err = refuse("the provider left the groups out because they are too many (overage)")
	}
	return e, err
}

func (sp *serviceProvider) username(el *etree.Element) (string, error) {
	values := attribute(el, sp.usernameAttr)
	if len(values) != 1 {
		return "", refuse("the attribute of the user name has %d values, expected one", len(values))
	}
	return name(values[0])
}

func groups(el *etree.Element, attribName string) ([]string, error) {
	var out []string
	for _, v := range attribute(el, attribName) {
		s, err := text(v)
		if err != nil {
			return nil, err
		}
		if s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out, nil
}

// attribute returns the values of an attribute by its name or, without a match, by its friendly name.
func attribute(el *etree.Element, want string) []*etree.Element {
	var named, friendly []*etree.Element
	for _, statement := range children(el, nsAssertion, "AttributeStatement") {
		for _, a := range children(statement, nsAssertion, "Attribute") {
			switch want {
			case attr(a, "Name"):
				named = append(named, children(a, nsAssertion, "AttributeValue")...)
			case attr(a, "FriendlyName"):
				friendly = append(friendly, children(a, nsAssertion, "AttributeValue")...)
			}
		}
	}
	if len(named) > 0 {
		return named
	}
	return friendly
}

// name returns the text of an element that contains a name.
func name(el *etree.Element) (string, error) {
	s, err := text(el)
	switch {
	case err != nil:
		return "", err
	case s == "":
		return "", refuse("%s is empty", el.Tag)
	case utf8.RuneCountInString(s) > maxName:
		return "", refuse("%s is too long", el.Tag)
	case s != strings.TrimSpace(s) || strings.ContainsFunc(s, unicode.IsControl):
		return "", refuse("%s has white space around it or control characters in it", el.Tag)
	}
	return s, nil
}
