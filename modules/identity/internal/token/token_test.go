package token

import (
	"hash/crc32"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var form = regexp.MustCompile(`^writ_[0-9A-Za-z]{32}_[0-9A-Za-z]{6}$`)

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	counts := make(map[byte]int)
	const n = 5000
	for range n {
		s := random()
		if !form.MatchString(s) || !wellFormed(s) {
			t.Fatalf("%q is not well formed", s)
		}
		if seen[s] {
			t.Fatalf("%q was made twice", s)
		}
		seen[s] = true
		for i := 5; i < 37; i++ {
			counts[s[i]]++
		}
	}
	mean := float64(n*32) / 62
	for c, k := range counts {
		if float64(k) < mean*0.8 || float64(k) > mean*1.2 {
			t.Errorf("%q occurs %d times, expected about %.0f", c, k, mean)
		}
	}
	if len(counts) != 62 {
		t.Errorf("%d different characters", len(counts))
	}
}

// TestChecksum computes the sum another way: by the digits of the number, most significant first.
func TestChecksum(t *testing.T) {
	t.Parallel()
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	rapid.Check(t, func(t *rapid.T) {
		random := rapid.StringMatching(`[0-9A-Za-z]{32}`).Draw(t, "random")
		n, sum := uint64(crc32.ChecksumIEEE([]byte(random))), ""
		for ; n > 0; n /= 62 {
			sum = string(digits[n%62]) + sum
		}
		sum = strings.Repeat("0", 6-len(sum)) + sum
		if s := "writ_" + random + "_" + sum; !wellFormed(s) {
			t.Fatalf("%q is refused", s)
		}
	})
}

func TestMalformed(t *testing.T) {
	t.Parallel()
	good := random()
	for _, bad := range []string{"", "writ_", good[:len(good)-1], good + "0", " " + good, strings.ToUpper(good),
		"wrjt" + good[4:],
		strings.Replace(good, "_", "-", 2), "writ_" + strings.Repeat("é", 16) + "_000000", strings.Repeat("x", 1<<20)} {
		if wellFormed(bad) {
			t.Errorf("%.60q is well formed", bad)
		}
	}
	accepted := 0
	rapid.Check(t, func(t *rapid.T) {
		if wellFormed(rapid.StringMatching(`writ_[0-9A-Za-z]{32}_[0-9A-Za-z]{6}`).Draw(t, "made up")) {
			accepted++
		}
		i := rapid.IntRange(0, len(good)-1).Draw(t, "at")
		c := rapid.SampledFrom([]byte("0aZ_-")).Draw(t, "c")
		if typo := good[:i] + string(c) + good[i+1:]; typo != good && wellFormed(typo) {
			t.Fatalf("a typo at %d is well formed: %q", i, typo)
		}
	})
	if accepted > 0 {
		t.Errorf("%d made-up tokens pass the checksum", accepted)
	}
}

func TestHash(t *testing.T) {
	t.Parallel()
	if Hash("a") == Hash("b") || Hash("a") != Hash("a") {
		t.Error("the hash does not identify its token")
	}
}
