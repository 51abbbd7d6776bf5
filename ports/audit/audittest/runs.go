package audittest

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/writ-automation/writ/ports/audit"
)

func runCases() map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
		"what belongs to a run": runEntries,
		"a run in its own unit": runUnit,
	}
}

// about describes an entry of a top-level run about one run of its tree, or about something else.
func about(run, object string) func(*audit.Stored) {
	return func(m *audit.Stored) { m.Run, m.Object, m.Detail = run, object, "{}" }
}

func runEntries(t *testing.T, e *env) {
	// The fourth is a refusal: the run is its object, but it belongs to no run.
	all := e.add(t,
		about("run_1", "run/run_1"), about("run_2", "run/run_2"), about("run_1", "run/run_1a"), about("", "run/run_1"), plain,
		about("run_1", "user/x"), about("run_1", "run/run_1a"), about("run_1", "run/run_1b"), about("run_2", "run/run_1"),
		about("", ""),
		about("run_1", ""),
	)
	cases := map[string][]int64{
		"run_1": {1, 3, 6, 7, 8, 9, 11}, "run_1a": {3, 7}, "run_1b": {8}, "run_2": {2, 9}, "run_3": nil, "run_": nil, "": nil,
		"RUN_1": nil, "run_%": nil, "x": nil,
	}
	together, err := e.Chain.RunHashes(t.Context(), slices.Sorted(maps.Keys(cases)))
	if err != nil {
		t.Fatal(err)
	}
	for run, want := range cases {
		var wanted []audit.Stored
		var hashes [][32]byte
		for _, seq := range want {
			wanted, hashes = append(wanted, all[seq-1]), append(hashes, all[seq-1].Hash)
		}
		alone, err := e.Chain.RunHashes(t.Context(), []string{run})
		if err != nil {
			t.Fatalf("hashes of %q: %v", run, err)
		}
		same(t, "hashes of "+run, hashes, alone[run])
		same(t, "hashes of "+run+" among others", hashes, together[run])
		for _, limit := range []int{-1, 0, 1, len(want), len(want) + 1, 1 << 40} {
			found, err := e.Reader.OfRun(t.Context(), run, limit)
			if err != nil {
				t.Fatalf("entries of %q: %v", run, err)
			}
			if cut := wanted[:min(len(wanted), max(limit, 0))]; len(cut) > 0 || len(found) > 0 {
				same(t, "entries of "+run, cut, found)
			}
		}
	}
}

// runUnit reads the hashes in a unit that has added one of them and will add another.
func runUnit(t *testing.T, e *env) {
	e.add(t, about("run_1", "run/run_1"), plain)
	e.must(t, func(ctx context.Context) error {
		if _, err := link(ctx, e.Stores, about("run_1", "run/run_1")); err != nil {
			return err
		}
		got, err := e.Chain.RunHashes(ctx, []string{"run_1"})
		if n := len(got["run_1"]); n != 2 {
			t.Errorf("%d hashes", n)
		}
		return err
	})
}
