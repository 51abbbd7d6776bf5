package audittest

import (
	"crypto/sha256"
	"testing"

	"github.com/writ-automation/writ/ports/audit"
)

func tamperCases() map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
		"an entry is edited":      tamperEdit,
		"private parts are":       tamperPrivate,
		"entries change places":   tamperSwap,
		"the tail is cut":         tamperCut,
		"a foreign one is put in": tamperInsert,
		"what is not there":       tamperMissing,
	}
}

// entries adds n entries with private parts.
func (e *env) entries(t *testing.T, n int) []audit.Stored {
	t.Helper()
	edits := plains(n)
	for i := range edits {
		edits[i] = func(m *audit.Stored) { m.Run, m.Detail, m.Disclosures = "run_1", `{"a":1}`, []string{"WyJ4Il0"} }
	}
	return e.add(t, edits...)
}

func (e *env) tampered(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("tamper: %v", err)
	}
}

func tamperEdit(t *testing.T, e *env) {
	want := e.entries(t, 3)
	e.tampered(t, e.Tamper.EditLeaf(t.Context(), 2, func(leaf string) string { return leaf + "x" }))
	want[1].Leaf += "x"
	e.tampered(t, e.Tamper.EditHash(t.Context(), 2, func(h [32]byte) [32]byte { return sha256.Sum256(h[:]) }))
	want[1].Hash = sha256.Sum256(want[1].Hash[:])
	for column, field := range map[string]*string{
		"id": &want[2].ID, "at": &want[2].At, "action": &want[2].Action, "actor": &want[2].Actor, "object": &want[2].Object,
		"run": &want[2].Run,
	} {
		*field = column + "\nwas changed"
		e.tampered(t, e.Tamper.EditColumn(t.Context(), 3, column, *field))
	}
	same(t, "chain", want, e.all(t, true))
	same(t, "tip", of(want[2]), e.tip(t))
}

func tamperPrivate(t *testing.T, e *env) {
	want := e.entries(t, 3)
	want[1].Disclosures, want[1].Detail = []string{"a", `b"c`}, "{}"
	want[2].Disclosures, want[2].Detail = nil, ""
	for _, s := range want[1:] {
		e.tampered(t, e.Tamper.EditPrivate(t.Context(), s.Seq, s.Disclosures, s.Detail))
	}
	same(t, "chain", want, e.all(t, true))
}

func tamperSwap(t *testing.T, e *env) {
	want := e.entries(t, 4)
	e.tampered(t, e.Tamper.Swap(t.Context(), 2, 3))
	want[1], want[2] = want[2], want[1]
	want[1].Seq, want[2].Seq = 2, 3
	same(t, "chain", want, e.all(t, true))
}

func tamperCut(t *testing.T, e *env) {
	want := e.entries(t, 4)
	e.tampered(t, e.Tamper.CutAfter(t.Context(), 2))
	same(t, "chain", want[:2], e.all(t, true))
	same(t, "tip", of(want[1]), e.tip(t))
	same(t, "what follows", []int64{3}, seqs(e.add(t, plain)))
	e.tampered(t, e.Tamper.CutAfter(t.Context(), 0))
	same(t, "tip of nothing", audit.Tip{}, e.tip(t))
	e.add(t, plain)
	e.linear(t, 1)
}

func tamperInsert(t *testing.T, e *env) {
	want := e.entries(t, 3)
	foreign := made(of(want[0]), e.now(t), func(m *audit.Stored) { m.Action, m.Detail = "foreign", "{}" })
	e.tampered(t, e.Tamper.Insert(t.Context(), foreign))
	moved := []audit.Stored{want[0], foreign, want[1], want[2]}
	moved[2].Seq, moved[3].Seq = 3, 4
	same(t, "chain", moved, e.all(t, true))
	same(t, "tip", audit.Tip{Size: 4, Hash: want[2].Hash}, e.tip(t))
	end := made(e.tip(t), e.now(t))
	e.tampered(t, e.Tamper.Insert(t.Context(), end))
	same(t, "tip behind a foreign entry", of(end), e.tip(t))
}

func tamperMissing(t *testing.T, e *env) {
	want := e.entries(t, 2)
	for name, err := range map[string]error{
		"leaf":           e.Tamper.EditLeaf(t.Context(), 3, func(s string) string { return s }),
		"hash":           e.Tamper.EditHash(t.Context(), 3, func(h [32]byte) [32]byte { return h }),
		"column":         e.Tamper.EditColumn(t.Context(), 3, "id", "x"),
		"unknown column": e.Tamper.EditColumn(t.Context(), 1, "leaf", "x"),
		"delete":         e.Tamper.Delete(t.Context(), 3),
		"swap":           e.Tamper.Swap(t.Context(), 1, 3),
		"cut":            e.Tamper.CutAfter(t.Context(), 3),
	} {
		if err == nil {
			t.Errorf("%s: what is not there is changed", name)
		}
	}
	same(t, "chain", want, e.all(t, true))
}
