package prove

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/proof"
	"github.com/writ-automation/writ/ports/proof/leaf"
)

func check(t testing.TB, w *fixture) audit.ChainVerdict {
	t.Helper()
	v, err := w.prover().Verify(t.Context(), proof.Trust{})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func problems(v proof.Verdict) string {
	var out []string
	for _, p := range v.AnchorProblems {
		out = append(out, fmt.Sprintf("%s/%d/%s", p.Kind, p.Size, p.Problem))
	}
	return strings.Join(out, " ")
}

func detail(v proof.Verdict, id string) string {
	for _, c := range v.Checks {
		if c.ID == id {
			return string(c.Result) + ": " + c.Detail
		}
	}
	return ""
}

func TestChainVerifies(t *testing.T) {
	t.Parallel()
	if v := check(t, newFixture(t, 0)); !v.OK || v.Count != 0 {
		t.Fatalf("empty: %+v", v)
	}
	w := newFixture(t, 1500)
	w.seen(t, audit.KindCheckpoint, 0)
	for _, size := range []int64{1, 7, 512, 1024, 1400} {
		w.seen(t, audit.KindCheckpoint, size)
	}
	w.seen(t, audit.KindWorker, 7)
	w.filed = w.note(t, 1200)
	v := check(t, w)
	if !v.OK || v.Count != 1500 || v.Anchored != 1400 || v.Head != w.rows[1499].Hash || v.AnchorProblems == nil ||
		!strings.Contains(detail(v.Verdict, "heads"), "8 heads") {
		t.Fatalf("%+v", v)
	}
}

// rolledBack keeps size entries and records the rest as abandoned: with the right entry, or another one.
func (w *fixture) rolledBack(t *testing.T, size int64, reported bool) {
	t.Helper()
	w.vouched = true
	w.rows = w.rows[:size]
	w.epochs = []audit.Epoch{
		{N: 1, Origin: testOrigin, FirstSeq: 1, Closed: true, LastSize: size, LastRoot: root(w.rows)},
		{N: 2, Origin: strings.Replace(testOrigin, "/e1", "/e2", 1), FirstSeq: size + 1},
	}
	w.add(t, func(l *leaf.Leaf, _ *audit.Stored) {
		if reported {
			l.Act, l.Obj = string(audit.ServiceEpoch), "epoch/2"
		}
	})
}

// TestAttacks edits rows like an attacker with the database. There are heads of 8 and of 12 entries.
func TestAttacks(t *testing.T) {
	t.Parallel()
	const n, k = 12, 5
	usr9 := func(l *leaf.Leaf) { l.Sub = "usr_9" }
	for name, c := range map[string]struct {
		attack  func(t *testing.T, w *fixture)
		reason  proof.Reason
		at, seq int64
		anchors string
	}{
		"A1 leaf":       {func(t *testing.T, w *fixture) { w.edit(t, k, usr9) }, proof.ChainBreak, k, k, ""},
		"A2 projection": {func(_ *testing.T, w *fixture) { w.rows[k-1].Actor = "usr_9" }, proof.ChainBreak, k, k, ""},
		"A2 time":       {func(_ *testing.T, w *fixture) { w.rows[k-1].At = leaf.At(begin) }, proof.ChainBreak, k, k, ""},
		"A3 leaf and hash": {func(t *testing.T, w *fixture) {
			w.edit(t, k, usr9)
			w.rows[k-1].Hash, w.rows[k-1].Actor = leaf.Hash([]byte(w.rows[k-1].Leaf)), "usr_9"
		}, proof.ChainBreak, k + 1, k + 1, ""},
		"A3 of the last": {func(t *testing.T, w *fixture) {
			w.edit(t, n, usr9)
			w.forgeEntry(t, n)
		}, proof.AnchorUnsatisfied, 0, 0, "checkpoint/12/root_mismatch worker/12/root_mismatch"},
		"hash alone": {func(_ *testing.T, w *fixture) { w.rows[k-1].Hash[0] ^= 1 }, proof.ChainBreak, k, k, ""},
		"A4 deleted": {func(_ *testing.T, w *fixture) { w.rows = slices.Delete(w.rows, k-1, k) }, proof.ChainBreak, k,
			k + 1, ""},
		"A4 the first": {func(_ *testing.T, w *fixture) { w.rows = w.rows[1:] }, proof.ChainBreak, 1, 2, ""},
		"A5 inserted": {func(_ *testing.T, w *fixture) {
			w.rows = slices.Insert(w.rows, k-1, w.rows[0])
		}, proof.ChainBreak, k, 1, ""},
		"A6 swapped": {func(_ *testing.T, w *fixture) {
			w.rows[k-1], w.rows[k] = w.rows[k], w.rows[k-1]
		}, proof.ChainBreak, k, k + 1, ""},
		"A7 empty":  {func(_ *testing.T, w *fixture) { w.rows[k-1].Leaf = "" }, proof.ChainBreak, 0, 0, ""},
		"A7 spaced": {func(_ *testing.T, w *fixture) { w.rows[k-1].Leaf += " " }, proof.ChainBreak, 0, 0, ""},
		"A8 tail": {func(_ *testing.T, w *fixture) { w.rows = w.rows[:10] }, proof.AnchorUnsatisfied, 0, 0,
			"checkpoint/12/tail_missing worker/12/tail_missing"},
		"A8 tail and checkpoints, not the row of the end": {func(_ *testing.T, w *fixture) {
			w.anchors = nil
			w.tip = &audit.Tip{Size: n, Hash: w.rows[n-1].Hash}
			w.rows = w.rows[:10]
		}, proof.AnchorUnsatisfied, 0, 0, "tip/12/tail_missing"},
		"A9 the head file": {func(t *testing.T, w *fixture) {
			w.filed = w.note(t, n)
			w.rows, w.anchors = w.rows[:10], nil
		}, proof.AnchorUnsatisfied, 0, 0, "head_file/12/tail_missing"},
		"A9 nothing outside": {func(_ *testing.T, w *fixture) { w.rows, w.anchors = w.rows[:10], nil }, "", 0, 0, ""},
		"A10 all computed anew": {func(t *testing.T, w *fixture) {
			w.edit(t, k, usr9)
			w.forgeEntry(t, k)
		}, proof.AnchorUnsatisfied, 0, 0, "checkpoint/8/root_mismatch checkpoint/12/root_mismatch worker/12/root_mismatch"},
		"an anchor's note": {func(_ *testing.T, w *fixture) {
			w.anchors[0].Note = strings.Replace(w.anchors[0].Note, "wv", "ww", 1) + "x"
		}, proof.AnchorUnsatisfied, 0, 0, "checkpoint/8/signature_invalid"},
		"an anchor's signature": {func(t *testing.T, w *fixture) {
			other := *newFixture(t, n)
			other.head = w.passphrase
			raw := []byte(w.anchors[0].Note)
			if raw[len(raw)-10]++; raw[len(raw)-10] > 'Z' {
				raw[len(raw)-10] = 'A'
			}
			w.anchors[0].Note = string(raw)
		}, proof.AnchorUnsatisfied, 0, 0, "checkpoint/8/signature_invalid"},
		"a head that was given up": {func(t *testing.T, w *fixture) { w.rolledBack(t, 10, true) }, "", 0, 0, ""},
		"given up without a trace": {func(t *testing.T, w *fixture) { w.rolledBack(t, 10, false) }, proof.AnchorUnsatisfied,
			0, 0, "epoch/11/root_mismatch"},
		"given up in the future": {func(t *testing.T, w *fixture) {
			w.rolledBack(t, 10, true)
			w.epochs[1].FirstSeq = 99
		}, proof.AnchorUnsatisfied, 0, 0, "epoch/99/tail_missing"},
		"given up at another root": {func(t *testing.T, w *fixture) {
			w.rolledBack(t, 10, true)
			w.epochs[0].LastRoot[0] ^= 1
		}, proof.AnchorUnsatisfied, 0, 0, "epoch/10/root_mismatch"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, n)
			w.seen(t, audit.KindCheckpoint, 8)
			w.seen(t, audit.KindCheckpoint, n)
			w.seen(t, audit.KindWorker, n)
			c.attack(t, w)
			v := check(t, w)
			if v.OK != (c.reason == "") || v.Reason != c.reason || v.BrokeAt != c.at || v.BrokeSeq != c.seq ||
				problems(v.Verdict) != c.anchors || v.Count != int64(len(w.rows)) {
				t.Fatalf("%q in %+v", problems(v.Verdict), v)
			}
			if strings.HasPrefix(name, "A2") && !strings.Contains(detail(v.Verdict, "entries"), "projection") {
				t.Errorf("%+v", v)
			}
			_, err := w.prover().Bundle(t.Context(), audit.BundleQuery{From: 1, To: 2})
			broken := audit.Broken.Is(err) || audit.Unsatisfied.Is(err)
			if broken != (c.reason != "") && c.reason != "" {
				t.Errorf("A28: %v", err)
			}
		})
	}
}

