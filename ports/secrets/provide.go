package secrets

import (
	"context"
	"time"

	"github.com/writ-automation/writ/ports/secret"
)

// Owner is the user of provided secrets: a claim of a run, or an inventory source with the epoch 0.
type Owner struct {
	ID    string
	Epoch int64
}

// Injection holds everything that the credentials of a run add to it. Members may be empty.
type Injection struct {
	// Env has no names that begin with WRIT_, except those that begin with FileVariable and contain the paths of
	// files.
	Env       map[string]secret.Text
	ExtraVars map[string]any // values of templates; strings in them may be secrets
	// Files must be private to the run. Before a program starts, their paths replace secret.FileMark(name) in Env and
	// in the strings of ExtraVars, and the path of a directory replaces secret.FileMark("dir/"). A mark may be part
	// of a longer text.
	Files []File
	Keys  []Key // for an agent of the run
	Login Login
	// Versions are those of the credentials that were opened, as References tells them.
	Versions map[string]int64
	// Hide are all its secrets, which are masked in everything that the run reports.
	Hide []secret.Text
}

// FileVariable begins the environment variables that hold the paths of the files of custom credentials.
const FileVariable = "WRIT_FILE_"

// File is a file of a credential.
type File struct {
	// Name is unique within an injection: a plain file name, or dir/file with one level of directories, for programs
	// that take a directory. Neither part is "." or "..", and both consist of A-Z, a-z, 0-9, ".", "_" and "-".
	// Directories are as private as files.
	Name    string
	Content secret.Text
}

// Key is a private key for an ssh agent. It is no longer encrypted.
type Key struct {
	PrivateKey secret.Text // PEM
	Comment    string
}

// Login is the login of a playbook on its hosts. For empty members the settings of the project apply.
type Login struct {
	User           string
	Password       secret.Text
	BecomeMethod   string
	BecomeUser     string
	BecomePassword secret.Text
	Vaults         []Vault
}

// Vault is a password of Ansible Vault.
type Vault struct {
	ID       string // never empty
	Password secret.Text
}

// Provider gives executors the secrets of the runs that they hold. It checks no rights, since the run was authorized.
type Provider interface {
	// Provide fetches the secrets of the credentials. It may use the network and is called outside of units, within
	// the time of ctx. Minted secrets belong to the owner until Release, and are renewed until then if the engine can
	// renew them. Unresolved names the credential and the reason, without a value; KeyLost, CredentialNotFound,
	// SecretMissing and Clash name the credential too. A fault of kind Unavailable means that the store did not
	// answer. After a fault no minted secret is left.
	Provide(ctx context.Context, o Owner, credentials []string) (Injection, error)
	// Warnings returns a sentence, without a secret, for each secret of an owner that was minted and could not be
	// renewed. It is called before Release.
	Warnings(o Owner) []string
	// Release revokes the secrets that were minted for an owner. A failed revocation is retried later, also by other
	// processes.
	Release(ctx context.Context, o Owner)
}

// References checks the credentials that requests for runs name. It checks no rights.
type References interface {
	// Exists reports whether a credential exists.
	Exists(ctx context.Context, id string) (bool, error)
	// Validate returns the reason why credentials cannot be used together, or at all: Clash for two of one kind
	// (except vault passwords with different vault ids and custom credentials of different types), SecretMissing for
	// one without a secret, KeyLost for one that cannot be opened. It ignores unknown credentials.
	Validate(ctx context.Context, credentials []string) error
	// Versions returns a number for each credential that exists. It rises with each change of the credential, and of its
	// type if that is a custom one.
	Versions(ctx context.Context, credentials []string) (map[string]int64, error)
	// Stored returns the secrets that are stored with credentials, for recognizing them in a text. What engines provide
	// is not among them. A credential that does not exist is left out. Errors: KeyLost.
	Stored(ctx context.Context, credentials []string) ([]secret.Text, error)
}

// Lease is a minted secret that has to be revoked.
type Lease struct {
	ID           string
	Owner        Owner
	CredentialID string
	Engine       string
	// Sealed holds the handle and the engine's config, for the record LeaseRecord(ID).
	Sealed    []byte
	CreatedAt time.Time
	Attempts  int // of revoking it
}

// LeaseRecord returns the record name for which a lease is sealed.
func LeaseRecord(id string) string { return "lease/" + id }

// LeaseStore stores leases of minted secrets. Times come from the store's own clock.
type LeaseStore interface {
	InsertLease(ctx context.Context, l Lease) error
	// LeasesOf returns the leases of an owner.
	LeasesOf(ctx context.Context, o Owner) ([]Lease, error)
	// TakeLeases returns at most limit leases that their owner no longer needs: of a run that ended, was deleted, or
	// is held under another epoch; of an inventory source if the lease is an hour old. It claims them for the given
	// time, so that only one of several servers has each.
	TakeLeases(ctx context.Context, limit int, visibility time.Duration) ([]Lease, error)
	// DropLease deletes a lease. An unknown one is no error.
	DropLease(ctx context.Context, id string) error
}
