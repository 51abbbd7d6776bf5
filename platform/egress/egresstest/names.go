// Package egresstest resolves names in memory, for tests of code that dials names.
package egresstest

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"
)

// Names is a DNS server in memory. Each lookup of a name returns the next of its addresses, then the last one again;
// other names do not exist. Its methods are safe for concurrent use.
type Names struct {
	known map[string][][4]byte
	mu    sync.Mutex
	asked map[string]int
}

// NewNames serves the IPv4 addresses of known, by their names without the last dot.
func NewNames(t testing.TB, known map[string][]string) *Names {
	t.Helper()
	n := &Names{known: map[string][][4]byte{}, asked: map[string]int{}}
	for name, addresses := range known {
		for _, a := range addresses {
			ip, err := netip.ParseAddr(a)
			if err != nil || !ip.Is4() {
				t.Fatalf("%s: %q is no IPv4 address", name, a)
			}
			n.known[name] = append(n.known[name], ip.As4())
		}
	}
	return n
}

// Resolver returns a resolver that resolves only these names.
func (n *Names) Resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		go n.serve(there)
		return here, nil
	}}
}

// Asked returns how many lookups of name were answered with an address.
func (n *Names) Asked(name string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.asked[name]
}

// serve answers queries until the resolver closes the connection, with the framing of DNS over TCP, which the resolver
// uses on a stream connection (RFC 1035, 4.2.2).
func (n *Names) serve(c net.Conn) {
	defer func() { _ = c.Close() }()
	for {
		var size [2]byte
		if _, err := io.ReadFull(c, size[:]); err != nil {
			return
		}
		q := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(c, q); err != nil {
			return
		}
		a := n.answer(q)
		if _, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(a))), a...)); err != nil {
			return
		}
	}
}

// answer builds the reply to a query with one question: an A record if it is a question for one, else nothing.
func (n *Names) answer(q []byte) []byte {
	end, host := 12, ""
	for q[end] != 0 {
		host += "." + string(q[end+1:end+1+int(q[end])])
		end += 1 + int(q[end])
	}
	host = host[1:]
	reply := append([]byte{q[0], q[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, q[12:end+5]...)
	all := n.known[host]
	switch {
	case len(all) == 0:
		reply[3] |= 3 // no such name
		return reply
	case binary.BigEndian.Uint16(q[end+1:]) != 1:
		return reply
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	a := all[min(n.asked[host], len(all)-1)]
	n.asked[host]++
	reply[7] = 1
	return append(append(reply, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4), a[:]...)
}
