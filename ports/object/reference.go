package object

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/ids"
)

// Usage stores which objects name which.
type Usage interface {
	// Name replaces what an object names. Every target is locked until the end of the unit, so that nobody deletes it
	// meanwhile: one that does not exist is NotFound, with the target in its Detail as "id". It joins the unit of ctx.
	Name(ctx context.Context, owner string, targets []string) error
	// UsedBy returns what names the object, by kind and id, at most limit of them, and how many there are. In a unit
	// that has removed the object from access.Objects it sees every name that was given.
	UsedBy(ctx context.Context, id string, limit int) ([]Use, int, error)
}

// Runs lists the runs that still need an object.
type Runs interface {
	// Unfinished returns the ids of the runs that name the object and have not ended, at most limit of them, and how
	// many there are.
	Unfinished(ctx context.Context, id string, limit int) ([]string, int, error)
}

// Use is an object or a run that names an object.
type Use struct{ Kind, ID string }

// MaxUses is how many users of an object a fault names.
const MaxUses = 20

// Reference is an object that another one names, with the field that names it.
type Reference struct {
	Field string
	Kind  ids.Prefix
	ID    string
}

// Missing is the NotFound fault of an object that does not exist, or may not be read. It names the field.
func (r Reference) Missing() error {
	f := fault.Missing(ids.KindOf(string(r.Kind)), r.ID)
	return naming(f, r.Field, f.Message)
}

// Unusable is the fault of an object that the caller may read and not use. It names the field.
func (r Reference) Unusable() error {
	text := "this takes the right to use the " + Noun(string(r.Kind))
	return naming(UseRequired.New("%s", text), r.Field, text)
}

func naming(f *fault.Error, field, text string) error {
	f.Message = field + ": " + text
	f.Fields = []fault.Field{{Location: field, Message: text}}
	return f
}

// list returns the field without the place in its list.
func (r Reference) list() string {
	if at := strings.LastIndexByte(r.Field, '['); at >= 0 && strings.HasSuffix(r.Field, "]") {
		return r.Field[:at]
	}
	return r.Field
}

// References are the objects that an object names.
type References []Reference

// Add returns the references with one for each id of a field. Empty ids are left out.
func (r References) Add(field string, kind ids.Prefix, id string) References {
	if id == "" {
		return r
	}
	return append(r, Reference{field, kind, id})
}

// AddList returns the references with those of a list.
func (r References) AddList(field string, kind ids.Prefix, list []string) References {
	for i, id := range list {
		r = r.Add(fmt.Sprintf("%s[%d]", field, i), kind, id)
	}
	return r
}

// IDs returns each id once, in order, so that two units that lock several objects never wait for each other.
func (r References) IDs() []string {
	out := make([]string, len(r))
	for i, x := range r {
		out[i] = x.ID
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// without returns the references except for credentials that others name in the same field, wherever in its list.
func (r References) without(others References) References {
	type place struct{ field, id string }
	had := make(map[place]bool, len(others))
	for _, x := range others {
		had[place{x.list(), x.ID}] = true
	}
	return slices.DeleteFunc(slices.Clone(r), func(x Reference) bool { return x.Kind == ids.Credential && had[place{x.list(), x.ID}] })
}

// Store replaces in the open unit what an object names. An object that does not exist is the NotFound fault of the
// field that names it.
func (r References) Store(ctx context.Context, u Usage, owner string) error {
	err := u.Name(ctx, owner, r.IDs())
	var f *fault.Error
	if !NotFound.Is(err) || !errors.As(err, &f) {
		return err
	}
	for _, x := range r {
		if x.ID == f.Detail["id"] {
			return x.Missing()
		}
	}
	return err
}
