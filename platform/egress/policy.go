package egress

import (
	"errors"
	"fmt"
	"net/netip"
)

// ErrRefused is in the chain of every error that the policy causes.
var ErrRefused = errors.New("refused by the egress policy")

// Level decides which networks beyond the public internet may be reached.
type Level uint8

// These are the levels.
const (
	// Strict refuses everything that is not a public unicast address.
	Strict Level = iota
	// PrivateAllowed refuses only link-local addresses and those of cloud metadata. It is for services in private
	// networks which the operator or an authorized user names.
	PrivateAllowed
)

// Policy decides which addresses may be dialled. The zero value is strict and has no exceptions.
type Policy struct {
	Level Level
	// Allow lists networks that may be dialled although the level refuses them. A wide network does not include
	// link-local and metadata addresses: these need a prefix inside of their own range, such as 169.254.10.0/24.
	Allow []netip.Prefix
}

// network is a range of addresses and its description.
type network struct {
	prefix netip.Prefix
	is     string
}

func networks(is string, prefixes ...string) []network {
	out := make([]network, 0, len(prefixes))
	for _, p := range prefixes {
		out = append(out, network{netip.MustParsePrefix(p), is})
	}
	return out
}

// guarded lists the networks that both levels refuse: addresses that return credentials of the machine, and addresses
// of the local link.
func guarded() []network {
	return append(
		networks("cloud metadata", "169.254.169.254/32", "100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32",
			"fd00:ec2::/32", "fd20:ce::254/128"),
		networks("link-local", "169.254.0.0/16", "fe80::/10")...)
}

// inward lists the networks that only the strict level refuses.
func inward() []network {
	out := networks("loopback", "127.0.0.0/8", "::1/128")
	out = append(out, networks("private", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fec0::/10")...)
	out = append(out, networks("shared by a carrier", "100.64.0.0/10")...)
	out = append(out, networks("unspecified", "0.0.0.0/8", "::/128")...)
	out = append(out, networks("multicast", "224.0.0.0/4", "ff00::/8")...)
	return append(out, networks("reserved", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15",
		"198.51.100.0/24",
		"203.0.113.0/24", "240.0.0.0/4", "2001:2::/48", "2001:10::/28", "2001:20::/28", "2001:db8::/32", "3fff::/20")...)
}

// Check returns an error that wraps ErrRefused for an address that may not be dialled.
func (p Policy) Check(addr netip.Addr) error {
	if !addr.IsValid() {
		return fmt.Errorf("%w: no address", ErrRefused)
	}
	addr = addr.WithZone("").Unmap()
	for _, a := range append(embedded(addr), addr) {
		if is := p.refusal(a); is != "" {
			if a != addr {
				return fmt.Errorf("%w: %s contains %s, which is %s", ErrRefused, addr, a, is)
			}
			return fmt.Errorf("%w: %s is %s", ErrRefused, addr, is)
		}
	}
	return nil
}

// refusal returns the description of a refused address, and "" for an allowed one.
func (p Policy) refusal(a netip.Addr) string {
	for _, n := range guarded() {
		if n.prefix.Contains(a) && !p.names(a, n.prefix) {
			return n.is
		}
	}
	if p.Level == PrivateAllowed || p.names(a, netip.Prefix{}) {
		return ""
	}
	for _, n := range inward() {
		if n.prefix.Contains(a) {
			return n.is
		}
	}
	if a.Is6() && !global6().Contains(a) && !nat64().Contains(a) {
		return "not public"
	}
	return ""
}

// names reports whether an allowed prefix contains the address. If within is valid, only prefixes inside of it count.
func (p Policy) names(a netip.Addr, within netip.Prefix) bool {
	for _, q := range p.Allow {
		if q.Contains(a) && (!within.IsValid() || within.Contains(q.Addr()) && q.Bits() >= within.Bits()) {
			return true
		}
	}
	return false
}

func global6() netip.Prefix { return netip.MustParsePrefix("2000::/3") }
func nat64() netip.Prefix   { return netip.MustParsePrefix("64:ff9b::/96") }

// embedded returns the IPv4 addresses that an IPv6 address contains, in the forms of translators and tunnels.
func embedded(a netip.Addr) []netip.Addr {
	if !a.Is6() {
		return nil
	}
	b := a.As16()
	at := func(i int) netip.Addr { return netip.AddrFrom4([4]byte(b[i : i+4])) }
	in := func(prefix string) bool { return netip.MustParsePrefix(prefix).Contains(a) }
	var out []netip.Addr
	switch {
	case a.IsUnspecified() || a.IsLoopback():
	case in("64:ff9b:1::/48"): // NAT64 with a local prefix (RFC 8215)
		out = append(out, translated(b)...)
	case nat64().Contains(a), // NAT64 (RFC 6052)
		in("::/96"), in("::ffff:0:0:0/96"): // IPv4-compatible, IPv4-translated
		out = append(out, at(12))
	case in("2002::/16"): // 6to4
		out = append(out, at(2))
	case in("2001::/32"): // Teredo: the relay, and the client with its bits turned
		out = append(out, at(4), netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]}))
	}
	if b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe { // ISATAP
		out = append(out, at(12))
	}
	return out
}

// translated returns the IPv4 addresses that an address below 64:ff9b:1::/48 may contain. Its translator may use a
// prefix of 48, 56, 64 or 96 bits, and the bits 64 to 71 are never part of the address (RFC 6052, 2.2). A result that
// begins with zero is the padding of another layout.
func translated(b [16]byte) []netip.Addr {
	var out []netip.Addr
	for _, v4 := range [][4]byte{{b[6], b[7], b[9], b[10]}, {b[7], b[9], b[10], b[11]}, {b[9], b[10], b[11], b[12]},
		{b[12], b[13], b[14], b[15]}} {
		if v4[0] != 0 {
			out = append(out, netip.AddrFrom4(v4))
		}
	}
	return out
}
