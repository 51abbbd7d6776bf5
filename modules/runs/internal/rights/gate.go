package rights

import (
	"context"
	"fmt"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/runs"
)

// Gate decides about runs. A run may be read by whoever may read all that it names, and acted on by whoever may use it.
type Gate struct {
	guard   access.Guard
	objects runs.ObjectStore
}

// New returns a gate over the guard and what decides about each run.
func New(g access.Guard, o runs.ObjectStore) *Gate { return &Gate{guard: g, objects: o} }

// Scope returns what lists for the caller are narrowed to.
func (g *Gate) Scope(ctx context.Context) (access.Scope, error) {
	s, err := g.guard.Scope(ctx)
	if err != nil {
		return access.Scope{}, fmt.Errorf("decide what may be read: %w", err)
	}
	return s, nil
}

// May reports whether the caller may go as far as want with every one of the objects. There is no run that names
// nothing: of no objects nobody may do anything.
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

// Read is RunNotFound for a run that the caller may not read, the same as for one that does not exist. Of a caller who
// may read everything it asks nothing, so that an unknown run is left to whoever reads it.
func (g *Gate) Read(ctx context.Context, id string) error { return g.ReadCheck(id)(ctx) }

// ReadCheck returns Read for a run that is asked about again and again; what the run names is looked up once.
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

// Use is RunNotFound for a run that the caller may not read, and UseRequired for one that it may not use.
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
	return nil // the right was given meanwhile
}

// Noun returns the word for what an object is. An error says this and not the object's name.
func Noun(object string) string {
	if _, ok := access.QueueName(object); ok {
		return "queue"
	}
	if kind := ids.KindOf(object); kind != "" {
		return kind
	}
	return "object"
}
