package work

import (
	"testing"
	"time"

	"github.com/writ-automation/writ/ports/runs"
)

func TestKnownClaims(t *testing.T) {
	t.Parallel()
	var k known
	count := func(l runs.Lease) int64 {
		e, err := k.events(l)
		if err != nil {
			t.Fatal(err)
		}
		return e.Count()
	}
	first := runs.Lease{RunID: "run_1", Worker: "w", Epoch: 1}
	k.put(&runs.Assignment{Run: &runs.Run{}, Lease: first, NextSeq: 2}, time.Unix(1, 0))
	later := runs.Lease{RunID: "run_1", Worker: "w", Epoch: 2}
	k.put(&runs.Assignment{Run: &runs.Run{}, Lease: later, NextSeq: 4}, time.Unix(2, 0))
	strict := runs.Lease{RunID: "run_4", Worker: "w", Epoch: 1}
	k.put(&runs.Assignment{Run: &runs.Run{Spec: runs.Spec{FailOn: []string{"no_hosts"}}}, Lease: strict, NextSeq: 2},
		time.Unix(1, 0))
	if !k.lenient(first) || k.lenient(later) || k.lenient(strict) {
		t.Error("a run is known to fail on no warning only if its claim told so")
	}
	if count(first) != 1 || count(later) != 0 {
		t.Errorf("%d and %d events; those before a second claim are not known", count(first), count(later))
	}
	for i := range int64(maxKnown) {
		k.put(&runs.Assignment{Run: &runs.Run{}, Lease: runs.Lease{RunID: "run_2", Epoch: i}, NextSeq: 2}, time.Unix(3, 0))
	}
	if count(first) != 1 {
		t.Error("a claim of the generation before is forgotten")
	}
	k.drop(first)
	if count(first) != 0 {
		t.Error("a claim that is over is known")
	}
	for i := range int64(2 * maxKnown) {
		k.put(&runs.Assignment{Run: &runs.Run{}, Lease: runs.Lease{RunID: "run_3", Epoch: i}, NextSeq: 2}, time.Unix(4, 0))
	}
	if n := len(k.young) + len(k.old); n > 2*maxKnown {
		t.Errorf("%d claims are kept", n)
	}
}
