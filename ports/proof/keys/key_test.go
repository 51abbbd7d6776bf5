package keys

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const baseVKey = "audit.example.org/in_test/e1+c2f7f880+AYqI4910CfGV/VLbLTy6XXLKZwm/HZQSG/N0iAG0D29c"

const baseOrigin = "audit.example.org/in_test/e1"

func private(t testing.TB, seed byte, use Use) Private {
	t.Helper()
	p, err := FromSeed(bytes.Repeat([]byte{seed}, 32), use)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func head(t testing.TB, seed byte) Key {
	t.Helper()
	k, err := NewKey(private(t, seed, Checkpoint).Public(), Checkpoint, baseOrigin)
	if err != nil {
		t.Fatal(err)
	}
	k.Status = Active
	return k
}

func text(t testing.TB, seed byte) Key {
	t.Helper()
	k, err := NewKey(private(t, seed, Statement).Public(), Statement, "")
	if err != nil {
		t.Fatal(err)
	}
	k.Status = Active
	return k
}

func TestBaseVector(t *testing.T) {
	t.Parallel()
	k := head(t, 1)
	if k.VKey != baseVKey {
		t.Errorf("vkey %s", k.VKey)
	}
	from, err := FromVKey(baseVKey)
	if err != nil || from != k {
		t.Errorf("from the vkey: %+v, %v", from, err)
	}
	if err := CheckID(k.ID); err != nil || k.Origin() != baseOrigin {
		t.Errorf("id %s, origin %s: %v", k.ID, k.Origin(), err)
	}
}

func TestVKeyHasOneForm(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]string{
		"empty":         "",
		"large hash":    strings.Replace(baseVKey, "c2f7f880", "C2F7F880", 1),
		"wrong hash":    strings.Replace(baseVKey, "c2f7f880", "c2f7f881", 1),
		"line break":    baseVKey[:60] + "\n" + baseVKey[60:],
		"trailing":      baseVKey + " ",
		"other name":    "x" + baseVKey,
		"private":       "PRIVATE+KEY+" + baseVKey,
		"no path":       "host+c2f7f880+AYqI4910CfGV/VLbLTy6XXLKZwm/HZQSG/N0iAG0D29c",
		"other version": strings.Replace(baseVKey, "+AYqI", "+BYqI", 1),
	} {
		if k, err := FromVKey(bad); !FormatInvalid.Is(err) {
			t.Errorf("%s: %+v, %v", name, k, err)
		}
	}
}

func TestOrigin(t *testing.T) {
	t.Parallel()
	got, err := Origin("audit.example.org:8443", "in_1", 2)
	if err != nil || got != "audit.example.org:8443/audit/in_1/e2" {
		t.Fatalf("%q, %v", got, err)
	}
	if n, err := EpochOf(got); err != nil || n != 2 {
		t.Errorf("epoch %d, %v", n, err)
	}
	for _, parts := range [][2]string{
		{"https://a", "in"}, {"a b", "in"}, {"a+b", "in"}, {"", "in"}, {"a", ""}, {"a", "x/y"}, {"a\n", "in"},
		{strings.Repeat("a", 300), "in"},
	} {
		if got, err := Origin(parts[0], parts[1], 1); !FormatInvalid.Is(err) {
			t.Errorf("%q: %q, %v", parts, got, err)
		}
	}
	if _, err := Origin("a", "in", 0); !FormatInvalid.Is(err) {
		t.Errorf("epoch 0: %v", err)
	}
	for _, bad := range []string{"a/b", "a/e", "a/e01", "a/e0", "a/x1", ""} {
		if n, err := EpochOf(bad); !FormatInvalid.Is(err) {
			t.Errorf("%q: %d, %v", bad, n, err)
		}
	}
}

