package runs

import "testing"

func TestLimitNamesFile(t *testing.T) {
	t.Parallel()
	for _, sep := range []string{"", ",", ":", ";", "!", "&", " ", "\t", "\v", "\f", "\x1c", "\x1f", "\u0085", "\u00a0",
		"\u2003", "\u2028", "\u3000", ",!", ":&", ", ", ":!& "} {
		for _, before := range []string{"", "web", "[1:3]"} {
			if limit := before + sep + "@hosts"; (before == "" || sep != "") != LimitNamesFile(limit) {
				t.Errorf("%q", limit)
			}
		}
	}
	for _, limit := range []string{"", "web*:!db@eu", "~a@b", "user@host,other", "a,b"} {
		if LimitNamesFile(limit) {
			t.Errorf("%q names a file", limit)
		}
	}
}
