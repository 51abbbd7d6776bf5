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

// Usage stores the references between objects.
type Usage interface {
	// Name replaces the references of an object. Every target is locked until the end of the unit, so that it cannot
	// be deleted meanwhile. It joins the unit of ctx. Errors: NotFound with the target in its Detail as "id".
	Name(ctx context.Context, owner string, targets []string) error
	// UsedBy returns the objects that refer to id, by kind and id, at most limit of them, and their total number. In a
	// unit that has removed the object from identity.Objects it returns every committed reference.
	UsedBy(ctx context.Context, id string, limit int) ([]Use, int, error)
}

// Runs lists the runs that still need an object.
type Runs interface {
	// Unfinished returns the ids of the unfinished runs that refer to the object, at most limit of them, and their
	// total number.
	Unfinished(ctx context.Context, id string, limit int) ([]string, int, error)
}

// Use is an object or a run that refers to an object.
type Use struct{ Kind, ID string }

// MaxUses is the largest number of users of an object in a fault.
const MaxUses = 20

// Reference is an object that another one refers to, with the field that contains it.
type Reference struct {
	Field string
	Kind  ids.Prefix
	ID    string
}

// Missing returns the NotFound fault of an object that does not exist or that the caller may not read. It names the
// field.
func (r Reference) Missing() error {
	f := fault.Missing(ids.KindOf(string(r.Kind)), r.ID)
	return naming(f, r.Field, f.Message)
}

// Unusable returns the fault of an object that the caller may read but not use. It names the field.
func (r Reference) Unusable() error {
	text := "this takes the right to use the " + Noun(string(r.Kind))
	return naming(UseRequired.New("%s", text), r.Field, text)
}

func naming(f *fault.Error, field, text string) error {
	f.Message = field + ": " + text
	f.Fields = []fault.Field{{Location: field, Message: text}}
	return f
}

// list returns the field without the index in its list.
func (r Reference) list() string {
	if at := strings.LastIndexByte(r.Field, '['); at >= 0 && strings.HasSuffix(r.Field, "]") {
		return r.Field[:at]
	}
	return r.Field
}

// References are the objects that an object refers to.
type References []Reference

// Add returns the references with an added one to id. It ignores an empty id.
func (r References) Add(field string, kind ids.Prefix, id string) References {
	if id == "" {
		return r
	}
	return append(r, Reference{field, kind, id})
}

// AddList returns the references with those of a list added.
func (r References) AddList(field string, kind ids.Prefix, list []string) References {
	for i, id := range list {
		r = r.Add(fmt.Sprintf("%s[%d]", field, i), kind, id)
	}
	return r
}

// IDs returns each id once and sorted, so that units which lock several objects never deadlock.
func (r References) IDs() []string {
	out := make([]string, len(r))
	for i, x := range r {
		out[i] = x.ID
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// without returns the references except for credentials that others have in the same field, at any index of its list.
func (r References) without(others References) References {
	type place struct{ field, id string }
	had := make(map[place]bool, len(others))
	for _, x := range others {
		had[place{x.list(), x.ID}] = true
	}
	return slices.DeleteFunc(slices.Clone(r), func(x Reference) bool {
		return x.Kind == ids.Credential && had[place{x.list(), x.ID}]
	})
}

// Store replaces the references of an object in the open unit. An object that does not exist is the NotFound fault of
// the field that contains it.
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
