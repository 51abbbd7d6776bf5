package sshkey_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/writ-automation/writ/adapters/secrets/sshkey"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
)

const phrase = "correct horse: battery!"

// do runs a program and returns its output.
func do(t testing.TB, program string, args ...string) string {
	t.Helper()
	var errs bytes.Buffer
	c := exec.Command(program, args...)
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", program, args, err, &errs)
	}
	return string(out)
}

func read(t testing.TB, path string) secret.Text {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return secret.Text(b)
}

// public returns the public half of a private key, computed by ssh-keygen.
func public(t testing.TB, private secret.Text, passphrase string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, []byte(private.Reveal()), 0o600); err != nil {
		t.Fatal(err)
	}
	f := strings.Fields(do(t, "ssh-keygen", "-y", "-P", passphrase, "-f", path))
	return f[0] + " " + f[1]
}

// kinds are ssh-keygen arguments for keys of every kind and format.
func kinds() map[string][]string {
	return map[string][]string{
		"ed25519": {"-t", "ed25519"}, "rsa": {"-t", "rsa", "-b", "2048"}, "ecdsa 256": {"-t", "ecdsa", "-b", "256"},
		"ecdsa 384": {"-t", "ecdsa", "-b", "384"}, "ecdsa 521": {"-t", "ecdsa", "-b", "521"},
		"rsa pem": {"-t", "rsa", "-b", "2048", "-m", "PEM"}, "ecdsa pem": {"-t", "ecdsa", "-m", "PEM"},
		"rsa pkcs8": {"-t", "rsa", "-b", "2048", "-m", "PKCS8"}, "ecdsa pkcs8": {"-t", "ecdsa", "-m", "PKCS8"},
		"ed25519 cbc": {"-t", "ed25519", "-Z", "aes256-cbc"},
	}
}

func TestWhatSSHKeygenWrites(t *testing.T) {
	t.Parallel()
	for what, args := range kinds() {
		for _, with := range []string{"", phrase} {
			t.Run(what+map[bool]string{true: " encrypted"}[with != ""], func(t *testing.T) {
				t.Parallel()
				path := filepath.Join(t.TempDir(), "key")
				do(t, "ssh-keygen", append(args, "-q", "-C", "a comment", "-a", "1", "-N", with, "-f", path)...)
				check(t, read(t, path), secret.Text(with))
			})
		}
	}
}

// TestWhatOpenSSLWrites uses the formats that ssh-keygen reads but does not write.
func TestWhatOpenSSLWrites(t *testing.T) {
	t.Parallel()
	genpkey := func(args ...string) []string { return append([]string{"genpkey"}, args...) }
	for what, c := range map[string]struct {
		make []string
		seal []string // of pkcs8
	}{
		"ed25519":         {make: genpkey("-algorithm", "ed25519")},
		"ed25519 aes-128": {genpkey("-algorithm", "ed25519"), []string{"-v2", "aes-128-cbc"}},
		"rsa 3des":        {genpkey("-algorithm", "rsa"), []string{"-v2", "des3", "-v2prf", "hmacWithSHA1"}},
		"ecdsa aes-192": {genpkey("-algorithm", "ec", "-pkeyopt", "ec_paramgen_curve:P-384"),
			[]string{"-v2", "aes-192-cbc", "-v2prf", "hmacWithSHA512", "-iter", "7"}},
		"ecdsa scrypt": {genpkey("-algorithm", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
			[]string{"-v2", "aes-256-cbc", "-scrypt"}},
		"ecdsa sec1":       {make: []string{"ecparam", "-name", "prime256v1", "-genkey", "-noout"}},
		"ecdsa parameters": {make: []string{"ecparam", "-name", "prime256v1", "-genkey", "-noout"}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "key")
			do(t, "openssl", append(c.make, "-out", path)...)
			if c.seal == nil {
				check(t, read(t, path), "")
				return
			}
			sealed := path + ".sealed"
			do(t, "openssl", append([]string{"pkcs8", "-topk8", "-in", path, "-out", sealed, "-passout", "pass:" + phrase},
				c.seal...)...)
			check(t, read(t, sealed), phrase)
		})
	}
}

