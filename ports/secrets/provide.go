package secrets

import (
	"context"
	"time"

	"github.com/writ-automation/writ/ports/secret"
)

// Owner is for whom secrets are provided: a claim of a run, or an inventory source with the epoch 0.
type Owner struct {
	ID    string
	Epoch int64
}

// Injection is what the credentials of a run put into it, together. Empty members are nothing.
type Injection struct {
	// Env holds no name that begins with WRIT_, but for those with FileVariable: with them it tells programs where files
	// are.
	Env       map[string]secret.Text
	ExtraVars map[string]any // values of templates; strings in them may be secrets
	// Files are to be private to the run. Their paths take the places of secret.FileMark(name) in Env and in the strings
	// of ExtraVars, before anything starts, and the path of a directory that of secret.FileMark("dir/"). A mark may be a
	// part of a longer text.
	Files []File
	Keys  []Key // for an agent of the run
	Login Login
	// Hide are all secrets of it, to be masked wherever the run says something.
	Hide []secret.Text
}

// FileVariable begins the environment variables that hold the paths of the files of custom credentials.
const FileVariable = "WRIT_FILE_"

// File is a file of a credential.
type File struct {
	// Name is unique within an injection: a plain file name, or dir/file with one level of directories, for programs
	// that are told a directory. Neither part is "." or "..", and both are of A-Z, a-z, 0-9, ".", "_" and "-" alone.
	// Directories are as private as files.
	Name    string
	Content secret.Text
}

// Key is a private key for an ssh agent. It is not encrypted any more.
type Key struct {
	PrivateKey secret.Text // PEM
	Comment    string
}

// Login is how a playbook gets onto its hosts. Empty members leave it to the project.
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

// Provider gives executors the secrets of the runs that they hold. It asks for no rights: the run was let in.
type Provider interface {
	// Provide fetches what the credentials say. It may use the network and is called outside of units, within the time
	// of ctx. What it minted belongs to the owner until Release, and is renewed until then where its engine can.
	// Unresolved names the credential and why, without a value; KeyLost, CredentialNotFound, SecretMissing and Clash
	// name it as well. A fault of kind Unavailable says that the store did not answer. After a fault nothing is left
	// minted.
	Provide(ctx context.Context, o Owner, credentials []string) (Injection, error)
	// Warnings returns a sentence, without a secret, for each secret of an owner that was minted and could not be
	// renewed. It is asked before Release.
	Warnings(o Owner) []string
	// Release revokes what was minted for an owner. What cannot be revoked now is tried again later, also by other
	// processes.
	Release(ctx context.Context, o Owner)
}

// References judges what requests for runs name. It asks for no rights.
type References interface {
	// Exists reports whether there is a credential.
	Exists(ctx context.Context, id string) (bool, error)
	// Validate returns why credentials cannot be used together, or at all: Clash for two of one kind (several vault
	// passwords may have different vault ids, custom credentials different types), SecretMissing for one without a
	// secret, KeyLost for one that cannot be opened. One that does not exist is left out.
	Validate(ctx context.Context, credentials []string) error
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
	Attempts  int // to revoke it
}

// LeaseRecord is for which record a lease is sealed.
func LeaseRecord(id string) string { return "lease/" + id }

// LeaseStore keeps leases of minted secrets. Its time is the store's own.
type LeaseStore interface {
	InsertLease(ctx context.Context, l Lease) error
	// LeasesOf returns the leases of an owner.
	LeasesOf(ctx context.Context, o Owner) ([]Lease, error)
	// TakeLeases returns at most limit leases whose owner is done with them: a run that ended, does not exist, or is
	// held under another epoch; an inventory source whose lease is an hour old. They are booked for the given time, so
	// that of several servers one has each.
	TakeLeases(ctx context.Context, limit int, visibility time.Duration) ([]Lease, error)
	// DropLease forgets one. An unknown one is no error.
	DropLease(ctx context.Context, id string) error
}
