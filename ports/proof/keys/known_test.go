package keys

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const rootText = "AhyHHnoGsro177QKmYxm/Z+UJdIVcfSTNuGRiXxvkoI="

func TestKnownLogs(t *testing.T) {
	t.Parallel()
	id, other := head(t, 1).ID, text(t, 2).ID
	root, err := ParseRoot(rootText)
	if err != nil {
		t.Fatal(err)
	}
	good := baseOrigin + " " + id + " 3 " + rootText + "\n" + baseOrigin + " " + other + " 3 " + rootText + "\n"
	want := []Pin{{baseOrigin, id, 3, root}, {baseOrigin, other, 3, root}}
	for _, text := range []string{good, "# of the laptop\n\n" + good, strings.Replace(good, "\n", "\n\n#\n", 1)} {
		got, err := ParseKnown([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	if text, err := FormatKnown(want); err != nil || string(text) != good {
		t.Errorf("%s, %v", text, err)
	}
	if none, err := ParseKnown(nil); err != nil || len(none) != 0 {
		t.Errorf("no file: %v, %v", none, err)
	}
	line := strings.SplitAfter(good, "\n")[0]
	for name, bad := range map[string]string{
		"cut off": strings.TrimSuffix(good, "\n"), "cut in a root": good[:len(good)-5], "twice": line + line,
		"two spaces": strings.Replace(line, " 3", "  3", 1), "tab": strings.Replace(line, " 3", "\t3", 1),
		"carriage returns": strings.ReplaceAll(line, "\n", "\r\n"), "leading zero": strings.Replace(line, " 3 ", " 03 ", 1),
		"negative": strings.Replace(line, " 3 ", " -3 ", 1), "fifth member": strings.Replace(line, "\n", " x\n", 1),
		"three members": strings.Replace(line, " 3 ", " ", 1), "leading space": " " + line, "white line": " \n" + line,
		"scheme": "https://" + line, "short id": strings.Replace(line, id, id[:30], 1),
		"loose root": strings.Replace(line, "koI=", "koJ=", 1), "no UTF-8": "#\xff\n" + line,
		"too large": "#" + strings.Repeat("x", maxKnown) + "\n", "other forks": strings.Replace(line, " 3 ", " 4 ", 1) + line,
	} {
		if got, err := ParseKnown([]byte(bad)); !FormatInvalid.Is(err) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	for name, bad := range map[string]Pin{
		"origin": {"a b/c", id, 1, root}, "id": {baseOrigin, "sha256:", 1, root}, "size": {baseOrigin, id, -1, root},
		"comment": {"#/a", id, 1, root},
	} {
		if line, err := bad.Line(); !FormatInvalid.Is(err) {
			t.Errorf("%s: %q, %v", name, line, err)
		}
	}
	if _, err := FormatKnown([]Pin{want[0], want[0]}); !FormatInvalid.Is(err) {
		t.Errorf("one pin twice: %v", err)
	}
}

// A13: of the keys in a file only the pinned ones are trusted.
func TestPinnedKeys(t *testing.T) {
	t.Parallel()
	a, b, thief := head(t, 1), text(t, 2), head(t, 3)
	pins := []Pin{{Origin: baseOrigin, KeyID: a.ID}, {Origin: baseOrigin, KeyID: b.ID}}
	r, err := Pinned(pins, baseOrigin, []Key{thief, a, b})
	if err != nil || len(r.Keys()) != 2 || r.Has(thief.ID, Checkpoint) {
		t.Fatalf("%v, %v", r.Keys(), err)
	}
	if r, err := Pinned(pins, baseOrigin, []Key{thief}); !KeyUntrusted.Is(err) {
		t.Errorf("a swapped key: %v, %v", r.Keys(), err)
	}
	if r, err := Pinned(pins, "other.example.org/in_test/e1", []Key{a, b}); !KeyUntrusted.Is(err) {
		t.Errorf("another log: %v, %v", r.Keys(), err)
	}
	forged := thief
	forged.ID = a.ID
	if r, err := Pinned(pins, baseOrigin, []Key{forged}); !FormatInvalid.Is(err) {
		t.Errorf("another key under a pinned id: %v, %v", r.Keys(), err)
	}
}

func FuzzKnown(f *testing.F) {
	line := baseOrigin + " " + head(f, 1).ID + " 3 " + rootText + "\n"
	for _, s := range []string{"", line, "# a\n\n" + line, line + line, strings.TrimSuffix(line, "\n"), " " + line} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		pins, err := ParseKnown(data)
		if err != nil {
			if !FormatInvalid.Is(err) {
				t.Fatalf("%v", err)
			}
			return
		}
		text, err := FormatKnown(pins)
		if err != nil {
			t.Fatal(err)
		}
		var kept []byte
		for line := range bytes.Lines(data) {
			if line[0] != '#' && line[0] != '\n' {
				kept = append(kept, line...)
			}
		}
		if !bytes.Equal(text, kept) {
			t.Fatalf("%q is written as %q", data, text)
		}
	})
}
