package catalog

import (
	"context"
	"time"
)

// MaxCommits bounds the commits of a log.
const MaxCommits = 50

// Commit is a commit of a repository. Its texts are on one line and come from whoever made it.
type Commit struct {
	ID      string // 40 or 64 hex digits
	Author  string // a name, at most 100 characters
	At      time.Time
	Subject string // at most 200 characters
}

// CommitLog is the difference between two commits.
type CommitLog struct {
	From, To string
	// Commits are those that To has and From lacks, the newest first, at most MaxCommits. Total counts all of them.
	Commits []Commit
	Total   int
	// Missing counts the commits that From has and To lacks: To is older, of another branch, or of another history.
	Missing int
}

// ProjectCommits shows the history of projects.
type ProjectCommits interface {
	// Commits returns the commits that to has and from lacks. Each is a branch, a tag or a commit; an empty to is the
	// project's commit. Errors: ProjectNotFound, FileNotFound for a name that the repository lacks, Invalid faults that
	// name from or to.
	Commits(ctx context.Context, id, from, to string) (CommitLog, error)
}

// Histories reads the histories of the mirrors of a Checkouts.
type Histories interface {
	// Commits compares two branches, tags or commits; an empty to is the given commit. It fetches if the mirror lacks
	// the commit. Errors: CommitNotFound, FileNotFound for a name that the repository lacks, SyncFailed, Invalid faults
	// that name from or to.
	Commits(ctx context.Context, r Repository, commit, from, to string) (CommitLog, error)
}
