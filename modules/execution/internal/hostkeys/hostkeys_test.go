package hostkeys_test

import (
	"crypto/ed25519"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/ssh"

	"github.com/writ-automation/writ/modules/execution/internal/hostkeys"
	"github.com/writ-automation/writ/ports/runs"
)

// line returns the line of a host with a key of its own, and that key.
func line(t *testing.T, host string, n byte) (string, runs.HostKey) {
	t.Helper()
	seed := [ed25519.SeedSize]byte{n}
	key, err := ssh.NewPublicKey(ed25519.NewKeyFromSeed(seed[:]).Public())
	if err != nil {
		t.Fatal(err)
	}
	return host + " " + strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key))) + "\n",
		runs.HostKey{Host: host, Type: "ssh-ed25519", Fingerprint: ssh.FingerprintSHA256(key)}
}

// TestAccepted checks that only further lines of hosts are accepted keys, whatever a run wrote there.
func TestAccepted(t *testing.T) {
	t.Parallel()
	a, keyA := line(t, "a", 1)
	b, keyB := line(t, "[b]:2222", 2)
	other, keyOther := line(t, "a", 3)
	strange, _ := line(t, "c\x1b[31m", 4)
	long, _ := line(t, strings.Repeat("d", 301), 5)
	two := "x,y" + strings.TrimPrefix(a, "a")
	keyX, keyY := keyA, keyA
	keyX.Host, keyY.Host = "x", "y"
	for _, c := range []struct {
		name, before, after string
		want                []runs.HostKey
	}{
		{"nothing", a, a, nil},
		{"no file", a, "", nil},
		{"one more", a, a + b, []runs.HostKey{keyB}},
		{"twice", "", b + b + strings.Replace(b, " ", "  ", 1), []runs.HostKey{keyB}},
		{"in place of another", a, other, []runs.HostKey{keyOther}},
		{"no line break before", "# x", "# x\n" + b, []runs.HostKey{keyB}},
		{"no key", "", "x\n\x00\xff\nh ssh-ed25519 !!\n" + strange + long + "@revoked " + a, nil},
		{"two names", "", two, []runs.HostKey{keyX, keyY}},
	} {
		got, omitted := hostkeys.Accepted([]byte(c.before), []byte(c.after))
		if d := cmp.Diff(c.want, got); d != "" || omitted != 0 {
			t.Errorf("%s: %d %s", c.name, omitted, d)
		}
	}
}

// TestAcceptedIsBounded checks the bound of a record.
func TestAcceptedIsBounded(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	one, _ := line(t, "h", 1)
	for n := range runs.MaxHostKeys + 7 {
		fmt.Fprintf(&b, "h%d%s", n, strings.TrimPrefix(one, "h"))
	}
	got, omitted := hostkeys.Accepted(nil, []byte(b.String()))
	if len(got) != runs.MaxHostKeys || omitted != 7 || got[0].Host != "h0" {
		t.Error(len(got), omitted, got[0])
	}
}
