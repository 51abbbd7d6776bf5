package notify_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/writ-automation/writ/ports/notify/notifytest"
)

// mailServer is a strict fake of an SMTP server (RFC 5321, 3207, 4954).
type mailServer struct {
	starttls bool              // offered
	implicit bool              // TLS from the start
	auth     string            // mechanisms, empty for none
	answers  map[string]string // error replies by verb
	cert     tls.Certificate

	addr     string
	mu       sync.Mutex
	mode     notifytest.Behaviour
	took     []mailed
	received []string // every command
	open     map[net.Conn]bool
}

// mailed is a mail that the server received.
type mailed struct {
	from   string
	to     []string
	data   string // after dots are undoubled
	secure bool
	user   string
	pass   string
}

// certificate returns a certificate for 127.0.0.1 and a pool that trusts it.
func certificate(t testing.TB) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	srv := httptest.NewTLSServer(nil)
	defer srv.Close()
	pool := x509.NewCertPool()
	pool.AddCert(srv.Certificate())
	return srv.TLS.Certificates[0], pool
}

// start listens until the test ends, and then waits for all conversations.
func (m *mailServer) start(t testing.TB) *mailServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m.addr, m.open = l.Addr().String(), map[net.Conn]bool{}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			m.mu.Lock()
			m.open[conn] = true
			m.mu.Unlock()
			all.Go(func() {
				defer func() { _ = conn.Close() }()
				m.greet(conn)
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		m.mu.Lock()
		for c := range m.open {
			_ = c.Close()
		}
		m.mu.Unlock()
		all.Wait()
	})
	return m
}

func (m *mailServer) greet(conn net.Conn) {
	m.mu.Lock()
	mode := m.mode
	m.mu.Unlock()
	switch mode {
	case notifytest.Hangs:
		_, _ = conn.Read(make([]byte, 1)) // until one side closes
	case notifytest.HangsUp:
	case notifytest.Floods:
		line := append([]byte("220-"), bytes.Repeat([]byte("flood "), 8<<10)...)
		line = append(line, '\r', '\n')
		for n := 0; n < notifytest.Flood; n += len(line) {
			if _, err := conn.Write(line); err != nil {
				return
			}
		}
	default:
		s := &conversation{server: m, conn: conn}
		if m.implicit {
			s.secure()
		}
		s.r = bufio.NewReader(s.conn)
		s.talk()
	}
}

// conversation is one connection.
type conversation struct {
	server                  *mailServer
	conn                    net.Conn
	r                       *bufio.Reader
	mail                    mailed
	greeted, secured, begun bool
}

func (s *conversation) secure() {
	s.conn = tls.Server(s.conn, &tls.Config{Certificates: []tls.Certificate{s.server.cert}, MinVersion: tls.VersionTLS12})
	s.r, s.secured, s.greeted = bufio.NewReader(s.conn), true, false
	s.mail = mailed{secure: true}
}

func (s *conversation) reply(format string, args ...any) {
	fmt.Fprintf(s.conn, format+"\r\n", args...)
}

// line reads a line, which has to end in CR LF.
func (s *conversation) line() (string, bool) {
	text, err := s.r.ReadString('\n')
	if err != nil || !strings.HasSuffix(text, "\r\n") || len(text) > 1000 {
		return "", false
	}
	return strings.TrimSuffix(text, "\r\n"), true
}

func (s *conversation) talk() {
	s.reply("220 mail.example.com ESMTP")
	for {
		text, ok := s.line()
		if !ok {
			return
		}
		s.server.mu.Lock()
		s.server.received = append(s.server.received, text)
		mode, answer := s.server.mode, ""
		verb, rest, _ := strings.Cut(text, " ")
		verb = strings.ToUpper(verb)
		answer = s.server.answers[verb]
		s.server.mu.Unlock()
		switch {
		case mode == notifytest.Refuses && (verb == "AUTH" || verb == "RCPT"):
			s.reply("535 5.7.8 %s", rest)
		case answer == "hang":
			_, _ = s.r.ReadByte()
			return
		case answer != "" && verb != "DATA":
			s.reply("%s", answer)
		case verb == "QUIT":
			s.reply("221 2.0.0 bye")
			return
		default:
			if !s.obey(verb, rest, answer) {
				return
			}
		}
	}
}

