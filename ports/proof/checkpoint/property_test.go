package checkpoint

import (
	"bytes"
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"
	"pgregory.net/rapid"

	"github.com/writ-automation/writ/ports/proof/keys"
)

// TestNoMutatedByteVerifies changes each byte of the base note to each other value.
func TestNoMutatedByteVerifies(t *testing.T) {
	t.Parallel()
	trusted := ring(t, public(t, signer(t, 1)))
	for i := range len(baseNote) {
		for _, x := range []byte{0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xff} {
			bad := []byte(baseNote)
			bad[i] ^= x
			if s, err := Open(bad, trusted); err == nil {
				t.Fatalf("byte %d xor %#x opens as %+v", i, x, s)
			} else if keys.CodeOf(err) == "" {
				t.Fatalf("byte %d xor %#x: an error without a code: %v", i, x, err)
			}
		}
	}
	for i := range len(baseNote) {
		if _, err := Open([]byte(baseNote[:i]), trusted); err == nil {
			t.Fatalf("the first %d bytes open", i)
		}
	}
}

func TestNotesRoundTripAndResistEdits(t *testing.T) {
	t.Parallel()
	p := signer(t, 1)
	trusted := ring(t, public(t, p))
	rapid.Check(t, func(rt *rapid.T) {
		b := head(rapid.Int64Range(1, keys.MaxInteger).Draw(rt, "size"), rapid.String().Draw(rt, "salt"))
		made := mustSign(t, b, p)
		s, err := Open(made, trusted)
		if err != nil || s.Body != b {
			rt.Fatalf("%+v, %v", s, err)
		}
		at := rapid.IntRange(0, len(made)).Draw(rt, "at")
		cut := rapid.IntRange(0, min(4, len(made)-at)).Draw(rt, "cut")
		put := rapid.SliceOfN(rapid.Byte(), 0, 6).Draw(rt, "put")
		edited := append(append(bytes.Clone(made[:at]), put...), made[at+cut:]...)
		if s, err := Open(edited, trusted); err == nil && (s.Body != b || len(s.By) != 1) {
			rt.Fatalf("%q opens as %+v", edited, s)
		}
		agree(rt, edited)
	})
}

// agree compares an accepted note with the library, which must open the same text with the same signature. The
// library accepts more, never less.
func agree(t interface{ Fatalf(string, ...any) }, data []byte) {
	k, err := keys.FromVKey(baseVKey)
	if err != nil {
		t.Fatalf("%v", err)
	}
	trusted, err := keys.NewRing(k)
	if err != nil {
		t.Fatalf("%v", err)
	}
	v, err := note.NewVerifier(baseVKey)
	if err != nil {
		t.Fatalf("%v", err)
	}
	n, libErr := note.Open(data, note.VerifierList(v))
	s, err := Open(data, trusted)
	if err != nil {
		if keys.CodeOf(err) == "" {
			t.Fatalf("an error without a code: %v", err)
		}
		return
	}
	text, textErr := s.Text()
	if libErr != nil || textErr != nil || n.Text != text || len(n.Sigs) != 1 {
		t.Fatalf("%q: opened here as %+v, by the library as %+v, %v", data, s, n, libErr)
	}
}

func FuzzNote(f *testing.F) {
	for _, s := range []string{
		baseNote, baseNote + "— stranger.example/x AAAAAQEBAQE=\n", strings.ReplaceAll(baseNote, "\n", "\r\n"),
		strings.Replace(baseNote, "\n3\n", "\n03\n", 1), "\n\n— a AAAAAQEBAQE=\n", "",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		agree(t, data)
		n, err := Parse(data)
		if err != nil {
			if !keys.FormatInvalid.Is(err) {
				t.Fatalf("%v", err)
			}
			return
		}
		if text, err := n.Text(); err != nil || !strings.HasPrefix(string(data), text+"\n") {
			t.Fatalf("%q is not written as it was read: %q, %v", data, text, err)
		}
	})
}

// TestOpenSSLVerifiesTheNote follows the recipe that readers get: the text before the empty line, the last 64 bytes of
// the line, the key as PEM.
func TestOpenSSLVerifiesTheNote(t *testing.T) {
	t.Parallel()
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Fatalf("openssl is missing; install the package openssl: %v", err)
	}
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	text, line, _ := strings.Cut(baseNote, "\n\n")
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(line[strings.LastIndexByte(line, ' ')+1:]))
	if err != nil {
		t.Fatal(err)
	}
	key := write("key.pem", []byte(public(t, signer(t, 1)).SPKI))
	sig := write("sig", raw[len(raw)-64:])
	verify := func(body string) ([]byte, error) {
		return exec.CommandContext(t.Context(), openssl, "pkeyutl", "-verify", "-pubin", "-inkey", key, "-rawin", "-in", body,
			"-sigfile", sig).CombinedOutput()
	}
	if out, err := verify(write("body", []byte(text+"\n"))); err != nil ||
		!strings.Contains(string(out), "Verified Successfully") {
		t.Errorf("openssl refuses the note: %v\n%s", err, out)
	}
	if out, err := verify(write("other", []byte(strings.Replace(text, "\n3\n", "\n4\n", 1)+"\n"))); err == nil {
		t.Errorf("openssl verifies another text:\n%s", out)
	}
}

func BenchmarkSign(b *testing.B) {
	p, h := signer(b, 1), head(100_000, "a")
	for b.Loop() {
		mustSign(b, h, p)
	}
}

func BenchmarkOpen(b *testing.B) {
	trusted := ring(b, public(b, signer(b, 1)))
	for b.Loop() {
		if _, err := Open([]byte(baseNote), trusted); err != nil {
			b.Fatal(err)
		}
	}
}
