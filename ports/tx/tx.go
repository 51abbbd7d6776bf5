// Package tx is the unit of work: what happens inside Do commits together or not at all.
//
// Application services open units, stores never do. Inside a unit there is no network, process or file work.
package tx

import "context"

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

// Hooks collects what is to happen after a commit. An implementation of Unit makes one for each attempt.
type Hooks struct{ after []func() }

// WithHooks returns a context that collects commit hooks into the returned Hooks.
func WithHooks(ctx context.Context) (context.Context, *Hooks) {
	h := &Hooks{}
	return context.WithValue(ctx, hooksKey{}, h), h
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
