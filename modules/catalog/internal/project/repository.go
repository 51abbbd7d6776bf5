package project

import (
	"context"
	"strings"

	"github.com/writ-automation/writ/modules/catalog/internal/check"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/object"
)

const maxRef = 255 // characters of a branch, a tag or a commit

// Sync requires the right to use the project, as a run of it does, which also fetches. The unit of work that records
// the request also stores the result, even a failure.
func (k *Projects) Sync(ctx context.Context, id string) (catalog.Project, error) {
	if _, err := k.Reach(ctx, access.Use, id); err != nil {
		return catalog.Project{}, err
	}
	found, err := k.mirror.fetchProject(ctx, id)
	if err != nil {
		return catalog.Project{}, err
	}
	var p catalog.Project
	err = k.Unit.Do(ctx, func(ctx context.Context) error {
		if err := k.mirror.storeResult(ctx, id, found); err != nil {
			return err
		}
		var err error
		if p, err = k.store.ProjectByID(ctx, id); err != nil {
			return err
		}
		e := object.Entry(audit.ProjectSync, p.Record, object.Detail{}.Set("commit", found.Commit))
		if found.Failure != "" {
			e.Outcome = audit.Failure
		}
		return k.Recorder.Record(ctx, e)
	})
	if err != nil {
		return catalog.Project{}, err
	}
	if err := found.err(); err != nil {
		return catalog.Project{}, err
	}
	return k.shown(ctx, p)
}

// readable returns a project that the caller may read, with a commit.
func (k *Projects) readable(ctx context.Context, id, path, ref string) (catalog.Project, catalog.Repository, error) {
	if err := look(path, ref); err != nil {
		return catalog.Project{}, catalog.Repository{}, err
	}
	p, err := k.Reach(ctx, access.Read, id)
	if err != nil {
		return catalog.Project{}, catalog.Repository{}, err
	}
	if p, err = k.mirror.synced(ctx, p); err != nil {
		return catalog.Project{}, catalog.Repository{}, err
	}
	r, err := k.mirror.Repository(ctx, p)
	return p, r, err
}

// look refuses an invalid path or ref. The mirror treats paths that lead out of the repository as not existing.
func look(path, ref string) error {
	if !object.Line(path, check.MaxPath) {
		return fault.BadField("path", "expected at most %d characters on one line", check.MaxPath)
	}
	if !object.Line(ref, maxRef) || strings.HasPrefix(ref, "-") {
		return fault.BadField("ref", "expected the name of a branch or a tag, or a commit")
	}
	return nil
}

func (k *Projects) Files(ctx context.Context, id, path, ref string) ([]catalog.Entry, string, error) {
	p, r, err := k.readable(ctx, id, path, ref)
	if err != nil {
		return nil, "", err
	}
	return k.checkouts.Files(ctx, r, p.Commit, path, ref)
}

func (k *Projects) File(ctx context.Context, id, path, ref string) ([]byte, string, error) {
	p, r, err := k.readable(ctx, id, path, ref)
	if err != nil {
		return nil, "", err
	}
	return k.checkouts.File(ctx, r, p.Commit, path, ref)
}

func (k *Projects) Commits(ctx context.Context, id, from, to string) (catalog.CommitLog, error) {
	p, r, err := k.readable(ctx, id, "", "")
	if err != nil {
		return catalog.CommitLog{}, err
	}
	return k.histories.Commits(ctx, r, p.Commit, from, to)
}