// TestWorkersTellNoTime stores heads of workers with arbitrary times: only an outsider's signature proves a time.
func TestWorkersTellNoTime(t *testing.T) {
	t.Parallel()
	for _, late := range []time.Duration{-1000 * time.Hour, -time.Hour, time.Hour, 1000 * time.Hour} {
		w := newFixture(t, 12)
		w.seen(t, audit.KindWorker, 6).MadeAt = begin.Add(late)
		w.seen(t, audit.KindWorker, 9).MadeAt = begin.Add(-late)
		if v := check(t, w); !v.OK || v.Anchored != 9 || len(v.AnchorProblems) != 0 {
			t.Errorf("%s: %+v", late, v)
		}
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	w := newFixture(t, 3)
	w.add(t, func(l *leaf.Leaf, _ *audit.Stored) { l.At = leaf.At(begin.Add(-time.Minute)) })
	w.add(t, func(l *leaf.Leaf, _ *audit.Stored) { l.Act, l.At = "audit.beat", leaf.At(begin.Add(5*time.Hour)) })
	w.add(t, func(l *leaf.Leaf, _ *audit.Stored) { l.At = leaf.At(begin.Add(48 * time.Hour)) })
	v := check(t, w)
	for id, want := range map[string]string{"times": "warned: clock_back: 1", "beats": "warned: 1 gaps"} {
		if got := detail(v.Verdict, id); !strings.HasPrefix(got, want) || !v.OK {
			t.Errorf("%s: %s", id, got)
		}
	}
	if !strings.Contains(detail(v.Verdict, "times"), "clock_ahead: 1") {
		t.Errorf("%+v", v)
	}
}

// TestCallersShare starts callers during a verification: they share only the next one.
func TestCallersShare(t *testing.T) {
	t.Parallel()
	w := newFixture(t, 5)
	w.slow = make(chan struct{})
	begun := make(chan struct{}, 10)
	w.onRange = func() { begun <- struct{}{} }
	p := w.prover()
	var wg sync.WaitGroup
	call := func() {
		wg.Go(func() {
			if v, err := p.Verify(context.Background(), proof.Trust{}); err != nil || !v.OK {
				t.Errorf("%+v, %v", v, err)
			}
		})
	}
	call()
	<-begun
	for range 8 {
		call()
	}
	for p.waiting() < 8 {
		time.Sleep(time.Millisecond)
	}
	gone, stop := context.WithCancel(t.Context())
	stop()
	if _, err := p.Verify(gone, proof.Trust{}); !errors.Is(err, context.Canceled) {
		t.Errorf("who leaves gets %v", err)
	}
	close(w.slow)
	wg.Wait()
	if n := w.ranges.Load(); n != 2 {
		t.Errorf("%d verifications for nine callers", n)
	}
}

// TestNobodyWaits cancels a verification whose last caller left.
func TestNobodyWaits(t *testing.T) {
	t.Parallel()
	w := newFixture(t, 5)
	w.slow = make(chan struct{})
	begun := make(chan struct{}, 1)
	w.onRange = func() { begun <- struct{}{} }
	p := w.prover()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := p.Verify(ctx, proof.Trust{})
		done <- err
	}()
	<-begun
	stop()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	for p.busy() {
		time.Sleep(time.Millisecond)
	}
}

