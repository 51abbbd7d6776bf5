package object

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
)

// Permissions checks what the caller may do with objects, and whether an object is in use.
type Permissions struct {
	Guard  access.Guard
	Owners access.Owners
	Usage  Usage
	Runs   Runs
}

// May reports whether the caller has the level want on each of the objects. Without objects it reports false.
func (p *Permissions) May(ctx context.Context, want access.Level, objects ...string) (bool, error) {
	if len(objects) == 0 {
		return false, nil
	}
	ok, err := p.Guard.May(ctx, want, objects...)
	if err != nil {
		return false, fmt.Errorf("decide what may be done: %w", err)
	}
	return ok, nil
}

// CanRead reports whether the caller may read a record of an organization that refers to objects: the caller may read
// all of them or administers the organization.
func (p *Permissions) CanRead(ctx context.Context, org string, objects ...string) (bool, error) {
	ok, err := p.May(ctx, access.Read, objects...)
	if err != nil || ok || org == "" {
		return ok, err
	}
	s, err := p.Scope(ctx)
	return slices.Contains(s.Orgs, org), err
}

// Scope returns the scope that restricts lists for the caller.
func (p *Permissions) Scope(ctx context.Context) (access.Scope, error) {
	s, err := p.Guard.Scope(ctx)
	if err != nil {
		return access.Scope{}, fmt.Errorf("decide what may be read: %w", err)
	}
	return s, nil
}

// CheckOrgs refuses a caller who may not write objects of a kind in each of the organizations. Errors: NotAllowed.
func (p *Permissions) CheckOrgs(ctx context.Context, kind string, orgs ...string) error {
	for i, org := range orgs {
		if i > 0 && org == orgs[i-1] {
			continue
		}
		ok, err := p.Owners.MayWrite(ctx, kind, org)
		if err != nil {
			return fmt.Errorf("decide what may be written: %w", err)
		}
		if !ok && org == "" {
			return NotAllowed.New("this takes the right to manage objects that belong to no organization")
		}
		if !ok {
			return NotAllowed.New("this takes the right to manage objects of this organization")
		}
	}
	return nil
}

// CheckAccess refuses a caller without the level want on an object: with missing if the caller may not read it,
// otherwise with NotAllowed.
func (p *Permissions) CheckAccess(ctx context.Context, want access.Level, id string, missing error) error {
	ok, err := p.May(ctx, want, id)
	if err != nil || ok {
		return err
	}
	if want != access.Read {
		if ok, err = p.May(ctx, access.Read, id); err != nil {
			return err
		}
	}
	if !ok {
		return missing
	}
	return NotAllowed.New("this takes the right to %s the %s", want, Noun(id))
}

// CheckChange refuses a caller who may not manage an object, or may not write one in its new organization.
func (p *Permissions) CheckChange(ctx context.Context, old Record, org string) error {
	missing := fault.Missing(ids.KindOf(old.ID), old.ID)
	if err := p.CheckAccess(ctx, access.Manage, old.ID, missing); err != nil || old.Org == org {
		return err
	}
	return p.CheckOrgs(ctx, ids.KindOf(old.ID), org)
}

// CheckReadable refuses a caller who may not read each object that r refers to, with the fault of a missing object. A
// text that is no id of its kind counts as a missing object.
func (p *Permissions) CheckReadable(ctx context.Context, r References) error {
	for _, x := range r {
		if !ids.Valid(x.Kind, x.ID) {
			return x.Missing()
		}
	}
	return p.checkEach(ctx, access.Read, r, Reference.Missing)
}

