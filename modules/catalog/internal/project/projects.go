package project

import (
	"context"
	"time"

	"github.com/writ-automation/writ/modules/catalog/internal/check"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/tx"
)

// forgetTime limits the removal of a deleted project's files.
const forgetTime = 30 * time.Second

// Projects implements catalog.Projects.
type Projects struct {
	object.Kernel
	permissions *object.Permissions
	store       catalog.ProjectStore
	checkouts   catalog.Checkouts
	mirror      *Mirror
}

var _ catalog.Projects = (*Projects)(nil)

// New returns a Projects.
func New(
	k object.Kernel, p *object.Permissions, s catalog.ProjectStore, c catalog.Checkouts, m *Mirror,
) *Projects {
	return &Projects{Kernel: k, permissions: p, store: s, checkouts: c, mirror: m}
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

func missing(id string) error { return fault.Missing(identity.KindProject, id) }

func (k *Projects) Create(ctx context.Context, p catalog.Project) (catalog.Project, error) {
	p, err := k.checked(p)
	if err != nil {
		return catalog.Project{}, err
	}
	if err := k.permissions.CheckOrgs(ctx, identity.KindProject, p.Org); err != nil {
		return catalog.Project{}, err
	}
	if err := k.permissions.CheckReferences(ctx, references(p), nil); err != nil {
		return catalog.Project{}, err
	}
	k.Created(ctx, ids.Project, &p.Record)
	err = k.Store(ctx, "project created", p.Record, func(ctx context.Context) error {
		if err := k.store.InsertProject(ctx, p); err != nil {
			return err
		}
		tx.OnCommit(ctx, func() { k.mirror.enqueue(p.ID) })
		return k.Upsert(ctx, k.permissions, p.ID, references(p), entry(audit.ProjectCreate, p))
	})
	if err != nil {
		return catalog.Project{}, err
	}
	return p, nil
}

func (k *Projects) Get(ctx context.Context, id string) (catalog.Project, error) {
	p, err := k.reach(ctx, access.Read, id)
	if err != nil {
		return catalog.Project{}, err
	}
	return k.shown(ctx, p)
}

// shown leaves out a credential that the caller may not read.
func (k *Projects) shown(ctx context.Context, p catalog.Project) (catalog.Project, error) {
	hidden, err := k.permissions.Hidden(ctx, p.ID, references(p))
	if hidden[p.CredentialID] {
		p.CredentialID = ""
	}
	return p, err
}

// reach returns a project if the caller has the access level.
func (k *Projects) reach(ctx context.Context, want access.Level, id string) (catalog.Project, error) {
	p, err := k.store.ProjectByID(ctx, id)
	if err != nil {
		return catalog.Project{}, err
	}
	if err := k.permissions.CheckAccess(ctx, want, id, missing(id)); err != nil {
		return catalog.Project{}, err
	}
	return p, nil
}

func (k *Projects) List(ctx context.Context, f catalog.Filter, w page.Window) ([]catalog.Project, int, error) {
	s, err := k.permissions.Scope(ctx)
	if err != nil {
		return nil, 0, err
	}
	list, total, err := k.store.ListProjects(ctx, s, f, w)
	if err == nil {
		list, err = object.Shown(ctx, list, k.shown)
	}
	return list, total, err
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
	if err := k.permissions.CheckChange(ctx, was.Record, p.Org, missing(id)); err != nil {
		return catalog.Project{}, err
	}
	if err := k.permissions.CheckReferences(ctx, references(p), retainedReferences(was, p)); err != nil {
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
		return k.Upsert(ctx, k.permissions, id, references(p), entry(audit.ProjectUpdate, p))
	})
	if err != nil {
		return catalog.Project{}, err
	}
	return stored, nil
}

func (k *Projects) Delete(ctx context.Context, id string, revision int64) error {
	p, err := k.reach(ctx, access.Manage, id)
	if err != nil {
		return err
	}
	err = k.DeleteObject(ctx, k.permissions, id, object.Entry(audit.ProjectDelete, p.Record,
		object.Detail{"revision": int(p.Revision)}), func(ctx context.Context) error {
		return k.store.DeleteProject(ctx, id, revision)
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
