package secrets

import (
	"context"
	"fmt"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/secret"
)

// Kind is the kind of a credential.
type Kind string

// The kinds. A credential of a custom type is of the kind Custom.
const (
	SSHKey         Kind = "ssh_key"
	SSHPassword    Kind = "ssh_password"
	VaultPassword  Kind = "vault_password"
	BecomePassword Kind = "become_password"
	Become         Kind = "become"
	Network        Kind = "network"
	Env            Kind = "env"
	Token          Kind = "token"
	Registry       Kind = "registry"
	AWS            Kind = "aws"
	Azure          Kind = "azure"
	GCP            Kind = "gcp"
	VMware         Kind = "vmware"
	OpenStack      Kind = "openstack"
	Custom         Kind = "custom"
)

// Member is a part of a credential: a secret, or a setting that is visible to callers who may read the credential.
type Member struct {
	Name     string
	Secret   bool
	Required bool // of a secret: a credential without it has none
	Type     FieldType
	Doc      string // one sentence for people
}

// Values are secret members by name. A member that is not plain text is the text of its JSON.
type Values map[string]secret.Text

// Source is the source from which the secrets of a credential are fetched when a run needs them.
type Source struct {
	Engine string
	Config map[string]any // without its secret members
}

// Credential gives the runs that name it access to something. A credential that is read contains no secret.
type Credential struct {
	object.Record
	Kind     Kind
	Settings map[string]any // strings and booleans by name, of the built-in kinds
	TypeID   string         // of Custom
	Fields   map[string]any // of Custom: strings and booleans of the public fields
	Source   *Source
	// HasSecret reports that every required secret is stored, or that there is a source.
	HasSecret bool
	// SecretVersion counts how often the secrets were stored; it is bound into their sealed form.
	SecretVersion int64
}

// Change holds the members of a credential that a caller sets. Fields and Source.Config may contain secret members
// too: the type and the engine determine which ones are secret, and these are treated like Secret and SourceSecret.
type Change struct {
	Credential
	// Secret are the secret members; for Custom they are its secret fields. An omitted member keeps the stored value,
	// an empty one deletes it.
	Secret Values
	// SourceSecret are the secret members of the source's config. Omitted ones keep the stored value while the engine
	// is the same.
	SourceSecret Values
}

// Warning describes an accepted property of a credential that users may not expect.
type Warning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// The codes of warnings.
const (
	// WarnShortSecret: a secret of fewer than four bytes is not masked in output.
	WarnShortSecret = "short_secret"
	// WarnNoSecret: runs that need the credential are refused until it has one.
	WarnNoSecret = "no_secret"
)

// Credentials manages credentials. A caller without the right to read one gets CredentialNotFound, and a caller
// without the right to change one gets NotAllowed.
type Credentials interface {
	// Create stores a credential. Errors: Invalid naming the member (secret.passphrase, settings.username,
	// source.config.path), NameTaken, NotFound for an unknown type_id or org_id.
	Create(ctx context.Context, c Change) (Credential, []Warning, error)
	Get(ctx context.Context, id string) (Credential, error)
	// List returns credentials by name and their total number.
	List(ctx context.Context, f Filter, w page.Window) ([]Credential, int, error)
	// Update replaces the members that a caller may set; for secrets see Change. The kind cannot change while another
	// object refers to the credential (InUse). Errors: RevisionChanged if the revision is neither 0 nor the stored
	// one; KeyLost if a kept secret has to be sealed together with a new one and cannot be opened, which setting all
	// secrets avoids.
	Update(ctx context.Context, id string, revision int64, c Change) (Credential, []Warning, error)
	// Delete deletes a credential with its secrets. The error is InUse while another object refers to it or an
	// unfinished run needs it.
	Delete(ctx context.Context, id string, revision int64) error
}

// Filter restricts a list. Empty members match everything.
type Filter struct {
	Name   string   // exactly
	Names  []string // one of them; empty for any
	Org    string
	Kind   Kind
	TypeID string
}

// CredentialRecord returns the record name for which the secrets of a credential are sealed in a version. Sealed
// secrets of another credential or of an older version do not open under it.
func CredentialRecord(id string, version int64) string {
	return fmt.Sprintf("%s/%d", id, version)
}

// Store stores credentials. Writes join the unit of ctx.
type Store interface {
	// InsertCredential stores a credential with its sealed secrets, nil for none. Errors: NameTaken.
	InsertCredential(ctx context.Context, c Credential, sealed []byte) error
	CredentialByID(ctx context.Context, id string) (Credential, error)
	// SealedByID returns a credential with its sealed secrets, read consistently. Errors: CredentialNotFound.
	SealedByID(ctx context.Context, id string) (Credential, []byte, error)
	ListCredentials(ctx context.Context, s access.Scope, f Filter, w page.Window) ([]Credential, int, error)
	// UpdateCredential stores the members that a caller may set, the sealed secrets (nil for none) and their version,
	// increments the revision and returns the credential. Errors: RevisionChanged if the revision is neither 0 nor
	// the stored one, if c.SecretVersion is neither the stored version nor the next one, or if it is the stored one
	// with other sealed secrets; NameTaken; CredentialNotFound.
	UpdateCredential(ctx context.Context, c Credential, sealed []byte, revision int64) (Credential, error)
	// DeleteCredential deletes a credential. Errors: RevisionChanged, CredentialNotFound.
	DeleteCredential(ctx context.Context, id string, revision int64) error
}
