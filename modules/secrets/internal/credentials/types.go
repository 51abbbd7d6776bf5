package credentials

import (
	"context"

	"github.com/writ-automation/writ/modules/secrets/internal/types"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/secrets"
)

// kindType is the name of types in decisions. Only admins have rights to types.
const kindType = "credential_type"

// Types manages custom types. They have no grants, and only credentials reference them, so the references are counted
// in the table of credentials.
type Types struct {
	object.Kernel
	permissions *object.Permissions
	store       secrets.TypeStore
	credentials secrets.Store
}

var _ secrets.Types = (*Types)(nil)

// NewTypes returns the service for types.
func NewTypes(k object.Kernel, p *object.Permissions, s secrets.TypeStore, c secrets.Store) *Types {
	return &Types{Kernel: k, permissions: p, store: s, credentials: c}
}

// admins refuses callers who are not admins.
func (k *Types) admins(ctx context.Context) error { return k.permissions.CheckOrgs(ctx, kindType, "") }

func typeEntry(a audit.Action, t secrets.Type) audit.Entry {
	fields := make([]string, len(t.Fields))
	for i, f := range t.Fields {
		fields[i] = f.Name
	}
	d := object.Detail{}.List("fields", fields).List("env", names(t.Inject.Env)).
		List("extra_vars", names(t.Inject.ExtraVars))
	return object.Entry(a, t.Record, d.List("files", names(t.Inject.Files)))
}

func (k *Types) Create(ctx context.Context, t secrets.Type) (secrets.Type, error) {
	t, err := types.Checked(t)
	if err == nil {
		err = k.admins(ctx)
	}
	if err != nil {
		return secrets.Type{}, err
	}
	k.Created(ctx, ids.CredentialType, &t.Record)
	err = k.Unit.Do(ctx, func(ctx context.Context) error {
		if err := k.store.InsertType(ctx, t); err != nil {
			return err
		}
		return k.Recorder.Record(ctx, typeEntry(audit.CredentialTypeCreate, t))
	})
	if err != nil {
		return secrets.Type{}, err
	}
	k.Logged(ctx, "credential type created", t.ID)
	return t, nil
}

func (k *Types) Get(ctx context.Context, id string) (secrets.Type, error) {
	if err := k.admins(ctx); err != nil {
		return secrets.Type{}, err
	}
	return k.store.TypeByID(ctx, id)
}

func (k *Types) List(ctx context.Context, name string, w page.Window) ([]secrets.Type, int, error) {
	if err := k.admins(ctx); err != nil {
		return nil, 0, err
	}
	return k.store.ListTypes(ctx, name, w)
}

func (k *Types) Update(ctx context.Context, id string, revision int64, t secrets.Type) (out secrets.Type, err error) {
	err = k.Retry(ctx, 0, func() error {
		out, err = k.update(ctx, id, revision, t)
		return err
	})
	if err != nil {
		return secrets.Type{}, err
	}
	k.Logged(ctx, "credential type changed", id)
	return out, nil
}

// update stores the change only if the revision is the one with which the new fields were compared. After that, no
// other process can create a credential of the type until the unit ends, so that the credentials can be counted.
func (k *Types) update(ctx context.Context, id string, revision int64, t secrets.Type) (out secrets.Type, err error) {
	t, err = types.Checked(t)
	if err == nil {
		err = k.admins(ctx)
	}
	if err != nil {
		return out, err
	}
	was, err := k.store.TypeByID(ctx, id)
	if err == nil {
		err = object.CheckRevision(revision, was.Record)
	}
	if err != nil {
		return out, err
	}
	k.Updated(was.Record, &t.Record)
	err = k.Unit.Do(ctx, func(ctx context.Context) error {
		if out, err = k.store.UpdateType(ctx, t, was.Revision); err != nil {
			return err
		}
		_, used, err := k.credentials.ListCredentials(ctx, access.Everything(), secrets.Filter{TypeID: id},
			page.Window{Limit: 1})
		if err != nil {
			return err
		}
		if used > 0 {
			if err := types.Follows(was.Fields, t.Fields); err != nil {
				return err
			}
		}
		return k.Recorder.Record(ctx, typeEntry(audit.CredentialTypeUpdate, out))
	})
	return out, err
}

func (k *Types) Delete(ctx context.Context, id string, revision int64) error {
	if err := k.admins(ctx); err != nil {
		return err
	}
	t, err := k.store.TypeByID(ctx, id)
	if err != nil {
		return err
	}
	err = k.Unit.Do(ctx, func(ctx context.Context) error {
		if err := k.store.DeleteType(ctx, id, revision); err != nil {
			return err
		}
		if err := k.unused(ctx, id); err != nil {
			return err
		}
		return k.Recorder.Record(ctx, object.Deleted(audit.CredentialTypeDelete, t.Record))
	})
	if err != nil {
		return k.permissions.Explain(ctx, err)
	}
	k.Logged(ctx, "credential type deleted", id)
	return nil
}

// unused refuses, in the open unit, to delete a type of which a credential exists.
func (k *Types) unused(ctx context.Context, id string) error {
	list, total, err := k.credentials.ListCredentials(ctx, access.Everything(), secrets.Filter{TypeID: id},
		page.Window{Limit: object.MaxUses})
	if err != nil || total == 0 {
		return err
	}
	used := &object.InUseError{Object: "credential type", Total: total}
	for _, c := range list {
		used.Uses = append(used.Uses, object.Use{Kind: ids.KindOf(c.ID), ID: c.ID})
	}
	return used
}
