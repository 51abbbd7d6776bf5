package notify

import (
	"crypto/tls"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/writ-automation/writ/platform/egress"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/notify"
)

// deliveryTimeout bounds a delivery whose context has no shorter bound.
const deliveryTimeout = 10 * time.Second

// Config is what the channels need. The zero value reaches public addresses, without an account for SMS and mail.
type Config struct {
	// Egress decides which addresses may be dialled. It does not apply to the SMTP server, a setting of the operator.
	Egress egress.Policy
	// Resolver and TLS are for own names and authorities; nil uses those of the machine.
	Resolver *net.Resolver
	TLS      *tls.Config
	// Twilio and SMTP are the server's accounts. Without them the deliveries of their kinds are refused.
	Twilio Twilio
	SMTP   SMTP
	// PagerDuty is the base address of the events API; empty is that of the service.
	PagerDuty string
	// Version is the product's version, which receivers can read.
	Version string
}

// New returns one channel for each kind of target, in the order of notify.Kinds. An Invalid fault names the setting of
// an account that is missing or not valid.
func New(c Config) ([]notify.Channel, error) {
	p := &poster{
		policy:  c.Egress,
		options: egress.Options{Timeout: deliveryTimeout, MaxAnswer: unread, TLS: c.TLS, Resolver: c.Resolver},
		agent:   strings.TrimSuffix("Writ/"+headerToken(c.Version), "/"),
	}
	account, err := newTwilio(c.Twilio, p)
	if err != nil {
		return nil, err
	}
	post, err := newEmail(c, p.agent)
	if err != nil {
		return nil, err
	}
	incidents, err := newPagerDuty(c.PagerDuty, p)
	if err != nil {
		return nil, err
	}
	return []notify.Channel{
		&webhook{p},
		&incoming{"slack", p, slackBody},
		&incoming{"mattermost", p, mattermostBody},
		&incoming{"rocketchat", p, rocketChatBody},
		&incoming{"discord", p, discordBody},
		&incoming{"teams", p, teamsBody},
		&ntfy{p},
		incidents,
		&grafana{p},
		account,
		post,
	}, nil
}

// base checks the address of a service, and returns it without a slash at its end.
func base(field, address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || egress.CheckURL(u) != nil || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fault.BadField(field, "has to be an address of http or https without credentials and query")
	}
	return u, nil
}
