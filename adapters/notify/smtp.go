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
	// maxConversation is how many bytes an SMTP server may say, certificates included.
	maxConversation = 256 << 10
	// quitTimeout is how long a server may take to say goodbye.
	quitTimeout = 2 * time.Second
)

var (
	errNoTLS       = errors.New("a password would go unencrypted")
	errNoMechanism = errors.New("no way to authenticate")
)

// transmit hands a mail to the server. Whatever happens after the server took it is no error.
func (c *email) transmit(ctx context.Context, msg *mail.Msg) error {
	// The transport is the operator's own setting, as the database is, and mail servers lie on private networks: no
	// policy of egress judges where it leads.
	raw, err := c.dialer.DialContext(ctx, "tcp", c.smtp.Addr)
	if err != nil {
		return err
	}
	defer func() { _ = raw.Close() }()
	// The library sets deadlines of its own; closing is what ends every read and write at once.
	defer context.AfterFunc(ctx, func() { _ = raw.Close() })()
	var conn net.Conn = &limitedConn{Conn: raw, left: maxConversation}
	if c.implicit {
		tlsConn := tls.Client(conn, c.tls)
		if err := tlsConn.HandshakeContext(ctx); err != nil {
			return err
		}
		conn = tlsConn
	}
	client, err := mail.NewClient(c.host, c.options(conn, c.local(raw))...)
	if err != nil {
		return err
	}
	session, err := client.DialToSMTPClientWithContext(ctx)
	if err != nil {
		return err
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

// options are those of a client that talks over conn.
func (c *email) options(conn net.Conn, local bool) []mail.Option {
	policy := mail.TLSOpportunistic // never without where the server offers it: a handshake that fails is an error
	if c.smtp.TLS == TLSRequired {
		policy = mail.TLSMandatory
	}
	if c.implicit {
		policy = mail.NoTLS // it is there already
	}
	out := []mail.Option{
		mail.WithTimeout(deliveryTimeout), mail.WithTLSPolicy(policy), mail.WithTLSConfig(c.tls), mail.WithoutNoop(), mail.WithoutRset(),
		mail.WithDialContextFunc(func(context.Context, string, string) (net.Conn, error) { return conn, nil }),
	}
	if c.smtp.Username != "" {
		out = append(out, mail.WithSMTPAuthCustom(&login{account: c.smtp, host: c.host, local: local}))
	}
	return out
}

// loops reports whether a connection leads to this machine.
func loops(conn net.Conn) bool {
	a, ok := conn.RemoteAddr().(*net.TCPAddr)
	return ok && a.IP.IsLoopback()
}

// login authenticates by PLAIN or LOGIN, and sends no password over a network in the clear, whatever the server offers.
type login struct {
	account SMTP
	host    string
	local   bool
	inner   smtp.Auth
}

var _ smtp.Auth = (*login)(nil)

func (l *login) Start(server *smtp.ServerInfo) (string, []byte, error) {
	if !server.TLS && !l.local {
		return "", nil, errNoTLS
	}
	offers := func(name string) bool {
		return slices.ContainsFunc(server.Auth, func(s string) bool { return strings.EqualFold(s, name) })
	}
	switch {
	case offers("PLAIN"):
		l.inner = smtp.PlainAuth("", l.account.Username, l.account.Password.Reveal(), l.host, l.local)
	case offers("LOGIN"):
		l.inner = smtp.LoginAuth(l.account.Username, l.account.Password.Reveal(), l.host, l.local)
	default:
		return "", nil, errNoMechanism
	}
	return l.inner.Start(server)
}

func (l *login) Next(message []byte, more bool) ([]byte, error) { return l.inner.Next(message, more) }

// limitedConn ends a connection whose other side says too much.
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
