package leaf

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// text draws a text without U+0000, which may be empty.
func text() *rapid.Generator[string] {
	return rapid.Map(rapid.StringN(0, 40, 200), func(s string) string { return strings.ReplaceAll(s, "\x00", "\x01") })
}

func maybe(pattern string) *rapid.Generator[string] {
	return rapid.OneOf(rapid.Just(""), rapid.StringMatching(pattern))
}

func digest() *rapid.Generator[string] {
	return rapid.Map(rapid.SliceOfN(rapid.Byte(), 32, 32), base64.RawURLEncoding.EncodeToString)
}

// leaves draws leaves that have canonical bytes.
func leaves() *rapid.Generator[Leaf] {
	return rapid.Custom(func(t *rapid.T) Leaf {
		l := Leaf{
			Act: rapid.StringMatching(`[a-z]{1,8}(\.[a-z_]{1,8}){1,3}`).Draw(t, "act"),
			At:  At(time.UnixMicro(rapid.Int64Range(-62135596800000000, 253402300799999999).Draw(t, "at"))),
			Det: maybe(`sha256:[0-9a-f]{64}`).Draw(t, "det"),
			ID:  maybe(`aud_[0-9a-z]{1,26}`).Draw(t, "id"),
			Met: maybe(`[A-Z]{1,16}`).Draw(t, "met"),
			Out: rapid.SampledFrom([]string{Applied, Denied, Failed}).Draw(t, "out"),
			Req: text().Draw(t, "req"),
			Run: text().Draw(t, "run"),
			Sub: text().Draw(t, "sub"),
			Seq: rapid.Int64Range(1, MaxInt).Draw(t, "seq"),
		}
		if id := text().Draw(t, "object"); id != "" {
			l.Obj = rapid.StringMatching(`[a-z][a-z_]{0,9}/`).Draw(t, "kind") + id
		}
		copy(l.Prev[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "prev"))
		l.SD = rapid.SliceOfNDistinct(digest(), 0, 12, rapid.ID[string]).Draw(t, "sd")
		slices.Sort(l.SD)
		if len(l.SD) == 0 {
			l.SD = nil
		}
		return l
	})
}

func TestLeavesRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := leaves().Draw(t, "leaf")
		b, err := l.AppendTo(nil)
		if err != nil {
			t.Fatal(err)
		}
		held := string(b)
		got, err := Scan(b)
		if err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		clear(b)
		if diff := cmp.Diff(l, got); diff != "" {
			t.Fatal(diff)
		}
		again, err := got.AppendTo(nil)
		if err != nil || string(again) != held {
			t.Fatalf("%s is written as %s, %v", held, again, err)
		}
		if _, err := got.Time(); err != nil {
			t.Fatal(err)
		}
		var other map[string]any
		if err := json.Unmarshal(again, &other); err != nil || other["act"] != l.Act || l.Req != "" && other["req"] != l.Req {
			t.Fatalf("another reader has %v, %v", other, err)
		}
	})
}

// same fails the test if an altered leaf reads as the original.
func same(t interface{ Fatalf(string, ...any) }, original, altered []byte) {
	if bytes.Equal(original, altered) {
		return
	}
	if Hash(original) == Hash(altered) {
		t.Fatalf("%s and %s have one hash", original, altered)
	}
	l, err := Scan(altered)
	if err != nil {
		var e *Error
		if !errors.As(err, &e) || e.Code == "" || e.At < 0 || e.At > len(altered) || !cmp.Equal(l, Leaf{}) {
			t.Fatalf("refused with %#v and %#v", err, l)
		}
		return
	}
	if b, err := l.AppendTo(nil); err != nil || !bytes.Equal(b, altered) {
		t.Fatalf("%s was accepted and is written as %s, %v", altered, b, err)
	}
}

func TestMutationsAreNeverTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := leaves().Draw(t, "leaf")
		b, err := l.AppendTo(nil)
		if err != nil {
			t.Fatal(err)
		}
		at, c := rapid.IntRange(0, len(b)-1).Draw(t, "at"), rapid.Byte().Draw(t, "byte")
		replaced := slices.Clone(b)
		replaced[at] = c
		same(t, b, replaced)
		same(t, b, slices.Insert(slices.Clone(b), at, c))
		same(t, b, slices.Delete(slices.Clone(b), at, at+1))
		to := rapid.IntRange(at, len(b)).Draw(t, "to")
		same(t, b, slices.Delete(slices.Clone(b), at, to))
		same(t, b, slices.Insert(slices.Clone(b), at, b[at:to]...))
	})
}

