package notify

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// mail is a mail that the server accepted.
type mail struct {
	login, from string
	to          []string
	text        string
}

// postOffice is a mail server on this machine.
type postOffice struct {
	addr string
	t    *testing.T
	work sync.WaitGroup

	mu    sync.Mutex
	mails []mail
}

func newPostOffice(t *testing.T) *postOffice {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &postOffice{addr: l.Addr().String(), t: t}
	p.work.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			p.work.Go(func() { p.serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		p.work.Wait()
	})
	return p
}

// serve implements the part of RFC 5321 that a delivering client needs.
func (p *postOffice) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(awhile)); err != nil {
		p.t.Error(err)
		return
	}
	in := bufio.NewScanner(conn)
	reply := func(lines ...string) { _, _ = fmt.Fprint(conn, strings.Join(lines, "\r\n")+"\r\n") }
	var m mail
	reply("220 mail.test ESMTP")
	for in.Scan() {
		verb, rest, _ := strings.Cut(in.Text(), " ")
		switch strings.ToUpper(verb) {
		case "EHLO":
			reply("250-mail.test", "250-AUTH PLAIN", "250 8BITMIME")
		case "AUTH":
			m.login = rest
			reply("235 welcome")
		case "MAIL":
			m.from = rest
			reply("250 ok")
		case "RCPT":
			m.to = append(m.to, rest)
			reply("250 ok")
		case "DATA":
			reply("354 go on")
			var text strings.Builder
			for in.Scan() && in.Text() != "." {
				text.WriteString(in.Text() + "\n")
			}
			m.text = text.String()
			p.mu.Lock()
			p.mails = append(p.mails, m)
			p.mu.Unlock()
			reply("250 taken")
		case "QUIT":
			reply("221 bye")
			return
		default:
			reply("250 ok")
		}
	}
}

// taken returns all accepted mails.
func (p *postOffice) taken() []mail {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]mail(nil), p.mails...)
}
