package catalog

import (
	"context"
	"fmt"
	"time"

	"github.com/writ-automation/writ/adapters/sqlstore/shelf"
	"github.com/writ-automation/writ/adapters/sqlstore/visible"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
)

func projects() shelf.Kind[catalog.Project] {
	return shelf.Kind[catalog.Project]{
		Table: "projects", Noun: "project", Missing: catalog.ProjectNotFound, Scan: scanProject,
		Columns: []string{"repo_url", "branch", "credential_id", "install_deps", "commit_id", "synced_at", "last_error"},
	}
}

// InsertProject implements catalog.ProjectStore. An id that exists is NameTaken as well, and an organization that does not is
// OrgNotFound of package identity, here and for every kind.
func (s *Store) InsertProject(ctx context.Context, p catalog.Project) error {
	return projects().Insert(ctx, s.d, p.Record,
		p.RepoURL, p.Branch, p.CredentialID, p.InstallDeps, p.Commit, db.At(p.SyncedAt), p.LastError)
}

// ProjectByID implements catalog.ProjectStore.
func (s *Store) ProjectByID(ctx context.Context, id string) (catalog.Project, error) {
	return projects().ByID(ctx, s.d.Read(ctx), id)
}

// ListProjects implements catalog.ProjectStore. They are by name and id.
func (s *Store) ListProjects(ctx context.Context, sc access.Scope, f catalog.Filter, w page.Window) ([]catalog.Project, int, error) {
	return projects().List(ctx, s.d.Read(ctx), shelf.Where(visible.Those(sc, identity.KindProject, "o.id")), f, w)
}

// UpdateProject implements catalog.ProjectStore. What the last synchronisation left stays.
func (s *Store) UpdateProject(ctx context.Context, p catalog.Project, revision int64) (catalog.Project, error) {
	q, err := projects().Held(ctx, s.d, p.ID, revision)
	if err != nil {
		return catalog.Project{}, err
	}
	const same = "CASE WHEN repo_url = ? AND branch = ? THEN "
	return projects().Update(ctx, q, p.Record, "commit_id = "+same+"commit_id ELSE '' END, synced_at = "+same+"synced_at END, "+
		"repo_url = ?, branch = ?, credential_id = ?, install_deps = ?",
		p.RepoURL, p.Branch, p.RepoURL, p.Branch, p.RepoURL, p.Branch, p.CredentialID, p.InstallDeps)
}

// DeleteProject implements catalog.ProjectStore. What the project names goes with it.
func (s *Store) DeleteProject(ctx context.Context, id string, revision int64) error {
	return projects().Remove(ctx, s.d, id, revision)
}

// NoteSync implements catalog.ProjectStore.
func (s *Store) NoteSync(ctx context.Context, id, commit, failure string, at time.Time) error {
	q, err := s.d.Write(ctx)
	if err != nil {
		return err
	}
	set, args := "last_error = ?", []any{failure}
	if commit != "" {
		set, args = set+", commit_id = ?, synced_at = ?", append(args, commit, db.At(at))
	}
	if _, err := db.Exec(ctx, q, "UPDATE projects SET "+set+" WHERE id = ?", append(args, id)...); err != nil {
		return fmt.Errorf("note how a synchronisation ended: %w", err)
	}
	return nil
}

func scanProject(r db.Row) (p catalog.Project, err error) {
	var at shelf.Stamps
	var synced db.Time
	err = r.Scan(append(shelf.Targets(&p.Record, &at),
		&p.RepoURL, &p.Branch, &p.CredentialID, &p.InstallDeps, &p.Commit, &synced, &p.LastError)...)
	at.Set(&p.Record)
	p.SyncedAt = synced.Time
	return p, err
}
