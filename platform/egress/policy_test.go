package egress_test

import (
	"errors"
	"net/netip"
	"testing"

	"go.uber.org/goleak"

	"github.com/writ-automation/writ/platform/egress"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func prefixes(texts ...string) []netip.Prefix {
	out := make([]netip.Prefix, 0, len(texts))
	for _, s := range texts {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

// TestPolicyClassifies tries both levels on every kind of address, and on every form that carries one inside.
// Keeps T11.
func TestPolicyClassifies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		addr            string
		strict, private bool
	}{
		{"93.184.216.34", true, true}, {"1.1.1.1", true, true}, {"2606:4700::1111", true, true},
		{"2a00:1450:4001::200e", true, true},
		{"127.0.0.1", false, true}, {"127.255.255.254", false, true}, {"::1", false, true},
		{"10.0.0.1", false, true}, {"172.16.0.1", false, true}, {"172.31.255.255", false, true}, {"172.32.0.1", true, true},
		{"192.168.1.1", false, true}, {"fc00::1", false, true}, {"fdff::1", false, true}, {"fec0::1", false, true},
		{"100.64.0.1", false, true}, {"100.127.255.255", false, true}, {"100.128.0.1", true, true},
		{"0.0.0.0", false, true}, {"0.1.2.3", false, true}, {"::", false, true},
		{"224.0.0.1", false, true}, {"ff02::1", false, true}, {"255.255.255.255", false, true}, {"240.0.0.1", false, true},
		{"198.18.0.1", false, true}, {"203.0.113.9", false, true}, {"2001:db8::1", false, true}, {"4000::1", false, true},
		{"169.254.169.254", false, false}, {"169.254.0.1", false, false}, {"169.254.170.2", false, false},
		{"fe80::1", false, false},
		{"fe80::1%eth0", false, false}, {"fd00:ec2::254", false, false}, {"100.100.100.200", false, false},
		{"168.63.129.16", false, false},
		{"192.0.0.192", false, false}, {"fd20:ce::254", false, false},
		// IPv4 inside of IPv6: mapped, translated, compatible, NAT64, local NAT64, 6to4, Teredo, ISATAP.
		{"::ffff:127.0.0.1", false, true}, {"::ffff:169.254.169.254", false, false}, {"::ffff:1.1.1.1", true, true},
		{"::ffff:0:127.0.0.1", false, true}, {"::ffff:0:169.254.169.254", false, false},
		{"::127.0.0.1", false, true}, {"::169.254.169.254", false, false},
		{"64:ff9b::1.1.1.1", true, true}, {"64:ff9b::10.0.0.1", false, true}, {"64:ff9b::169.254.169.254", false, false},
		{"64:ff9b::100.100.100.200", false, false}, {"64:ff9b:1::169.254.169.254", false, false},
		// Local NAT64 with prefixes of 48, 56, 64 and 96 bits: 169.254.169.254, 100.100.100.200, and a private address.
		{"64:ff9b:1:a9fe:a9:fe00::", false, false}, {"64:ff9b:1:6464:64:c800::", false, false},
		{"64:ff9b:1:a00:0:100::", false, true},
		{"64:ff9b:1:a9:fe:a9fe::", false, false}, {"64:ff9b:1:0:a9:fea9:fe00::", false, false},
		{"64:ff9b:1::10.0.0.1", false, true},
		{"64:ff9b:1:101:1:100::", false, true},
		{"2002:0101:0101::1", true, true}, {"2002:7f00:1::1", false, true}, {"2002:a9fe:a9fe::1", false, false},
		{"2001:0:101:101:0:0:5601:5601", false, false}, // Teredo of 169.254.169.254
		{"2001:0:101:101:0:0:fefe:fefe", true, true},   // Teredo of 1.1.1.1
		{"2a00::5efe:a9fe:a9fe", false, false}, {"2a00::200:5efe:7f00:1", false, true},
	} {
		addr := netip.MustParseAddr(c.addr)
		for level, want := range map[egress.Level]bool{egress.Strict: c.strict, egress.PrivateAllowed: c.private} {
			err := egress.Policy{Level: level}.Check(addr)
			if (err == nil) != want || err != nil && !errors.Is(err, egress.ErrRefused) {
				t.Errorf("%s at level %d: %v, allowed should be %v", c.addr, level, err, want)
			}
		}
	}
	if err := (egress.Policy{}).Check(netip.Addr{}); !errors.Is(err, egress.ErrRefused) {
		t.Errorf("no address: %v", err)
	}
	if err := (egress.Policy{Level: 9}).Check(netip.MustParseAddr("127.0.0.1")); !errors.Is(err, egress.ErrRefused) {
		t.Errorf("an unknown level is not strict: %v", err)
	}
}

// TestPolicyAllows allows networks, and checks that a wide one does not include addresses that return credentials.
func TestPolicyAllows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		allow, addr string
		want        bool
	}{
		{"10.1.0.0/16", "10.1.2.3", true}, {"10.1.0.0/16", "10.2.2.3", false}, {"10.1.0.0/16", "::ffff:10.1.2.3", true},
		{"127.0.0.2/32", "127.0.0.2", true}, {"127.0.0.2/32", "127.0.0.1", false}, {"::1/128", "::1", true},
		{"10.1.0.0/16", "64:ff9b::10.1.2.3", true}, {"64:ff9b::/96", "64:ff9b::10.1.2.3", false},
		{"64:ff9b:1::/48", "64:ff9b:1:101:1:100::", true}, {"64:ff9b:1::/48", "64:ff9b:1:a9fe:a9:fe00::", false},
		{"64:ff9b:1::/48", "64:ff9b:1::1.1.1.1", true}, {"64:ff9b:1::/48", "64:ff9b:1::10.1.2.3", false},
		{"2002::/16", "2002:7f00:1::1", false}, {"fd00::/8", "fd12::1", true}, {"fd00::/8", "fd00:ec2::254", false},
		{"0.0.0.0/0", "192.168.0.1", true}, {"0.0.0.0/0", "169.254.169.254", false}, {"0.0.0.0/0", "169.254.1.1", false},
		{"100.64.0.0/10", "100.64.0.1", true}, {"100.64.0.0/10", "100.100.100.200", false},
		{"100.100.100.200/32", "100.100.100.200", true},
		{"169.254.0.0/16", "169.254.10.1", true}, {"169.254.0.0/16", "169.254.169.254", false},
		{"169.254.10.0/24", "169.254.10.1", true}, {"fe80::/10", "fe80::1%eth0", true}, {"::/0", "fe80::1", false},
	} {
		for _, level := range []egress.Level{egress.Strict, egress.PrivateAllowed} {
			err := egress.Policy{Level: level, Allow: prefixes(c.allow)}.Check(netip.MustParseAddr(c.addr))
			guarded := egress.Policy{Level: egress.PrivateAllowed}.Check(netip.MustParseAddr(c.addr)) != nil
			if want := c.want || level == egress.PrivateAllowed && !guarded; (err == nil) != want {
				t.Errorf("%s with %s at level %d: %v, allowed should be %v", c.addr, c.allow, level, err, want)
			}
		}
	}
}
