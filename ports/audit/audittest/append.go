package audittest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
)

func appendCases() map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
		"an empty chain":          appendEmpty,
		"byte for byte":           appendBytes,
		"many at once":            appendMany,
		"again in one unit":       appendAgain,
		"what does not continue":  appendBad,
		"what is swallowed":       appendSwallowed,
		"what no leaf is":         appendNoLeaf,
		"a unit that fails":       appendRollback,
		"outside of a unit":       appendOutside,
		"erasing":                 appendErase,
		"the tip and the time":    appendLock,
		"a number that was there": appendHole,
	}
}

func appendEmpty(t *testing.T, e *env) {
	same(t, "tip", audit.Tip{}, e.tip(t))
	same(t, "chain", []audit.Stored(nil), e.all(t, true))
	if n, last, err := e.Reader.Count(t.Context()); n != 0 || last != 0 || err != nil {
		t.Errorf("count is %d to %d: %v", n, last, err)
	}
	page, more, err := e.Reader.Page(t.Context(), audit.Filter{Limit: 10})
	if len(page) != 0 || more || err != nil {
		t.Errorf("page is %v, more %t: %v", page, more, err)
	}
	e.must(t, func(ctx context.Context) error { return e.Chain.Append(ctx, nil) })
	same(t, "tip after nothing was appended", audit.Tip{}, e.tip(t))
}

// odd lists texts that a store must not change.
func odd() []string {
	control := new(strings.Builder)
	for c := byte(1); c < 0x20; c++ {
		control.WriteByte(c)
	}
	return []string{
		`'; DROP TABLE audit_entries; --`, `""''\\\'`, control.String() + "\x7f", "été 日本語 🜁 \u2028 \ufffd e\u0301",
		" lead and trail ", "?0 ? $1 :x %s {}",
		"\n", "NULL", "null", `["a","b"]`, "\\u0000", strings.Repeat("x", 100),
	}
}

func appendBytes(t *testing.T, e *env) {
	var edits []func(*audit.Stored)
	for _, s := range odd() {
		edits = append(edits, func(m *audit.Stored) {
			m.Leaf, m.ID, m.At, m.Action, m.Actor, m.Object, m.Run = s, s, s, s, s, s, s
			m.Disclosures, m.Detail = []string{s, "WyJ", s}, s
		}, func(m *audit.Stored) { m.Leaf, m.Actor, m.Object = s+s, "", ""; m.Disclosures = []string{s} },
			func(m *audit.Stored) { m.ID = "a\nb"; m.Detail = s })
	}
	edits = append(edits, func(m *audit.Stored) { m.Leaf = strings.Repeat("é'", 5461) + "x" }, func(m *audit.Stored) {
		m.Leaf = strings.Repeat("q", 16<<10)
		m.Disclosures = []string{strings.Repeat("d", 10_000), ""}
	})
	want := e.add(t, edits...)
	same(t, "chain", want, e.all(t, true))
	same(t, "chain without private parts", bare(want), e.all(t, false))
	page, _, err := e.Reader.Page(t.Context(), audit.Filter{Limit: len(want)})
	if err != nil {
		t.Fatal(err)
	}
	for i, got := range page {
		same(t, "page", want[len(want)-1-i], got)
	}
	same(t, "tip", of(want[len(want)-1]), e.tip(t))
}

func appendMany(t *testing.T, e *env) {
	n := 0
	for _, more := range []int{1, 2, 3, 63, 64, 65, 700} {
		e.add(t, plains(more)...)
		n += more
	}
	e.linear(t, n)
}

func appendAgain(t *testing.T, e *env) {
	e.must(t, func(ctx context.Context) error {
		for range 3 {
			if _, err := link(ctx, e.Stores, plains(2)...); err != nil {
				return err
			}
		}
		return nil
	})
	e.linear(t, 6)
}

// appendBad appends entries that do not continue the tip. The store must keep nothing of such a unit.
func appendBad(t *testing.T, e *env) {
	e.add(t, plains(3)...)
	first := e.all(t, false)[0]
	at := func(seq int64) func(audit.Tip, time.Time) []audit.Stored {
		return func(_ audit.Tip, now time.Time) []audit.Stored {
			return []audit.Stored{made(audit.Tip{Size: seq - 1}, now)}
		}
	}
	for name, bad := range map[string]func(audit.Tip, time.Time) []audit.Stored{
		"a gap before":    at(5),
		"the tip again":   at(3),
		"the first again": func(audit.Tip, time.Time) []audit.Stored { return []audit.Stored{first} },
		"number 0":        at(0),
		"a negative one":  at(-1),
		"a gap within": func(tip audit.Tip, now time.Time) []audit.Stored {
			a := made(tip, now)
			return []audit.Stored{a, made(audit.Tip{Size: a.Seq + 1}, now)}
		},
		"one twice": func(tip audit.Tip, now time.Time) []audit.Stored {
			a := made(tip, now)
			return []audit.Stored{a, a}
		},
		"backwards": func(tip audit.Tip, now time.Time) []audit.Stored {
			a := made(tip, now)
			return []audit.Stored{made(of(a), now), a}
		},
	} {
		err := e.do(t, func(ctx context.Context) error {
			tip, now, err := e.Chain.Lock(ctx)
			if err != nil {
				return err
			}
			return e.Chain.Append(ctx, bad(tip, now))
		})
		refused(t, name, err, fault.Internal)
		e.linear(t, 3)
	}
}

