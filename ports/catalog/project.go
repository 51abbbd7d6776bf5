package catalog

import (
	"context"
	"time"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/secret"
)

// Project is a git repository that runs take their playbooks from.
type Project struct {
	object.Record
	RepoURL      string // https, ssh (also user@host:path), git, or file below the allowed root
	Branch       string // empty: the remote's own
	CredentialID string
	InstallDeps  bool // install what requirements files of roles and collections name

	// What the last synchronisation left. LastError is one sentence, empty where it succeeded; Commit and SyncedAt are
	// of the last one that did.
	Commit    string // 40 or 64 hex digits, empty before the first
	SyncedAt  time.Time
	LastError string
}

// Entry is a file or a directory of a repository.
type Entry struct {
	Path string // from the root, with slashes
	Type EntryType
	Size int64 // bytes, 0 of a directory
}

// EntryType tells files from directories. Links are files; one that leaves the repository is not listed.
type EntryType string

// The types.
const (
	FileEntry EntryType = "file"
	DirEntry  EntryType = "dir"
)

// Bounds of what is shown of a repository.
const (
	MaxFile    = 1 << 20 // bytes
	MaxEntries = 10_000
)

// Projects keeps projects. Without the right to read one it is ProjectNotFound, without the right to change one
// NotAllowed. To name another credential takes the right to use it, UseRequired of package runs, and so does to keep
// one at another address.
type Projects interface {
	// Create stores a project; the first synchronisation follows on its own. Invalid faults name the member; NameTaken;
	// NotFound faults of what it names.
	Create(ctx context.Context, p Project) (Project, error)
	Get(ctx context.Context, id string) (Project, error)
	// List returns projects by name and how many there are.
	List(ctx context.Context, f Filter, w page.Window) ([]Project, int, error)
	// Update replaces what a caller may set. RevisionChanged where the revision is not 0 and not the stored one.
	Update(ctx context.Context, id string, revision int64, p Project) (Project, error)
	// Delete forgets a project and its checkout. InUse while something names it.
	Delete(ctx context.Context, id string, revision int64) error
	// Sync fetches now. SyncFailed, which is a Conflict, says why nothing could be fetched; the last good commit stays.
	Sync(ctx context.Context, id string) (Project, error)
	// Files lists the directory at path, at a branch, tag or commit; empty are the root and the project's commit. It
	// returns the commit that was read. Entries are by path, directories first. FileNotFound for anything outside or
	// absent, Invalid naming ref or path.
	Files(ctx context.Context, id, path, ref string) (list []Entry, commit string, err error)
	// File returns the text of one file. FileTooLarge over MaxFile bytes.
	File(ctx context.Context, id, path, ref string) (text []byte, commit string, err error)
}

// ProjectStore keeps projects. Writes join the unit of ctx.
type ProjectStore interface {
	// InsertProject stores a project. NameTaken.
	InsertProject(ctx context.Context, p Project) error
	ProjectByID(ctx context.Context, id string) (Project, error)
	ListProjects(ctx context.Context, s access.Scope, f Filter, w page.Window) ([]Project, int, error)
	// UpdateProject stores what a caller may set, counts the revision up and returns it. With another address or branch,
	// what was fetched is forgotten. RevisionChanged, NameTaken, ProjectNotFound.
	UpdateProject(ctx context.Context, p Project, revision int64) (Project, error)
	// DeleteProject removes it. RevisionChanged, ProjectNotFound.
	DeleteProject(ctx context.Context, id string, revision int64) error
	// NoteSync stores what a synchronisation left and no more: with an empty commit the failure alone. A project that is
	// gone is no error.
	NoteSync(ctx context.Context, id, commit, failure string, at time.Time) error
}

// Repository says where a project's repository is and how to reach it.
type Repository struct {
	ProjectID string
	URL       string
	Branch    string
	// Login is what the project's credential gives; the zero value is nothing.
	Login Login
}

// Login is a name with a secret for https, or a private key for ssh. It prints as ***.
type Login struct {
	Username string
	Password secret.Text
	Key      secret.Text
}

// Logins gives what the credentials of projects and of inventory sources say. Its faults name the credential and hold
// no secret.
type Logins interface {
	// Login returns what opens the repository of a project. A fault of kind Conflict for a credential that is none for
	// repositories.
	Login(ctx context.Context, credentialID string) (Login, error)
	// Access returns what a credential gives to an inventory source for one refresh; done gives back what was made for
	// it and is never nil.
	Access(ctx context.Context, sourceID, credentialID string) (a Access, done func(), err error)
}

// Checkouts keeps one mirror of each repository on this machine. Every method may use the network and takes no unit
// of work. Two that are about one project wait for one another where they must.
type Checkouts interface {
	// Check judges an address and a branch without asking anybody. Invalid faults name repo_url or branch.
	Check(url, branch string) error
	// Fetch brings the mirror up to date and returns the commit of the branch. SyncFailed with one sentence; no secret
	// is in it.
	Fetch(ctx context.Context, r Repository) (commit string, err error)
	// Tree makes dir, which must not exist, a work tree at the commit, without a link that leaves it and without
	// anything of git. It fetches where the mirror lacks the commit. deps is where the tree's requirements were
	// installed, empty where install is false or there are none; it stays in place and is shared. CommitNotFound,
	// SyncFailed.
	Tree(ctx context.Context, r Repository, commit, dir string, install bool) (deps Deps, err error)
	// Files and File read the mirror, at a ref that may be empty for the given commit; see Projects.
	Files(ctx context.Context, r Repository, commit, path, ref string) ([]Entry, string, error)
	File(ctx context.Context, r Repository, commit, path, ref string) ([]byte, string, error)
	// Mirrored lists the ids of the projects of which this machine keeps a mirror or installed requirements.
	Mirrored(ctx context.Context) (projectIDs []string, err error)
	// Forget removes the mirror and what was installed for it.
	Forget(ctx context.Context, projectID string) error
}

// Deps are directories of installed requirements; empty members are none.
type Deps struct{ Roles, Collections string }
