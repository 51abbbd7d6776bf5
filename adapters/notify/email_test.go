package notify_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	adapter "github.com/writ-automation/writ/adapters/notify"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/notify/notifytest"
	"github.com/writ-automation/writ/ports/runs"
)

// letter is a parsed mail.
type letter struct {
	header     mail.Header
	subject    string
	text, html string
}

// readMail parses a mail and fails on parts that channels never send.
func readMail(data string) (letter, error) {
	m, err := mail.ReadMessage(strings.NewReader(data))
	if err != nil {
		return letter{}, err
	}
	l := letter{header: m.Header}
	for _, name := range []string{"From", "To", "Subject", "Date", "Message-Id", "Mime-Version", "Content-Type",
		"Auto-Submitted", "User-Agent"} {
		if len(m.Header[name]) != 1 {
			return l, fmt.Errorf("%d headers %s", len(m.Header[name]), name)
		}
	}
	if len(m.Header["Bcc"])+len(m.Header["Cc"])+len(m.Header["X-Mailer"]) > 0 {
		return l, errors.New("a header that nobody set")
	}
	if l.subject, err = new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject")); err != nil {
		return l, err
	}
	media, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil || media != "multipart/alternative" {
		return l, fmt.Errorf("the type is %s: %w", media, err)
	}
	parts := multipart.NewReader(m.Body, params["boundary"])
	for _, want := range []struct {
		media string
		into  *string
	}{{"text/plain", &l.text}, {"text/html", &l.html}} {
		p, err := parts.NextRawPart()
		if err != nil {
			return l, err
		}
		media, params, err := mime.ParseMediaType(p.Header.Get("Content-Type"))
		if err != nil || media != want.media || !strings.EqualFold(params["charset"], "utf-8") ||
			p.Header.Get("Content-Transfer-Encoding") != "quoted-printable" {
			return l, fmt.Errorf("a part of type %s: %w", media, err)
		}
		b, err := io.ReadAll(quotedprintable.NewReader(p))
		if err != nil {
			return l, err
		}
		*want.into = strings.ReplaceAll(string(b), "\r\n", "\n")
	}
	if _, err := parts.NextRawPart(); !errors.Is(err, io.EOF) {
		return l, fmt.Errorf("a third part: %w", err)
	}
	for _, bad := range []string{"<script", "<http", "<at>", "<!channel", "<U"} {
		if strings.Contains(strings.ToLower(l.html), bad) {
			return l, fmt.Errorf("%s in the page", bad)
		}
	}
	return l, nil
}

func (m *mailServer) behave(b notifytest.Behaviour) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mode = b
}

func (m *mailServer) heard() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]string, 0, len(m.took))
	for _, x := range m.took {
		l, err := readMail(x.data)
		if err != nil {
			l.text = err.Error()
		}
		out = append(out, l.subject+"\n"+l.text)
	}
	return out
}

// commands returns the commands that the server received, without credentials.
func (m *mailServer) commands() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.received)
}

// mailTo returns a channel that sends through a server, with credentials if the server requires them.
func mailTo(t testing.TB, m *mailServer, edit ...func(*adapter.Config)) notify.Channel {
	t.Helper()
	cert, pool := certificate(t)
	m.cert = cert
	m.start(t)
	c := adapter.Config{
		TLS: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, Version: "1.2.3",
		SMTP: adapter.SMTP{Addr: m.addr, From: "Writ <writ@example.com>"},
	}
	if m.auth != "" {
		c.SMTP.Username, c.SMTP.Password = "writ", token
	}
	for _, fn := range edit {
		fn(&c)
	}
	return channel(t, "email", c)
}

func recipients(list string) notify.Target { return notify.Target{Kind: "email", To: list} }

// openMail starts the mail server of the suite.
func openMail(t *testing.T) notifytest.ChannelUnderTest {
	m := &mailServer{starttls: true, auth: "LOGIN PLAIN"}
	c := mailTo(t, m)
	return notifytest.ChannelUnderTest{Channel: c, Outside: notifytest.Outside{
		Target: recipients("ada@example.com"), Behave: m.behave, Heard: m.heard, Secrets: []string{token, "c4nary"},
	}}
}

// almost is less than the channel's own time limit: a delivery that takes longer was not ended by the context.
const almost = 9 * time.Second

