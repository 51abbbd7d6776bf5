package objecttest

import (
	"context"
	"maps"
	"testing"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/depthtest"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

// Store adapts the store of one kind to the cases for all kinds.
type Store[T any] struct {
	Prefix  ids.Prefix
	Missing fault.Code
	// Shared is set for a kind whose objects belong to no organization and are shown to every caller.
	Shared bool
	Record func(v *T) *object.Record

	Plain func(r object.Record) T // sets only the record and required members
	Full  func(r object.Record) T // sets every member
	// Change sets every member that a caller may set, outside of the record, to a value that neither Plain nor Full
	// uses.
	Change func(v *T)
	// Bare returns a value as a store reads it back; nil means unchanged.
	Bare func(v T) T

	Insert func(ctx context.Context, v T) error
	ByID   func(ctx context.Context, id string) (T, error)
	List   func(ctx context.Context, s access.Scope, f catalog.Filter, w page.Window) ([]T, int, error)
	Update func(ctx context.Context, v T, revision int64) (T, error)
	Remove func(ctx context.Context, id string, revision int64) error
}

// Cases returns the cases for every kind. E is the environment of a suite.
func Cases[T, E any](env func(E) *Env, of func(E) Store[T]) txtest.Cases[E] {
	out := bind(env, of, map[string]func(*testing.T, *Env, Store[T]){
		"whole records":           whole[T],
		"what is not there":       missing[T],
		"an unknown organization": unknownOrg[T],
		"units":                   units[T],
		"names":                   names[T],
		"one new name at once":    namesRace[T],
		"one name taken over":     renamesRace[T],
		"revisions":               revisions[T],
		"one revision at once":    revisionsRace[T],
		"any revision at once":    anyRevisionRace[T],
		"windows":                 pages[T],
		"filters":                 filters[T],
		"the order of a list":     order[T],
	})
	if depthtest.Long {
		maps.Copy(out, BoundCase(env, of))
	}
	return out
}

// BoundCase writes more rows than one page. Short tests run it for one kind of a context only.
func BoundCase[T, E any](env func(E) *Env, of func(E) Store[T]) txtest.Cases[E] {
	return bind(env, of, map[string]func(*testing.T, *Env, Store[T]){"no answer is endless": bound[T]})
}

// ScopeCase is the case for kinds with grants.
func ScopeCase[T, E any](env func(E) *Env, of func(E) Store[T]) txtest.Cases[E] {
	return bind(env, of, map[string]func(*testing.T, *Env, Store[T]){"what a scope shows": scopes[T]})
}

func bind[T, E any](
	env func(E) *Env, of func(E) Store[T], cases map[string]func(*testing.T, *Env, Store[T]),
) txtest.Cases[E] {
	out := txtest.Cases[E]{}
	for name, fn := range cases {
		out[name] = func(t *testing.T, e E) { fn(t, env(e), of(e)) }
	}
	return out
}

func (s Store[T]) bare(v T) T {
	if s.Bare == nil {
		return v
	}
	return s.Bare(v)
}

// orgs returns no organization and, where the kind has them, n new ones.
func (s Store[T]) orgs(t *testing.T, e *Env, n int) []string {
	t.Helper()
	out := []string{""}
	for range n {
		if !s.Shared {
			out = append(out, e.AddOrg(t))
		}
	}
	return out
}

// Add stores a plain value of a kind with edits, and returns it as it reads back.
func (s Store[T]) Add(t *testing.T, e *Env, edit ...func(*object.Record)) T {
	t.Helper()
	v := s.Plain(e.Record(s.Prefix, ""))
	for _, fn := range edit {
		fn(s.Record(&v))
	}
	e.Must(t, func(ctx context.Context) error { return s.Insert(ctx, v) })
	return s.bare(v)
}

// Named gives a record a name.
func Named(name string) func(*object.Record) { return func(r *object.Record) { r.Name = name } }

// InOrg puts a record into an organization.
func InOrg(org string) func(*object.Record) { return func(r *object.Record) { r.Org = org } }

// Get reads an existing object.
func (s Store[T]) Get(t *testing.T, id string) T {
	t.Helper()
	v, err := s.ByID(t.Context(), id)
	txtest.NoError(t, err)
	return v
}

// All returns everything that matches a filter.
func (s Store[T]) All(t *testing.T, f catalog.Filter) []T {
	t.Helper()
	return s.Visible(t, access.Everything(), f)
}

// Visible returns everything of a scope that matches a filter.
func (s Store[T]) Visible(t *testing.T, sc access.Scope, f catalog.Filter) []T {
	t.Helper()
	list, n, err := s.List(t.Context(), sc, f, page.Window{})
	txtest.NoError(t, err)
	txtest.Same(t, "total", len(list), n)
	return list
}

// IDs returns the ids of values in their order.
func (s Store[T]) IDs(list []T) []string {
	out := make([]string, len(list))
	for i := range list {
		out[i] = s.Record(&list[i]).ID
	}
	return out
}
