package notify

import (
	"cmp"
	"context"
	"net/url"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/lazyregexp"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/plaintext"
	"github.com/writ-automation/writ/ports/secret"
)

const (
	// twilioAPI is the base address of the API of Twilio.
	twilioAPI = "https://api.twilio.com"
	// twilioBody bounds a message in characters.
	twilioBody = 1600
)

// Twilio is the server's account for SMS. The zero value has no account.
type Twilio struct {
	SID   string // of the account
	Token secret.Text
	From  string // a number, a sender's name, or the id of a messaging service
	// BaseURL is the base address of the API; empty is that of the service.
	BaseURL string
}

var (
	accountID        = lazyregexp.New(`^[A-Za-z0-9]{2,64}$`)
	messagingService = lazyregexp.New(`^MG[0-9a-fA-F]{32}$`)
)

// twilio sends SMS.
type twilio struct {
	post    *poster
	account Twilio
	address string // empty without an account
}

var _ notify.Channel = (*twilio)(nil)

// newTwilio refuses half an account.
func newTwilio(a Twilio, p *poster) (*twilio, error) {
	if a.SID == "" && a.Token == "" && a.From == "" {
		return &twilio{post: p}, nil
	}
	switch {
	case !accountID.MatchString(a.SID):
		return nil, fault.BadField("twilio.sid", "has to be the id of an account, 2 to 64 letters and digits")
	case a.Token == "":
		return nil, fault.BadField("twilio.token", "is missing")
	case a.From == "" || plaintext.Line(a.From, maxName) != a.From:
		return nil, fault.BadField("twilio.from", "has to be a number, a sender's name or the id of a messaging service")
	}
	u, err := base("twilio.base_url", cmp.Or(a.BaseURL, twilioAPI))
	if err != nil {
		return nil, err
	}
	return &twilio{post: p, account: a, address: u.JoinPath("2010-04-01", "Accounts", a.SID, "Messages.json").String()},
		nil
}

func (*twilio) Kind() string { return "twilio" }

// Deliver sends one SMS.
func (c *twilio) Deliver(ctx context.Context, to notify.Target, m notify.Message) error {
	if c.address == "" {
		return notify.Refused.New("the server has no account for SMS")
	}
	r := reportOf(m)
	form := url.Values{"To": {to.To}, "Body": {truncate(r.title+"\n"+r.lines(), twilioBody, plain)}}
	if messagingService.MatchString(c.account.From) {
		form.Set("MessagingServiceSid", c.account.From)
	} else {
		form.Set("From", c.account.From)
	}
	return c.post.send(ctx, request{
		kind: c.Kind(), address: c.address, media: "application/x-www-form-urlencoded", body: []byte(form.Encode()),
		account: [2]string{c.account.SID, c.account.Token.Reveal()}, secrets: []string{to.To, c.account.From},
	})
}
