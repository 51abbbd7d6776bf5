package guard

import (
	"context"
	"testing"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/runs"
)

// lenient allows everything. It is also an object store: the map holds the objects of each run.
type lenient map[string][]string

func (lenient) May(context.Context, access.Level, ...string) (bool, error) { return true, nil }
func (lenient) Scope(context.Context) (access.Scope, error)                { return access.Scope{}, nil }

func (l lenient) Objects(_ context.Context, id string) ([]string, error) { return l[id], nil }

// TestOfNothingNobodyMayDoAnything uses a run without objects, which no store returns.
func TestOfNothingNobodyMayDoAnything(t *testing.T) {
	t.Parallel()
	fake := lenient{"run_1": {"queue:default"}, "run_none": {}}
	g := NewGate(fake, fake)
	for _, want := range []access.Level{access.Read, access.Use, access.Manage} {
		if ok, err := g.May(t.Context(), want); ok || err != nil {
			t.Errorf("%s: %t, %v", want, ok, err)
		}
		if ok, err := g.May(t.Context(), want, "queue:default"); !ok || err != nil {
			t.Errorf("%s of a queue: %t, %v", want, ok, err)
		}
	}
	for name, ask := range map[string]func(context.Context, string) error{"read": g.Read, "use": g.Use} {
		if err := ask(t.Context(), "run_none"); !runs.RunNotFound.Is(err) {
			t.Errorf("%s: %v", name, err)
		}
		if err := ask(t.Context(), "run_1"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func (lenient) Unfinished(context.Context, string, int) ([]string, int, error) { return nil, 0, nil }