// TestMailIsSent sends mail over every supported combination of TLS and authentication.
func TestMailIsSent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		server *mailServer
		edit   func(*adapter.Config)
		secure bool
	}{
		"in the clear, unasked":        {server: &mailServer{}},
		"STARTTLS where offered":       {server: &mailServer{starttls: true}, secure: true},
		"PLAIN after STARTTLS":         {server: &mailServer{starttls: true, auth: "PLAIN"}, secure: true},
		"LOGIN after STARTTLS":         {server: &mailServer{starttls: true, auth: "CRAM-MD5 LOGIN"}, secure: true},
		"PLAIN on this machine":        {server: &mailServer{auth: "PLAIN"}},
		"LOGIN on this machine":        {server: &mailServer{auth: "LOGIN"}},
		"TLS from the start":           {server: &mailServer{implicit: true}, edit: implicitly, secure: true},
		"PLAIN with TLS at the start":  {server: &mailServer{implicit: true, auth: "PLAIN"}, edit: implicitly, secure: true},
		"TLS required":                 {server: &mailServer{starttls: true}, edit: required, secure: true},
		"a server that cannot goodbye": {server: &mailServer{answers: map[string]string{"QUIT": "500 5.5.2 what?"}}},
		"a server that never goodbyes": {server: &mailServer{answers: map[string]string{"QUIT": "hang"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, edit := c.server, c.edit
			if edit == nil {
				edit = func(*adapter.Config) {}
			}
			begin := time.Now()
			if err := mailTo(t, m, edit).Deliver(t.Context(), recipients("Ada Lovelace <ada@example.com>, bob@example.org"),
				sample()); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(begin); took > almost {
				t.Errorf("it took %s", took)
			}
			got := m.took[0]
			if got.secure != c.secure || got.from != "writ@example.com" ||
				!slices.Equal(got.to, []string{"ada@example.com", "bob@example.org"}) ||
				m.auth != "" && got.pass != token {
				t.Errorf("%+v", got)
			}
		})
	}
}

func implicitly(c *adapter.Config) { c.SMTP.TLS = adapter.TLSImplicit }
func required(c *adapter.Config)   { c.SMTP.TLS = adapter.TLSRequired }

