package audittest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/depthtest"
)

func readCases() map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
		"ranges":            readRanges,
		"a long chain":      readLong,
		"large entries":     readLarge,
		"holes":             readHoles,
		"an error ends it":  readError,
		"in a unit of work": readUnit,
		"pages":             readPages,
		"filters":           readFilters,
		"a canceled reader": readCanceled,
	}
}

func readRanges(t *testing.T, e *env) {
	want := e.add(t, plains(20)...)
	for _, c := range []struct{ from, to, first, last int64 }{
		{1, 20, 1, 20}, {1, 1, 1, 1}, {20, 20, 20, 20}, {5, 9, 5, 9}, {19, 40, 19, 20}, {-5, 2, 1, 2}, {0, 0, 0, 0},
		{21, 99, 0, 0},
		{9, 5, 0, 0}, {math.MinInt64, math.MaxInt64, 1, 20}, {20, math.MaxInt64, 20, 20},
		{math.MaxInt64, math.MaxInt64, 0, 0},
		{math.MinInt64, math.MinInt64, 0, 0}, {math.MaxInt64, math.MinInt64, 0, 0},
	} {
		var part []audit.Stored
		if c.first > 0 {
			part = want[c.first-1 : c.last]
		}
		same(t, fmt.Sprintf("%d to %d", c.from, c.to), seqs(part), seqs(e.between(t, c.from, c.to, c.from%2 == 0)))
	}
}