// obey executes a command. It returns false when the conversation is over.
func (s *conversation) obey(verb, rest, answer string) bool {
	switch verb {
	case "EHLO":
		s.greeted = rest != ""
		s.reply("250-mail.example.com")
		if s.server.starttls && !s.secured {
			s.reply("250-STARTTLS")
		}
		if s.server.auth != "" {
			s.reply("250-AUTH %s", s.server.auth)
		}
		s.reply("250-ENHANCEDSTATUSCODES")
		s.reply("250 8BITMIME")
	case "STARTTLS":
		s.reply("220 2.0.0 go on")
		s.secure()
	case "AUTH":
		return s.authenticate(rest)
	case "MAIL":
		s.path("FROM:", rest, func(a string) { s.mail.from, s.begun = a, true })
	case "RCPT":
		s.path("TO:", rest, func(a string) { s.mail.to = append(s.mail.to, a) })
	case "DATA":
		if len(s.mail.to) == 0 || !s.begun {
			s.reply("503 5.5.1 no recipients")
			return true
		}
		s.reply("354 go on")
		return s.data(answer)
	case "RSET", "NOOP":
		s.reply("250 2.0.0 ok")
	default:
		s.reply("500 5.5.2 what?")
	}
	return true
}

// path parses one address in angle brackets.
func (s *conversation) path(prefix, rest string, take func(string)) {
	a, ok := strings.CutPrefix(rest, prefix+"<")
	a, params, closed := strings.Cut(a, ">")
	if !ok || !closed || !s.greeted || strings.ContainsAny(a, "<> \"") || params != "" && params != " BODY=8BITMIME" {
		s.reply("501 5.5.4 no address: %s", rest)
		return
	}
	take(a)
	s.reply("250 2.1.0 ok")
}

func (s *conversation) authenticate(rest string) bool {
	mechanism, first, _ := strings.Cut(rest, " ")
	ask := func(challenge string) string {
		s.reply("334 %s", base64.StdEncoding.EncodeToString([]byte(challenge)))
		text, _ := s.line()
		b, _ := base64.StdEncoding.DecodeString(text)
		return string(b)
	}
	switch mechanism {
	case "PLAIN":
		b, _ := base64.StdEncoding.DecodeString(first)
		parts := strings.Split(string(b), "\x00")
		if len(parts) == 3 {
			s.mail.user, s.mail.pass = parts[1], parts[2]
		}
	case "LOGIN":
		s.mail.user = ask("Username:")
		s.mail.pass = ask("Password:")
	}
	if s.mail.user != "writ" || s.mail.pass != token {
		s.reply("535 5.7.8 no such user %s with %s", s.mail.user, s.mail.pass)
		return true
	}
	s.reply("235 2.7.0 welcome")
	return true
}

// data reads a mail up to the line with a single dot.
func (s *conversation) data(answer string) bool {
	var b strings.Builder
	for {
		text, ok := s.line()
		if !ok {
			return false
		}
		if text == "." {
			break
		}
		if strings.HasPrefix(text, ".") && !strings.HasPrefix(text, "..") {
			s.reply("554 5.6.0 a dot was not doubled")
			return true
		}
		b.WriteString(strings.TrimPrefix(text, ".") + "\r\n")
	}
	s.mail.data = b.String()
	if answer == "" {
		if _, err := readMail(s.mail.data); err != nil {
			answer = "554 5.6.0 " + strings.ReplaceAll(err.Error(), "\n", " ")
		}
	}
	if answer != "" {
		s.reply("%s", answer)
		return true
	}
	s.server.mu.Lock()
	s.server.took = append(s.server.took, s.mail)
	s.server.mu.Unlock()
	s.mail.to, s.begun = nil, false
	s.reply("250 2.0.0 queued")
	return true
}
