package inventory_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"testing"
)

// names resolves names in memory, over the framing that DNS has on a stream. Names that it does not know do not exist.
func names(t *testing.T, known map[string]string) *net.Resolver {
	t.Helper()
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		go answerNames(there, known)
		return here, nil
	}}
}

func answerNames(c net.Conn, known map[string]string) {
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
		end, host := 12, ""
		for q[end] != 0 {
			host += "." + string(q[end+1:end+1+int(q[end])])
			end += 1 + int(q[end])
		}
		a := append([]byte{q[0], q[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, q[12:end+5]...)
		ip, ok := known[host[1:]]
		switch {
		case !ok:
			a[3] |= 3
		case binary.BigEndian.Uint16(q[end+1:]) == 1:
			four := netip.MustParseAddr(ip).As4()
			a[7] = 1
			a = append(append(a, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4), four[:]...)
		}
		if _, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(a))), a...)); err != nil {
			return
		}
	}
}