func readLong(t *testing.T, e *env) {
	private := func(m *audit.Stored) { m.Disclosures = []string{fmt.Sprint("d", m.Seq)} }
	n := depthtest.Of(1030, 3000)
	var edits []func(*audit.Stored)
	for i := range n {
		edits = append(edits, []func(*audit.Stored){plain, private}[i%2])
	}
	edits[300] = func(m *audit.Stored) { m.Disclosures, m.Detail = []string{"a\nb", `c"\`}, "d\ne" }
	edits[700] = func(m *audit.Stored) { m.Detail = strings.Repeat("long ", 3000) }
	want := e.add(t, edits...)
	same(t, "chain", want, e.all(t, true))
	same(t, "chain without private parts", bare(want), e.all(t, false))
	for _, from := range []int64{2, 511, 512, 513, 514, 1024, 1025, int64(n) - 1, int64(n)} {
		same(t, fmt.Sprint("from ", from), want[from-1:], e.between(t, from, int64(n), true))
		same(t, fmt.Sprint("to ", from), bare(want[:from]), e.between(t, 1, from, false))
	}
}

func readLarge(t *testing.T, e *env) {
	var edits []func(*audit.Stored)
	for range 300 {
		edits = append(edits, func(m *audit.Stored) { m.Leaf = strings.Repeat(fmt.Sprint(m.Seq%10), 16<<10) })
	}
	edits[7] = func(m *audit.Stored) { m.Detail = strings.Repeat("x", 3<<20) }
	want := e.add(t, edits...)
	same(t, "chain", want, e.all(t, true))
	same(t, "chain without private parts", bare(want), e.all(t, false))
}

// readHoles deletes entries in the middle and at both ends, and moves one to a very high number.
func readHoles(t *testing.T, e *env) {
	const n = 1600
	var want []int64
	for _, s := range e.add(t, plains(n)...) {
		hole := s.Seq == 1 || s.Seq == 40 || s.Seq == 512 || s.Seq == 513 || s.Seq > 600 && s.Seq < 660 || s.Seq == n
		if !hole {
			want = append(want, s.Seq)
			continue
		}
		if err := e.Tamper.Delete(t.Context(), s.Seq); err != nil {
			t.Fatal(err)
		}
	}
	far := made(audit.Tip{Size: 1 << 50}, e.now(t))
	if err := e.Tamper.Insert(t.Context(), far); err != nil {
		t.Fatal(err)
	}
	want = append(want, far.Seq)
	for _, private := range []bool{false, true} {
		same(t, "what is there", want, seqs(e.all(t, private)))
		same(t, "within a hole", []int64(nil), seqs(e.between(t, 601, 659, private)))
		same(t, "about a hole", []int64{600, 660}, seqs(e.between(t, 600, 660, private)))
	}
	count, last, err := e.Reader.Count(t.Context())
	if count != int64(len(want)) || last != far.Seq || err != nil {
		t.Errorf("%d entries up to %d, want %d: %v", count, last, len(want), err)
	}
}

func readError(t *testing.T, e *env) {
	e.add(t, plains(1500)...)
	enough := errors.New("enough")
	for _, stop := range []int64{1, 2, 512, 513, 1500} {
		calls := int64(0)
		err := e.Reader.Range(t.Context(), 1, 1500, true, func(s *audit.Stored) error {
			if calls++; s.Seq == stop {
				return enough
			}
			return nil
		})
		if !errors.Is(err, enough) || calls != stop {
			t.Errorf("after %d of %d calls: %v", calls, stop, err)
		}
	}
	e.add(t, plain)
}

// readUnit reads in the unit that appends, and reads and erases during a read.
func readUnit(t *testing.T, e *env) {
	e.must(t, func(ctx context.Context) error {
		added, err := link(ctx, e.Stores, append(plains(1200), func(m *audit.Stored) { m.Detail = "{}" })...)
		if err != nil {
			return err
		}
		var got []audit.Stored
		err = e.Reader.Range(ctx, 1, 1<<40, true, func(s *audit.Stored) error {
			got = append(got, *s)
			if _, err := e.Reader.OfRun(ctx, "run_1", 1); err != nil {
				return err
			}
			return e.Chain.Erase(ctx, []int64{s.Seq})
		})
		same(t, "chain", added, got)
		return err
	})
	same(t, "details", "", e.between(t, 1201, 1201, true)[0].Detail)
}

// page reads a page and returns its numbers.
func (e *env) page(t *testing.T, f audit.Filter) ([]int64, bool) {
	t.Helper()
	got, more, err := e.Reader.Page(t.Context(), f)
	if err != nil {
		t.Fatalf("page %+v: %v", f, err)
	}
	return seqs(got), more
}

func readPages(t *testing.T, e *env) {
	e.add(t, plains(10)...)
	for _, c := range []struct {
		f    audit.Filter
		last int64 // the newest of the page; the numbers descend from it
		n    int64
		more bool
	}{
		{audit.Filter{Limit: 10}, 10, 10, false}, {audit.Filter{Limit: 11}, 10, 10, false},
		{audit.Filter{Limit: 9}, 10, 9, true},
		{audit.Filter{Limit: 1}, 10, 1, true}, {audit.Filter{Limit: 3, Before: 4}, 3, 3, false},
		{audit.Filter{Limit: 2, Before: 4}, 3, 2, true},
		{audit.Filter{Limit: 5, Before: 1}, 0, 0, false}, {audit.Filter{Limit: 5, Before: 2}, 1, 1, false},
		{audit.Filter{Limit: 2, Before: 999}, 10, 2, true}, {audit.Filter{Limit: 0}, 0, 0, true},
		{audit.Filter{Limit: -1}, 0, 0, true},
		{audit.Filter{Limit: math.MaxInt}, 10, 10, false},
	} {
		var want []int64
		for i := range c.n {
			want = append(want, c.last-i)
		}
		got, more := e.page(t, c.f)
		if same(t, fmt.Sprintf("%+v", c.f), want, got); more != c.more {
			t.Errorf("%+v: more is %t", c.f, more)
		}
	}
}

func readFilters(t *testing.T, e *env) {
	var edits []func(*audit.Stored)
	for i := range 60 {
		edits = append(edits, func(m *audit.Stored) {
			m.Actor, m.Object = []string{"usr_a", "usr_b", ""}[i%3], []string{"user/x", "team/x", "", "user/y"}[i%4]
			m.Disclosures = []string{fmt.Sprint(m.Seq)}
		})
	}
	all := e.add(t, edits...)
	slices.Reverse(all)
	for _, f := range []audit.Filter{
		{Actor: "usr_a"}, {Actor: "usr_b"}, {Actor: "usr_c"}, {Actor: "USR_A"}, {Actor: "usr_%"}, {Object: "user/x"},
		{Object: "user"}, {Object: "user/"},
		{Actor: "usr_a", Object: "team/x"}, {Actor: "usr_b", Object: "user/z"}, {Actor: "' OR 1=1 --"},
	} {
		for _, before := range []int64{0, 1, 30, 61} {
			var want []audit.Stored
			for _, s := range all {
				if (f.Actor == "" || s.Actor == f.Actor) && (f.Object == "" || s.Object == f.Object) &&
					(before == 0 || s.Seq < before) {
					want = append(want, s)
				}
			}
			for _, limit := range []int{1, len(want) - 1, len(want), len(want) + 1} {
				f.Before, f.Limit = before, max(limit, 1)
				got, more, err := e.Reader.Page(t.Context(), f)
				if err != nil || more != (len(want) > f.Limit) {
					t.Errorf("%+v: more is %t: %v", f, more, err)
				}
				if cut := want[:min(len(want), f.Limit)]; len(cut) > 0 || len(got) > 0 {
					same(t, fmt.Sprintf("%+v", f), cut, got)
				}
			}
		}
	}
}

func readCanceled(t *testing.T, e *env) {
	e.add(t, plains(2000)...)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := e.Reader.Range(ctx, 1, 2000, false, func(*audit.Stored) error {
		cancel()
		return nil
	})
	if err == nil {
		t.Error("a reader who left is told everything")
	}
	e.linear(t, 2000)
}
