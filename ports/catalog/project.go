package catalog

import (
	"context"
	"time"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/secret"
)

// Project is a git repository with playbooks for runs.
type Project struct {
	object.Record
	RepoURL      string // https, ssh (also user@host:path), git, or file below the allowed root
	Branch       string // empty means the remote's default branch
	CredentialID string
	InstallDeps  bool // install the roles and collections of requirements files

	// The results of synchronisation. LastError is one sentence about the last one, empty after a success; Commit and
	// SyncedAt are those of the last successful one.
	Commit    string // 40 or 64 hex digits, empty before the first synchronisation
	SyncedAt  time.Time
	LastError string
	// Hints are places that newer versions of Ansible refuse, and links that lead out of the repository, at most MaxHints;
	// nil if the commit was not searched.
	Hints []Hint
}

// Hint is a place in a playbook that works with some supported versions of Ansible and not with others, or a link that
// leads out of the repository, which has line 0.
type Hint struct {
	Path    string `json:"path"`
	Line    int    `json:"line"`
	Message string `json:"message"`
}

// SyncResult is the result of one synchronisation: the commit and its hints, or the reason of the failure.
type SyncResult struct {
	Commit  string
	Failure string
	Hints   []Hint
	At      time.Time
}

// Entry is a file or a directory of a repository.
type Entry struct {
	Path string // relative to the root, with slashes
	Type EntryType
	Size int64 // in bytes; 0 for a directory
}

// EntryType distinguishes files and directories. Links count as files; links that leave the repository are not listed.
type EntryType string

// The types of entries.
const (
	FileEntry EntryType = "file"
	DirEntry  EntryType = "dir"
)

// LeftOutLink is the target of a link in a work tree whose own target is not in the repository.
const LeftOutLink = "writ-left-out/leads-out-of-the-repository"

// Limits for reading a repository.
const (
	MaxFile    = 1 << 20 // in bytes
	MaxEntries = 10_000
	MaxHints   = 50
)

// Projects manages projects. A caller without the right to read a project gets ProjectNotFound, and a caller without
// the right to change it gets NotAllowed. To set another credential, or to keep the credential with another address,
// the caller needs the right to use the credential; otherwise the fault is UseRequired of package runs.
type Projects interface {
	// Create stores a project; the first synchronisation follows in the background. Errors: Invalid naming the member,
	// NameTaken, NotFound faults of referenced objects.
	Create(ctx context.Context, p Project) (Project, error)
	Get(ctx context.Context, id string) (Project, error)
	// List returns projects by name and the total number.
	List(ctx context.Context, f Filter, w page.Window) ([]Project, int, error)
	// Update replaces the members that a caller may set. The error is RevisionChanged if the revision is neither 0 nor
	// the stored one.
	Update(ctx context.Context, id string, revision int64, p Project) (Project, error)
	// Delete deletes a project and its checkout. The error is InUse while another object refers to it.
	Delete(ctx context.Context, id string, revision int64) error
	// Sync fetches now. SyncFailed, a Conflict, contains the reason of a failure; the last good commit stays.
	Sync(ctx context.Context, id string) (Project, error)
	// Files lists the directory at path, at a branch, tag or commit. An empty path is the root, and an empty ref the
	// project's commit. It returns the commit that it read. Entries are ordered by path, directories first. The error
	// is FileNotFound for a path that is outside or does not exist, or Invalid naming ref or path.
	Files(ctx context.Context, id, path, ref string) (list []Entry, commit string, err error)
	// File returns the text of one file. The error is FileTooLarge above MaxFile bytes.
	File(ctx context.Context, id, path, ref string) (text []byte, commit string, err error)
}

