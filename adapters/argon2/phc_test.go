package argon2

import (
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/writ-automation/writ/ports/identity"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// vectors were created with the command line of the reference implementation (version 20171227); the first four are
// also in its own tests.
func vectors() map[string]identity.Password {
	return map[string]identity.Password{
		"$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4":   "password",
		"$argon2id$v=19$m=256,t=2,p=2$c29tZXNhbHQ$bQk8UB/VmZZF4Oo79iDXuL5/0ttZwg2f/5U52iv1cDc":   "password",
		"$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc": "password",
		"$argon2id$v=19$m=65536,t=2,p=1$ZGlmZnNhbHQ$vfMrBczELrFdWP0ZsfhWsRPaHppYdP3MVEMIVlqoFBw": "password",
		"$argon2id$v=19$m=4096,t=3,p=4$c29tZXNhbHQ$OZF7JIt4K125cDCDw0lKQ+6/Okf5PkD/":             "password",
		"$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHRzYWx0c2FsdA$iPOQ5f2O21FsjnBvo1AiFcDuSXciCnKUrXFO+yfgNoM": "correct " +
			"horse battery",
		"$argon2id$v=19$m=19456,t=2,p=1$MDEyMzQ1Njc4OWFiY2RlZg$wZNBy23Jkd6MD7CIT7A3zQLgP8CJkNeR9tHqJkCkwF8": "pässwörd ünd " +
			"möhr",
	}
}

func TestVectors(t *testing.T) {
	t.Parallel()
	x := New()
	for hash, password := range vectors() {
		ok, outdated, err := x.Verify(t.Context(), password, hash)
		if !ok || err != nil {
			t.Errorf("%s: %v, %v", hash, ok, err)
		}
		if want := !strings.Contains(hash, "m=19456,t=2,p=1"); outdated != want {
			t.Errorf("%s: outdated is %v", hash, outdated)
		}
		if ok, outdated, err := x.Verify(t.Context(), password+"x", hash); ok || outdated || err != nil {
			t.Errorf("%s of another password: %v, %v, %v", hash, ok, outdated, err)
		}
		if h, err := parse(hash); err != nil || h.String() != hash {
			t.Errorf("%s is written as %s: %v", hash, h, err)
		}
	}
}

const sample = "$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHRzYWx0c2FsdA$iPOQ5f2O21FsjnBvo1AiFcDuSXciCnKUrXFO+yfgNoM"

// TestTampered changes one hash in every way that must not be accepted as another form of it.
func TestTampered(t *testing.T) {
	t.Parallel()
	x := New()
	refused := map[string]string{
		"another algorithm":        strings.Replace(sample, "argon2id", "argon2i", 1),
		"upper case":               strings.ToUpper(sample),
		"an older version":         strings.Replace(sample, "v=19", "v=16", 1),
		"no version":               strings.Replace(sample, "$v=19", "", 1),
		"a longer version":         strings.Replace(sample, "v=19", "v=019", 1),
		"other order":              strings.Replace(sample, "m=19456,t=2", "t=2,m=19456", 1),
		"a key id":                 strings.Replace(sample, "p=1", "p=1,keyid=YQ", 1),
		"no threads":               strings.Replace(sample, ",p=1", "", 1),
		"gigabytes":                strings.Replace(sample, "m=19456", "m=4194304", 1),
		"the most that fits":       strings.Replace(sample, "m=19456", "m=4294967295", 1),
		"more than fits":           strings.Replace(sample, "m=19456", "m=18446744073709571072", 1),
		"no memory":                strings.Replace(sample, "m=19456", "m=0", 1),
		"memory below the threads": strings.Replace(sample, "m=19456,t=2,p=1", "m=63,t=2,p=8", 1),
		"a minute":                 strings.Replace(sample, "t=2", "t=4000000000", 1),
		"no passes":                strings.Replace(sample, "t=2", "t=0", 1),
		"many threads":             strings.Replace(sample, "p=1", "p=255", 1),
		"wrapped threads":          strings.Replace(sample, "p=1", "p=257", 1),
		"a sign":                   strings.Replace(sample, "t=2", "t=+2", 1),
		"minus":                    strings.Replace(sample, "t=2", "t=-2", 1),
		"a zero in front":          strings.Replace(sample, "t=2", "t=02", 1),
		"hexadecimal":              strings.Replace(sample, "t=2", "t=0x2", 1),
		"a space":                  strings.Replace(sample, "t=2", "t= 2", 1),
		"padding":                  sample + "=",
		"other alphabet":           strings.Replace(sample, "+yf", "-yf", 1),
		"a line break":             sample[:60] + "\n" + sample[60:],
		"the end":                  sample + "\n",
		"loose bits":               sample[:len(sample)-1] + "N",
		"a short salt":             strings.Replace(sample, "c2FsdHNhbHRzYWx0c2FsdA", "c2FsdHM", 1),
		"no salt":                  strings.Replace(sample, "c2FsdHNhbHRzYWx0c2FsdA", "", 1),
		"a short key":              sample[:strings.LastIndex(sample, "$")+6],
		"no key":                   sample[:strings.LastIndex(sample, "$")+1],
		"no key at all":            sample[:strings.LastIndex(sample, "$")],
		"one part more":            sample + "$YWJjZGVmZ2hpamtsbW5vcA",
		"in front":                 "x" + sample,
		"a long key":               sample + strings.Repeat("A", 60),
		"a long string":            sample + strings.Repeat("A", 1<<20),
		"in clear":                 "correct horse battery",
		"bcrypt":                   "$2a$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy",
		"a space alone":            " ",
	}
	for what, hash := range refused {
		if hash == sample {
			t.Errorf("%s is no change", what)
		}
		ok, outdated, err := x.Verify(t.Context(), "correct horse battery", hash)
		if ok || outdated || err == nil || err.Error() != errForm.Error() {
			t.Errorf("%s: %v, %v, %v", what, ok, outdated, err)
		}
	}
	for what, hash := range map[string]string{
		"another salt": strings.Replace(sample, "c2Fs", "c2Ft", 1), "another key": strings.Replace(sample, "iPOQ", "jPOQ", 1),
		"other passes":  strings.Replace(sample, "t=2", "t=1", 1),
		"other memory":  strings.Replace(sample, "19456", "19448", 1),
		"a shorter key": sample[:len(sample)-11],
	} {
		if ok, outdated, err := x.Verify(t.Context(), "correct horse battery", hash); ok || outdated || err != nil {
			t.Errorf("%s: %v, %v, %v", what, ok, outdated, err)
		}
	}
}

// FuzzParse: a parsed hash is within the limits and survives a round trip.
func FuzzParse(f *testing.F) {
	for hash := range vectors() {
		f.Add(hash)
	}
	f.Add("$argon2id$v=19$m=65536,t=8,p=8$" + strings.Repeat("A", 86) + "$" + strings.Repeat("A", 86))
	f.Add("$argon2id$v=19$m=99999999999,t=1,p=1$$")
	f.Fuzz(func(t *testing.T, s string) {
		h, err := parse(s)
		if err != nil {
			if h.salt != nil && h.key != nil {
				t.Errorf("%q is refused and read", s)
			}
			return
		}
		if h.String() != s {
			t.Errorf("%q is written as %q", s, h)
		}
		if h.memory < 8 || h.memory > maxMemory || h.passes < 1 || h.passes > maxPasses || h.threads < 1 ||
			h.threads > maxThreads ||
			len(h.salt) < minSalt || len(h.salt) > maxSalt || len(h.key) < minKey || len(h.key) > maxKey || len(s) > maxString {
			t.Errorf("%q is out of bounds", s)
		}
	})
}
