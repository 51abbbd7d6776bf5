// Package tx declares the unit of work: all changes inside Do commit together or not at all.
//
// Application services open units, stores never do. A unit does no network, process or file work.
package tx

import (
	"context"
	"time"

	"github.com/writ-automation/writ/ports/fault"
)

// Unit runs work atomically. The context of the function carries the transaction, and stores reach it only through
// that context. A nested Do joins the open unit.
//
// On an error of the function everything is rolled back and that error is returned. An error of the commit itself is
// an Unavailable fault with unknown outcome: the caller reloads. The function may be called again after a
// serialization conflict, so it must not keep state between calls.
type Unit interface {
	Do(ctx context.Context, fn func(ctx context.Context) error) error
}

type aloneKey struct{}

// Alone returns a context whose units share their commit with no other. For units that take long, and for those that
// decide by the end of the audit chain, which others in the same transaction would move after them.
func Alone(ctx context.Context) context.Context { return context.WithValue(ctx, aloneKey{}, true) }

// IsAlone reports whether Alone made the context.
func IsAlone(ctx context.Context) bool { return ctx.Value(aloneKey{}) != nil }

type limitKey struct{}

// Within returns a context whose units, which must be Alone, may take as long as d if that is
// more than the usual limit.
func Within(ctx context.Context, d time.Duration) context.Context {
	return context.WithValue(ctx, limitKey{}, d)
}

// Limit returns how long a unit of ctx may take whose usual limit is d.
func Limit(ctx context.Context, d time.Duration) time.Duration {
	more, _ := ctx.Value(limitKey{}).(time.Duration)
	return max(d, more)
}

type optimisticKey struct{}

// Optimistic returns a context for units that hardly ever fail. In a group they have no savepoint: a failure costs the
// other units of the group a second attempt, each by itself.
func Optimistic(ctx context.Context) context.Context {
	return context.WithValue(ctx, optimisticKey{}, true)
}

// IsOptimistic reports whether Optimistic made the context.
func IsOptimistic(ctx context.Context) bool { return ctx.Value(optimisticKey{}) != nil }

type hooksKey struct{}

// Hooks collects functions for the end of a unit and for after its commit. An implementation of Unit creates one for
// each attempt.
type Hooks struct {
	before [Locked + 1]list
	after  []func()
}

// Stage orders what is done before a commit.
type Stage int

// The stages. All of one stage is done before the next one begins.
const (
	Early  Stage = iota // sums up what several calls left
	Late                // executes statements that need no answer
	Last                // takes the lock that every unit needs
	Locked              // checks what only changes under that lock
)

// list holds what was collected for one moment, by key, in the order of the keys' first items.
type list struct {
	keys  []any
	byKey map[any]collection
}

// collection is the items of one key.
type collection interface {
	call(ctx context.Context) error
	// take adds the items of another collection of the same key.
	take(other collection)
}

type items[T any] struct {
	all []T
	fn  func(ctx context.Context, items []T) error
}

func (c *items[T]) call(ctx context.Context) error { return c.fn(ctx, c.all) }

func (c *items[T]) take(other collection) { c.all = append(c.all, other.(*items[T]).all...) }

func (l *list) put(key any, c collection) {
	if have := l.byKey[key]; have != nil {
		have.take(c)
		return
	}
	if l.byKey == nil {
		l.byKey = make(map[any]collection)
	}
	l.byKey[key] = c
	l.keys = append(l.keys, key)
}

// next removes the first collection, nil if there is none.
func (l *list) next() collection {
	if len(l.keys) == 0 {
		return nil
	}
	c := l.byKey[l.keys[0]]
	delete(l.byKey, l.keys[0])
	l.keys = l.keys[1:]
	return c
}

// WithHooks returns a context that collects commit hooks into the returned Hooks.
func WithHooks(ctx context.Context) (context.Context, *Hooks) {
	h := &Hooks{}
	return context.WithValue(ctx, hooksKey{}, h), h
}

// Finish calls the functions of BeforeCommit. An implementation of Unit calls it in the unit after the unit's function
// has returned without an error; its error fails the unit.
func (h *Hooks) Finish(ctx context.Context) error {
	for c := h.next(); c != nil; c = h.next() {
		if err := c.call(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (h *Hooks) next() collection {
	for stage := range h.before {
		if c := h.before[stage].next(); c != nil {
			return c
		}
	}
	return nil
}

// Join moves what another unit collected for its end to h, for units that share a commit.
func (h *Hooks) Join(other *Hooks) {
	for stage := range h.before {
		h.before[stage].join(&other.before[stage])
	}
}

func (l *list) join(other *list) {
	for _, key := range other.keys {
		l.put(key, other.byKey[key])
	}
	*other = list{}
}

// Run calls the collected hooks in the order of their registration.
func (h *Hooks) Run() {
	for _, fn := range h.after {
		fn()
	}
}

// OnCommit calls fn after the unit of ctx has committed, and not at all if it rolls back. Without a unit it calls fn
// at once. Hooks are short and never block; they wake other goroutines.
func OnCommit(ctx context.Context, fn func()) {
	if h, ok := ctx.Value(hooksKey{}).(*Hooks); ok {
		h.after = append(h.after, fn)
		return
	}
	fn()
}

// BeforeCommit collects an item until the unit of ctx is about to commit. Then fn is called once in the unit, after all
// other work in it, with the items of the key in their order. Units that share a commit share the call, whose context
// has no values of one unit. Work that takes a contended lock belongs there. An error of fn rolls the units back. A
// call outside of a unit is an Internal fault. All items of one key have one type and one stage.
func BeforeCommit[T any](ctx context.Context, stage Stage, key any, item T,
	fn func(ctx context.Context, items []T) error) error {
	h, ok := ctx.Value(hooksKey{}).(*Hooks)
	if !ok {
		return &fault.Error{Kind: fault.Internal, Message: "work for the end of a unit outside of one"}
	}
	h.before[stage].put(key, &items[T]{[]T{item}, fn})
	return nil
}
