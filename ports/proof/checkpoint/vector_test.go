package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"github.com/writ-automation/writ/ports/proof/keys"
)

const (
	baseOrigin = "audit.example.org/in_test/e1"
	baseVKey   = "audit.example.org/in_test/e1+c2f7f880+AYqI4910CfGV/VLbLTy6XXLKZwm/HZQSG/N0iAG0D29c"
	baseNote   = "audit.example.org/in_test/e1\n3\nAhyHHnoGsro177QKmYxm/Z+UJdIVcfSTNuGRiXxvkoI=\n\n" +
		"— audit.example.org/in_test/e1 " +
		"wvf4gPYwDYJ9N1+JtbzMhvhJI1+GqrdVyp4sG14EcXvbV6K12oMJROqwIZ3p0wwbZATQipxIci1VSCeajMkTV8z27Ak=\n"
)

// signer makes the checkpoint key whose seed is 32 times this byte.
func signer(t testing.TB, seed byte) keys.Private {
	t.Helper()
	p, err := keys.FromSeed(bytes.Repeat([]byte{seed}, 32), keys.Checkpoint)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// public describes the key of a signer under the base origin, in use from the first entry on.
func public(t testing.TB, p keys.Private, change ...func(*keys.Key)) keys.Key {
	t.Helper()
	k, err := keys.NewKey(p.Public(), p.Use(), baseOrigin)
	if err != nil {
		t.Fatal(err)
	}
	k.Status = keys.Active
	for _, c := range change {
		c(&k)
	}
	return k
}

func ring(t testing.TB, list ...keys.Key) keys.Ring {
	t.Helper()
	r, err := keys.NewRing(list...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func mustSign(t testing.TB, b Body, signers ...keys.Signer) []byte {
	t.Helper()
	out, err := Sign(b, signers...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// head makes a body of this size with a root of its own for each salt.
func head(size int64, salt string) Body {
	return Body{Origin: baseOrigin, Size: size, Root: sha256.Sum256([]byte(salt))}
}

func refused(t testing.TB, err error, want keys.Code) {
	t.Helper()
	if keys.CodeOf(err) != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestBaseVectorByteForByte(t *testing.T) {
	t.Parallel()
	root, err := keys.ParseRoot("AhyHHnoGsro177QKmYxm/Z+UJdIVcfSTNuGRiXxvkoI=")
	if err != nil {
		t.Fatal(err)
	}
	p := signer(t, 1)
	if got := public(t, p).VKey; got != baseVKey {
		t.Errorf("vkey %s", got)
	}
	got := mustSign(t, Body{Origin: baseOrigin, Size: 3, Root: root}, p)
	if string(got) != baseNote {
		t.Fatalf("note\n%s\nwant\n%s", got, baseNote)
	}
	k, err := keys.FromVKey(baseVKey)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open([]byte(baseNote), ring(t, k), k.ID)
	if err != nil {
		t.Fatal(err)
	}
	if s.Size != 3 || s.Root != root || s.Origin != baseOrigin || !s.SignedBy(k.ID) || string(s.Bytes) != baseNote {
		t.Errorf("opened %+v", s)
	}
	v, err := note.NewVerifier(baseVKey)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := note.Open(got, note.VerifierList(v)); err != nil || len(n.Sigs) != 1 {
		t.Errorf("the library opens %+v: %v", n, err)
	}
}

func TestBodyRefuses(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"two lines":      baseOrigin + "\n3\n",
		"four lines":     baseOrigin + "\n3\nAhyHHnoGsro177QKmYxm/Z+UJdIVcfSTNuGRiXxvkoI=\nmore\n",
		"no end":         baseOrigin + "\n3\nAhyHHnoGsro177QKmYxm/Z+UJdIVcfSTNuGRiXxvkoI=",
		"leading zero":   baseOrigin + "\n03\nAhyHHnoGsro177QKmYxm/Z+UJdIVcfSTNuGRiXxvkoI=\n",
		"sign":           baseOrigin + "\n+3\nAhyHHnoGsro177QKmYxm/Z+UJdIVcfSTNuGRiXxvkoI=\n",
		"negative":       baseOrigin + "\n-3\nAhyHHnoGsro177QKmYxm/Z+UJdIVcfSTNuGRiXxvkoI=\n",
		"beyond 2^53":    baseOrigin + "\n9007199254740992\nAhyHHnoGsro177QKmYxm/Z+UJdIVcfSTNuGRiXxvkoI=\n",
		"no number":      baseOrigin + "\n\nAhyHHnoGsro177QKmYxm/Z+UJdIVcfSTNuGRiXxvkoI=\n",
		"short root":     baseOrigin + "\n3\nAhyHHg==\n",
		"url root":       baseOrigin + "\n3\nAhyHHnoGsro177QKmYxm_Z-UJdIVcfSTNuGRiXxvkoI=\n",
		"loose root":     baseOrigin + "\n3\nAhyHHnoGsro177QKmYxm/Z+UJdIVcfSTNuGRiXxvkoJ=\n",
		"empty tree":     baseOrigin + "\n0\nAhyHHnoGsro177QKmYxm/Z+UJdIVcfSTNuGRiXxvkoI=\n",
		"scheme":         "https://" + baseOrigin + "\n3\nAhyHHnoGsro177QKmYxm/Z+UJdIVcfSTNuGRiXxvkoI=\n",
		"space":          "a b/e1\n3\nAhyHHnoGsro177QKmYxm/Z+UJdIVcfSTNuGRiXxvkoI=\n",
		"plus":           "a+b/e1\n3\nAhyHHnoGsro177QKmYxm/Z+UJdIVcfSTNuGRiXxvkoI=\n",
		"no origin":      "\n3\nAhyHHnoGsro177QKmYxm/Z+UJdIVcfSTNuGRiXxvkoI=\n",
		"other alphabet": "аudit/e1\n3\nAhyHHnoGsro177QKmYxm/Z+UJdIVcfSTNuGRiXxvkoI=\n",
	} {
		if b, err := ParseBody(text); !keys.FormatInvalid.Is(err) {
			t.Errorf("%s: %+v, %v", name, b, err)
		}
	}
	empty := Body{Origin: baseOrigin, Root: sha256.Sum256(nil)}
	if _, err := Open(mustSign(t, empty, signer(t, 1)), ring(t, public(t, signer(t, 1)))); err != nil {
		t.Errorf("the empty tree: %v", err)
	}
}

func TestSignRefuses(t *testing.T) {
	t.Parallel()
	statement, err := keys.FromSeed(bytes.Repeat([]byte{9}, 32), keys.Statement)
	if err != nil {
		t.Fatal(err)
	}
	p := signer(t, 1)
	for name, c := range map[string]struct {
		body    Body
		signers []keys.Signer
		want    keys.Code
	}{
		"nobody":        {head(1, "a"), nil, keys.FormatInvalid},
		"one key twice": {head(1, "a"), []keys.Signer{p, p}, keys.FormatInvalid},
		"statement key": {head(1, "a"), []keys.Signer{statement}, keys.KeyUntrusted},
		"no key":        {head(1, "a"), []keys.Signer{keys.Private{}}, keys.KeyUntrusted},
		"bad origin":    {Body{Origin: "a b/c", Size: 1}, []keys.Signer{p}, keys.FormatInvalid},
		"negative":      {Body{Origin: baseOrigin, Size: -1}, []keys.Signer{p}, keys.FormatInvalid},
		"faulty":        {head(1, "a"), []keys.Signer{faulty{p}}, keys.SignatureInvalid},
	} {
		_, err := Sign(c.body, c.signers...)
		if keys.CodeOf(err) != c.want {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
}

// faulty is a signer whose memory failed.
type faulty struct{ keys.Private }

func (f faulty) Sign(msg []byte) ([]byte, error) {
	sig, err := f.Private.Sign(msg)
	if err == nil {
		sig[40] ^= 1
	}
	return sig, err
}
