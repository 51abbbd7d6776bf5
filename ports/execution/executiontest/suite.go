package executiontest

import (
	"testing"

	"github.com/writ-automation/writ/ports/execution"
	"github.com/writ-automation/writ/ports/runs"
)

// Fixture is a control plane with methods to submit runs and to read their results.
type Fixture struct {
	Plane execution.ControlPlane
	// Submit stores a pending run of the kind in the queue and returns its id.
	Submit func(t *testing.T, kind runs.Kind, queue string) string
	// SubmitDry stores a pending dry run in the queue and returns its id.
	SubmitDry func(t *testing.T, queue string) string
	// Run reads a run's record.
	Run func(t *testing.T, id string) *runs.Run
	// Log reads a run's stored output; a hole reads as nothing.
	Log func(t *testing.T, id string) []byte
	// Events reads a run's events without those of type status.
	Events func(t *testing.T, id string) []runs.Event
	// Expire ends the lease of a run and applies the consequences.
	Expire func(t *testing.T, id string)
}

// Run runs the suite. Each case gets a fixture of its own.
func Run(t *testing.T, open func(t *testing.T) Fixture) {
	cases := []struct {
		name string
		run  func(t *testing.T, f Fixture)
	}{
		{"claims go to one holder by queue", claims},
		{"a hundred claimers share the runs", race},
		{"a run that began is not handed back", release},
		{"an expired lease is lost for every write", lost},
		{"a run that did not begin can be ended", endUnbegun},
		{"the end is idempotent", finishTwice},
		{"the log takes pieces twice and with holes", logPieces},
		{"events take repetitions and refuse gaps", eventNumbers},
		{"beats tell of cancel and loss", beats},
		{"held lists what a worker holds", held},
		{"a division ends the claim", divide},
		{"a dry run has one plan", plans},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, open(t))
		})
	}
}

// claim claims the next run of the queue, or fails.
func claim(t *testing.T, f Fixture, worker, queue string) *runs.Assignment {
	t.Helper()
	a, err := f.Plane.Claim(t.Context(), runs.ClaimRequest{Worker: worker, Queues: []string{queue}})
	if err != nil {
		t.Fatal(err)
	}
	if a == nil {
		t.Fatalf("no run waits in %s", queue)
	}
	return a
}

// begun submits, claims and begins a run.
func begun(t *testing.T, f Fixture) *runs.Assignment {
	t.Helper()
	f.Submit(t, runs.Single, "q")
	a := claim(t, f, "w1", "q")
	if err := f.Plane.Begin(t.Context(), a.Lease); err != nil {
		t.Fatal(err)
	}
	return a
}

func status(t *testing.T, f Fixture, id string, want runs.Status) {
	t.Helper()
	if got := f.Run(t, id).Status; got != want {
		t.Fatalf("the run is %s, not %s", got, want)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func refused(t *testing.T, what string, err error) {
	t.Helper()
	if !runs.LeaseLost.Is(err) {
		t.Errorf("%s under a lost lease gives %v", what, err)
	}
}
