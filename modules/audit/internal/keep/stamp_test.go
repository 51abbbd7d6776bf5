package keep

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// The answers in testdata are those of OpenSSL to a query over this text.
const stamped = "a head of the log\n"

func answer(t testing.TB, name string) []byte {
	t.Helper()
	der, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func TestAnswersOfATimeStampingAuthority(t *testing.T) {
	t.Parallel()
	good := answer(t, "granted.tsr")
	at, err := readStamp(good, []byte(stamped))
	if err != nil || at.Year() < 2026 || at.Location() != time.UTC || at.Truncate(time.Millisecond) != at {
		t.Errorf("the token is of %s: %v", at, err)
	}
	for name, der := range map[string][]byte{
		"digest": answer(t, "sha512.tsr"), "refused": answer(t, "refused.tsr"), "empty": nil, "cut": good[:len(good)-1], "longer": append(good[:len(good):len(good)], 0),
		"large": make([]byte, maxStamp+1),
	} {
		if _, err := readStamp(der, []byte(stamped)); err == nil {
			t.Errorf("%s passes", name)
		}
	}
	if _, err := readStamp(good, []byte("another head\n")); err == nil {
		t.Error("a token of something else passes")
	}
}

func FuzzStamp(f *testing.F) {
	f.Add(answer(f, "granted.tsr"))
	f.Add(answer(f, "refused.tsr"))
	f.Fuzz(func(t *testing.T, der []byte) {
		if at, err := readStamp(der, []byte(stamped)); err == nil && at.IsZero() {
			t.Error("a token without a time passes")
		}
	})
}
