package identity_test

import (
	"hash/crc32"
	"slices"
	"testing"
	"time"

	module "github.com/writ-automation/writ/modules/identity"
	"github.com/writ-automation/writ/ports/depthtest"
)

// sealed completes 32 random characters to a well-formed token: the prefix, and their CRC-32 in base62.
func sealed(random string) string {
	const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	sum := make([]byte, 6)
	n := crc32.ChecksumIEEE([]byte(random))
	for i := len(sum) - 1; i >= 0; i-- {
		sum[i] = alphabet[n%62]
		n /= 62
	}
	return "writ_" + random + "_" + string(sum)
}

// TestTimeTellsNothingOfATokensBeginning compares how long a wrong token takes that differs from a real one in its last
// character only with one that differs in its first: over many pairs, taken in turn, the medians do not part.
// Keeps T24.
func TestTimeTellsNothingOfATokensBeginning(t *testing.T) {
	t.Parallel()
	f, m := overFake(t, module.Config{})
	secret, err := m.Bootstrap.EnsureAdmin(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	random := secret[5:37]
	other := func(i int) string {
		c := byte('x')
		if random[i] == c {
			c = 'y'
		}
		return sealed(random[:i] + string(c) + random[i+1:])
	}
	near, far := other(31), other(0)
	pairs := depthtest.Of(10_000, 100_000)
	took := [2][]time.Duration{make([]time.Duration, 0, pairs), make([]time.Duration, 0, pairs)}
	before := f.lookups
	for range pairs {
		for k, bearer := range []string{near, far} {
			start := time.Now()
			if _, err := m.Authenticator.Authenticate(t.Context(), bearer); err == nil {
				t.Fatal("a wrong token was taken")
			}
			took[k] = append(took[k], time.Since(start))
		}
	}
	if f.lookups != before+2*pairs {
		t.Fatalf("%d look-ups for %d tokens", f.lookups-before, 2*pairs)
	}
	var medians [2]float64
	for k := range took {
		slices.Sort(took[k])
		medians[k] = float64(took[k][pairs/2])
	}
	if ratio := medians[0] / medians[1]; ratio < 0.8 || ratio > 1.25 {
		t.Errorf("the medians part: %v and %v ns", medians[0], medians[1])
	}
}
