package notify

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"
)

const (
	// maxConversation bounds what an SMTP server may send, in bytes, certificates included.
	maxConversation = 256 << 10
	// quitTimeout bounds the answer to QUIT.
	quitTimeout = 2 * time.Second
)

var (
	errNoTLS       = errors.New("the connection is not encrypted")
	errNoMechanism = errors.New("the server offers no known mechanism to authenticate")
)

// transmit sends a mail. An error after the server accepted the mail is ignored.
func (c *email) transmit(ctx context.Context, msg *mail.Msg) error {
	// The transport is a setting of the operator, like the database, and mail servers are often in private networks: the
	// egress policy does not apply.
	raw, err := c.dialer.DialContext(ctx, "tcp", c.smtp.Addr)
	if err != nil {
		return err
	}
	defer func() { _ = raw.Close() }()
	// The library sets its own deadlines. Closing the connection ends every read and write at once.
	defer context.AfterFunc(ctx, func() { _ = raw.Close() })()
	var conn net.Conn = &limitedConn{Conn: raw, left: maxConversation}
	if c.implicit {
		tlsConn := tls.Client(conn, c.tls)
		if err := tlsConn.HandshakeContext(ctx); err != nil {
			return err
		}
		conn = tlsConn
	}
	plain := c.smtp.TLS != TLSRequired && c.local(raw) // a password may travel unencrypted
	client, err := mail.NewClient(c.host, c.options(conn, plain)...)
	if err != nil {
		return err
	}
	session, err := client.DialToSMTPClientWithContext(ctx)
	if err != nil {
		return err
	}
	if _, encrypted := session.TLSConnectionState(); c.smtp.TLS == TLSRequired && !encrypted {
		return errNoTLS
	}
	err = client.SendWithSMTPClient(session, msg)
	hangUp := time.AfterFunc(quitTimeout, func() { _ = raw.Close() })
	defer hangUp.Stop()
	_ = session.Quit()
	if msg.IsDelivered() {
		return nil
	}
	return err
}

// options returns the options of a client over conn.
func (c *email) options(conn net.Conn, plain bool) []mail.Option {
	policy := mail.TLSOpportunistic // if the server offers TLS and the handshake fails, that is an error
	if c.implicit {
		policy = mail.NoTLS // conn is encrypted already
	}
	out := []mail.Option{
		mail.WithTimeout(deliveryTimeout), mail.WithTLSPolicy(policy), mail.WithTLSConfig(c.tls), mail.WithoutNoop(),
		mail.WithoutRset(),
		mail.WithDialContextFunc(func(context.Context, string, string) (net.Conn, error) { return conn, nil }),
	}
	if c.smtp.Username != "" {
		out = append(out, mail.WithSMTPAuthCustom(&login{account: c.smtp, host: c.host, plain: plain}))
	}
	return out
}

// loops reports whether a connection leads to this machine.
func loops(conn net.Conn) bool {
	a, ok := conn.RemoteAddr().(*net.TCPAddr)
	return ok && a.IP.IsLoopback()
}

// login authenticates by PLAIN or LOGIN. It sends no password unencrypted unless plain is set, whatever the server
// offers.
type login struct {
	account SMTP
	host    string
	plain   bool
	inner   smtp.Auth
}

var _ smtp.Auth = (*login)(nil)

func (l *login) Start(server *smtp.ServerInfo) (string, []byte, error) {
	if !server.TLS && !l.plain {
		return "", nil, errNoTLS
	}
	offers := func(name string) bool {
		return slices.ContainsFunc(server.Auth, func(s string) bool { return strings.EqualFold(s, name) })
	}
	switch {
	case offers("PLAIN"):
		l.inner = smtp.PlainAuth("", l.account.Username, l.account.Password.Reveal(), l.host, l.plain)
	case offers("LOGIN"):
		l.inner = smtp.LoginAuth(l.account.Username, l.account.Password.Reveal(), l.host, l.plain)
	default:
		return "", nil, errNoMechanism
	}
	return l.inner.Start(server)
}

func (l *login) Next(message []byte, more bool) ([]byte, error) { return l.inner.Next(message, more) }

// limitedConn fails once the other side has sent too many bytes.
type limitedConn struct {
	net.Conn
	left int
}

func (t *limitedConn) Read(b []byte) (int, error) {
	if t.left <= 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := t.Conn.Read(b[:min(len(b), t.left)])
	t.left -= n
	return n, err
}
