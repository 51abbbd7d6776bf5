package guard

import (
	"context"
	"fmt"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/runs"
)

// Gate decides about runs. Reading a run needs the right to read all objects that it names. Acting on it needs the
// right to use them.
type Gate struct {
	guard      access.Guard
	operations access.Operations
	objects    runs.ObjectStore
}

// NewGate returns a gate over the guard and the store of the objects of each run.
func NewGate(g access.Guard, o runs.ObjectStore) *Gate { return &Gate{guard: g, objects: o} }

// WithOperations sets what decides about operations. Without it Control refuses everybody.
func (g *Gate) WithOperations(o access.Operations) *Gate {
	g.operations = o
	return g
}

// Scope returns the restriction of lists for the caller.
func (g *Gate) Scope(ctx context.Context) (access.Scope, error) {
	s, err := g.guard.Scope(ctx)
	if err != nil {
		return access.Scope{}, fmt.Errorf("decide what may be read: %w", err)
	}
	return s, nil
}

// May reports whether the caller has the level want on every one of the objects. It is false for no objects, since
// every run names at least one.
func (g *Gate) May(ctx context.Context, want access.Level, objects ...string) (bool, error) {
	if len(objects) == 0 {
		return false, nil
	}
	ok, err := g.guard.May(ctx, want, objects...)
	if err != nil {
		return false, fmt.Errorf("decide what may be done: %w", err)
	}
	return ok, nil
}

// Read returns RunNotFound for a run that does not exist or that the caller may not read. For a caller who may read
// everything it reads no store, since the code that reads the run reports a missing one.
func (g *Gate) Read(ctx context.Context, id string) error { return g.ReadCheck(id)(ctx) }

// ReadCheck returns Read for repeated checks of one run; it looks up the objects of the run once.
func (g *Gate) ReadCheck(id string) func(context.Context) error {
	var objects []string
	return func(ctx context.Context) error {
		s, err := g.Scope(ctx)
		if err != nil || s.All {
			return err
		}
		if objects == nil {
			if objects, err = g.objects.Objects(ctx, id); err != nil {
				return err
			}
		}
		return g.read(ctx, id, objects)
	}
}

func (g *Gate) read(ctx context.Context, id string, objects []string) error {
	ok, err := g.May(ctx, access.Read, objects...)
	if err == nil && !ok {
		err = runs.RunNotFound.New("no run %q", id)
	}
	return err
}

// Show returns a run without the credentials that the caller may not read. Whoever may read a run may read everything
// else that it names.
func (g *Gate) Show(ctx context.Context, r *runs.Run) (*runs.Run, error) {
	if r == nil || len(r.Spec.CredentialIDs) == 0 {
		return r, nil
	}
	if s, err := g.Scope(ctx); err != nil || s.All {
		return r, err
	}
	var shown []string
	for _, id := range r.Spec.CredentialIDs {
		ok, err := g.May(ctx, access.Read, id)
		if err != nil {
			return nil, err
		}
		if ok {
			shown = append(shown, id)
		}
	}
	c := *r
	c.Spec.CredentialIDs = shown
	return &c, nil
}

// shown is Show for the result of a call.
func (g *Gate) shown(ctx context.Context, r *runs.Run, err error) (*runs.Run, error) {
	if err != nil {
		return r, err
	}
	return g.Show(ctx, r)
}

// Use returns RunNotFound for a run that the caller may not read, and UseRequired for one that it may not use.
func (g *Gate) Use(ctx context.Context, id string) error {
	objects, err := g.objects.Objects(ctx, id)
	if err != nil {
		return err
	}
	ok, err := g.May(ctx, access.Use, objects...)
	if err != nil || ok {
		return err
	}
	if err := g.read(ctx, id, objects); err != nil {
		return err
	}
	for _, o := range objects {
		if ok, err = g.May(ctx, access.Use, o); err != nil {
			return err
		}
		if !ok {
			return runs.UseRequired.New("this takes the right to use its %s", Noun(o))
		}
	}
	return nil // the right was granted meanwhile
}

// Control is Use for a caller who did not ask for the operation by itself: it returns NotAllowed for one who may not
// ask for it, by its role or the scopes of its token.
func (g *Gate) Control(ctx context.Context, id string) error {
	ok, err := false, error(nil)
	if g.operations != nil {
		ok, err = g.operations.MayAsk(ctx, "run", "control")
	}
	switch {
	case err != nil:
		return fmt.Errorf("decide what may be asked for: %w", err)
	case !ok:
		return access.NotAllowed.New("this takes the right to control runs")
	}
	return g.Use(ctx, id)
}

// Noun returns the word for the kind of an object, which errors contain instead of its name.
func Noun(object string) string {
	if _, ok := access.QueueName(object); ok {
		return "queue"
	}
	if kind := ids.KindOf(object); kind != "" {
		return kind
	}
	return "object"
}
