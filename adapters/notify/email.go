package notify

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"html"
	"net"
	netmail "net/mail"
	"net/textproto"
	"strconv"
	"strings"

	"github.com/wneessen/go-mail"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/plaintext"
	"github.com/writ-automation/writ/ports/secret"
)

// maxRecipients bounds the addresses of one mail.
const maxRecipients = 100

// TLSMode decides how a connection to an SMTP server is encrypted.
type TLSMode string

// The modes.
const (
	// TLSAuto is TLS from the start on port 465, and elsewhere STARTTLS if the server offers it. Without it, no
	// password is sent except to a server on this machine.
	TLSAuto TLSMode = ""
	// TLSRequired is TLSAuto that refuses every server without TLS.
	TLSRequired TLSMode = "required"
	// TLSImplicit is TLS from the start on every port.
	TLSImplicit TLSMode = "implicit"
)

// SMTP is the server's transport for mail. The zero value has no transport.
type SMTP struct {
	Addr     string // host:port
	From     string // one address, with or without a name
	Username string // empty for a server without authentication
	Password secret.Text
	TLS      TLSMode
}

// email sends mail.
type email struct {
	smtp     SMTP
	host     string // empty without a transport
	from     *netmail.Address
	implicit bool
	tls      *tls.Config
	dialer   net.Dialer
	local    func(net.Conn) bool // whether a connection leads to this machine
	agent    string
}

var _ notify.Channel = (*email)(nil)

// newEmail refuses half a transport.
func newEmail(c Config, agent string) (*email, error) {
	s := c.SMTP
	if s.Addr == "" && s.From == "" && s.Username == "" {
		return &email{}, nil
	}
	host, port, err := net.SplitHostPort(s.Addr)
	if err != nil || host == "" || plaintext.Line(host, maxName) != host {
		return nil, fault.BadField("smtp.addr", "has to be a host and a port, such as mail.example.com:587")
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return nil, fault.BadField("smtp.addr", "has to end in a port")
	}
	from, err := netmail.ParseAddress(s.From)
	if err != nil || !sendable(from.Address) {
		return nil, fault.BadField("smtp.from", "has to be one mail address")
	}
	switch {
	case (s.Username == "") != (s.Password == ""):
		return nil, fault.BadField("smtp.username", "needs a password, and a password needs it")
	case s.TLS != TLSAuto && s.TLS != TLSRequired && s.TLS != TLSImplicit:
		return nil, fault.BadField("smtp.tls", "has to be empty, %s or %s", TLSRequired, TLSImplicit)
	}
	conf := cmp.Or(c.TLS.Clone(), &tls.Config{})
	conf.ServerName = cmp.Or(conf.ServerName, host)
	conf.MinVersion = max(conf.MinVersion, tls.VersionTLS12)
	return &email{
		smtp: s, host: host, from: from, implicit: s.TLS == TLSImplicit || port == "465", tls: conf,
		dialer: net.Dialer{Resolver: c.Resolver}, local: loops, agent: agent,
	}, nil
}

// sendable reports whether an address needs no quoting in an SMTP command.
func sendable(address string) bool {
	return len(address) <= 254 && plaintext.Line(address, 254) == address &&
		!strings.ContainsAny(address, " <>\"\\,;:()[]") && strings.Count(address, "@") == 1
}

func (*email) Kind() string { return "email" }

// Deliver sends one mail to all recipients of the target. The server accepts it for all of them, or for none.
func (c *email) Deliver(ctx context.Context, to notify.Target, m notify.Message) error {
	if c.host == "" {
		return notify.Refused.New("the server has no SMTP transport")
	}
	msg, err := c.compose(to, m)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, deliveryTimeout)
	defer cancel()
	if err := c.transmit(ctx, msg); err != nil {
		return c.failed(ctx, err)
	}
	return nil
}

// compose returns the mail. Its id is that of the delivery, the same for each try.
func (c *email) compose(to notify.Target, m notify.Message) (*mail.Msg, error) {
	list, err := netmail.ParseAddressList(to.To)
	if err != nil || len(list) > maxRecipients {
		return nil, notify.Refused.New("the email target has to be a list of at most %d addresses with commas between them",
			maxRecipients)
	}
	for i, a := range list {
		if !sendable(a.Address) {
			return nil, notify.Refused.New("the address %d of the email target has no form that can be sent to", i+1)
		}
		list[i] = &netmail.Address{Address: a.Address}
	}
	r := reportOf(m)
	msg := mail.NewMsg(mail.WithNoDefaultUserAgent())
	msg.FromMailAddress(c.from)
	msg.ToMailAddress(list...)
	msg.Subject(headerText("Writ: " + r.title))
	msg.SetGenHeader(mail.HeaderUserAgent, c.agent)
	_, domain, _ := strings.Cut(c.from.Address, "@")
	if id := headerToken(m.Delivery); id != "" {
		msg.SetMessageIDWithValue(id + "@" + domain)
	}
	msg.SetGenHeader("Auto-Submitted", "auto-generated")
	msg.SetGenHeader("X-Auto-Response-Suppress", "All")
	msg.SetBodyString(mail.TypeTextPlain, r.title+"\n\n"+r.lines()+"\n")
	msg.AddAlternativeString(mail.TypeTextHTML, page(r))
	return msg, nil
}

// page is the report as HTML.
func page(r report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<!DOCTYPE html>\n<html><body>\n<h3>%s</h3>\n<table>\n", html.EscapeString(r.title))
	for _, f := range r.facts {
		fmt.Fprintf(&b, "<tr><th align=\"left\" valign=\"top\">%s</th><td>%s</td></tr>\n", html.EscapeString(f.label),
			html.EscapeString(f.value))
	}
	b.WriteString("</table>\n</body></html>\n")
	return b.String()
}

// failed returns the fault of a mail that was not accepted. It contains only the codes of the server, whose texts
// repeat addresses.
func (c *email) failed(ctx context.Context, err error) error {
	who := "the mail server at " + plaintext.Line(net.JoinHostPort(c.host, c.port()), maxName)
	var message *textproto.Error
	var sent *mail.SendError
	var cert *tls.CertificateVerificationError
	code, extra := 0, ""
	if errors.As(err, &message) {
		code = message.Code
	}
	if errors.As(err, &sent) {
		code = sent.ErrorCode()
		if e := sent.EnhancedStatusCode(); e != "" {
			extra = " (" + e + ")"
		}
	}
	switch {
	case errors.Is(err, errNoTLS):
		return notify.Refused.New("%s offers no encryption, without which nothing is sent to it", who)
	case errors.Is(err, errNoMechanism):
		return notify.Refused.New("%s offers neither of the ways PLAIN and LOGIN to authenticate", who)
	case code >= 500: // RFC 5321, 4.2.1: another try has the same answer
		return notify.Refused.New("%s answered with status %d%s", who, code, extra)
	case code >= 400:
		return unavailable("%s answered with status %d%s", who, code, extra)
	case ctx.Err() != nil:
		return unavailable("%s did not answer in time", who).Because(ctx.Err())
	case errors.As(err, &cert):
		return unavailable("%s has a certificate that is not trusted", who)
	default:
		return unavailable("%s cannot be reached or broke off", who)
	}
}

func (c *email) port() string {
	_, port, _ := net.SplitHostPort(c.smtp.Addr)
	return port
}
