package reporttest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/proof/disclosure"
	"github.com/writ-automation/writ/ports/proof/leaf"
)

// Entry describes an entry. Empty members are absent.
type Entry struct {
	At      time.Time
	Action  audit.Action
	Sub     string
	SubName string
	Object  string // kind/id
	ObjName string
	Run     string
	Outcome audit.Outcome // empty is Applied
	Text    string
	Detail  string // canonical JSON
}

// Chain is an in-memory chain of entries. The same entries always make the same chain.
type Chain []audit.Stored

// NewChain links entries.
func NewChain(t *testing.T, entries ...Entry) Chain {
	t.Helper()
	var c Chain
	var prev [32]byte
	for i, e := range entries {
		l := leaf.Leaf{Act: string(e.Action), At: leaf.At(e.At), Obj: e.Object, Out: leaf.Applied, Prev: prev, Run: e.Run,
			Seq: int64(i + 1), Sub: e.Sub}
		if e.Outcome != "" {
			l.Out = string(e.Outcome)
		}
		s := audit.Stored{Seq: l.Seq, At: l.At, Action: l.Act, Actor: l.Sub, Object: l.Obj, Run: l.Run, Detail: e.Detail}
		for _, d := range []disclosure.Disclosure{
			{Name: disclosure.SubName, Value: e.SubName}, {Name: disclosure.ObjName, Value: e.ObjName},
			{Name: disclosure.Text, Value: e.Text},
		} {
			if d.Value = disclosure.Fit(d.Value); d.Value == "" {
				continue
			}
			d.Salt = [16]byte(sum([]byte(d.Name), l.At, d.Value)[:16])
			text, err := d.Encode()
			if err != nil {
				t.Fatal(err)
			}
			s.Disclosures, l.SD = append(s.Disclosures, text), append(l.SD, disclosure.Digest(text))
		}
		slices.Sort(l.SD)
		if e.Detail != "" {
			l.Det = "sha256:" + hex.EncodeToString(sum(nil, e.Detail))
		}
		b, err := l.AppendTo(nil)
		if err != nil {
			t.Fatal(err)
		}
		s.Leaf, s.Hash = string(b), leaf.Hash(b)
		prev = s.Hash
		c = append(c, s)
	}
	return c
}

func sum(start []byte, texts ...string) []byte {
	b := slices.Clone(start)
	for _, s := range texts {
		b = append(b, s...)
	}
	h := sha256.Sum256(b)
	return h[:]
}

var _ audit.ChainReader = Chain{}

func (c Chain) Range(ctx context.Context, from, to int64, private bool, fn func(e *audit.Stored) error) error {
	for _, e := range c {
		if err := ctx.Err(); err != nil {
			return err
		}
		if e.Seq < from || e.Seq > to {
			continue
		}
		if !private {
			e.Disclosures, e.Detail = nil, ""
		}
		if err := fn(&e); err != nil {
			return err
		}
	}
	return nil
}

// Page is unused by these documents.
func (Chain) Page(context.Context, audit.Filter) ([]audit.Stored, bool, error) {
	return nil, false, errors.New("nobody asks for a page")
}

func (c Chain) OfRun(_ context.Context, run string, limit int) ([]audit.Stored, error) {
	var out []audit.Stored
	for _, e := range c {
		if (e.Run == run || e.Object == "run/"+run) && len(out) < limit {
			out = append(out, e)
		}
	}
	return out, nil
}

func (c Chain) Count(context.Context) (n, last int64, err error) {
	for _, e := range c {
		last = max(last, e.Seq)
	}
	return int64(len(c)), last, nil
}

// Now is a fixed clock.
type Now time.Time

func (n Now) Now() time.Time { return time.Time(n) }