// ProjectStore stores projects. Writes join the unit of work in ctx.
type ProjectStore interface {
	// InsertProject stores a project. Errors: NameTaken.
	InsertProject(ctx context.Context, p Project) error
	ProjectByID(ctx context.Context, id string) (Project, error)
	ListProjects(ctx context.Context, s access.Scope, f Filter, w page.Window) ([]Project, int, error)
	// UpdateProject stores the members that a caller may set, increments the revision and returns the project. Another
	// address or branch clears the result of the last synchronisation. Errors: RevisionChanged, NameTaken,
	// ProjectNotFound.
	UpdateProject(ctx context.Context, p Project, revision int64) (Project, error)
	// DeleteProject deletes a project. Errors: RevisionChanged, ProjectNotFound.
	DeleteProject(ctx context.Context, id string, revision int64) error
	// NoteSync stores only the result of a synchronisation; with an empty commit, only the failure. A deleted project
	// is not an error.
	NoteSync(ctx context.Context, id string, r SyncResult) error
}

// Repository is the address of a project's repository with the login for it.
type Repository struct {
	ProjectID string
	URL       string
	Branch    string
	// Login comes from the project's credential; the zero value is no login.
	Login Login
}

// Login is a name with a secret for https, or a private key for ssh. It prints as ***.
type Login struct {
	Username string
	Password secret.Text
	Key      secret.Text
}

// Logins resolves the credentials of projects and inventory sources. Its faults name the credential and contain no
// secret.
type Logins interface {
	// Login returns the login for a project's repository. For a credential that is not for repositories, the fault is
	// of kind Conflict.
	Login(ctx context.Context, credentialID string) (Login, error)
	// Access returns the Access that a credential provides for one refresh of an inventory source. The caller calls
	// done, which is never nil, to release it.
	Access(ctx context.Context, sourceID, credentialID string) (a Access, done func(), err error)
}

// Checkouts keeps one mirror of each repository on this machine. Every method may use the network and must be called
// outside of units of work. Calls for one project wait for each other where necessary.
type Checkouts interface {
	// Check validates an address and a branch without network access. Invalid faults name repo_url or branch.
	Check(url, branch string) error
	// Fetch updates the mirror and returns the commit of the branch. The error is SyncFailed with one sentence without
	// secrets.
	Fetch(ctx context.Context, r Repository) (commit string, err error)
	// Tree creates the directory dir, which must not exist, as a work tree at the commit, without git metadata. A link
	// that leads out of it is replaced by one to LeftOutLink, which leads nowhere. It fetches if the mirror lacks the
	// commit. deps contains the directories with the tree's installed requirements, empty if install is false or there
	// are no requirements; these directories are shared and must not be removed. Errors: CommitNotFound, SyncFailed.
	Tree(ctx context.Context, r Repository, commit, dir string, install bool) (deps Deps, err error)
	// Files and File read the mirror at ref, where an empty ref is the given commit; see Projects.
	Files(ctx context.Context, r Repository, commit, path, ref string) ([]Entry, string, error)
	File(ctx context.Context, r Repository, commit, path, ref string) ([]byte, string, error)
	// Playbooks returns the YAML files of a commit by path, and the paths of the links that lead out of the repository,
	// both within bounds of their number and size. Errors: CommitNotFound, SyncFailed.
	Playbooks(ctx context.Context, r Repository, commit string) (files map[string][]byte, leaving []string, err error)
	// Mirrored returns the ids of the projects with a mirror or installed requirements on this machine.
	Mirrored(ctx context.Context) (projectIDs []string, err error)
	// Forget removes the mirror and its installed requirements.
	Forget(ctx context.Context, projectID string) error
}

// Deps contains the directories of installed requirements; empty if there are none.
type Deps struct{ Roles, Collections string }

// Installer installs requirements where a run executes.
type Installer interface {
	// Install installs the requirements of a work tree, or finds their installation, with the login of r. The
	// directories are shared and must not be removed. The error is SyncFailed.
	Install(ctx context.Context, r Repository, tree string) (Deps, error)
}

// Requirements knows the projects whose requirements are installed where their runs execute.
type Requirements interface {
	// Wanted returns the login for the requirements of a project. It returns false if the project wants none, or if this
	// process installs them in the project's trees. Errors: ProjectNotFound, SyncFailed.
	Wanted(ctx context.Context, projectID string) (r Repository, wanted bool, err error)
}
