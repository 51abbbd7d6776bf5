package secrets

import (
	"context"

	"github.com/writ-automation/writ/ports/lazyregexp"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
)

// FieldType is the type of a credential's value.
type FieldType string

// The types. Only members of built-in kinds have the type Object.
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
	Default  any       `json:"default,omitempty"` // of a public field: a string, or a boolean for the type bool
	Choices  []string  `json:"choices,omitempty"`
}

// Injectors define what a credential of a custom type adds to a run. Their texts are templates: {{field}} stands for
// a field's value, and in Env and ExtraVars {{files.NAME}} for the path of a file. ExtraVars may contain lists and
// objects.
type Injectors struct {
	Env       map[string]string `json:"env,omitempty"`
	ExtraVars map[string]any    `json:"extra_vars,omitempty"`
	Files     map[string]string `json:"files,omitempty"`
}

// Placeholder matches a placeholder in the template of an injector. Its only group is the name.
var Placeholder = lazyregexp.New(`\{\{\s*([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_.-]+)?)\s*\}\}`)

// Type is a kind of credential that an install defines for itself. Org is always empty.
type Type struct {
	object.Record
	Fields []Field
	Inject Injectors
}

// Types manages custom types. Only admins may use it.
type Types interface {
	// Create stores a type. Errors: Invalid naming the member (fields[1].type, inject.env.NAME), NameTaken.
	Create(ctx context.Context, t Type) (Type, error)
	// Get returns TypeNotFound for an unknown id.
	Get(ctx context.Context, id string) (Type, error)
	List(ctx context.Context, name string, w page.Window) ([]Type, int, error)
	// Update replaces a type. Errors: TypeInUse if a credential uses the type and a field would be lost or change its
	// type or its secrecy, or a new or formerly optional field would be required without a default; RevisionChanged
	// if the revision is neither 0 nor the stored one.
	Update(ctx context.Context, id string, revision int64, t Type) (Type, error)
	// Delete deletes a type. The error is InUse while a credential is of the type.
	Delete(ctx context.Context, id string, revision int64) error
}

// TypeStore stores custom types. Writes join the unit of ctx.
type TypeStore interface {
	// InsertType stores a type. Errors: NameTaken.
	InsertType(ctx context.Context, t Type) error
	TypeByID(ctx context.Context, id string) (Type, error)
	// LockType returns a type and prevents its change and deletion until the unit of ctx ends, so that a credential
	// that the unit stores fits the type. Errors: TypeNotFound.
	LockType(ctx context.Context, id string) (Type, error)
	// ListTypes returns types by name and their total number, only those with the given name if it is not empty.
	ListTypes(ctx context.Context, name string, w page.Window) ([]Type, int, error)
	// UpdateType stores the members that a caller may set, increments the revision and returns the type. Errors:
	// RevisionChanged, NameTaken, TypeNotFound.
	UpdateType(ctx context.Context, t Type, revision int64) (Type, error)
	// DeleteType deletes a type. Errors: RevisionChanged, TypeNotFound.
	DeleteType(ctx context.Context, id string, revision int64) error
}
