package audittest

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
)

// env holds the stores of one case and makes entries for them.
type env struct{ Stores }

// form is the time format of leaves.
const form = "2006-01-02T15:04:05.000000Z"

// made makes the entry after a tip. Its leaf contains the hash of the tip.
func made(tip audit.Tip, now time.Time, edit ...func(*audit.Stored)) audit.Stored {
	seq := tip.Size + 1
	e := audit.Stored{
		Seq: seq, ID: fmt.Sprintf("aud_%026d", seq), At: now.Format(form), Action: "user.update", Actor: "usr_1",
		Object: fmt.Sprintf("user/usr_%d", seq),
	}
	e.Leaf = fmt.Sprintf(`{"at":%q,"prev":%q,"seq":%d}`, e.At, prev(tip), seq)
	for _, fn := range edit {
		fn(&e)
	}
	e.Hash = sha256.Sum256([]byte("\x00" + e.Leaf))
	return e
}

func prev(tip audit.Tip) string { return base64.StdEncoding.EncodeToString(tip.Hash[:]) }

func of(e audit.Stored) audit.Tip { return audit.Tip{Size: e.Seq, Hash: e.Hash} }

// link appends an entry for each edit in the open unit of work, at the end of the unit.
func link(ctx context.Context, s Stores, edits ...func(*audit.Stored)) ([]audit.Stored, error) {
	tip, now, err := s.Chain.Lock(ctx)
	if err != nil {
		return nil, err
	}
	var out []audit.Stored
	for _, edit := range edits {
		e := made(tip, now, edit)
		out, tip = append(out, e), of(e)
	}
	return out, s.Chain.Append(ctx, out)
}

func plain(*audit.Stored) {}

// plains returns n edits that change nothing.
func plains(n int) []func(*audit.Stored) {
	out := make([]func(*audit.Stored), n)
	for i := range out {
		out[i] = plain
	}
	return out
}

// add appends an entry for each edit in one unit and returns them.
func (e *env) add(t *testing.T, edits ...func(*audit.Stored)) []audit.Stored {
	t.Helper()
	var out []audit.Stored
	e.must(t, func(ctx context.Context) (err error) {
		out, err = link(ctx, e.Stores, edits...)
		return err
	})
	return out
}

// do runs fn in a unit of work and returns its error.
func (e *env) do(t *testing.T, fn func(ctx context.Context) error) error {
	t.Helper()
	return e.Unit.Do(t.Context(), fn)
}

// must runs fn in a unit of work that must succeed.
func (e *env) must(t *testing.T, fn func(ctx context.Context) error) {
	t.Helper()
	if err := e.do(t, fn); err != nil {
		t.Fatalf("unit of work: %v", err)
	}
}

// all reads the whole chain.
func (e *env) all(t *testing.T, private bool) []audit.Stored {
	t.Helper()
	return e.between(t, math.MinInt64, math.MaxInt64, private)
}

func (e *env) between(t *testing.T, from, to int64, private bool) []audit.Stored {
	t.Helper()
	var out []audit.Stored
	if err := e.Reader.Range(t.Context(), from, to, private, func(s *audit.Stored) error {
		out = append(out, *s)
		return nil
	}); err != nil {
		t.Fatalf("read %d to %d: %v", from, to, err)
	}
	return out
}

// now returns the clock of the chain.
func (e *env) now(t *testing.T) (now time.Time) {
	t.Helper()
	e.must(t, func(ctx context.Context) (err error) {
		_, now, err = e.Chain.Lock(ctx)
		return err
	})
	return now
}

func (e *env) tip(t *testing.T) audit.Tip {
	t.Helper()
	tip, err := e.Chain.Tip(t.Context())
	if err != nil {
		t.Fatalf("tip: %v", err)
	}
	return tip
}

// linear fails unless the chain has n entries without a gap, each with the hash of its predecessor, and ends in the
// tip.
func (e *env) linear(t *testing.T, n int) {
	t.Helper()
	var tip audit.Tip
	at := ""
	for _, s := range e.all(t, false) {
		if want := made(tip, time.Time{}, func(m *audit.Stored) {
			m.Leaf = fmt.Sprintf(`{"at":%q,"prev":%q,"seq":%d}`, s.At, prev(tip), m.Seq)
		}); s.Leaf != want.Leaf || s.Hash != want.Hash {
			t.Fatalf("entry %d is %s, want %s", s.Seq, s.Leaf, want.Leaf)
		}
		if s.At < at {
			t.Errorf("entry %d is of %s, the one before of %s", s.Seq, s.At, at)
		}
		tip, at = of(s), s.At
	}
	if tip.Size != int64(n) || tip != e.tip(t) {
		t.Errorf("the chain ends at %d and the tip is %d, want %d", tip.Size, e.tip(t).Size, n)
	}
}

func bare(entries []audit.Stored) []audit.Stored {
	out := make([]audit.Stored, len(entries))
	for i, e := range entries {
		e.Disclosures, e.Detail = nil, ""
		out[i] = e
	}
	return out
}

func seqs(entries []audit.Stored) (out []int64) {
	for _, e := range entries {
		out = append(out, e.Seq)
	}
	return out
}

func same(t *testing.T, what string, want, got any) {
	t.Helper()
	// Equal values need no diff, which is slow for large values.
	if reflect.DeepEqual(want, got) {
		return
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// refused fails unless err is a fault of the kind.
func refused(t *testing.T, what string, err error, kind fault.Kind) {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != kind {
		t.Errorf("%s: the error is %v, want a fault of kind %s", what, err, kind)
	}
}
