package secrets

import (
	"context"
	"fmt"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/secret"
)

// Kind is a sort of credential.
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

// Member is a part of a credential: a secret, or a setting that everybody sees who may read the credential.
type Member struct {
	Name     string
	Secret   bool
	Required bool // of a secret: a credential without it has none
	Type     FieldType
	Doc      string // one sentence for people
}

// Values are secret members by name. Members that are no plain text are the text of their JSON.
type Values map[string]secret.Text

// Source says where the secrets of a credential are fetched when a run needs them.
type Source struct {
	Engine string
	Config map[string]any // without what of it is secret
}

// Credential opens something to the runs that name it. It never holds a secret when it is read.
type Credential struct {
	object.Record
	Kind     Kind
	Settings map[string]any // strings and booleans by name, of the built-in kinds
	TypeID   string         // of Custom
	Fields   map[string]any // of Custom: strings and booleans of the fields that are no secrets
	Source   *Source
	// HasSecret says that every required secret is stored, or that there is a source.
	HasSecret bool
	// SecretVersion counts how often the secrets were stored; it is bound into their sealed form.
	SecretVersion int64
}

// Change is what a caller sets of a credential. Fields and Source.Config may hold secret members as well: those are
// told apart by what the type and the engine say of them, and treated as the ones beside.
type Change struct {
	Credential
	// Secret are the secret members, of Custom those of its fields. A member that is left out keeps what is stored, an
	// empty one clears.
	Secret Values
	// SourceSecret are the secret members of the source's config, kept likewise as long as the engine stays.
	SourceSecret Values
}

// Warning tells of something about a credential that is taken and may not do what somebody expects.
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

// Credentials keeps credentials. Without the right to read one it is CredentialNotFound, without the right to change
// one NotAllowed.
type Credentials interface {
	// Create stores a credential. Invalid faults name the member (secret.passphrase, settings.username,
	// source.config.path); NameTaken; NotFound for an unknown type_id or org_id.
	Create(ctx context.Context, c Change) (Credential, []Warning, error)
	Get(ctx context.Context, id string) (Credential, error)
	// List returns credentials by name and how many there are.
	List(ctx context.Context, f Filter, w page.Window) ([]Credential, int, error)
	// Update replaces what a caller may set; secrets as Change says. The kind cannot change while something names the
	// credential (InUse). RevisionChanged where the revision is not 0 and not the stored one; KeyLost where a stored
	// secret has to be kept together with a new one and cannot be opened: giving every secret anew goes without it.
	Update(ctx context.Context, id string, revision int64, c Change) (Credential, []Warning, error)
	// Delete forgets a credential with its secrets. InUse while something names it or a run that has not ended needs it.
	Delete(ctx context.Context, id string, revision int64) error
}

// Filter narrows a list; empty members do not.
type Filter struct {
	Name   string // exactly
	Org    string
	Kind   Kind
	TypeID string
}

// CredentialRecord is for which record the secrets of a credential are sealed in a version: neither another
// credential nor an older version of the same opens in its place.
func CredentialRecord(id string, version int64) string {
	return fmt.Sprintf("%s/%d", id, version)
}

// Store keeps credentials. Writes join the unit of ctx.
type Store interface {
	// InsertCredential stores a credential with its sealed secrets, nil for none. NameTaken.
	InsertCredential(ctx context.Context, c Credential, sealed []byte) error
	CredentialByID(ctx context.Context, id string) (Credential, error)
	// SealedByID returns a credential with its sealed secrets as of one moment. CredentialNotFound.
	SealedByID(ctx context.Context, id string) (Credential, []byte, error)
	ListCredentials(ctx context.Context, s access.Scope, f Filter, w page.Window) ([]Credential, int, error)
	// UpdateCredential stores what a caller may set, the sealed secrets (nil for none) and their version, counts the
	// revision up and returns the credential. RevisionChanged where revision is not 0 and not the stored one, and where
	// c.SecretVersion is neither the stored version nor the one after it, or where it is the stored one and the sealed
	// secrets are others; NameTaken, CredentialNotFound.
	UpdateCredential(ctx context.Context, c Credential, sealed []byte, revision int64) (Credential, error)
	// DeleteCredential removes it. RevisionChanged, CredentialNotFound.
	DeleteCredential(ctx context.Context, id string, revision int64) error
}
