package ansible

import (
	"net/netip"
	"regexp"
	"strings"
	"unicode"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
)

// refuse returns an Invalid fault for a control that could be parsed as something other than a value: one that begins
// with a hyphen or contains a control character.
func refuse(what, value string) error {
	if strings.HasPrefix(value, "-") {
		return &fault.Error{Kind: fault.Invalid, Message: "The " + what + " must not start with a hyphen."}
	}
	if strings.ContainsFunc(value, unicode.IsControl) {
		return &fault.Error{Kind: fault.Invalid, Message: "The " + what + " must not hold control characters."}
	}
	return nil
}

// checkLimit refuses a limit that would make Ansible read a file, since Ansible prints its lines in a warning.
func checkLimit(limit string) error {
	if err := refuse("limit", limit); err != nil {
		return err
	}
	if runs.LimitNamesFile(limit) {
		return &fault.Error{Kind: fault.Invalid, Message: "The limit must not name a file with @."}
	}
	return nil
}

// colonParts matches the parts of a limit without brackets, in which a colon would be part of a range.
func colonParts() *regexp.Regexp { return regexp.MustCompile(`(?:[^\s:\[\]]|\[[^\]]*\])+`) }

func hostWithPort() *regexp.Regexp { return regexp.MustCompile(`^[^\s:,\[\]]+:[0-9]+$`) }

// splitLimit splits a limit into its patterns as Ansible does: at commas if it has any, otherwise at colons that are
// part of neither an address nor a range.
func splitLimit(limit string) []string {
	limit = strings.TrimSpace(limit)
	var parts []string
	switch _, err := netip.ParseAddr(limit); {
	case strings.Contains(limit, ","):
		parts = strings.Split(limit, ",")
	case err == nil, hostWithPort().MatchString(limit):
		parts = []string{limit}
	default:
		parts = colonParts().FindAllString(limit, -1)
	}
	var out []string
	for _, p := range parts {
		if p = strings.TrimSpace(p); p != "" {
			out = append(out, p)
		}
	}
	return out
}

// limitLines returns the lines of a limit file that selects these hosts within the limit. Each line is one pattern;
// Ansible unites the plain ones, then intersects with those that begin with & and removes those that begin with an
// exclamation mark.
func limitLines(limit string, hosts []string) ([]string, error) {
	for _, h := range hosts {
		if err := refuse("host name", h); err != nil {
			return nil, err
		}
		if h == "" || strings.ContainsAny(h, "*?[]") || strings.ContainsRune("@!&~", rune(h[0])) {
			return nil, &fault.Error{Kind: fault.Invalid, Message: "A host of the run's host list has a name that is a pattern."}
		}
	}
	var plain, rest []string
	for _, p := range splitLimit(limit) {
		if p[0] == '&' || p[0] == '!' {
			rest = append(rest, p)
		} else {
			plain = append(plain, p)
		}
	}
	switch len(plain) {
	case 0:
		return append(append([]string{}, hosts...), rest...), nil
	case 1:
		return append(append(append([]string{}, hosts...), "&"+plain[0]), rest...), nil
	}
	quoted := make([]string, len(hosts))
	for i, h := range hosts {
		quoted[i] = regexp.QuoteMeta(h)
	}
	return append(append(plain, "&~^(?:"+strings.Join(quoted, "|")+")$"), rest...), nil
}
