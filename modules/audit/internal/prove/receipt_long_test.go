//go:build long

package prove

import (
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/proof/leaf"
)

// TestReceiptTooLarge has entries of the maximal size: their number alone does not reveal the size.
func TestReceiptTooLarge(t *testing.T) {
	t.Parallel()
	w := newFixture(t, 0)
	for i := range 2400 {
		w.add(t, func(l *leaf.Leaf, _ *audit.Stored) {
			l.Obj = "user/" + strings.Repeat("u", 12_000)
			if i == 0 || i == 2399 {
				l.Run = "run_3"
			}
		})
	}
	_, err := w.prover().Receipt(t.Context(), "run_3", audit.ReceiptQuery{})
	if !audit.ReceiptTooLong.Is(err) || !strings.Contains(err.Error(), "?sparse") {
		t.Errorf("%v", err)
	}
	if _, err := w.prover().Receipt(t.Context(), "run_3", audit.ReceiptQuery{Sparse: true}); err != nil {
		t.Errorf("%v", err)
	}
}
