package account

import (
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/writ-automation/writ/ports/object"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
)

const (
	maxUsername   = 64   // characters
	maxLink       = 2000 // characters of a link in a profile
	maxIdentities = 16   // of one account
)

// Name reports whether s can be a user name.
func Name(s string) bool {
	return s != "" && utf8.ValidString(s) && utf8.RuneCountInString(s) <= maxUsername && Reduce(s) == s
}

// Reduce makes a user name of s: it removes the characters that a user name must not contain or begin with, and cuts
// the rest to the limit. The result may be empty.
func Reduce(s string) string {
	s = strings.Map(func(r rune) rune {
		if r != utf8.RuneError && (begins(r) || strings.ContainsRune(".@+-", r)) {
			return r
		}
		return -1
	}, s)
	s = strings.TrimLeft(s, ".@+-")
	if runes := []rune(s); len(runes) > maxUsername {
		s = string(runes[:maxUsername])
	}
	return s
}

// begins reports whether a user name may begin with r. Invisible letters are refused.
func begins(r rune) bool {
	return r == '_' || (unicode.IsLetter(r) || unicode.IsDigit(r)) &&
		!unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)
}

func checkUsername(s string) error {
	if !Name(s) {
		return fault.BadField("username", "expected 1 to %d letters, digits and . _ @ + -, the first a letter, a digit or _",
			maxUsername)
	}
	return nil
}

func checkRole(r identity.Role) error {
	if !r.Valid() {
		return fault.BadField("role", "expected %s, %s or %s", identity.Viewer, identity.Operator, identity.Admin)
	}
	return nil
}

// CheckPassword refuses a password that is too short or too long with an Invalid fault that names the field.
func CheckPassword(field string, p identity.Password) error {
	n := utf8.RuneCountInString(string(p))
	if !utf8.ValidString(string(p)) || n < identity.MinPassword || n > identity.MaxPassword {
		return fault.BadField(field, "expected %d to %d characters", identity.MinPassword, identity.MaxPassword)
	}
	return nil
}

// FitsLine reports whether s can be a line of a profile.
func FitsLine(s string) bool { return object.Line(s, identity.MaxProfileLine) }

func checkProfile(p identity.Profile) error {
	for _, line := range []struct{ field, value string }{
		{"full_name", p.FullName}, {"email", p.Email}, {"phone", p.Phone}, {"title", p.Title},
	} {
		if !FitsLine(line.value) {
			return fault.BadField(line.field, "expected at most %d characters on one line", identity.MaxProfileLine)
		}
	}
	if !isText(p.Notes, identity.MaxProfileNotes) {
		return fault.BadField("notes", "expected at most %d characters of text", identity.MaxProfileNotes)
	}
	if len(p.Links) > identity.MaxProfileLinks {
		return fault.BadField("links", "expected at most %d links", identity.MaxProfileLinks)
	}
	for i, l := range p.Links {
		if !isLink(l) {
			return fault.BadField(fmt.Sprintf("links[%d]", i),
				"expected an http or https address with a host and without a user, of at most %d characters", maxLink)
		}
	}
	return nil
}

// isText reports whether s is at most limit characters in lines, without other control characters.
func isText(s string, limit int) bool {
	bad := func(r rune) bool { return object.LineBreak(r) && !strings.ContainsRune("\n\r\t", r) }
	return utf8.ValidString(s) && utf8.RuneCountInString(s) <= limit && !strings.ContainsFunc(s, bad)
}

// isLink drops the error of the parser, because it contains the text.
func isLink(s string) bool {
	if !object.Line(s, maxLink) || strings.ContainsFunc(s, unicode.IsSpace) {
		return false
	}
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil
}

// FitsLink reports whether l can be an identity of an account.
func FitsLink(l identity.Link) bool {
	return l.Protocol.Valid() && linkPart(l.Issuer) && linkPart(l.Subject) &&
		len(l.Issuer)+len(l.Subject) <= identity.MaxLink
}

func linkPart(s string) bool { return s != "" && object.Line(s, identity.MaxLink) }

func checkIdentities(list []identity.Link) error {
	if len(list) > maxIdentities {
		return fault.BadField("identities", "expected at most %d identities", maxIdentities)
	}
	seen := make(map[identity.Link]bool, len(list))
	for i, l := range list {
		at := fmt.Sprintf("identities[%d]", i)
		switch {
		case !l.Protocol.Valid():
			return fault.BadField(at+".protocol", "expected %s or %s", identity.OIDC, identity.SAML)
		case len(l.Issuer)+len(l.Subject) > identity.MaxLink:
			return fault.BadField(at, "issuer and subject have more than %d bytes together", identity.MaxLink)
		case !linkPart(l.Issuer):
			return fault.BadField(at+".issuer", "expected text on one line")
		case !linkPart(l.Subject):
			return fault.BadField(at+".subject", "expected text on one line")
		case seen[l]:
			return fault.BadField(at, "is in the list twice")
		}
		seen[l] = true
	}
	return nil
}
