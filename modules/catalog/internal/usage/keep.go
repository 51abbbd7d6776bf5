package usage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/writ-automation/writ/modules/catalog/internal/check"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/runs"
)

// Target is an object that another one names, with the member that names it.
type Target struct {
	Field string
	Kind  ids.Prefix
	ID    string
}

// Targets collects what an object names. Empty ids are passed over.
type Targets []Target

// Add returns the targets with one more.
func (t Targets) Add(field string, kind ids.Prefix, id string) Targets {
	if id == "" {
		return t
	}
	return append(t, Target{field, kind, id})
}

// AddAll returns the targets with those of a list.
func (t Targets) AddAll(field string, kind ids.Prefix, list []string) Targets {
	for i, id := range list {
		t = t.Add(check.At(field, i), kind, id)
	}
	return t
}

// without returns the targets but for credentials that the others hold at the same place: in the same member, wherever in its list.
func (t Targets) without(others Targets) Targets {
	type place struct{ field, id string }
	had := make(map[place]bool, len(others))
	for _, x := range others {
		had[place{x.list(), x.ID}] = true
	}
	return slices.DeleteFunc(slices.Clone(t), func(x Target) bool { return x.Kind == ids.Credential && had[place{x.list(), x.ID}] })
}

// list returns the member without the place in its list.
func (t Target) list() string {
	if at := strings.LastIndexByte(t.Field, '['); at >= 0 && strings.HasSuffix(t.Field, "]") {
		return t.Field[:at]
	}
	return t.Field
}

// IDs returns each id once, in order, so that two units that hold several objects never wait for one another crosswise.
func (t Targets) IDs() []string {
	out := make([]string, len(t))
	for i, x := range t {
		out[i] = x.ID
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// missing returns the fault that names the member of an id.
func (t Targets) missing(id string) error {
	for _, x := range t {
		if x.ID == id {
			return check.Naming(x.Field, x.Kind, x.ID)
		}
	}
	return catalog.ObjectNotFound.New("no object %q", id)
}

// Desk decides about objects, and keeps what names what.
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

// May reports whether the caller may go as far as want with all of the objects.
func (d *Desk) May(ctx context.Context, want access.Level, objects ...string) (bool, error) {
	ok, err := d.guard.May(ctx, want, objects...)
	if err != nil {
		return false, fmt.Errorf("decide what may be done: %w", err)
	}
	return ok, nil
}

// Scope returns what lists for the caller are narrowed to.
func (d *Desk) Scope(ctx context.Context) (access.Scope, error) {
	s, err := d.guard.Scope(ctx)
	if err != nil {
		return access.Scope{}, fmt.Errorf("decide what may be read: %w", err)
	}
	return s, nil
}

// Keep refuses a caller who may not keep objects of a kind in an organization. NotAllowed.
func (d *Desk) Keep(ctx context.Context, kind, org string) error {
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

// Reach refuses a caller who may not go as far as want with an object: missing says that it does not exist where it may not be read,
// and NotAllowed that it may be.
func (d *Desk) Reach(ctx context.Context, want access.Level, id string, missing error) error {
	ok, err := d.May(ctx, want, id)
	if err != nil || ok {
		return err
	}
	if want != access.Read {
		if ok, err = d.May(ctx, access.Read, id); err != nil {
			return err
		}
	}
	if !ok {
		return missing
	}
	return catalog.NotAllowed.New("this takes the right to %s the %s", want, check.Noun(id))
}

// Readable refuses a caller who may not read everything that an object names, with the fault of what does not exist. What has not the
// form of an id of its kind does not exist.
func (d *Desk) Readable(ctx context.Context, t Targets) error {
	for _, x := range t {
		if !ids.Valid(x.Kind, x.ID) {
			return check.Naming(x.Field, x.Kind, x.ID)
		}
	}
	ok, err := d.May(ctx, access.Read, t.IDs()...)
	if err != nil || ok {
		return err
	}
	for _, x := range t {
		if ok, err = d.May(ctx, access.Read, x.ID); err != nil {
			return err
		}
		if !ok {
			return check.Naming(x.Field, x.Kind, x.ID)
		}
	}
	return nil // the right was given meanwhile
}

// Named refuses a caller who may not read everything that an object names, and then one who may not use a credential that it names: whoever
// uses the object, or has it run, is lent that. A credential that was named at the same place before needs nothing, not even to be read.
func (d *Desk) Named(ctx context.Context, t, was Targets) error {
	fresh := t.without(was)
	if err := d.Readable(ctx, fresh); err != nil {
		return err
	}
	fresh = slices.DeleteFunc(fresh, func(x Target) bool { return x.Kind != ids.Credential })
	if len(fresh) == 0 {
		return nil
	}
	ok, err := d.May(ctx, access.Use, fresh.IDs()...)
	if err != nil || ok {
		return err
	}
	for _, x := range fresh {
		if ok, err = d.May(ctx, access.Use, x.ID); err != nil {
			return err
		}
		if !ok {
			return check.Unusable(x.Field, x.Kind)
		}
	}
	return nil // the right was given meanwhile
}

// Name notes in the open unit what an object names. What does not exist is the NotFound fault of the member that names it.
func (d *Desk) Name(ctx context.Context, owner string, t Targets) error {
	err := d.usage.Name(ctx, owner, t.IDs())
	if !catalog.ObjectNotFound.Is(err) {
		return err
	}
	id := ""
	var f *fault.Error
	if errors.As(err, &f) {
		id, _ = f.Detail["id"].(string)
	}
	return t.missing(id)
}

// held says that something names an object. Which of that the caller may read is decided outside of the unit.
type held struct {
	id    string
	by    []catalog.Use
	total int
}

// Error implements error.
func (h *held) Error() string { return "the " + check.Noun(h.id) + " is in use" }

// Free refuses in the open unit, which has removed the object, to delete what something names. Told makes a fault of the refusal.
func (d *Desk) Free(ctx context.Context, id string) error {
	list, total, err := d.usage.UsedBy(ctx, id, catalog.MaxUses)
	if err != nil {
		return err
	}
	// A run that has not ended still needs the inventory and the project that it names, and no template: that is frozen into it.
	var live []string
	more := 0
	if ids.KindOf(id) != identity.KindTemplate {
		if live, more, err = d.runs.Unfinished(ctx, id, catalog.MaxUses-len(list)); err != nil {
			return err
		}
	}
	for _, run := range live {
		list = append(list, catalog.Use{Kind: "run", ID: run})
	}
	if total += more; total == 0 {
		return nil
	}
	return &held{id, list, total}
}

// Told returns the error of a unit, a refusal of Free as the fault InUse with what the caller may read. Sources, schedules and triggers
// carry no grants, so that they are named to admins alone.
func (d *Desk) Told(ctx context.Context, err error) error {
	var h *held
	if !errors.As(err, &h) {
		return err
	}
	named := []map[string]any{}
	for _, use := range h.by {
		ok, err := d.May(ctx, access.Read, use.ID)
		if err != nil {
			return err
		}
		if ok {
			named = append(named, map[string]any{"kind": use.Kind, "id": use.ID})
		}
	}
	return catalog.InUse.New("%s", h.Error()).With("used_by", named).With("others", h.total-len(named))
}