// TestMailReads compares a mail with one written by hand.
func TestMailReads(t *testing.T) {
	t.Parallel()
	m := &mailServer{}
	if err := mailTo(t, m).Deliver(t.Context(), recipients("ada@example.com"), sample()); err != nil {
		t.Fatal(err)
	}
	l, err := readMail(m.took[0].data)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{
		"From": l.header.Get("From"), "To": l.header.Get("To"), "Subject": l.subject,
		"Message-Id":     l.header.Get("Message-Id"),
		"Auto-Submitted": l.header.Get("Auto-Submitted"), "User-Agent": l.header.Get("User-Agent"), "text": l.text,
		"html": l.html,
	}
	want := map[string]string{
		"From": `"Writ" <writ@example.com>`, "To": "<ada@example.com>", "Subject": "Writ: Nightly patch failed",
		"Message-Id":     "<nty_01jnfq3m5h8k2v4x6z7b9c0d1e@example.com>",
		"Auto-Submitted": "auto-generated", "User-Agent": "Writ/1.2.3",
		"text": golden(t, "email.txt"), "html": golden(t, "email.html"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if at, err := l.header.Date(); err != nil || time.Since(at).Abs() > time.Hour {
		t.Errorf("its date is %s, %v", at, err)
	}
}

// TestMailFails sends mail to servers that fail at every step.
func TestMailFails(t *testing.T) {
	t.Parallel()
	serverWith := func(verb, answer string) *mailServer {
		return &mailServer{starttls: true, auth: "PLAIN", answers: map[string]string{verb: answer}}
	}
	for name, c := range map[string]struct {
		server  *mailServer
		edit    func(*adapter.Config)
		refused bool
		remote  bool
		phrases string
	}{
		"no STARTTLS, a password": {server: &mailServer{auth: "PLAIN"}, remote: true, refused: true,
			phrases: "offers no encryption"},
		"no STARTTLS, LOGIN": {server: &mailServer{auth: "LOGIN"}, remote: true, refused: true,
			phrases: "offers no encryption"},
		"no STARTTLS, required": {server: &mailServer{}, edit: required, refused: true, phrases: "offers no encryption"},
		"no way to authenticate": {server: &mailServer{starttls: true, auth: "NTLM CRAM-MD5"}, refused: true,
			phrases: "PLAIN and LOGIN"},
		"STARTTLS fails": {server: serverWith("STARTTLS", "454 4.7.0 not now"), phrases: "status 454"},
		"a certificate of strangers": {server: &mailServer{starttls: true}, edit: func(c *adapter.Config) {
			c.TLS = nil
		}, phrases: "not trusted"},
		"strangers from the start": {server: &mailServer{implicit: true}, edit: func(c *adapter.Config) {
			c.TLS = nil
			implicitly(c)
		}, phrases: "not trusted"},
		"a wrong password":       {server: serverWith("AUTH", "535 5.7.8 c4nary"), refused: true, phrases: "status 535"},
		"busy at authentication": {server: serverWith("AUTH", "454 4.7.0 c4nary"), phrases: "status 454"},
		"the sender": {server: serverWith("MAIL", "550 5.7.1 c4nary"), refused: true,
			phrases: "status 550 (5.7.1)"},
		"the recipient, later": {server: serverWith("RCPT", "450 4.2.0 c4nary"), phrases: "status 450 (4.2.0)"},
		"the recipient, never": {server: serverWith("RCPT", "550 5.1.1 c4nary"), refused: true,
			phrases: "status 550 (5.1.1)"},
		"data, later":              {server: serverWith("DATA", "451 4.3.0 c4nary"), phrases: "status 451"},
		"data, never":              {server: serverWith("DATA", "554 5.6.0 c4nary"), refused: true, phrases: "status 554"},
		"no service":               {server: serverWith("EHLO", "421 4.3.2 c4nary"), phrases: "421"},
		"it hangs at the greeting": {server: serverWith("EHLO", "hang"), phrases: "did not answer in time"},
		"it hangs at a recipient":  {server: serverWith("RCPT", "hang"), phrases: "did not answer in time"},
		"a user that is not the same": {server: &mailServer{starttls: true, auth: "LOGIN"},
			edit: func(c *adapter.Config) { c.SMTP.Username = "c4nary" }, refused: true, phrases: "status 535"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			edit := c.edit
			if edit == nil {
				edit = func(*adapter.Config) {}
			}
			ch := mailTo(t, c.server, edit)
			if c.remote {
				adapter.Remote(ch)
			}
			begin := time.Now()
			err := within(t, 2*time.Second, ch, recipients("c4nary.to@example.com"))
			if took := time.Since(begin); took > almost {
				t.Errorf("it took %s", took)
			}
			if err == nil || notify.Refused.Is(err) != c.refused || !strings.Contains(err.Error(), c.phrases) ||
				strings.Contains(err.Error(), "c4nary") {
				t.Errorf("%v", err)
			}
			if n := len(c.server.heard()); n > 0 {
				t.Errorf("%d mails were taken", n)
			}
			if message := strings.Join(c.server.commands(), "\n"); (c.remote ||
				c.refused && c.edit != nil && c.phrases == "offers no encryption") &&
				(strings.Contains(message, "AUTH") || strings.Contains(message, "MAIL")) {
				t.Errorf("it was told %q", message)
			}
		})
	}
}

// TestMailRecipients refuses malformed lists, and addresses that would add words to a command.
func TestMailRecipients(t *testing.T) {
	t.Parallel()
	m := &mailServer{}
	c := mailTo(t, m)
	for _, list := range []string{
		"", ",", "ada", "ada@", "@example.com", "ada@example.com bob@example.com", "ada@example.com\r\nBcc: eve@example.com",
		`"a> NOTIFY=NEVER <b"@example.com`, `"a b"@example.com`, "a@[127.0.0.1]",
		"\"x\r\nRCPT TO:<eve@example.com>\" <a@example.com>",
		strings.Repeat("a@example.com,", 100) + "a@example.com", strings.Repeat("a", 300) + "@example.com",
		"a\x00@example.com", "a\u202e@example.com", "group: a@example.com;b",
	} {
		if err := c.Deliver(t.Context(), recipients(list), sample()); !notify.Refused.Is(err) ||
			strings.Contains(err.Error(), "example") {
			t.Errorf("%.60q: %v", list, err)
		}
	}
	if len(m.commands()) > 0 {
		t.Errorf("the server was told %q", m.commands())
	}
	for list, want := range map[string]int{"a@example.com": 1, "a@example.com,": 1, "a@example.com , B <b@example.com>": 2,
		`"Lovelace, Ada" <a@example.com>,b@example.com`:                2,
		strings.TrimSuffix(strings.Repeat("a@example.com,", 100), ","): 100} {
		before := len(m.heard())
		if err := c.Deliver(t.Context(), recipients(list), sample()); err != nil {
			t.Errorf("%.60q: %v", list, err)
		} else if got := m.took[before]; len(got.to) != want {
			t.Errorf("%.60q: sent to %q", list, got.to)
		}
	}
}

// TestMailHeaders uses subjects with characters that have a meaning in headers.
// Keeps T20.
func TestMailHeaders(t *testing.T) {
	t.Parallel()
	m := &mailServer{}
	c := mailTo(t, m)
	for _, s := range []string{"a\r\nBcc: eve@example.com", "a\nX-Evil: b", "=?utf-8?q?=0d=0aBcc:_eve@example.com?=",
		strings.Repeat("Größe ", 100),
		"京\u2028Bcc: x", ".", ". a"} {
		msg := sample(func(r *runs.Run) { r.Name = s })
		if err := c.Deliver(t.Context(), recipients("ada@example.com"), msg); err != nil {
			t.Errorf("%q: %v", s, err)
			continue
		}
		l, err := readMail(m.took[len(m.took)-1].data)
		if err != nil || strings.ContainsAny(l.subject, "\r\n\u2028") || len(l.header) != 10 {
			t.Errorf("%q: %q, %v, %v", s, l.subject, l.header, err)
		}
	}
}
