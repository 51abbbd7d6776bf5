package desk

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/scheduling"
	"github.com/writ-automation/writ/ports/tx"
)

// Kernel is what every change needs of the process.
type Kernel struct {
	Unit  tx.Unit
	Clock clock.Clock
	IDs   ids.Generator
	Log   *slog.Logger
	// Recorder records each change together with it.
	Recorder audit.Recorder
}

// Desk decides about the caller.
type Desk struct {
	guard  access.Guard
	owners access.Owners
}

// New returns a desk.
func New(g access.Guard, o access.Owners) *Desk { return &Desk{guard: g, owners: o} }

// May reports whether the caller may go as far as want with every one of the objects. Of none nobody may do anything.
func (d *Desk) May(ctx context.Context, want access.Level, objects ...string) (bool, error) {
	if len(objects) == 0 {
		return false, nil
	}
	ok, err := d.guard.May(ctx, want, objects...)
	if err != nil {
		return false, fmt.Errorf("decide what may be done: %w", err)
	}
	return ok, nil
}

// Reads reports whether the caller may read a record of an organization that names objects: whoever may read all of those, and whoever
// administers the organization.
func (d *Desk) Reads(ctx context.Context, org string, objects ...string) (bool, error) {
	ok, err := d.May(ctx, access.Read, objects...)
	if err != nil || ok || org == "" {
		return ok, err
	}
	s, err := d.Scope(ctx)
	return slices.Contains(s.Orgs, org), err
}

// Scope returns what lists for the caller are narrowed to.
func (d *Desk) Scope(ctx context.Context) (access.Scope, error) {
	s, err := d.guard.Scope(ctx)
	if err != nil {
		return access.Scope{}, fmt.Errorf("decide what may be read: %w", err)
	}
	return s, nil
}

// Keep refuses a caller who may not keep objects of a kind in each of the organizations. NotAllowed.
func (d *Desk) Keep(ctx context.Context, kind string, orgs ...string) error {
	for i, org := range orgs {
		if i > 0 && org == orgs[i-1] {
			continue
		}
		ok, err := d.owners.MayKeep(ctx, kind, org)
		if err != nil {
			return fmt.Errorf("decide what may be kept: %w", err)
		}
		if !ok && org == "" {
			return scheduling.NotAllowed.New("this takes the right to keep a %s that belongs to no organization", kind)
		}
		if !ok {
			return scheduling.NotAllowed.New("this takes the right to keep a %s in this organization", kind)
		}
	}
	return nil
}

// Author is what a record keeps of the actor that made it: the id, or the name of one without any.
func Author(ctx context.Context) string {
	by := actor.From(ctx)
	if by.ID != "" {
		return by.ID
	}
	return by.Name
}

// Owner is the account with whose rights a record fires: the caller, and nobody where that is the application.
func Owner(ctx context.Context) string {
	if by := actor.From(ctx); by.Type == actor.User {
		return by.ID
	}
	return ""
}

// attempts is how often a change without a revision is made where somebody else's comes between judging it and storing it.
const attempts = 3

// Again makes a change until no other one comes between, a few times, unless its caller named a revision. What came between may not have
// committed yet, since units share a commit, and whoever reads outside of one sees it only then: an empty unit waits for that.
func (k Kernel) Again(ctx context.Context, revision int64, change func() error) error {
	for n := 1; ; n++ {
		err := change()
		if revision != 0 || n == attempts || !scheduling.RevisionChanged.Is(err) {
			return err
		}
		if err := k.Unit.Do(ctx, func(context.Context) error { return nil }); err != nil {
			return err
		}
	}
}