// appendSwallowed ignores the error of an append: the commit must contain nothing of the failed append.
func appendSwallowed(t *testing.T, e *env) {
	e.add(t, plains(2)...)
	err := e.do(t, func(ctx context.Context) error {
		_, now, err := e.Chain.Lock(ctx)
		if err == nil && e.Chain.Append(ctx, []audit.Stored{made(audit.Tip{Size: 9}, now)}) == nil {
			t.Error("a foreign tip is continued")
		}
		return err
	})
	_ = err // the unit may fail, or commit without the entry
	e.linear(t, 2)
}

func appendNoLeaf(t *testing.T, e *env) {
	for name, edit := range map[string]func(*audit.Stored){
		"an empty leaf":         func(m *audit.Stored) { m.Leaf = "" },
		"a long leaf":           func(m *audit.Stored) { m.Leaf = strings.Repeat("x", 16<<10+1) },
		"half a character":      func(m *audit.Stored) { m.Leaf = "a\xc3" },
		"a NUL":                 func(m *audit.Stored) { m.Leaf = "a\x00b" },
		"a NUL in a column":     func(m *audit.Stored) { m.Object = "\x00" },
		"a NUL in the detail":   func(m *audit.Stored) { m.Detail = "\x00" },
		"bytes in a disclosure": func(m *audit.Stored) { m.Disclosures = []string{"a", "\xff"} },
	} {
		err := e.do(t, func(ctx context.Context) error {
			_, err := link(ctx, e.Stores, plain, edit)
			return err
		})
		refused(t, name, err, fault.Internal)
	}
	e.linear(t, 0)
}

func appendRollback(t *testing.T, e *env) {
	e.add(t, plain)
	lost := errors.New("lost")
	err := e.do(t, func(ctx context.Context) error {
		if _, err := link(ctx, e.Stores, plain, func(m *audit.Stored) { m.Detail = "{}" }); err != nil {
			return err
		}
		return lost
	})
	if !errors.Is(err, lost) {
		t.Errorf("the unit ends with %v", err)
	}
	e.linear(t, 1)
	got := e.add(t, plain)
	same(t, "what follows", []int64{2}, seqs(got))
	same(t, "its private parts", got, e.between(t, 2, 2, true))
}

func appendOutside(t *testing.T, e *env) {
	_, _, err := e.Chain.Lock(t.Context())
	refused(t, "lock", err, fault.Internal)
	refused(t, "append", e.Chain.Append(t.Context(), []audit.Stored{made(audit.Tip{}, time.Unix(0, 0))}), fault.Internal)
	refused(t, "append nothing", e.Chain.Append(t.Context(), nil), fault.Internal)
	refused(t, "erase", e.Chain.Erase(t.Context(), nil), fault.Internal)
	e.linear(t, 0)
}

func appendErase(t *testing.T, e *env) {
	private := func(m *audit.Stored) { m.Disclosures, m.Detail = []string{"WyJ4Il0"}, `{"a":1}` }
	want := e.add(t, private, plain, private, func(m *audit.Stored) { m.Detail = "{}" }, private)
	many := []int64{1, 1, 2, 4, 99, -1, 0}
	for i := range int64(1200) {
		many = append(many, 1000+i)
	}
	for range 2 {
		for _, list := range [][]int64{nil, many, {2}} {
			e.must(t, func(ctx context.Context) error { return e.Chain.Erase(ctx, list) })
		}
	}
	same(t, "chain", bare(want), e.all(t, false))
	want[0].Disclosures, want[0].Detail, want[3].Detail = nil, "", ""
	same(t, "what is left", want, e.all(t, true))
	same(t, "tip", of(want[4]), e.tip(t))
	lost := errors.New("lost")
	_ = e.do(t, func(ctx context.Context) error { return errors.Join(e.Chain.Erase(ctx, []int64{3}), lost) })
	same(t, "what a unit that failed leaves", want, e.all(t, true))
}

func appendLock(t *testing.T, e *env) {
	var last time.Time
	for range 20 {
		e.must(t, func(ctx context.Context) error {
			tip, now, err := e.Chain.Lock(ctx)
			if err != nil {
				return err
			}
			again, later, err := e.Chain.Lock(ctx)
			if err != nil {
				return err
			}
			if now.Location() != time.UTC || now.Nanosecond()%1000 != 0 || now.Before(last) || later.Before(now) ||
				again != tip {
				t.Errorf("%v after %v, then %v", now, last, later)
			}
			if off := time.Since(now); off < -time.Minute || off > 10*time.Minute {
				t.Errorf("the time is off by %s", off)
			}
			last = later
			if seen, err := e.Chain.Tip(ctx); seen != tip || err != nil {
				t.Errorf("the unit sees the tip %v, holds %v: %v", seen, tip, err)
			}
			return e.Chain.Append(ctx, []audit.Stored{made(tip, later)})
		})
	}
	e.linear(t, 20)
}

// appendHole deletes entries, whose numbers are not reused, and inserts a foreign one at the next number.
func appendHole(t *testing.T, e *env) {
	e.add(t, plains(3)...)
	if err := e.Tamper.Delete(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	same(t, "what follows", []int64{4}, seqs(e.add(t, plain)))
	if err := e.Tamper.EditPrivate(t.Context(), 5, []string{"x"}, ""); err != nil {
		t.Fatal(err)
	}
	err := e.do(t, func(ctx context.Context) error {
		_, err := link(ctx, e.Stores, func(m *audit.Stored) { m.Detail = "{}" })
		return err
	})
	refused(t, "a row in the way", err, fault.Internal)
	same(t, "chain", []int64{1, 2, 4}, seqs(e.all(t, false)))
}