func TestPublicKeyHasOneForm(t *testing.T) {
	t.Parallel()
	good := head(t, 1).SPKI
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(ec.Public())
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]string{
		"empty": "", "text before": "x\n" + good, "text behind": good + "x", "twice": good + good,
		"carriage returns": strings.ReplaceAll(good, "\n", "\r\n"),
		"other type":       strings.ReplaceAll(good, "PUBLIC", "PRIVATE"),
		"header":           strings.Replace(good, "KEY-----\n", "KEY-----\nA: b\n\n", 1),
		"no end":           strings.TrimSuffix(good, "\n"),
		"other algorithm":  string(pem.EncodeToMemory(&pem.Block{Type: publicType, Bytes: der})),
		"too large":        strings.Repeat("\n", maxPEM) + good,
	} {
		k := head(t, 1)
		k.SPKI = bad
		if err := k.Check(); !FormatInvalid.Is(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestStricter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		draw := func(name string) Key {
			k := head(t, 1)
			k.Status = rapid.SampledFrom([]Status{Active, Retired, Revoked}).Draw(rt, name+" status")
			k.FirstSize = rapid.Int64Range(0, 10).Draw(rt, name+" first")
			switch n := k.FirstSize + rapid.Int64Range(0, 20).Draw(rt, name+" end"); k.Status {
			case Retired:
				k.LastSize = n
			case Revoked:
				k.TrustedSize = n
			}
			return k
		}
		a, b := draw("a"), draw("b")
		size := rapid.Int64Range(0, 40).Draw(rt, "size")
		both := a.Stricter(b)
		if got, want := both.Admit(size) == nil, a.Admit(size) == nil && b.Admit(size) == nil; got != want {
			rt.Fatalf("size %d: admitted %v, by %+v and %+v both %v", size, got, a, b, want)
		}
		if got := b.Stricter(a); (got.Admit(size) == nil) != (both.Admit(size) == nil) {
			rt.Fatalf("%+v and %+v differ by their order", a, b)
		}
	})
	ahead := head(t, 1)
	ahead.Status = Next
	if got := ahead.Stricter(head(t, 1)); got != head(t, 1) {
		t.Errorf("a key that came into use is %+v", got)
	}
}

func TestRing(t *testing.T) {
	t.Parallel()
	a, b := head(t, 1), text(t, 2)
	r, err := NewRing(a, b)
	if err != nil {
		t.Fatal(err)
	}
	msg := []byte("message")
	sig, err := private(t, 2, Statement).Sign(msg)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Verify(b.ID, msg, sig); err != nil {
		t.Error(err)
	}
	if err := r.Verify(b.ID, []byte("other"), sig); !SignatureInvalid.Is(err) {
		t.Error(err)
	}
	if err := r.Verify(a.ID, msg, sig); !KeyUntrusted.Is(err) {
		t.Errorf("a checkpoint key verifies a statement: %v", err)
	}
	if err := (Ring{}).Verify(b.ID, msg, sig); !KeyUntrusted.Is(err) {
		t.Error(err)
	}
	both := text(t, 1) // the public key of a, for the other use
	many := make([]Key, maxKeys+1)
	for name, list := range map[string][]Key{"twice": {a, a}, "two uses": {a, both}, "zero key": {{}}, "too many": many} {
		if _, err := NewRing(list...); !FormatInvalid.Is(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	later, err := a.Under("audit.example.org/in_test/e2")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewRing(a, later); err != nil {
		t.Errorf("one key in two epochs: %v", err)
	}
}

// TestOpenSSLReadsTheKeys makes openssl read both forms of a key and verify a signature.
func TestOpenSSLReadsTheKeys(t *testing.T) {
	t.Parallel()
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Fatalf("openssl is missing; install the package openssl: %v", err)
	}
	p, err := Generate(Checkpoint)
	if err != nil {
		t.Fatal(err)
	}
	k, err := NewKey(p.Public(), Checkpoint, baseOrigin)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := MarshalPrivate(p)
	if err != nil {
		t.Fatal(err)
	}
	sig, err := p.Sign([]byte("message"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, data := range map[string][]byte{"pub.pem": []byte(k.SPKI), "key.pem": secret, "msg": []byte("message"),
		"sig": sig} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) []byte {
		cmd := exec.CommandContext(t.Context(), openssl, args...)
		cmd.Dir = dir
		out, err := cmd.Output()
		if err != nil {
			t.Errorf("openssl %v: %v\n%s", args, err, out)
		}
		return out
	}
	run("pkeyutl", "-verify", "-pubin", "-inkey", "pub.pem", "-rawin", "-in", "msg", "-sigfile", "sig")
	if out := run("pkey", "-in", "key.pem", "-pubout"); string(out) != k.SPKI {
		t.Errorf("the public half of the private key is\n%swant\n%s", out, k.SPKI)
	}
	if der := run("pkey", "-pubin", "-in", "pub.pem", "-outform", "DER"); kid(der) != k.ID {
		t.Errorf("the id is %s, openssl's key has %s", k.ID, kid(der))
	}
	if got := run("pkeyutl", "-sign", "-inkey", "key.pem", "-rawin", "-in", "msg"); !bytes.Equal(got, sig) {
		t.Errorf("openssl signs %s", base64.StdEncoding.EncodeToString(got))
	}
}

func BenchmarkVerify(b *testing.B) {
	k, p := text(b, 2), private(b, 2, Statement)
	r, err := NewRing(k)
	if err != nil {
		b.Fatal(err)
	}
	sig, err := p.Sign([]byte("message"))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := r.Verify(k.ID, []byte("message"), sig); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPrivateSign(b *testing.B) {
	p := private(b, 2, Statement)
	for b.Loop() {
		if _, err := p.Sign([]byte("message")); err != nil {
			b.Fatal(err)
		}
	}
}
