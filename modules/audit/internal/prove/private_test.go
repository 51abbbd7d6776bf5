package prove

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/proof"
)

// viewers sees everything except some objects and runs, and counts its decisions.
type viewers struct {
	hidden map[string]bool
	err    error
	asked  *int
}

func (v *viewers) Sees(_ context.Context, object, run string) (bool, error) {
	*v.asked++
	return !v.hidden[object] && !v.hidden[run], v.err
}

func without(hidden ...string) *viewers {
	v := &viewers{hidden: map[string]bool{}, asked: new(int)}
	for _, name := range hidden {
		v.hidden[name] = true
	}
	return v
}

// TestBundleForAnAudience writes only the hash of an entry that the audience does not see.
func TestBundleForAnAudience(t *testing.T) {
	t.Parallel()
	w := newFixture(t, 5)
	w.runs(t)
	for name, c := range map[string]struct {
		audience *viewers
		q        audit.BundleQuery
		hidden   int
	}{
		"all":               {without(), audit.BundleQuery{}, 0},
		"an object":         {without("user/usr_2"), audit.BundleQuery{}, 6},
		"a run":             {without("run_1"), audit.BundleQuery{}, 4},
		"a window":          {without("run_1"), audit.BundleQuery{From: 6, To: 8}, 2},
		"the ends":          {without("run_1"), audit.BundleQuery{From: 6, To: 9}, 3},
		"nothing is seen":   {without("run_1", "run_3", "user/usr_2", ""), audit.BundleQuery{}, 12},
		"who sees all":      {nil, audit.BundleQuery{}, 0},
		"others are hidden": {without("run_9", "template/tpl_1"), audit.BundleQuery{}, 0},
	} {
		if c.audience != nil {
			c.q.Audience = c.audience
		}
		doc := bundleOf(t, w, c.q)
		v, err := proof.VerifyBundle(t.Context(), bytes.NewReader(doc), w.trusted(), w.now)
		if err != nil || !v.OK || bytes.Count(doc, []byte(`{"hash":`)) != c.hidden ||
			int64(bytes.Count(doc, []byte(`{"leaf":`))+c.hidden) != v.Count {
			t.Errorf("%s: %+v, %v: %s", name, v, err, doc)
		}
		if c.audience == nil {
			continue
		}
		for object := range c.audience.hidden {
			if object != "" && bytes.Contains(doc, []byte(object+`\"`)) {
				t.Errorf("%s: the file shows %s", name, object)
			}
		}
	}
}

// TestTilesForAnAudience refuses the zip, which cannot leave out entries, before and while it is written.
func TestTilesForAnAudience(t *testing.T) {
	t.Parallel()
	w := newFixture(t, 5)
	w.runs(t)
	_, err := w.prover().Bundle(t.Context(), audit.BundleQuery{Tiles: true, Audience: without("run_1")})
	if !access.NotAllowed.Is(err) {
		t.Errorf("with a hidden run: %v", err)
	}
	later := without()
	doc, err := w.prover().Bundle(t.Context(), audit.BundleQuery{Tiles: true, Audience: later})
	if err != nil {
		t.Fatal(err)
	}
	later.hidden["run_3"] = true
	doc.(*tiles).visibility = newVisibility(later)
	if err := doc.WriteTo(t.Context(), io.Discard); !access.NotAllowed.Is(err) {
		t.Errorf("a run that was hidden meanwhile: %v", err)
	}
}

// TestReceiptForAnAudience is contiguous only if the audience sees all entries between.
func TestReceiptForAnAudience(t *testing.T) {
	t.Parallel()
	w := newFixture(t, 5)
	w.runs(t)
	for name, c := range map[string]struct {
		audience *viewers
		run      string
		count    int64
	}{
		"all": {without(), "run_1", 6}, "an account between": {without("user/usr_2"), "run_1", 4},
		"another run": {without("run_3"), "run_1", 6}, "its own objects are not asked for": {without("run_1"), "run_1", 6},
		"a child": {without("user/usr_2"), "run_2", 2},
	} {
		got, err := w.prover().Receipt(t.Context(), c.run, audit.ReceiptQuery{Audience: c.audience})
		if err != nil {
			t.Fatal(err)
		}
		v, err := proof.VerifyReceipt(t.Context(), bytes.NewReader(got.Body), w.trusted(), w.now)
		if err != nil || !v.OK || v.Count != c.count {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
	}
}

// TestNoDecision makes no document if the audience cannot decide.
func TestNoDecision(t *testing.T) {
	t.Parallel()
	w := newFixture(t, 5)
	w.runs(t)
	broken := without()
	broken.err = errors.New("no rights are known")
	doc, err := w.prover().Bundle(t.Context(), audit.BundleQuery{Audience: broken})
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.WriteTo(t.Context(), io.Discard); !errors.Is(err, broken.err) {
		t.Errorf("a bundle: %v", err)
	}
	_, err = w.prover().Bundle(t.Context(), audit.BundleQuery{Tiles: true, Audience: broken})
	if !errors.Is(err, broken.err) {
		t.Errorf("tiles: %v", err)
	}
	_, err = w.prover().Receipt(t.Context(), "run_1", audit.ReceiptQuery{Audience: broken})
	if !errors.Is(err, broken.err) {
		t.Errorf("a receipt: %v", err)
	}
}

// TestDecisionsAreRemembered within a bound.
func TestDecisionsAreRemembered(t *testing.T) {
	t.Parallel()
	v := without("run_7")
	s := newVisibility(v)
	for i := range 3 * maxDecisions {
		e := audit.Stored{Run: fmt.Sprintf("run_%d", i/2)}
		if seen, err := s.sees(t.Context(), &e); err != nil || seen == (e.Run == "run_7") || len(s.decided) > maxDecisions {
			t.Fatalf("%d: %v, %v, %d decisions", i, seen, err, len(s.decided))
		}
	}
	if want := 3 * maxDecisions / 2; *v.asked != want {
		t.Errorf("%d decisions, want %d", *v.asked, want)
	}
}
