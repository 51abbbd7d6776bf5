package prove

import (
	"context"
	"fmt"
	"testing"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/proof"
	"github.com/writ-automation/writ/ports/proof/leaf"
)

// busy is a fixture that records an entry and signs its head each time the heads are read, during a verification.
type busy struct {
	*fixture
	t     *testing.T
	grown chan struct{} // closed once the chain has grown
}

func (b busy) Anchors(ctx context.Context, fn func(a *audit.Anchor) error) error {
	b.add(b.t, nil)
	b.seen(b.t, audit.KindCheckpoint, int64(len(b.rows)))
	close(b.grown)
	return b.fixture.Anchors(ctx, fn)
}

func (b busy) Range(ctx context.Context, from, to int64, private bool, fn func(e *audit.Stored) error) error {
	<-b.grown
	return b.fixture.Range(ctx, from, to, private, fn)
}

// TestAHeadThatIsMadeMeanwhile covers a head of entries that were recorded during the verification: the chain is not
// too short for it.
func TestAHeadThatIsMadeMeanwhile(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 1500} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, n)
			p := w.prover()
			b := busy{fixture: w, t: t, grown: make(chan struct{})}
			p.p.Anchors, p.p.Reader = b, b
			v, err := p.Verify(t.Context(), proof.Trust{})
			if err != nil || !v.OK || v.Count != int64(n)+1 || v.Anchored != int64(n)+1 || len(v.AnchorProblems) != 0 {
				t.Errorf("%+v, %v", v, err)
			}
		})
	}
}

// TestARowBelowTheFirst covers an inserted row with a number below 1.
func TestARowBelowTheFirst(t *testing.T) {
	t.Parallel()
	for _, seq := range []int64{0, -1, -1 << 62} {
		w := newFixture(t, 3)
		w.rows = append([]audit.Stored{w.rows[0]}, w.rows...)
		w.rows[0].Seq = seq
		if v := check(t, w); v.OK || v.Reason != proof.ChainBreak || v.BrokeAt != 1 || v.Count != 4 {
			t.Errorf("a row of the number %d: %+v", seq, v)
		}
	}
}

// TestAForgedEpochGivesNothingUp checks that an epoch closed in the database alone abandons no head without a
// signature.
func TestAForgedEpochGivesNothingUp(t *testing.T) {
	t.Parallel()
	for vouched, want := range map[bool]string{true: "", false: "worker/12/root_mismatch head_file/12/root_mismatch"} {
		w := newFixture(t, 12)
		w.filed = w.note(t, 12)
		w.seen(t, audit.KindWorker, 12)
		w.seen(t, audit.KindCheckpoint, 11)
		w.rolledBack(t, 8, true)
		for range 5 {
			w.add(t, func(*leaf.Leaf, *audit.Stored) {})
		}
		w.vouched = vouched
		v := check(t, w)
		if got := problems(v.Verdict); got != want || v.OK != vouched {
			t.Errorf("vouched %t: ok %t, problems %q, want %q", vouched, v.OK, got, want)
		}
	}
}