// check unlocks a key as written and as pasted, and compares the result with what ssh-keygen reads.
func check(t *testing.T, private, passphrase secret.Text) {
	t.Helper()
	r := sshkey.New()
	want := ""
	crlf := secret.Text(strings.ReplaceAll(private.Reveal(), "\n", "\r\n"))
	cut := secret.Text("\ufeff\n " + strings.TrimRight(private.Reveal(), "\n"))
	forms := []secret.Text{private, crlf, cut}
	if passphrase != "" { // the key derivation is slow
		forms = []secret.Text{secret.Text(strings.TrimRight(crlf.Reveal(), "\r\n"))}
	}
	for _, form := range forms {
		got, err := r.Unlock(form, passphrase)
		if err != nil {
			t.Fatal(err)
		}
		if want == "" {
			want = public(t, got.PrivateKey, "")
			if strings.Contains(private.Reveal(), "OPENSSH") && want != public(t, private, passphrase.Reveal()) {
				t.Fatal("another key came out")
			}
		}
		if has := public(t, got.PrivateKey, ""); has != want {
			t.Fatalf("%q becomes %s", form[:1].Reveal(), has)
		}
	}
	if passphrase == "" {
		if got, err := r.Unlock(private, "not needed"); err != nil || public(t, got.PrivateKey, "") != want {
			t.Fatalf("a passphrase too much: %v", err)
		}
		return
	}
	refused(t, private, "", "passphrase")
	refused(t, private, "another", "passphrase")
}

// refused expects an Invalid fault that names a member and contains nothing of either text.
func refused(t *testing.T, private, passphrase secret.Text, member string) {
	t.Helper()
	key, err := sshkey.New().Unlock(private, passphrase)
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != fault.Invalid || len(f.Fields) != 1 || f.Fields[0].Location != member ||
		key != (secrets.Key{}) {
		t.Fatalf("got %v for %s", err, member)
	}
	for _, s := range []secret.Text{private, passphrase} {
		if s != "" && strings.Contains(err.Error(), s.Reveal()) {
			t.Fatalf("%v tells a secret", err)
		}
	}
}

func TestWhatIsNoPrivateKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "key")
	do(t, "ssh-keygen", "-q", "-t", "ed25519", "-N", phrase, "-f", path)
	odd := filepath.Join(dir, "odd")
	do(t, "ssh-keygen", "-q", "-t", "ed25519", "-N", phrase, "-Z", "chacha20-poly1305@openssh.com", "-f", odd)
	curve, small, old := filepath.Join(dir, "curve"), filepath.Join(dir, "small"), filepath.Join(dir, "old")
	do(t, "openssl", "genpkey", "-algorithm", "ec", "-pkeyopt", "ec_paramgen_curve:P-224", "-out", curve)
	do(t, "openssl", "genrsa", "-out", small, "512")
	do(t, "openssl", "pkcs8", "-topk8", "-in", curve, "-v1", "PBE-SHA1-3DES", "-out", old, "-passout", "pass:"+phrase)
	x25519 := filepath.Join(dir, "x25519")
	do(t, "openssl", "genpkey", "-algorithm", "x25519", "-out", x25519)
	whole := read(t, path).Reveal()
	lines := strings.Split(whole, "\n")
	for what, private := range map[string]secret.Text{
		"nothing": "", "blanks": " \r\n", "text": "a key", "a public key": read(t, path+".pub"),
		"half":                     secret.Text(strings.Join(lines[:3], "\n")),
		"a curve that ssh has not": read(t, curve), "a small one": read(t, small), "an old encryption": read(t, old),
		"for exchange alone": read(t, x25519),
		"an odd cipher":      read(t, odd), "a large text": secret.Text(strings.Repeat("x", 64<<10)),
		"a certificate":  "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
		"an empty block": "-----BEGIN OPENSSH PRIVATE KEY-----\n-----END OPENSSH PRIVATE KEY-----\n",
		"empty pkcs8":    "-----BEGIN ENCRYPTED PRIVATE KEY-----\n-----END ENCRYPTED PRIVATE KEY-----\n",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			refused(t, private, phrase, "private_key")
		})
	}
	refused(t, secret.Text(whole), secret.Text(strings.Repeat("p", 5<<10)), "passphrase")
}

func FuzzUnlock(f *testing.F) {
	dir := f.TempDir()
	for i, args := range [][]string{{"-t", "ed25519"}, {"-t", "ecdsa", "-m", "PEM"}, {"-t", "ecdsa", "-m", "PKCS8"}} {
		for _, with := range []string{"", phrase} {
			path := filepath.Join(dir, string(rune('a'+i))+map[bool]string{true: "x"}[with != ""])
			do(f, "ssh-keygen", append(args, "-q", "-a", "1", "-N", with, "-f", path)...)
			f.Add(read(f, path).Reveal(), with)
		}
	}
	f.Fuzz(func(t *testing.T, private, passphrase string) {
		got, err := sshkey.New().Unlock(secret.Text(private), secret.Text(passphrase))
		if err != nil {
			if !fault.Is(err, fault.Invalid) {
				t.Fatalf("fails with %v", err)
			}
			return
		}
		again, err := sshkey.New().Unlock(got.PrivateKey, "")
		if err != nil || again.PrivateKey == "" {
			t.Fatalf("what came out is not read again: %v", err)
		}
	})
}
