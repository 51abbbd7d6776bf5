package sealer_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/writ-automation/writ/adapters/secrets/sealer"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/scheduling"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
)

var _ scheduling.Sealer = (*sealer.Sealer)(nil)

// key returns the nth key of the tests in base64.
func key(n byte) string { return base64.StdEncoding.EncodeToString(raw(n)) }

func raw(n byte) []byte { return bytes.Repeat([]byte{n ^ 0xa5}, 32) }

// with returns a sealer with the keys, the current one first.
func with(t *testing.T, keys ...byte) *sealer.Sealer {
	t.Helper()
	var lines []string
	for _, n := range keys {
		lines = append(lines, key(n))
	}
	s, err := sealer.Open(sealer.KeySource{Text: secret.Text(strings.Join(lines, "\n"))})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func seal(t *testing.T, s *sealer.Sealer, record, text string) []byte {
	t.Helper()
	sealed, err := s.Seal(t.Context(), record, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

// opens checks that a sealed text opens to the original.
func opens(t *testing.T, s *sealer.Sealer, record string, sealed []byte, want string) {
	t.Helper()
	plain, err := s.Open(t.Context(), record, sealed)
	if err != nil || string(plain) != want {
		t.Errorf("%q, %v, want %q", plain, err, want)
	}
}

// refused checks for an Internal fault that contains nothing of the text.
func refused(t *testing.T, s *sealer.Sealer, record string, sealed []byte, text string) {
	t.Helper()
	plain, err := s.Open(t.Context(), record, sealed)
	if plain != nil || !fault.Is(err, fault.Internal) || secrets.KeyLost.Is(err) || strings.Contains(err.Error(), text) {
		t.Errorf("%q, %v", plain, err)
	}
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	s := with(t, 1, 2)
	rapid.Check(t, func(t *rapid.T) {
		record := rapid.StringN(1, 80, -1).Draw(t, "record")
		plain := rapid.SliceOfN(rapid.Byte(), 0, 2000).Draw(t, "plain")
		kept := bytes.Clone(plain)
		sealed, err := s.Seal(context.Background(), record, plain)
		if err != nil || !bytes.Equal(plain, kept) {
			t.Fatalf("%v", err)
		}
		if len(plain) >= 4 && bytes.Contains(sealed, plain) {
			t.Fatal("the text is in its sealed form")
		}
		kept = bytes.Clone(sealed)
		got, err := s.Open(context.Background(), record, sealed)
		if err != nil || !bytes.Equal(got, plain) || !bytes.Equal(sealed, kept) {
			t.Fatalf("%q, %v", got, err)
		}
		if other, err := s.Open(context.Background(), record+"x", sealed); err == nil || other != nil {
			t.Fatalf("it opened for another record: %q", other)
		}
	})
}

func TestForm(t *testing.T) {
	t.Parallel()
	s := with(t, 1)
	a, b := seal(t, s, "crd_1", "text"), seal(t, s, "crd_1", "text")
	// The version has 3 bytes, the key's id 8, the data key 32 and the text 4; nonces have 12 and tags 16.
	if !bytes.HasPrefix(a, []byte{'W', 'S', 1}) || len(a) != 3+8+32+28+4+28 {
		t.Errorf("%d bytes: %x", len(a), a)
	}
	// Nothing random is used twice: after the id, two sealed texts share no eight bytes.
	for i := 11; i+8 <= len(a); i++ {
		if bytes.Contains(b[11:], a[i:i+8]) {
			t.Errorf("both hold %x", a[i:i+8])
		}
	}
	id, err := sealer.KeyIDOf(a)
	if err != nil || id != s.KeyID() || id != fmt.Sprintf("%x", a[3:11]) || len(id) != 16 {
		t.Errorf("%q, %q: %v", id, s.KeyID(), err)
	}
	// The literal id makes sure that it never changes.
	if want := "7cd2306675b41942"; id != want {
		t.Errorf("the key's id is %s, want %s", id, want)
	}
	if _, err := sealer.KeyIDOf(a[:len(a)-5]); !fault.Is(err, fault.Internal) {
		t.Errorf("%v", err)
	}
	if sealed, err := s.Seal(t.Context(), "", []byte("text")); err == nil || sealed != nil {
		t.Error("a text was sealed for no record")
	}
}

// TestKeptForm opens a text that another implementation sealed: stored texts have to open forever.
func TestKeptForm(t *testing.T) {
	t.Parallel()
	sealed, err := base64.StdEncoding.DecodeString("V1MBfNIwZnW0GUIAAQIDBAUGBwgJCgs5XqAzUbDVHCARoMmnxXddvA5h2pxS" +
		"IUlqeuqRJfuFiMow2kcVIkZi25Llm89Q7HQMDQ4PEBESExQVFhfwiwesGgTOYVy7yiLlYcPXUY4tfqpX2Rg=")
	if err != nil {
		t.Fatal(err)
	}
	opens(t, with(t, 1), "crd_1", sealed, "hunter22")
}

// Keeps T22.
func TestSwappedBetweenRecords(t *testing.T) {
	t.Parallel()
	s := with(t, 1)
	a, b := seal(t, s, "crd_1", "one"), seal(t, s, "crd_2", "two")
	opens(t, s, "crd_1", a, "one")
	opens(t, s, "crd_2", b, "two")
	refused(t, s, "crd_1", b, "two")
	refused(t, s, "crd_2", a, "one")
	refused(t, s, "", a, "one")
	// Parts of different sealed texts cannot be combined, not even for the same record.
	c := seal(t, s, "crd_1", "six")
	const envelope = 11 + 60
	for _, other := range [][]byte{b, c} {
		refused(t, s, "crd_1", slices.Concat(a[:envelope], other[envelope:]), "one")
		refused(t, s, "crd_1", slices.Concat(other[:envelope], a[envelope:]), "one")
	}
}

// Keeps T22.
func TestEveryBitCounts(t *testing.T) {
	t.Parallel()
	s := with(t, 1)
	sealed := seal(t, s, "crd_1", "hunter22")
	for i := range sealed {
		for bit := range 8 {
			bad := bytes.Clone(sealed)
			bad[i] ^= 1 << bit
			if i >= 3 && i < 11 {
				if _, err := s.Open(t.Context(), "crd_1", bad); !secrets.KeyLost.Is(err) {
					t.Errorf("byte %d of the key's id: %v", i, err)
				}
				continue
			}
			refused(t, s, "crd_1", bad, "hunter22")
		}
		refused(t, s, "crd_1", sealed[:i], "hunter22")
		refused(t, s, "crd_1", sealed[i+1:], "hunter22")
	}
	refused(t, s, "crd_1", append(bytes.Clone(sealed), 0), "hunter22")
	refused(t, s, "crd_1", nil, "hunter22")
	// A text of another key does not open under a known key's id.
	two := with(t, 2, 1)
	swapped := slices.Concat(sealed[:3], seal(t, two, "crd_1", "x")[3:11], sealed[11:])
	refused(t, two, "crd_1", swapped, "hunter22")
}

// Keeps T22.
func TestWrongKey(t *testing.T) {
	t.Parallel()
	one, two := with(t, 1), with(t, 2)
	sealed := seal(t, one, "crd_1", "text")
	_, err := two.Open(t.Context(), "crd_1", sealed)
	if !secrets.KeyLost.Is(err) || !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), one.KeyID()) {
		t.Errorf("%v", err)
	}
	if _, err := two.Rewrap(t.Context(), "crd_1", sealed); !secrets.KeyLost.Is(err) {
		t.Errorf("%v", err)
	}
}

func TestRetiredKeyAndRewrap(t *testing.T) {
	t.Parallel()
	old, both, fresh := with(t, 1), with(t, 2, 1), with(t, 2)
	sealed := seal(t, old, "crd_1", "text")
	opens(t, both, "crd_1", sealed, "text")
	if both.KeyID() != fresh.KeyID() || both.KeyID() == old.KeyID() {
		t.Errorf("%s, %s, %s", old.KeyID(), both.KeyID(), fresh.KeyID())
	}
	again, err := both.Rewrap(t.Context(), "crd_1", sealed)
	if err != nil {
		t.Fatal(err)
	}
	opens(t, fresh, "crd_1", again, "text")
	opens(t, both, "crd_1", again, "text")
	if _, err := old.Open(t.Context(), "crd_1", again); !secrets.KeyLost.Is(err) {
		t.Errorf("the retired key opens what was rewrapped: %v", err)
	}
	refused(t, both, "crd_2", again, "text")
	// A text is wrapped only once, and one that does not open is not wrapped.
	same, err := both.Rewrap(t.Context(), "crd_1", again)
	if err != nil || !bytes.Equal(same, again) {
		t.Errorf("%v", err)
	}
	for _, form := range [][]byte{sealed, again} {
		bad := bytes.Clone(form)
		bad[len(bad)-1] ^= 1
		for record, form := range map[string][]byte{"crd_1": bad, "crd_2": form} {
			if got, err := both.Rewrap(t.Context(), record, form); got != nil || !fault.Is(err, fault.Internal) {
				t.Errorf("%s: %v", record, err)
			}
		}
	}
}

// TestNoKeyIsPrinted formats a sealer in every way.
func TestNoKeyIsPrinted(t *testing.T) {
	t.Parallel()
	s := with(t, 1, 2)
	source := sealer.KeySource{Text: secret.Text(key(1))}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "pointer", s, "value", *s, "source", source)
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "pointer", s, "value", *s, "source", source)
	for _, v := range []any{s, *s, source, &source, []any{s}, map[string]any{"s": s}, struct{ S *sealer.Sealer }{s}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t"} {
			fmt.Fprintf(&log, verb+"\n", v)
		}
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		log.Write(b)
	}
	for n := range byte(3) {
		of := raw(n)[:4]
		for _, form := range []string{
			string(of), key(n)[:8], fmt.Sprintf("%x", of), fmt.Sprintf("%X", of), strings.Trim(fmt.Sprint(of), "[]"),
			strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%#v", of), "[]byte{"), "}"),
		} {
			if n > 0 && strings.Contains(log.String(), form) {
				t.Errorf("%q is printed: %s", form, log.String())
			}
		}
	}
	if got := fmt.Sprintf("%+v", s); got != "sealer with key "+s.KeyID()+" and 1 retired" {
		t.Error(got)
	}
}
