package output_test

import (
	"context"
	"strings"
	"testing"

	"github.com/writ-automation/writ/modules/execution/internal/output"
	"github.com/writ-automation/writ/ports/runs"
)

// journal is a journal that keeps facts.
type journal struct {
	runs.Journal
	kept []runs.HostFacts
}

func (k *journal) SaveFacts(_ context.Context, _ runs.Lease, facts []runs.HostFacts) error {
	k.kept = append(k.kept, facts...)
	return nil
}

// TestLargeFactsAreLeftOut sends the facts beside those that are too large.
func TestLargeFactsAreLeftOut(t *testing.T) {
	t.Parallel()
	of := func(host string, size int) runs.Event {
		return runs.Event{Type: runs.EventFacts, Host: host, Facts: []byte(`"` + strings.Repeat("x", size-2) + `"`)}
	}
	k := &journal{}
	events := []runs.Event{of("a", 10), of("b", runs.MaxFacts+1), of("c", runs.MaxFacts)}
	if err := output.SaveFacts(t.Context(), k, runs.Lease{}, events); err != nil {
		t.Fatal(err)
	}
	if len(k.kept) != 2 || k.kept[0].Host != "a" || k.kept[1].Host != "c" {
		t.Errorf("%d facts are sent", len(k.kept))
	}
	if output.HasFacts(events[1:2]) {
		t.Error("facts that are too large count as facts")
	}
}
