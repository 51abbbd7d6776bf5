package catalog

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/adapters/sqlstore/objects"
	"github.com/writ-automation/writ/adapters/sqlstore/visible"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
)

type project struct {
	bun.BaseModel `bun:"table:projects,alias:o"`
	objects.Record
	projectColumns
}

// projectColumns maps a catalog.Project to columns.
type projectColumns struct {
	object.Record `bun:"-"`
	RepoURL       string
	Branch        string
	CredentialID  string
	InstallDeps   bool
	Commit        string    `bun:"commit_id"`
	SyncedAt      time.Time `bun:",nullzero"`
	LastError     string    `bun:",skipupdate"`
	Hints         []catalog.Hint
}

func projectRow(p catalog.Project) project {
	return project{Record: objects.Record(p.Record), projectColumns: projectColumns(p)}
}

func (p project) Object() catalog.Project {
	out := catalog.Project(p.projectColumns)
	out.Record = object.Record(p.Record)
	return out
}

var projects = objects.Kind[catalog.Project, project]{Noun: "project", Missing: catalog.ProjectNotFound}

// An existing id is NameTaken too, and an unknown organization is OrgNotFound of package identity, for all kinds.
func (s *Store) InsertProject(ctx context.Context, p catalog.Project) error {
	return projects.Insert(ctx, s.d, projectRow(p))
}

func (s *Store) ProjectByID(ctx context.Context, id string) (catalog.Project, error) {
	return projects.ByID(ctx, s.d.Read(ctx), id)
}

// They are ordered by name and id.
func (s *Store) ListProjects(
	ctx context.Context, sc access.Scope, f catalog.Filter, w page.Window,
) ([]catalog.Project, int, error) {
	return projects.List(ctx, s.d.Read(ctx), objects.Where(visible.Those(sc, identity.KindProject, "o.id")), f, w)
}

// The result of the last synchronisation stays, unless the repository or the branch changes.
func (s *Store) UpdateProject(ctx context.Context, p catalog.Project, revision int64) (catalog.Project, error) {
	const same = "CASE WHEN o.repo_url = ? AND o.branch = ? THEN "
	return projects.Update(ctx, s.d, projectRow(p), revision, func(q *bun.UpdateQuery) *bun.UpdateQuery {
		return q.Value("commit_id", same+"o.commit_id ELSE '' END", p.RepoURL, p.Branch).
			Value("synced_at", same+"o.synced_at END", p.RepoURL, p.Branch).
			Value("hints", same+"o.hints END", p.RepoURL, p.Branch)
	})
}

// The references of the project are deleted with it.
func (s *Store) DeleteProject(ctx context.Context, id string, revision int64) error {
	return projects.Remove(ctx, s.d, id, revision)
}

func (s *Store) NoteSync(ctx context.Context, id string, r catalog.SyncResult) error {
	q := s.d.InUnit(ctx).NewUpdate().Model((*project)(nil)).Set("last_error = ?", r.Failure).Where("id = ?", id)
	if r.Commit != "" {
		hints := db.OrNull("")
		if r.Hints != nil {
			doc, err := db.Document(r.Hints)
			if err != nil {
				return err
			}
			hints = db.OrNull(doc)
		}
		q.Set("commit_id = ?, synced_at = ?, hints = ?", r.Commit, db.At(r.At), hints)
	}
	_, err := db.Modify(ctx, q)
	return db.Wrap(err, "store the result of a synchronisation")
}
