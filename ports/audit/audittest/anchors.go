package audittest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
)

func anchorCases() map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
		"none":                anchorNone,
		"in their order":      anchorOrder,
		"by a filter":         anchorFilter,
		"an id that is there": anchorTwice,
		"an error ends it":    anchorError,
	}
}

var epoch = time.Date(2026, 3, 4, 5, 6, 7, 891011000, time.UTC)

func anchor(id, kind string, size int64) audit.Anchor {
	return audit.Anchor{
		ID: id, Kind: kind, Epoch: 2, Size: size, Root: [32]byte{1, byte(size), 0, 255},
		MadeAt: epoch.Add(time.Duration(size) * time.Microsecond),
		Note:   "a\nb — '" + id + "'\n", Source: "http://x/?a=b",
	}
}

func (e *env) putAnchors(t *testing.T, list ...audit.Anchor) {
	t.Helper()
	e.must(t, func(ctx context.Context) error {
		for _, a := range list {
			if err := e.Anchors.PutAnchor(ctx, a); err != nil {
				return err
			}
		}
		return nil
	})
}

func (e *env) anchors(t *testing.T) (out []audit.Anchor) {
	t.Helper()
	if err := e.Anchors.Anchors(t.Context(), func(a *audit.Anchor) error {
		out = append(out, *a)
		return nil
	}); err != nil {
		t.Fatalf("anchors: %v", err)
	}
	return out
}

func (e *env) newest(t *testing.T, kind string, limit int) []audit.Anchor {
	t.Helper()
	got, err := e.Anchors.NewestAnchors(t.Context(), kind, limit)
	if err != nil {
		t.Fatalf("newest anchors: %v", err)
	}
	return got
}

func anchorNone(t *testing.T, e *env) {
	if got := append(e.anchors(t), e.newest(t, "", 5)...); len(got) != 0 {
		t.Errorf("anchors %v", got)
	}
	if n, err := e.Anchors.CountAnchors(t.Context()); len(n) != 0 || err != nil {
		t.Errorf("counted %v: %v", n, err)
	}
	refused(t, "put outside of a unit", e.Anchors.PutAnchor(t.Context(), anchor("anc_1", "witness", 1)), fault.Internal)
	refused(t, "an anchor without an id", e.do(t, func(ctx context.Context) error {
		return e.Anchors.PutAnchor(ctx, anchor("", "witness", 1))
	}), fault.Internal)
	refused(t, "a note with a NUL", e.do(t, func(ctx context.Context) error {
		a := anchor("anc_1", "witness", 1)
		a.Note = "\x00"
		return e.Anchors.PutAnchor(ctx, a)
	}), fault.Internal)
}

func anchorOrder(t *testing.T, e *env) {
	var want []audit.Anchor
	kinds := []string{audit.KindCheckpoint, audit.KindTimestamp, audit.KindWitness}
	for i := range 200 {
		a := anchor(fmt.Sprintf("anc_%03d", i*37%200), kinds[i%3], int64(i*71%200/7))
		if i%3 == 1 {
			a.Evidence = []byte{0x30, 0, '\'', '"', 0xff, byte(i)}
		}
		want = append(want, a)
	}
	want = append(want, anchor("anc_B", "head_file", 5), anchor("anc_a", "head_file", 5), anchor("anc__", "head_file", 5),
		anchor("anc_0", "head_file", 0))
	e.putAnchors(t, want...)
	order := func(a, b audit.Anchor) int { return cmp.Or(cmp.Compare(a.Size, b.Size), cmp.Compare(a.ID, b.ID)) }
	slices.SortFunc(want, order)
	same(t, "anchors", want, e.anchors(t))
	slices.Reverse(want)
	counts := map[string]int64{}
	for _, a := range want {
		counts[a.Kind]++
	}
	got, err := e.Anchors.CountAnchors(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "counts", counts, got)
	for _, kind := range append(kinds, "", "head_file", "none") {
		var of []audit.Anchor
		for _, a := range want {
			if kind == "" || a.Kind == kind {
				of = append(of, a)
			}
		}
		for _, limit := range []int{-1, 0, 1, 3, len(of), len(of) + 1} {
			got := e.newest(t, kind, limit)
			if cut := of[:min(len(of), max(limit, 0))]; len(cut) > 0 || len(got) > 0 {
				same(t, "newest of "+kind, cut, got)
			}
		}
	}
}

func anchorFilter(t *testing.T, e *env) {
	var all []audit.Anchor
	kinds := []string{audit.KindCheckpoint, audit.KindWorker}
	for i := range 120 {
		a := anchor(fmt.Sprintf("anc_%03d", i*37%120), kinds[i%2], int64(i/4))
		a.Epoch = int64(1 + i%3)
		if i%5 == 0 {
			a.Evidence = []byte{0}
		}
		all = append(all, a)
	}
	e.putAnchors(t, all...)
	slices.SortFunc(all, func(a, b audit.Anchor) int {
		return -cmp.Or(cmp.Compare(a.Size, b.Size), cmp.Compare(a.ID, b.ID))
	})
	for _, f := range []audit.AnchorFilter{
		{Limit: 7}, {Kind: audit.KindWorker, Limit: 1}, {Kind: audit.KindWorker, Epoch: 2, Limit: 120}, {Epoch: 3, Limit: 5},
		{Kind: audit.KindWorker, Epoch: 1, UpTo: 9, Limit: 3}, {UpTo: 1, Limit: 120}, {Evidence: true, Limit: 120},
		{Kind: audit.KindWorker, Evidence: true, UpTo: 20, Limit: 4}, {Epoch: 4, Limit: 5}, {Kind: "none", Limit: 5}, {},
		{Limit: -1},
	} {
		var want []audit.Anchor
		for _, a := range all {
			if (f.Kind == "" || a.Kind == f.Kind) && (f.Epoch == 0 || a.Epoch == f.Epoch) && (f.UpTo == 0 || a.Size <= f.UpTo) &&
				(!f.Evidence || len(a.Evidence) > 0) && len(want) < f.Limit {
				want = append(want, a)
			}
		}
		got, err := e.Anchors.FindAnchors(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		if len(want) > 0 || len(got) > 0 {
			same(t, fmt.Sprintf("%+v", f), want, got)
		}
	}
}

func anchorTwice(t *testing.T, e *env) {
	first := anchor("anc_1", "witness", 1)
	e.putAnchors(t, first)
	refused(t, "the same id", e.do(t, func(ctx context.Context) error {
		return e.Anchors.PutAnchor(ctx, anchor("anc_1", "receipt", 2))
	}), fault.Conflict)
	lost := errors.New("lost")
	_ = e.do(t, func(ctx context.Context) error {
		return errors.Join(e.Anchors.PutAnchor(ctx, anchor("anc_2", "receipt", 2)), lost)
	})
	same(t, "anchors", []audit.Anchor{first}, e.anchors(t))
}

func anchorError(t *testing.T, e *env) {
	for i := range int64(150) {
		e.putAnchors(t, anchor(fmt.Sprintf("anc_%03d", i), "witness", i))
	}
	enough := errors.New("enough")
	for _, stop := range []int64{0, 63, 64, 149} {
		calls := int64(0)
		err := e.Anchors.Anchors(t.Context(), func(a *audit.Anchor) error {
			if calls++; a.Size == stop {
				return enough
			}
			return nil
		})
		if !errors.Is(err, enough) || calls != stop+1 {
			t.Errorf("after %d calls: %v", calls, err)
		}
	}
}
