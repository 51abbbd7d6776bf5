// Package tx is the unit of work: what happens inside Do commits together or not at all.
//
// Application services open units, stores never do. Inside a unit there is no network, process or file work.
package tx

import (
	"context"

	"github.com/writ-automation/writ/ports/fault"
)

// Unit runs work atomically. The context that the function receives carries the transaction; stores reach it
// through that context alone. A nested Do joins the unit that is open.
//
// On an error from the function everything is rolled back and that error is returned. An error of the commit
// itself is an Unavailable fault and means that the outcome is unknown: the caller reloads, it never assumes.
// The function may be called again after a serialization conflict, so it must not keep state between calls.
type Unit interface {
	Do(ctx context.Context, fn func(ctx context.Context) error) error
}

type hooksKey struct{}

// Hooks collects what is to happen at the end of a unit and after its commit. An implementation of Unit makes one for
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

// Finish does what was left for the end of the unit. An implementation of Unit calls it in the unit, once the unit's
// function has returned without an error; an error of it is one of the unit.
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

// OnCommit calls fn once the unit that ctx carries has committed, and not at all if it rolls back. Without a unit
// fn is called at once. Hooks are short and never block: they wake somebody.
func OnCommit(ctx context.Context, fn func()) {
	if h, ok := ctx.Value(hooksKey{}).(*Hooks); ok {
		h.after = append(h.after, fn)
		return
	}
	fn()
}

// BeforeCommit keeps an item until the unit that ctx carries is about to commit. Then last is called once, inside of
// the unit and behind everything else in it, with the items that were gathered under the key, in their order. That is
// where work goes that takes a lock which others wait for. An error of last undoes the unit. Nothing is gathered
// outside of a unit, which is an Internal fault. Under one key there is one type of items.
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