func (p *Prover) waiting() int {
	p.flights.mu.Lock()
	defer p.flights.mu.Unlock()
	if p.flights.next == nil {
		return 0
	}
	return p.flights.next.waiting
}

func (p *Prover) busy() bool {
	p.flights.mu.Lock()
	defer p.flights.mu.Unlock()
	return p.flights.running != nil
}

func BenchmarkVerify100k(b *testing.B) {
	w := newFixture(b, 100_000)
	w.seen(b, audit.KindCheckpoint, 100_000)
	b.ReportAllocs()
	for b.Loop() {
		if v := check(b, w); !v.OK {
			b.Fatalf("%+v", v)
		}
	}
}

// TestNoEditedRowVerifies changes one value of one row, or of one head, of a random chain.
func TestNoEditedRowVerifies(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(2, 20).Draw(rt, "n")
		w := newFixture(t, n)
		w.seen(t, audit.KindWorker, int64(n))
		at := rapid.IntRange(0, n-1).Draw(rt, "row")
		e := &w.rows[at]
		texts := []*string{&e.Leaf, &e.ID, &e.At, &e.Action, &e.Actor, &e.Object, &e.Run, &w.anchors[0].Note}
		switch what := rapid.IntRange(0, len(texts)+3).Draw(rt, "what"); what {
		case len(texts):
			e.Hash[rapid.IntRange(0, 31).Draw(rt, "byte")] ^= 1
		case len(texts) + 1:
			w.rows = slices.Delete(w.rows, at, at+1)
		case len(texts) + 2:
			w.rows = slices.Insert(w.rows, at, *e)
		case len(texts) + 3:
			w.anchors[0].Root[0] ^= 1
		default:
			b := []byte(*texts[what])
			if len(b) == 0 {
				b = []byte("x")
			} else {
				b[rapid.IntRange(0, len(b)-1).Draw(rt, "byte")] ^= 1 << rapid.IntRange(0, 6).Draw(rt, "bit")
			}
			*texts[what] = string(b)
		}
		if v := check(t, w); v.OK {
			rt.Fatalf("verifies: %+v", v)
		}
	})
}
