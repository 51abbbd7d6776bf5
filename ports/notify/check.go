package notify

import (
	"fmt"
	"net/mail"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secret"
)

// maxMember bounds a member of a target in bytes.
const maxMember = 4096

// Check checks the form of a target. It returns the missing and the invalid members (kind, url, key, to), without
// values. The egress policy checks the address at the delivery.
func Check(n runs.Notification) []fault.Field {
	kind, known := KindOf(n.Kind)
	if !known {
		return []fault.Field{{Location: "kind", Message: "is not a kind of notification"}}
	}
	if n.Ref != "" {
		return nil // checked when it was stored
	}
	var out []fault.Field
	bad := func(member, format string, args ...any) {
		out = append(out, fault.Field{Location: member, Message: fmt.Sprintf(format, args...)})
	}
	values := map[string]string{"url": n.URL, "key": n.Key, "to": n.To}
	for _, member := range kind.Required {
		if values[member] == "" {
			bad(member, "is required for %s", n.Kind)
		}
	}
	for _, member := range []string{"url", "key", "to"} {
		switch v := values[member]; {
		case len(v) > maxMember:
			bad(member, "is longer than %d bytes", maxMember)
		case !utf8.ValidString(v):
			bad(member, "is not UTF-8")
		case strings.ContainsFunc(v, func(r rune) bool { return r < ' ' || r == 0x7f }):
			bad(member, "holds a control character")
		}
	}
	switch address, key := IsMask(n); {
	case address:
		bad("url", "is a mask, and no stored target has it")
	case n.URL != "" && !dialable(n.URL):
		bad("url", "is no http or https address")
	case key:
		bad("key", "is a mask, and no stored target has it")
	}
	if n.Kind == "email" && n.To != "" {
		if _, err := mail.ParseAddressList(n.To); err != nil {
			bad("to", "is no list of mail addresses")
		}
	}
	return out
}

// IsMask reports whether the address and the key of a target in a request are the masks that a read returns.
func IsMask(n runs.Notification) (address, key bool) {
	return n.Ref == "" && n.URL != "" && n.URL == n.Masked().URL, n.Ref == "" && n.Key == secret.Mask
}

// AsStored returns the targets of a request in the form in which they are checked: a mask stands for a stored value,
// which was checked before.
func AsStored(input []runs.Notification) []runs.Notification {
	out := slices.Clone(input)
	for i := range out {
		if address, key := IsMask(out[i]); address || key {
			out[i].Ref = "stored"
		}
	}
	return out
}

// dialable reports whether an address has a form to which a notification can be sent.
func dialable(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
}
