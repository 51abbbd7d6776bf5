package receipt

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/writ-automation/writ/ports/proof/keys"
	"github.com/writ-automation/writ/ports/proof/timestamp"
)

func stored(t testing.TB, name string) []byte {
	t.Helper()
	doc, err := os.ReadFile(filepath.Join("..", "testdata", "receipts", "good", name))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func signer(t testing.TB) keys.Private {
	t.Helper()
	p, err := keys.FromSeed(bytes.Repeat([]byte{2}, 32), keys.Statement)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestSignRefusesWhatNoReaderAccepts(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(r *Receipt){
		"origin": func(r *Receipt) { r.Origin = "https://a/b" }, "mode": func(r *Receipt) { r.Mode = "some" },
		"scope": func(r *Receipt) { r.Scope = "" }, "run": func(r *Receipt) { r.Run = []byte(`{"id":"run_1"}`) },
		"run id":    func(r *Receipt) { r.Run = []byte(`{"id":"<b>","v":1}`) },
		"run count": func(r *Receipt) { r.Run = []byte(`{"entries":{"count":1,"digest":"sha256:00"},"id":"run_1","v":1}`) },
		"keys":      func(r *Receipt) { r.Keys = nil }, "entries": func(r *Receipt) { r.Entries = nil },
		"many": func(r *Receipt) { r.Entries = make([]Entry, MaxEntries+1) }, "index": func(r *Receipt) {
			r.Entries[0].Index = -1
		},
		"proof": func(r *Receipt) { r.Entries[0].Proven = false }, "inner proof": func(r *Receipt) {
			r.Entries[1].Proven = true
		},
		"leaf": func(r *Receipt) { r.Entries[1].Leaf = string(make([]byte, 1<<15)) },
		"text": func(r *Receipt) { r.Entries[1].Leaf = "\x00" }, "anchor kind": func(r *Receipt) {
			r.Anchors[0].Kind = "hearsay"
		},
		"anchor order": func(r *Receipt) { r.Anchors[0], r.Anchors[1] = r.Anchors[1], r.Anchors[0] },
		"token":        func(r *Receipt) { r.Anchors[1].Token = nil }, "token too": func(r *Receipt) {
			r.Anchors[0].Token = []byte{1}
		},
		"consistency": func(r *Receipt) { r.Consistency = &Consistency{From: -1} },
	} {
		d, err := Parse(stored(t, "anchored.json"))
		if err != nil {
			t.Fatal(err)
		}
		spoil(&d.Receipt)
		if _, err := Sign(d.Receipt, signer(t)); !keys.FormatInvalid.Is(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDisclosuresHaveLimits(t *testing.T) {
	t.Parallel()
	for name, list := range map[string][]string{"many": make([]string, 400),
		"long": {string(bytes.Repeat([]byte{'a'}, 1<<15))}} {
		d, err := Parse(stored(t, "contiguous.json"))
		if err != nil {
			t.Fatal(err)
		}
		d.Entries[0].Disclosures = list
		if _, err := Sign(d.Receipt, signer(t)); !keys.FormatInvalid.Is(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	d, err := Parse(stored(t, "anchored.json"))
	if err != nil {
		t.Fatal(err)
	}
	der := d.Anchors[1].Token
	got, err := timestamp.Parse(der)
	if err != nil || !got.Covers([]byte(d.Anchors[1].Note)) || got.Covers(nil) || got.Time.Year() != 2026 {
		t.Fatalf("%+v, %v", got, err)
	}
	for i := range der {
		if _, err := timestamp.Parse(der[:i]); err == nil {
			t.Errorf("the first %d bytes are a token", i)
		}
	}
}

// FuzzParse checks that Parse accepts exactly what Sign writes.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"anchored.json", "from.json", "running.json", "one-leaf.json"} {
		f.Add(stored(f, name))
	}
	f.Add([]byte(Opening))
	f.Fuzz(func(t *testing.T, doc []byte) {
		d, err := Parse(doc)
		if err != nil {
			if !keys.FormatInvalid.Is(err) && !errors.Is(err, ErrUnknown) && !errors.Is(err, ErrTooLarge) {
				t.Fatalf("an error without a code: %v", err)
			}
			return
		}
		again, err := Sign(d.Receipt, signer(t))
		if err != nil {
			t.Fatalf("%q is read and cannot be written: %v", doc, err)
		}
		other, err := Parse(again)
		if err != nil {
			t.Fatal(err)
		}
		if d.Subject == other.Subject && !bytes.Equal(d.Envelope.Payload, other.Envelope.Payload) {
			t.Fatalf("%q\n%q", d.Envelope.Payload, other.Envelope.Payload)
		}
	})
}
