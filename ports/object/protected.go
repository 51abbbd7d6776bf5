package object

import (
	"context"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/page"
)

// Protected is what the kinds of objects that can carry grants share. Its methods decide by the rights of the caller.
type Protected[T, F any] struct {
	Kernel
	*Permissions
	find   func(ctx context.Context, id string) (T, error)
	search func(ctx context.Context, s access.Scope, f F, w page.Window) ([]T, int, error)
	remove func(ctx context.Context, id string, revision int64) error
	// Show leaves out what the caller may not see of an object that Get or List returns. Nil leaves out nothing.
	Show func(context.Context, T) (T, error)
}

// Protect returns a Protected on the methods of a store.
func Protect[T, F any](
	k Kernel, p *Permissions, find func(ctx context.Context, id string) (T, error),
	search func(ctx context.Context, s access.Scope, f F, w page.Window) ([]T, int, error),
	remove func(ctx context.Context, id string, revision int64) error,
) Protected[T, F] {
	return Protected[T, F]{Kernel: k, Permissions: p, find: find, search: search, remove: remove}
}

// Get returns an object that the caller may read.
func (p *Protected[T, F]) Get(ctx context.Context, id string) (T, error) {
	v, err := p.Reach(ctx, access.Read, id)
	if err != nil || p.Show == nil {
		return v, err
	}
	return p.Show(ctx, v)
}

// Reach returns an object if the caller has the access level. Errors: the NotFound fault of the kind, NotAllowed.
func (p *Protected[T, F]) Reach(ctx context.Context, want access.Level, id string) (none T, err error) {
	v, err := p.find(ctx, id)
	if err == nil {
		err = p.CheckAccess(ctx, want, id, fault.Missing(ids.KindOf(id), id))
	}
	if err != nil {
		return none, err
	}
	return v, nil
}

// List returns the objects of a filter that the caller may read, and their total number.
func (p *Protected[T, F]) List(ctx context.Context, f F, w page.Window) ([]T, int, error) {
	s, err := p.Scope(ctx)
	if err != nil {
		return nil, 0, err
	}
	list, total, err := p.search(ctx, s, f, w)
	if err == nil && p.Show != nil {
		list, err = Shown(ctx, list, p.Show)
	}
	return list, total, err
}

// Store stores a new or changed object in one unit, and logs the message. It calls Objects.Put before store, the same
// order as in Remove, so that a change and a deletion never deadlock.
func (p *Protected[T, F]) Store(
	ctx context.Context, message string, r Record, store func(ctx context.Context) error,
) error {
	err := p.Unit.Do(ctx, func(ctx context.Context) error {
		if err := p.Objects.Put(ctx, identity.Object{ID: r.ID, Org: r.Org}); err != nil {
			return err
		}
		return store(ctx)
	})
	if err == nil {
		p.Logged(ctx, message, r.ID)
	}
	return err
}

// Upsert stores in the open unit the references of an object and the entry of its change.
func (p *Protected[T, F]) Upsert(ctx context.Context, id string, r References, e audit.Entry) error {
	if err := r.Store(ctx, p.Usage, id); err != nil {
		return err
	}
	return p.Recorder.Record(ctx, e)
}

// Remove deletes an object that the caller may manage, in one unit with its entry. It removes the object from Objects
// first, so that nothing can refer to it any more, then checks that nothing does, and removes it from the store.
// Errors: those of Reach, InUse, RevisionChanged.
func (p *Protected[T, F]) Remove(ctx context.Context, id string, revision int64, entry func(T) audit.Entry) error {
	v, err := p.Reach(ctx, access.Manage, id)
	if err != nil {
		return err
	}
	err = p.Unit.Do(ctx, func(ctx context.Context) error {
		if err := p.Objects.Remove(ctx, id); err != nil {
			return err
		}
		if err := p.CheckUnused(ctx, id); err != nil {
			return err
		}
		if err := p.Usage.Name(ctx, id, nil); err != nil {
			return err
		}
		if err := p.remove(ctx, id, revision); err != nil {
			return err
		}
		return p.Recorder.Record(ctx, entry(v))
	})
	if err != nil {
		return p.Explain(ctx, err)
	}
	p.Logged(ctx, Noun(id)+" deleted", id)
	return nil
}