// Hidden returns the ids of the references of an object that the caller may not read; answers leave them out. A caller
// who may manage the object, or the object owner that decides about it, reads all of them.
func (p *Permissions) Hidden(ctx context.Context, owner string, r References) (map[string]bool, error) {
	if len(r) == 0 {
		return nil, nil
	}
	if s, err := p.Scope(ctx); err != nil || s.All {
		return nil, err
	}
	if ok, err := p.May(ctx, access.Manage, owner); err != nil || ok {
		return nil, err
	}
	hidden := map[string]bool{}
	for _, id := range r.IDs() {
		ok, err := p.May(ctx, access.Read, id)
		if err != nil {
			return nil, err
		}
		hidden[id] = !ok
	}
	return hidden, nil
}

// Shown replaces each row of a list with what show returns of it.
func Shown[T any](ctx context.Context, list []T, show func(context.Context, T) (T, error)) ([]T, error) {
	for i := range list {
		var err error
		if list[i], err = show(ctx, list[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// CheckReferences refuses a caller who may not read each object that r refers to, or may not use a credential in r:
// every user of the object gets the use of its credentials. A credential that old has in the same field is not
// checked.
func (p *Permissions) CheckReferences(ctx context.Context, r, old References) error {
	added := r.without(old)
	if err := p.CheckReadable(ctx, added); err != nil {
		return err
	}
	added = slices.DeleteFunc(added, func(x Reference) bool { return x.Kind != ids.Credential })
	return p.checkEach(ctx, access.Use, added, Reference.Unusable)
}

// CheckKept refuses a caller who may not use each credential that r and old have in the same field.
func (p *Permissions) CheckKept(ctx context.Context, r, old References) error {
	added := r.without(old)
	kept := slices.DeleteFunc(slices.Clone(r), func(x Reference) bool { return slices.Contains(added, x) })
	return p.checkEach(ctx, access.Use, kept, Reference.Unusable)
}

func (p *Permissions) checkEach(
	ctx context.Context, want access.Level, r References, refusal func(Reference) error,
) error {
	if len(r) == 0 {
		return nil
	}
	ok, err := p.May(ctx, want, r.IDs()...)
	if err != nil || ok {
		return err
	}
	for _, x := range r {
		if ok, err = p.May(ctx, want, x.ID); err != nil {
			return err
		}
		if !ok {
			return refusal(x)
		}
	}
	return nil // the right was granted meanwhile
}

// InUseError reports that other objects refer to an object. Explain decides, outside of the unit, which of them the
// caller may read.
type InUseError struct {
	Object string // the noun
	Uses   []Use  // at most MaxUses
	Total  int
}

// Error returns the message without the users of the object.
func (e *InUseError) Error() string { return "the " + e.Object + " is in use" }

// CheckUnused refuses to delete an object that another one refers to or that an unfinished run needs. It is called in
// the open unit, which has removed the object. The error is an InUseError.
func (p *Permissions) CheckUnused(ctx context.Context, id string) error {
	list, total, err := p.Usage.UsedBy(ctx, id, MaxUses)
	if err != nil {
		return err
	}
	// Runs have a frozen copy of their template and need it no more.
	if ids.KindOf(id) != identity.KindTemplate {
		live, more, err := p.Runs.Unfinished(ctx, id, MaxUses-len(list))
		if err != nil {
			return err
		}
		for _, run := range live {
			list = append(list, Use{Kind: "run", ID: run})
		}
		total += more
	}
	if total == 0 {
		return nil
	}
	return &InUseError{Noun(id), list, total}
}

// Explain converts an InUseError to the fault InUse that names the users which the caller may read, and returns any
// other error as it is. Sources, schedules and triggers carry no grants, so only admins get their names.
func (p *Permissions) Explain(ctx context.Context, err error) error {
	var used *InUseError
	if !errors.As(err, &used) {
		return err
	}
	named := []map[string]any{}
	for _, use := range used.Uses {
		ok, err := p.May(ctx, access.Read, use.ID)
		if err != nil {
			return err
		}
		if ok {
			named = append(named, map[string]any{"kind": use.Kind, "id": use.ID})
		}
	}
	return InUse.New("%s", used.Error()).With("used_by", named).With("others", used.Total-len(named))
}
