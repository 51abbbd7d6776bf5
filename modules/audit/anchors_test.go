package audit_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/proof"
	"github.com/writ-automation/writ/ports/proof/checkpoint/checkpointtest"
	"github.com/writ-automation/writ/ports/proof/leaf"
)

// kept returns the newest checkpoint in the store.
func (tr *trail) kept(t *testing.T) audit.Anchor {
	t.Helper()
	list, err := tr.store.NewestAnchors(t.Context(), audit.KindCheckpoint, 1)
	if err != nil || len(list) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	return list[0]
}

// TestAnchorsThatSayNothing stores invalid anchors: each is a problem, and none ends the check.
func TestAnchorsThatSayNothing(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(a *audit.Anchor){
		"no note":        func(a *audit.Anchor) { a.Note = "" },
		"no note at all": func(a *audit.Anchor) { a.Note = strings.Repeat("\u2014 ", 1<<10) },
		"half a note":    func(a *audit.Anchor) { a.Note = a.Note[:len(a.Note)/2] },
		"another size":   func(a *audit.Anchor) { a.Size-- },
		"another root":   func(a *audit.Anchor) { a.Root[0] ^= 1 },
		"a signature of nothing": func(a *audit.Anchor) {
			a.Note = strings.Split(a.Note, "\u2014 ")[0] + "\u2014 a/b AAAAAAA=\n"
		},
		"a root that was edited":  func(a *audit.Anchor) { a.Root[0] ^= 1; a.Note = swapRoot(a.Note, a.Root) },
		"another epoch":           func(a *audit.Anchor) { a.Epoch = 7 },
		"a stamp without a token": func(a *audit.Anchor) { a.Kind = audit.KindTimestamp },
		"a stamp of nonsense": func(a *audit.Anchor) {
			a.Kind, a.Evidence = audit.KindTimestamp, bytes.Repeat([]byte{0x30}, 999)
		},
		"a stamp of zeros":       func(a *audit.Anchor) { a.Kind, a.Evidence = audit.KindTimestamp, make([]byte, 4096) },
		"a witness without one":  func(a *audit.Anchor) { a.Kind = audit.KindWitness },
		"a witness's empty line": func(a *audit.Anchor) { a.Kind = audit.KindWitness; a.Note += "\u2014 w/w AAAAAAA=\n" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachEngine(t, 12, func(t *testing.T, tr *trail) {
				a := tr.kept(t)
				a.ID = "anc_00000000000000000000000000"
				change(&a)
				must(t, tr.d.Do(t.Context(), func(ctx context.Context) error { return tr.store.PutAnchor(ctx, a) }))
				v := tr.verify(t)
				if v.OK || v.Reason != proof.AnchorUnsatisfied || len(v.AnchorProblems) != 1 || v.AnchorProblems[0].ID != a.ID ||
					v.AnchorProblems[0].Problem != "signature_invalid" {
					t.Errorf("%+v", v)
				}
				tr.refused(t, v)
			})
		})
	}
}

func swapRoot(note string, root [32]byte) string {
	lines := strings.SplitN(note, "\n", 4)
	lines[2] = base64.StdEncoding.EncodeToString(root[:])
	return strings.Join(lines, "\n")
}

// watcher is a witness that the install trusts.
func watcher() checkpointtest.Witness { return checkpointtest.NewWitness("witness.example/w", 7) }

// witness makes a cosignature line with a given time.
type witness struct {
	t  testing.TB
	by checkpointtest.Witness
	at time.Time
}

func (w witness) Name() string { return w.by.Name }

func (w witness) Cosign(_ context.Context, note string, _ int64, _ [][32]byte) (string, int64, error) {
	return strings.TrimPrefix(w.by.Cosign(w.t, note, w.at), note), 0, nil
}

// TestBackdating lets a witness sign the head, and moves entries to times that contradict it (A15, A16).
// Keeps F14.
func TestBackdating(t *testing.T) {
	t.Parallel()
	eachEngine(t, 12, func(t *testing.T, tr *trail) {
		tr.anchor(t, audit.AnchorRequest{Witness: witness{t, watcher(), time.Now()}}) // of 12 entries; the 13th is its own
		if v := tr.verify(t); !v.OK || v.Anchored != 12 {
			t.Fatalf("%+v", v)
		}
		// The next entry claims a time an hour earlier, with correct link, hash and columns.
		tr.rehash(t, 13, func(l *leaf.Leaf) { l.At = leaf.At(time.Now().Add(-time.Hour)) })
		v := tr.verify(t)
		if v.OK || v.Reason != proof.AnchorUnsatisfied || problems(v.AnchorProblems) != "witness/12/time_conflict" ||
			!strings.Contains(detail(v, "times"), "entry 13") {
			t.Errorf("%+v", v)
		}
		tr.refused(t, v)
	})
	eachEngine(t, 12, func(t *testing.T, tr *trail) {
		tr.anchor(t, audit.AnchorRequest{Witness: witness{t, watcher(), time.Now().Add(-time.Hour)}})
		v := tr.verify(t)
		if v.OK || problems(v.AnchorProblems) != "witness/12/time_conflict" {
			t.Errorf("%+v", v)
		}
	})
	eachEngine(t, 12, func(t *testing.T, tr *trail) {
		tr.anchor(t, audit.AnchorRequest{Witness: witness{t, checkpointtest.NewWitness("witness.example/w", 8),
			time.Now().Add(-time.Hour)}})
		v := tr.verify(t)
		if !v.OK || !strings.Contains(strings.Join(v.NotChecked, "\n"), "1 time-stamp tokens and witness cosignatures") {
			t.Errorf("a witness who is not believed: %+v", v)
		}
	})
	eachEngine(t, 12, func(t *testing.T, tr *trail) {
		tr.rehash(t, 12, func(l *leaf.Leaf) { l.At = leaf.At(time.Now().Add(-time.Hour)) })
		if v := tr.verify(t); !v.OK || !strings.Contains(detail(v, "times"), "clock_back: 1") {
			t.Errorf("%+v", v)
		}
	})
}

func detail(v audit.ChainVerdict, id string) string {
	for _, c := range v.Checks {
		if c.ID == id {
			return c.Detail
		}
	}
	return ""
}
