// Package tx declares the unit of work: all changes inside Do commit together or not at all.
//
// Application services open units, stores never do. A unit does no network, process or file work.
package tx

import (
	"context"

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

type hooksKey struct{}

// Hooks collects functions for the end of a unit and for after its commit. An implementation of Unit creates one for
// each attempt.
type Hooks struct {
	items map[any]any
	last  []func(ctx context.Context) error
	after []func()
}

// WithHooks returns a context that collects commit hooks into the returned Hooks.
func WithHooks(ctx context.Context) (context.Context, *Hooks) {
	h := &Hooks{}
	return context.WithValue(ctx, hooksKey{}, h), h
}

// Finish calls the functions of BeforeCommit. An implementation of Unit calls it in the unit after the unit's function
// has returned without an error; its error fails the unit.
func (h *Hooks) Finish(ctx context.Context) error {
	for i := 0; i < len(h.last); i++ {
		if err := h.last[i](ctx); err != nil {
			return err
		}
	}
	return nil
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

// BeforeCommit collects an item until the unit of ctx is about to commit. Then last is called once, in the unit and
// after all other work in it, with the items of the key in their order. Work that takes a contended lock belongs
// there. An error of last rolls back the unit. A call outside of a unit is an Internal fault. All items of one key
// have one type.
func BeforeCommit[T any](ctx context.Context, key any, item T, last func(ctx context.Context, items []T) error) error {
	h, ok := ctx.Value(hooksKey{}).(*Hooks)
	if !ok {
		return &fault.Error{Kind: fault.Internal, Message: "work for the end of a unit outside of one"}
	}
	if items, ok := h.items[key].(*[]T); ok {
		*items = append(*items, item)
		return nil
	}
	items := &[]T{item}
	if h.items == nil {
		h.items = make(map[any]any)
	}
	h.items[key] = items
	h.last = append(h.last, func(ctx context.Context) error {
		delete(h.items, key)
		return last(ctx, *items)
	})
	return nil
}
