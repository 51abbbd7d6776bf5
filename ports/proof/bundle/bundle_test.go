package bundle

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"pgregory.net/rapid"

	"github.com/writ-automation/writ/ports/proof/checkpoint"
	"github.com/writ-automation/writ/ports/proof/keys"
	"github.com/writ-automation/writ/ports/proof/tree"
)

const testOrigin = "audit.example.org/in_test/e1"

func private(t testing.TB, seed byte, use keys.Use) keys.Private {
	t.Helper()
	p, err := keys.FromSeed(bytes.Repeat([]byte{seed}, 32), use)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func note(t testing.TB, size int64) string {
	t.Helper()
	out, err := checkpoint.Sign(checkpoint.Body{Origin: testOrigin, Size: size, Root: tree.Hash{byte(size)}},
		private(t, 1, keys.Checkpoint))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func newHead(t testing.TB, from, to, size int64) Head {
	t.Helper()
	k, err := keys.NewKey(private(t, 2, keys.Statement).Public(), keys.Statement, "")
	if err != nil {
		t.Fatal(err)
	}
	k.Status, k.NotBefore = keys.Active, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	h := Head{Origin: testOrigin, From: from, To: to, Size: size, GeneratedAt: k.NotBefore, Checkpoint: note(t, size),
		Keys: []keys.Key{k}}
	if !h.Whole() {
		h.First, h.Last = []tree.Hash{{1}}, []tree.Hash{{2}, {3}}
	}
	if from > 1 {
		h.Prev = tree.Hash{9}
	}
	return h
}

func write(t testing.TB, h Head, list []Entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := NewWriter(&b, h)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if err := w.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(private(t, 2, keys.Statement)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func read(r io.Reader) (h Head, list []Entry, manifest []byte, err error) {
	in := NewReader(r)
	if h, err = in.Head(); err != nil {
		return h, nil, nil, err
	}
	for {
		e, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return h, list, nil, err
		}
		list = append(list, e)
	}
	manifest, _, err = in.Manifest()
	return h, list, manifest, err
}

// TestWhatIsWrittenIsRead covers every member, texts that need escapes and readers that give a byte at a time.
func TestWhatIsWrittenIsRead(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		size := rapid.Int64Range(1, 9).Draw(rt, "size")
		from := rapid.Int64Range(1, size).Draw(rt, "from")
		h := newHead(t, from, rapid.Int64Range(from, size).Draw(rt, "to"), size)
		for i := range rapid.Int64Range(0, 3).Draw(rt, "anchors") {
			h.Anchors = append(h.Anchors, Anchor{ID: "anc_1", Kind: "worker", Size: i + 1, Note: note(t, i+1)})
		}
		if rapid.Bool().Draw(rt, "consistency") {
			h.Consistency = &Consistency{From: 1, Root: tree.Hash{4}, Proof: []tree.Hash{{5}}}
		}
		var list []Entry
		text := rapid.StringOf(rapid.RuneFrom([]rune("a\"\\\n\u0001é<\u202e")).Filter(func(r rune) bool {
			return r != 0 && r != 0xfffd
		}))
		for range h.To - h.From + 1 {
			if rapid.Bool().Draw(rt, "left out") {
				list = append(list, Entry{Hash: &tree.Hash{7}})
				continue
			}
			list = append(list, Entry{Leaf: []byte(text.Draw(rt, "leaf")), Disclosures: rapid.SliceOfN(text, 0, 3).
				Draw(rt, "disclosures")})
		}
		doc := write(t, h, list)
		got, entries, _, err := read(iotest.OneByteReader(bytes.NewReader(doc)))
		if err != nil {
			rt.Fatalf("%v in %q", err, doc)
		}
		for i := range list {
			if len(list[i].Disclosures) == 0 {
				list[i].Disclosures = nil
			}
		}
		if !reflect.DeepEqual(got, h) || !reflect.DeepEqual(entries, list) {
			rt.Fatalf("%+v\n%+v\n%+v\n%+v", got, h, entries, list)
		}
		if again := write(t, got, entries); !bytes.Equal(again, doc) {
			rt.Fatalf("%q\n%q", again, doc)
		}
	})
}

func TestWriterRefusesWhatNoReaderAccepts(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(h *Head){
		"origin": func(h *Head) { h.Origin = "https://a/b" }, "from": func(h *Head) { h.From = 0 },
		"to": func(h *Head) { h.To = 9 }, "note": func(h *Head) { h.Checkpoint = "x" }, "no key": func(h *Head) {
			h.Keys = nil
		},
		"key": func(h *Head) { h.Keys = []keys.Key{{}} }, "prev": func(h *Head) { h.Prev[0] = 1 },
		"proof":       func(h *Head) { h.First = []tree.Hash{{}} },
		"consistency": func(h *Head) { h.Consistency = &Consistency{From: 9} },
		"anchor id":   func(h *Head) { h.Anchors = []Anchor{{ID: "A", Kind: "worker", Size: 1, Note: note(t, 1)}} },
		"anchor size": func(h *Head) { h.Anchors = []Anchor{{ID: "a", Kind: "worker", Size: 2, Note: note(t, 1)}} },
		"anchor order": func(h *Head) {
			h.Anchors = []Anchor{{ID: "a", Kind: "worker", Size: 2, Note: note(t, 2)},
				{ID: "b", Kind: "worker", Size: 1, Note: note(t, 1)}}
		},
		"anchors": func(h *Head) { h.Anchors = make([]Anchor, MaxAnchors+1) },
	} {
		h := newHead(t, 1, 3, 3)
		spoil(&h)
		if _, err := NewWriter(io.Discard, h); !keys.FormatInvalid.Is(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	w, err := NewWriter(io.Discard, newHead(t, 1, 1, 1))
	if err != nil {
		t.Fatal(err)
	}
	signer := private(t, 2, keys.Statement)
	if err := w.Close(signer); err == nil {
		t.Error("a document without its entry is closed")
	}
	for name, e := range map[string]Entry{
		"bytes": {Leaf: []byte{0xff}}, "size": {Leaf: make([]byte, 1<<20)}, "disclosure": {Disclosures: []string{"\x00"}},
		"disclosures": {Disclosures: make([]string, MaxDisclosures+1)},
		"large":       {Disclosures: []string{strings.Repeat("a", 1<<20)}},
	} {
		if err := w.Add(e); err == nil {
			t.Errorf("%s is written", name)
		}
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	doc := write(t, newHead(t, 1, 2, 2), []Entry{{Leaf: []byte("a")}, {Leaf: []byte("b")}})
	for _, limit := range []int64{0, 10, int64(len(doc)) - 1} {
		in := NewReader(bytes.NewReader(doc))
		in.s.limit = limit
		if _, err := in.Head(); !errors.Is(err, ErrTooLarge) {
			t.Errorf("limit %d: %v", limit, err)
		}
	}
	for name, swap := range map[string][2]string{
		"disclosures": {`{"leaf":"a"}`, `{"leaf":"a","disclosures":["` + strings.Repeat(`a","`, MaxDisclosures) + `a"]}`},
		"proof": {`,"entries"`, `,"consistency":{"from":1,"root":"` + zeros + `","proof":["` +
			strings.Repeat(zeros+`","`, MaxProof) + zeros + `"]},"entries"`},
		"anchors": {`"anchors":[`, `"anchors":[` + strings.Repeat(`{"id":"a","kind":"worker","size":1,"note":"a"},`,
			MaxAnchors+1)},
		"keys":   {`"keys":[`, `"keys":[` + strings.Repeat(" ", maxKeyList)},
		"number": {`"to":2`, `"to":` + strings.Repeat("2", 1<<20)},
	} {
		bad := strings.Replace(string(doc), swap[0], swap[1], 1)
		if _, _, _, err := read(strings.NewReader(bad)); !keys.FormatInvalid.Is(err) || bad == string(doc) {
			t.Errorf("%s: %v", name, err)
		}
	}
	broken := errors.New("broken")
	if _, _, _, err := read(io.MultiReader(bytes.NewReader(doc[:len(doc)/2]), iotest.ErrReader(broken))); !errors.Is(err,
		broken) {
		t.Errorf("an error of the reader comes back as %v", err)
	}
	if _, _, _, err := read(stuck{}); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a reader that gives nothing: %v", err)
	}
}

const zeros = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

// FuzzReader checks that the reader accepts exactly what the writer writes.
func FuzzReader(f *testing.F) {
	h := newHead(f, 2, 3, 4)
	h.Anchors = []Anchor{{ID: "anc_1", Kind: "worker", Size: 1, Note: note(f, 1)}}
	h.Consistency = &Consistency{From: 1, Root: tree.Hash{4}, Proof: []tree.Hash{{5}}}
	f.Add(write(f, h, []Entry{{Leaf: []byte(`{"a":1}`), Disclosures: []string{"x", "y"}}, {}}))
	f.Add(write(f, newHead(f, 1, 1, 1), []Entry{{Leaf: []byte("\"\\\n")}}))
	f.Add([]byte(`{"v":1,"origin":`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		h, list, manifest, err := read(bytes.NewReader(doc))
		if err != nil {
			if !keys.FormatInvalid.Is(err) && !errors.Is(err, ErrUnknown) {
				t.Fatalf("an error without a code: %v", err)
			}
			return
		}
		if int64(len(list)) != h.To-h.From+1 {
			return
		}
		again := write(t, h, list)
		body, _, _ := bytes.Cut(again, []byte(`,"manifest":`))
		if want := string(body) + `,"manifest":` + string(manifest) + "}\n"; want != string(doc) {
			t.Fatalf("%q is read as %q", doc, want)
		}
	})
}