// TestEveryByte alters each byte of a leaf with every key: each of its bits, and to characters with a meaning in
// JSON.
func TestEveryByte(t *testing.T) {
	t.Parallel()
	full := example(1)
	b, err := full.AppendTo(nil)
	if err != nil {
		t.Fatal(err)
	}
	accepted := 0
	for i, c := range b {
		others := []byte("\"\\,:{}[] 0aA-.\n\x00\xff")
		for bit := range 8 {
			others = append(others, c^1<<bit)
		}
		altered := slices.Clone(b)
		for _, other := range others {
			altered[i] = other
			same(t, b, altered)
			if _, err := Scan(altered); err == nil && other != c {
				accepted++
			}
		}
		if _, err := Scan(b[:i]); err == nil {
			t.Errorf("accepted when cut at %d", i)
		}
	}
	if accepted == 0 {
		t.Error("no other leaf was found, so that nothing was compared")
	}
}

func TestRefusedValues(t *testing.T) {
	t.Parallel()
	for i, c := range []struct {
		alter func(*Leaf)
		key   string
		code  Code
	}{
		{func(l *Leaf) { l.Act = "" }, "act", CodeKeyMissing},
		{func(l *Leaf) { l.At = "" }, "at", CodeKeyMissing},
		{func(l *Leaf) { l.Out = "" }, "out", CodeKeyMissing},
		{func(l *Leaf) { l.Act = "run" }, "act", CodeForm},
		{func(l *Leaf) { l.At = "2026-01-01T00:00:00Z" }, "at", CodeForm},
		{func(l *Leaf) { l.Det = "sha256:00" }, "det", CodeForm},
		{func(l *Leaf) { l.ID = "run_1" }, "id", CodeForm},
		{func(l *Leaf) { l.Met = "get" }, "met", CodeForm},
		{func(l *Leaf) { l.Obj = "run" }, "obj", CodeForm},
		{func(l *Leaf) { l.Out = "done" }, "out", CodeForm},
		{func(l *Leaf) { l.Req = "\x00" }, "req", CodeNUL},
		{func(l *Leaf) { l.Run = "\xff" }, "run", CodeUTF8},
		{func(l *Leaf) { l.Sub = strings.Repeat("x", MaxSize+1) }, "sub", CodeSize},
		{func(l *Leaf) { l.Sub = strings.Repeat("x", MaxSize) }, "", CodeSize},
		{func(l *Leaf) { l.SD = []string{""} }, "sd", CodeForm},
		{func(l *Leaf) { l.SD = []string{l.SD[1], l.SD[0]} }, "sd", CodeForm},
		{func(l *Leaf) { l.SD = []string{l.SD[0], l.SD[0]} }, "sd", CodeForm},
		{func(l *Leaf) { l.Seq = 0 }, "seq", CodeRange},
		{func(l *Leaf) { l.Seq = -1 }, "seq", CodeRange},
		{func(l *Leaf) { l.Seq = MaxInt + 1 }, "seq", CodeRange},
	} {
		l := example(1)
		c.alter(&l)
		b, err := l.AppendTo([]byte("kept"))
		var e *Error
		if !errors.As(err, &e) || e.Code != c.code || e.Key != c.key || string(b) != "kept" {
			t.Errorf("%d: %v and %.20q, want %q in %q", i, err, b, c.code, c.key)
		}
		if e != nil && (e.Error() == "" || strings.Contains(e.Error(), "xxx")) {
			t.Errorf("%d: says %.40q", i, e.Error())
		}
	}
}

func TestTimes(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 4, 5, 6, 7, 8999, time.FixedZone("east", 3600))
	if got := At(at); got != "2026-03-04T04:06:07.000008Z" {
		t.Error(got)
	}
	l := Leaf{At: At(at)}
	if got, err := l.Time(); err != nil || !got.Equal(at.Truncate(time.Microsecond)) {
		t.Error(got, err)
	}
	l.At = "2026-03-04T04:06:07Z"
	if _, err := l.Time(); err == nil {
		t.Error("a time of another form was read")
	}
	// The calendar of the package equals that of the standard library on every day.
	for day := range 40 * 366 {
		text := fmt.Sprintf("%04d-%02d-%02dT00:00:00.000000Z", 1890+day/(12*32)*3, 1+day/32%12, day%32)
		_, err := time.Parse(layout, text)
		if (err == nil) != isAt(text) {
			t.Fatalf("%s: %v", text, err)
		}
	}
}

func TestLargeLeavesHashAlike(t *testing.T) {
	t.Parallel()
	seen := make(map[[32]byte]bool)
	for n := 1000; n < 1050; n++ {
		b := bytes.Repeat([]byte("x"), n)
		if h := Hash(b); seen[h] {
			t.Errorf("%d bytes have the hash of fewer", n)
		} else {
			seen[h] = true
		}
	}
}
