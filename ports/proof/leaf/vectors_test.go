package leaf

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// vectors are the files that verifiers in every language share.
func vectors(t testing.TB, name string, into any) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		t.Fatal(err)
	}
}

type validLeaf struct {
	Name, Leaf, Hash string
	Values           struct {
		Act, At, Det, ID, Met, Obj, Out, Req, Run, Sub string
		Prev                                           []byte
		SD                                             []string
		Seq                                            int64
	}
}

type invalidLeaf struct{ Name, Leaf, Base64, Code, Key string }

func (v *invalidLeaf) bytes(t testing.TB) []byte {
	b, err := base64.StdEncoding.DecodeString(v.Base64)
	if err != nil {
		t.Fatal(err)
	}
	return append(b, v.Leaf...)
}

type leafVectors struct {
	Valid   []validLeaf
	Invalid []invalidLeaf
}

func TestBaseVector(t *testing.T) {
	t.Parallel()
	var base struct {
		Digest string
		Leaves []struct{ Leaf, Hash string }
	}
	vectors(t, "base.json", &base)
	l := Leaf{At: "2026-01-01T00:00:00.000000Z", Obj: "run/run_1", Out: Applied, SD: []string{base.Digest}, Sub: "usr_1"}
	for i, act := range []string{"svc.genesis", "run.submit", "run.final"} {
		l.Act, l.Seq = act, int64(i+1)
		l.At = l.At[:18] + string(rune('0'+i)) + l.At[19:]
		b, err := l.AppendTo(nil)
		if err != nil || string(b) != base.Leaves[i].Leaf {
			t.Fatalf("leaf %d is %s, %v", i+1, b, err)
		}
		l.Prev = Hash(b)
		if got := hex.EncodeToString(l.Prev[:]); got != base.Leaves[i].Hash {
			t.Fatalf("hash %d is %s, want %s", i+1, got, base.Leaves[i].Hash)
		}
	}
	if base.Leaves[0].Hash != "d431599560f10421f2dcf89414fb918bce2acf2edf1954efa2b285016c6e8139" || len(base.Leaves) != 3 {
		t.Error("the base vector is another one")
	}
}

func TestValidVectors(t *testing.T) {
	t.Parallel()
	var all leafVectors
	vectors(t, "leaves.json", &all)
	if len(all.Valid) < 10 {
		t.Fatalf("%d valid leaves", len(all.Valid))
	}
	for _, v := range all.Valid {
		x := v.Values
		want := Leaf{Act: x.Act, At: x.At, Det: x.Det, ID: x.ID, Met: x.Met, Obj: x.Obj, Out: x.Out, Req: x.Req, Run: x.Run,
			SD: x.SD, Seq: x.Seq, Sub: x.Sub, Prev: [32]byte(x.Prev)}
		got, err := Scan([]byte(v.Leaf))
		if err != nil {
			t.Errorf("%s: %v", v.Name, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", v.Name, diff)
		}
		if b, err := want.AppendTo([]byte("kept")); err != nil || !bytes.Equal(b, []byte("kept"+v.Leaf)) {
			t.Errorf("%s: written as %s, %v", v.Name, b, err)
		}
		if h := Hash([]byte(v.Leaf)); hex.EncodeToString(h[:]) != v.Hash {
			t.Errorf("%s: hash %x", v.Name, h)
		}
	}
}

func TestInvalidVectors(t *testing.T) {
	t.Parallel()
	var all leafVectors
	vectors(t, "leaves.json", &all)
	codes := make(map[Code]bool)
	for _, v := range all.Invalid {
		_, err := Scan(v.bytes(t))
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%s: %v", v.Name, err)
			continue
		}
		if string(e.Code) != v.Code || e.Key != v.Key {
			t.Errorf("%s: %q in %q, want %q in %q (%v)", v.Name, e.Code, e.Key, v.Code, v.Key, e)
		}
		codes[e.Code] = true
	}
	for _, c := range []Code{
		CodeSize, CodeSyntax, CodeSpace, CodeControl, CodeEscape, CodeUTF8, CodeNUL, CodeKeyUnknown, CodeKeyTwice,
		CodeKeyOrder, CodeKeyMissing, CodeNumber, CodeRange, CodeForm, CodeVersion, CodeTrailing,
	} {
		if !codes[c] {
			t.Errorf("no vector is refused with %q", c)
		}
	}
}
