package keep

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/runs"
)

// Desk decides about the caller, and about what is in use.
type Desk struct {
	guard  access.Guard
	owners access.Owners
	usage  catalog.Usage
	runs   runs.ObjectStore
}

// NewDesk returns a desk.
func NewDesk(g access.Guard, o access.Owners, u catalog.Usage, r runs.ObjectStore) *Desk {
	return &Desk{guard: g, owners: o, usage: u, runs: r}
}

func (d *Desk) may(ctx context.Context, want access.Level, id string) (bool, error) {
	ok, err := d.guard.May(ctx, want, id)
	if err != nil {
		return false, fmt.Errorf("decide what may be done: %w", err)
	}
	return ok, nil
}

func (d *Desk) scope(ctx context.Context) (access.Scope, error) {
	s, err := d.guard.Scope(ctx)
	if err != nil {
		return access.Scope{}, fmt.Errorf("decide what may be read: %w", err)
	}
	return s, nil
}

// keep refuses a caller who may not keep objects of a kind in an organization. NotAllowed.
func (d *Desk) keep(ctx context.Context, kind, org string) error {
	ok, err := d.owners.MayKeep(ctx, kind, org)
	if err != nil {
		return fmt.Errorf("decide what may be kept: %w", err)
	}
	if !ok && org != "" {
		return catalog.NotAllowed.New("this takes the right to keep objects in this organization")
	}
	if !ok {
		return catalog.NotAllowed.New("this takes the right to keep objects that belong to no organization")
	}
	return nil
}

// reach refuses a caller who may not go as far as want with an object: missing says that it does not exist where it may not be read, and
// NotAllowed that it may be.
func (d *Desk) reach(ctx context.Context, want access.Level, id string, missing error) error {
	ok, err := d.may(ctx, want, id)
	if err != nil || ok {
		return err
	}
	if want != access.Read {
		if ok, err = d.may(ctx, access.Read, id); err != nil {
			return err
		}
	}
	if !ok {
		return missing
	}
	return catalog.NotAllowed.New("this takes the right to %s the %s", want, noun(id))
}

// change refuses a caller who may not manage an object, or who may not keep one in the organization that it is to move to.
func (d *Desk) change(ctx context.Context, was catalog.Record, org string, missing error) error {
	if err := d.reach(ctx, access.Manage, was.ID, missing); err != nil || was.Org == org {
		return err
	}
	return d.keep(ctx, ids.KindOf(was.ID), org)
}

// held says that something needs an object. What of that the caller may read is decided outside of the unit.
type held struct {
	said  string
	by    []catalog.Use
	total int
}

// Error implements error.
func (h *held) Error() string { return h.said }

// free refuses in the open unit, which has removed the object, to go on while something names it or a run that has not ended needs it.
// Told makes a fault of the refusal.
func (d *Desk) free(ctx context.Context, id string) error {
	list, total, err := d.usage.UsedBy(ctx, id, catalog.MaxUses)
	if err != nil {
		return err
	}
	live, more, err := d.runs.Unfinished(ctx, id, catalog.MaxUses-len(list))
	if err != nil {
		return err
	}
	for _, run := range live {
		list = append(list, catalog.Use{Kind: "run", ID: run})
	}
	if total += more; total == 0 {
		return nil
	}
	return &held{"the " + noun(id) + " is in use", list, total}
}

// told returns the error of a unit, a refusal as the fault InUse with what the caller may read.
func (d *Desk) told(ctx context.Context, err error) error {
	var h *held
	if !errors.As(err, &h) {
		return err
	}
	named := []map[string]any{}
	for _, use := range h.by {
		ok, err := d.may(ctx, access.Read, use.ID)
		if err != nil {
			return err
		}
		if ok {
			named = append(named, map[string]any{"kind": use.Kind, "id": use.ID})
		}
	}
	return catalog.InUse.New("%s", h.said).With("used_by", named).With("others", h.total-len(named))
}

// noun returns the word for what an object is, as faults say it.
func noun(id string) string { return strings.ReplaceAll(ids.KindOf(id), "_", " ") }
