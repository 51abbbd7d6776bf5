package secrets

import (
	"context"
	"regexp"

	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
)

// FieldType is what a value of a credential is.
type FieldType string

// The types. Object is one of members of built-in kinds alone.
const (
	Text      FieldType = "text"
	Multiline FieldType = "multiline"
	Bool      FieldType = "bool"
	Choice    FieldType = "choice"
	Object    FieldType = "object"
)

// Field is a field of a custom type.
type Field struct {
	Name     string    `json:"name"`
	Label    string    `json:"label,omitempty"`
	Type     FieldType `json:"type"`
	Secret   bool      `json:"secret,omitempty"`
	Required bool      `json:"required,omitempty"`
	Default  any       `json:"default,omitempty"` // of a field that is no secret: a string, or a boolean of the type bool
	Choices  []string  `json:"choices,omitempty"`
}

// Injectors say what a credential of a custom type puts into a run. Their texts are templates: {{field}} stands for a
// field's value, and in Env and ExtraVars {{files.NAME}} for the path of a file. ExtraVars may hold lists and
// objects.
type Injectors struct {
	Env       map[string]string `json:"env,omitempty"`
	ExtraVars map[string]any    `json:"extra_vars,omitempty"`
	Files     map[string]string `json:"files,omitempty"`
}

// Placeholder matches what stands for a value in the template of an injector. Its one group is the name.
var Placeholder = regexp.MustCompile(`\{\{\s*([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_.-]+)?)\s*\}\}`)

// Type is a kind of credential that an install defines for itself. Org is always empty.
type Type struct {
	object.Record
	Fields []Field
	Inject Injectors
}

// Types keeps custom types. Only admins may.
type Types interface {
	// Create stores a type. Invalid faults name the member (fields[1].type, inject.env.NAME); NameTaken.
	Create(ctx context.Context, t Type) (Type, error)
	// Get returns TypeNotFound for an unknown id.
	Get(ctx context.Context, id string) (Type, error)
	List(ctx context.Context, name string, w page.Window) ([]Type, int, error)
	// Update replaces a type. TypeInUse where a credential uses it and a field would be lost or change its type or its
	// secrecy, or a field that is new or was optional would be required without a default. RevisionChanged where the
	// revision is not 0 and not the stored one.
	Update(ctx context.Context, id string, revision int64, t Type) (Type, error)
	// Delete forgets a type. InUse while a credential is of it.
	Delete(ctx context.Context, id string, revision int64) error
}

// TypeStore keeps custom types. Writes join the unit of ctx.
type TypeStore interface {
	// InsertType stores a type. NameTaken.
	InsertType(ctx context.Context, t Type) error
	TypeByID(ctx context.Context, id string) (Type, error)
	// LockType returns a type and keeps it from being changed and removed until the unit of ctx ends, so that what is
	// stored of it in that unit fits. TypeNotFound.
	LockType(ctx context.Context, id string) (Type, error)
	// ListTypes returns types by name, of the given one where it is not empty, and how many there are.
	ListTypes(ctx context.Context, name string, w page.Window) ([]Type, int, error)
	// UpdateType stores what a caller may set, counts the revision up and returns it. RevisionChanged, NameTaken,
	// TypeNotFound.
	UpdateType(ctx context.Context, t Type, revision int64) (Type, error)
	// DeleteType removes it. RevisionChanged, TypeNotFound.
	DeleteType(ctx context.Context, id string, revision int64) error
}
