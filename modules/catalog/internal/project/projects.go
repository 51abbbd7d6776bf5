package project

import (
	"context"
	"time"

	"github.com/writ-automation/writ/modules/catalog/internal/check"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/tx"
)

// forgetTime limits the removal of a deleted project's files.
const forgetTime = 30 * time.Second

// Projects implements catalog.Projects and catalog.ProjectCommits.
type Projects struct {
	object.Protected[catalog.Project, catalog.Filter]
	store     catalog.ProjectStore
	checkouts catalog.Checkouts
	histories catalog.Histories
	mirror    *Mirror
}

var (
	_ catalog.Projects       = (*Projects)(nil)
	_ catalog.ProjectCommits = (*Projects)(nil)
)

// New returns a Projects.
func New(
	kernel object.Kernel, p *object.Permissions, s catalog.ProjectStore, c catalog.Checkouts,
	l catalog.Histories, m *Mirror,
) *Projects {
	k := &Projects{
		Protected: object.Protect(kernel, p, s.ProjectByID, s.ListProjects, s.DeleteProject),
		store:     s, checkouts: c, histories: l, mirror: m,
	}
	k.Show = k.shown
	return k
}

// checked validates and normalizes the input. Invalid faults name the member.
func (k *Projects) checked(p catalog.Project) (catalog.Project, error) {
	input := catalog.Project{RepoURL: p.RepoURL, Branch: p.Branch, CredentialID: p.CredentialID,
		InstallDeps: p.InstallDeps}
	input.Org = p.Org
	var err error
	if input.Name, err = object.Name(p.Name); err != nil {
		return input, err
	}
	if err := k.checkouts.Check(p.RepoURL, p.Branch); err != nil {
		return input, err
	}
	return input, check.ID("credential_id", ids.Credential, p.CredentialID)
}

func references(p catalog.Project) object.References {
	return object.References(nil).Add("credential_id", ids.Credential, p.CredentialID)
}

// retainedReferences returns the references that an update may keep without a new check of rights. With another address
// the credential is checked again, since its secret would be sent there.
func retainedReferences(was, now catalog.Project) object.References {
	if was.RepoURL != now.RepoURL {
		return nil
	}
	return references(was)
}

func entry(a audit.Action, p catalog.Project) audit.Entry {
	d := object.Detail{"install_deps": p.InstallDeps}
	d.Set("repo_url", check.Address(p.RepoURL)).Set("branch", p.Branch).Set("credential_id", p.CredentialID)
	return object.Entry(a, p.Record, d)
}

func (k *Projects) Create(ctx context.Context, p catalog.Project) (catalog.Project, error) {
	p, err := k.checked(p)
	if err != nil {
		return catalog.Project{}, err
	}
	if err := k.CheckOrgs(ctx, identity.KindProject, p.Org); err != nil {
		return catalog.Project{}, err
	}
	if err := k.CheckReferences(ctx, references(p), nil); err != nil {
		return catalog.Project{}, err
	}
	k.Created(ctx, ids.Project, &p.Record)
	err = k.Store(ctx, "project created", p.Record, func(ctx context.Context) error {
		if err := k.store.InsertProject(ctx, p); err != nil {
			return err
		}
		tx.OnCommit(ctx, func() { k.mirror.enqueue(p.ID) })
		return k.Upsert(ctx, p.ID, references(p), entry(audit.ProjectCreate, p))
	})
	if err != nil {
		return catalog.Project{}, err
	}
	return p, nil
}

// shown leaves out a credential that the caller may not read.
func (k *Projects) shown(ctx context.Context, p catalog.Project) (catalog.Project, error) {
	hidden, err := k.Hidden(ctx, p.ID, references(p))
	if hidden[p.CredentialID] {
		p.CredentialID = ""
	}
	return p, err
}

func (k *Projects) Update(ctx context.Context, id string, revision int64, p catalog.Project) (catalog.Project, error) {
	p, err := k.checked(p)
	if err != nil {
		return catalog.Project{}, err
	}
	was, err := k.store.ProjectByID(ctx, id)
	if err != nil {
		return catalog.Project{}, err
	}
	if err := k.CheckChange(ctx, was.Record, p.Org); err != nil {
		return catalog.Project{}, err
	}
	if err := k.CheckReferences(ctx, references(p), retainedReferences(was, p)); err != nil {
		return catalog.Project{}, err
	}
	k.Updated(was.Record, &p.Record)
	moved := p.RepoURL != was.RepoURL || p.Branch != was.Branch || p.CredentialID != was.CredentialID
	var stored catalog.Project
	err = k.Store(ctx, "project changed", p.Record, func(ctx context.Context) (err error) {
		if stored, err = k.store.UpdateProject(ctx, p, revision); err != nil {
			return err
		}
		if moved {
			tx.OnCommit(ctx, func() { k.mirror.enqueue(id) })
		}
		return k.Upsert(ctx, id, references(p), entry(audit.ProjectUpdate, p))
	})
	if err != nil {
		return catalog.Project{}, err
	}
	return stored, nil
}

func (k *Projects) Delete(ctx context.Context, id string, revision int64) error {
	err := k.Remove(ctx, id, revision, func(p catalog.Project) audit.Entry {
		return object.Deleted(audit.ProjectDelete, p.Record)
	})
	if err != nil {
		return err
	}
	k.mirror.forget(id)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), forgetTime)
	defer cancel()
	if err := k.checkouts.Forget(ctx, id); err != nil {
		k.Log.WarnContext(ctx, "the mirror of a deleted project was not removed", "project", id, "err", err)
	}
	return nil
}
