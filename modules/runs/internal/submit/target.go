package submit

import (
	"net/mail"
	"net/url"

	"github.com/writ-automation/writ/ports/runs"
)

// needs lists the members that each kind of notification target cannot do without.
func needs(kind string) (members []string, known bool) {
	switch kind {
	case "webhook", "slack", "mattermost", "rocketchat", "discord", "teams", "ntfy":
		return []string{"url"}, true
	case "pagerduty":
		return []string{"key"}, true
	case "grafana":
		return []string{"url", "key"}, true
	case "twilio", "email":
		return []string{"to"}, true
	default:
		return nil, false
	}
}

// target judges the form of a notification target; whether its address may be dialled is decided when it is.
func (c checks) target(n *runs.Notification) {
	members, known := needs(n.Kind)
	if !known {
		c.bad("kind", "is not a kind of notification")
		return
	}
	values := map[string]string{"url": n.URL, "key": n.Key, "to": n.To}
	for _, m := range members {
		if values[m] == "" {
			c.bad(m, "is required for %s", n.Kind)
		}
	}
	for _, m := range []string{"url", "key", "to"} {
		c.text(m, values[m], maxPath)
	}
	if n.URL != "" && !dialable(n.URL) {
		c.bad("url", "is no http or https address")
	}
	if n.Kind == "email" && n.To != "" {
		if _, err := mail.ParseAddressList(n.To); err != nil {
			c.bad("to", "is no list of mail addresses")
		}
	}
}

// dialable reports whether an address has the form of one that a notification can be sent to.
func dialable(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
}
