package egress

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// connectTimeout bounds a dial, including the lookup and all addresses of the name.
const connectTimeout = 10 * time.Second

// Dialer opens TCP connections to what its policy allows. It is safe for concurrent use.
type Dialer struct {
	policy Policy
	dialer net.Dialer
}

// NewDialer returns a Dialer. A nil resolver is that of the machine.
func NewDialer(p Policy, r *net.Resolver) *Dialer {
	d := &Dialer{policy: p, dialer: net.Dialer{Timeout: connectTimeout, KeepAlive: 30 * time.Second, Resolver: r}}
	d.dialer.ControlContext = d.control
	return d
}

// DialContext connects to host:port over "tcp", "tcp4" or "tcp6". It dials only addresses of the name that the policy
// allows. If there are none, the error wraps ErrRefused and no packet was sent.
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	switch network {
	case "tcp", "tcp4", "tcp6":
	default:
		return nil, fmt.Errorf("%w: network %q", ErrRefused, network)
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return nil, fmt.Errorf("%w: port %q", ErrRefused, port)
	}
	if err := checkHost(host); err != nil {
		return nil, err
	}
	return d.dialer.DialContext(ctx, network, address)
}

// control checks the address of each socket before it connects. A refused socket sends no packet.
func (d *Dialer) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %q is not an address", ErrRefused, address)
	}
	return d.policy.Check(ap.Addr())
}

// checkHost refuses hosts that are neither names nor addresses in their one canonical form.
func checkHost(host string) error {
	if host == "" {
		return fmt.Errorf("%w: no host", ErrRefused)
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return nil
	}
	if strings.ContainsAny(host, "%/\\@:[] ") || endsInNumber(host) {
		return fmt.Errorf("%w: %q is neither a name nor an address", ErrRefused, host)
	}
	return nil
}

// endsInNumber reports hosts that old parsers read as IPv4 addresses: decimal, octal, hexadecimal, or with missing
// parts. No top-level domain is a number.
func endsInNumber(host string) bool {
	host = strings.TrimSuffix(host, ".")
	last := host[strings.LastIndexByte(host, '.')+1:]
	if last == "" {
		return true
	}
	if hex, ok := strings.CutPrefix(strings.ToLower(last), "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(last, "0123456789") == ""
}
