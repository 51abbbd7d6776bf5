package source

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/writ-automation/writ/modules/catalog/internal/check"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
	"github.com/writ-automation/writ/ports/tx"
)

// kind is the name of the object kind for the check of organizations.
const kind = "inventory_source"

// Sources implements catalog.Sources.
type Sources struct {
	object.Kernel
	permissions *object.Permissions
	store       catalog.SourceStore
	refresher   *Refresher
	sealer      secrets.Sealer
}

var _ catalog.Sources = (*Sources)(nil)

// New returns a Sources. It stores header values sealed.
func New(
	k object.Kernel, p *object.Permissions, s catalog.SourceStore, r *Refresher, sealer secrets.Sealer,
) *Sources {
	return &Sources{Kernel: k, permissions: p, store: s, refresher: r, sealer: sealer}
}

func references(s catalog.InventorySource) object.References {
	return object.References(nil).Add("inventory_id", ids.Inventory, s.InventoryID).
		Add("project_id", ids.Project, s.ProjectID).Add("credential_id", ids.Credential, s.CredentialID)
}

func entry(a audit.Action, s catalog.InventorySource) (audit.Entry, error) {
	d := object.Detail{"kind": string(s.Kind), "update_on_launch": s.UpdateOnLaunch, "sync_interval": s.SyncInterval,
		"trusted": s.Trusted}
	d.Set("inventory_id", s.InventoryID).Set("project_id", s.ProjectID).Set("credential_id", s.CredentialID).
		Set("path", s.Path)
	d.Set("url", check.Address(s.Config.URL)).List("headers", slices.Sorted(maps.Keys(s.Config.Headers)))
	if s.Config.Content != "" {
		d["content"] = check.Sum([]byte(s.Config.Content))
	}
	if s.Config.Plugin != nil {
		doc, err := json.Marshal(s.Config.Plugin)
		if err != nil {
			return audit.Entry{}, err
		}
		d["plugin"] = check.Sum(doc)
	}
	return object.Entry(a, s.Record, d), nil
}

func missing(id string) error { return catalog.SourceNotFound.New("no inventory source %q", id) }

func (k *Sources) Create(ctx context.Context, s catalog.InventorySource) (catalog.InventorySource, error) {
	s, err := checked(s)
	if err == nil {
		s.Config.Headers, err = unmasked(s.Config, catalog.SourceConfig{}, nil)
	}
	if err != nil {
		return catalog.InventorySource{}, err
	}
	if err := k.permissions.CheckOrgs(ctx, kind, s.Org); err != nil {
		return catalog.InventorySource{}, err
	}
	if err := k.allowed(ctx, s, nil); err != nil {
		return catalog.InventorySource{}, err
	}
	if err := k.checkTrust(ctx, s, catalog.InventorySource{}); err != nil {
		return catalog.InventorySource{}, err
	}
	k.Created(ctx, ids.Source, &s.Record)
	if s, err = sealHeaders(ctx, k.sealer, s); err != nil {
		return catalog.InventorySource{}, err
	}
	err = k.Unit.Do(ctx, func(ctx context.Context) error {
		if err := k.store.InsertSource(ctx, s); err != nil {
			return err
		}
		return k.put(ctx, audit.SourceCreate, s)
	})
	if err != nil {
		return catalog.InventorySource{}, err
	}
	k.Log.InfoContext(ctx, "inventory source created", "id", s.ID, "by", s.CreatedBy)
	return masked(s), nil
}

// retainedReferences returns the references that an update may keep without a new check of rights. If the queried
// server or the request changes, the credential is checked again, since its secret would be sent there.
func retainedReferences(was, now catalog.InventorySource) object.References {
	if !sameRequest(was, now) {
		return nil
	}
	return references(was)
}

// sameRequest reports whether two sources query the same server with the same request, apart from headers.
func sameRequest(was, now catalog.InventorySource) bool {
	same := was.Kind == now.Kind && was.ProjectID == now.ProjectID && was.Path == now.Path &&
		was.Config.URL == now.Config.URL &&
		was.Config.Content == now.Config.Content
	before, err1 := json.Marshal(was.Config.Plugin)
	after, err2 := json.Marshal(now.Config.Plugin)
	return same && err1 == nil && err2 == nil && bytes.Equal(before, after)
}

// checkTrust refuses a trusted source of a caller who is no admin, unless an admin trusted it for the same request with
// the same headers and credential, and for the same inventory.
func (k *Sources) checkTrust(ctx context.Context, s, was catalog.InventorySource) error {
	if !s.Trusted {
		return nil
	}
	kept := was.Trusted && sameRequest(was, s) && s.CredentialID == was.CredentialID &&
		s.InventoryID == was.InventoryID && sameNames(s.Config.Headers, was.Config.Headers)
	for _, value := range s.Config.Headers {
		kept = kept && (value == "" || value == secret.Mask)
	}
	if kept {
		return nil
	}
	// Sources carry no grants: only admins have rights on them as such.
	ok, err := k.permissions.May(ctx, access.Manage, kind)
	if err != nil || ok {
		return err
	}
	return catalog.NotAllowed.New("trusted: only an admin may set it, or change what a trusted source asks and fills")
}

// allowed refuses a caller without the right to read all referenced objects, to use a credential that is not retained,
// or to manage the inventory.
func (k *Sources) allowed(ctx context.Context, s catalog.InventorySource, retained object.References) error {
	if err := k.permissions.CheckReferences(ctx, references(s), retained); err != nil {
		return err
	}
	return k.permissions.CheckAccess(ctx, access.Manage, s.InventoryID,
		object.Reference{Field: "inventory_id", Kind: ids.Inventory, ID: s.InventoryID}.Missing())
}

// put stores the references of a source and the audit entry of the change in the open unit of work.
func (k *Sources) put(ctx context.Context, a audit.Action, s catalog.InventorySource) error {
	tx.OnCommit(ctx, k.refresher.wake)
	if err := references(s).Store(ctx, k.permissions.Usage, s.ID); err != nil {
		return err
	}
	e, err := entry(a, s)
	if err != nil {
		return err
	}
	return k.Recorder.Record(ctx, e)
}

// reach returns a source if the caller has the access level for its inventory. Reading requires the right to read the
// inventory and the project.
func (k *Sources) reach(ctx context.Context, want access.Level, id string) (catalog.InventorySource, error) {
	s, err := k.store.SourceByID(ctx, id)
	if err != nil {
		return catalog.InventorySource{}, err
	}
	ok, err := k.permissions.May(ctx, access.Read, s.InventoryID, s.ProjectID)
	if err != nil {
		return catalog.InventorySource{}, err
	}
	if !ok {
		return catalog.InventorySource{}, missing(id)
	}
	if want != access.Read {
		if err := k.permissions.CheckAccess(ctx, want, s.InventoryID, missing(id)); err != nil {
			return catalog.InventorySource{}, err
		}
	}
	return s, nil
}

func (k *Sources) Get(ctx context.Context, id string) (catalog.InventorySource, error) {
	s, err := k.reach(ctx, access.Read, id)
	if err != nil {
		return catalog.InventorySource{}, err
	}
	return k.shown(ctx, s)
}

// shown masks a source, and leaves out a credential that the caller may not read. Whoever manages the inventory manages
// the source.
func (k *Sources) shown(ctx context.Context, s catalog.InventorySource) (catalog.InventorySource, error) {
	hidden, err := k.permissions.Hidden(ctx, s.InventoryID, references(s))
	if hidden[s.CredentialID] {
		s.CredentialID = ""
	}
	return masked(s), err
}

func (k *Sources) List(ctx context.Context, f catalog.Filter, w page.Window) ([]catalog.InventorySource, int, error) {
	scope, err := k.permissions.Scope(ctx)
	if err != nil {
		return nil, 0, err
	}
	list, total, err := k.store.ListSources(ctx, scope, f, w)
	if err == nil {
		list, err = object.Shown(ctx, list, k.shown)
	}
	return list, total, err
}

func (k *Sources) Update(
	ctx context.Context, id string, revision int64, s catalog.InventorySource,
) (catalog.InventorySource, error) {
	s, err := checked(s)
	if err != nil {
		return catalog.InventorySource{}, err
	}
	was, err := k.reach(ctx, access.Manage, id)
	if err != nil {
		return catalog.InventorySource{}, err
	}
	if s.Org != was.Org {
		if err := k.permissions.CheckOrgs(ctx, kind, s.Org); err != nil {
			return catalog.InventorySource{}, err
		}
	}
	if err := k.allowed(ctx, s, retainedReferences(was, s)); err != nil {
		return catalog.InventorySource{}, err
	}
	if err := k.checkTrust(ctx, s, was); err != nil {
		return catalog.InventorySource{}, err
	}
	k.Updated(was.Record, &s.Record)
	var stored catalog.InventorySource
	err = k.Unit.Do(ctx, func(ctx context.Context) error {
		now, err := k.store.SourceByID(ctx, id)
		if err != nil {
			return err
		}
		next, err := k.sealed(ctx, s, now)
		if err != nil {
			return err
		}
		if stored, err = k.store.UpdateSource(ctx, next, revision); err != nil {
			return err
		}
		return k.put(ctx, audit.SourceUpdate, stored)
	})
	if err != nil {
		return catalog.InventorySource{}, err
	}
	k.Log.InfoContext(ctx, "inventory source changed", "id", id, "by", object.Author(ctx))
	return masked(stored), nil
}

func (k *Sources) Compare(ctx context.Context, id string, s catalog.InventorySource) ([]string, error) {
	was, err := k.reach(ctx, access.Manage, id)
	if err != nil {
		return nil, err
	}
	if s, err = checked(s); err != nil {
		return nil, err
	}
	stored := was.Config
	if stored.Headers, err = openHeaders(ctx, k.sealer, was); err != nil {
		return nil, err
	}
	s.Config.Headers, err = unmasked(s.Config, was.Config, func() (map[string]string, error) {
		return stored.Headers, nil
	})
	if fault.Is(err, fault.Invalid) { // a mask that an update would refuse
		return []string{"config"}, nil
	}
	if err != nil {
		return nil, err
	}
	if same, err := runs.Alike(s.Config, stored); err != nil || same {
		return nil, err
	}
	return []string{"config"}, nil
}

// sealed returns the input with sealed headers, including the stored values that it keeps. It also seals values from
// before sealing. Kept values are sealed again, because writing back a text from before a key change would undo the
// change.
func (k *Sources) sealed(ctx context.Context, s, was catalog.InventorySource) (catalog.InventorySource, error) {
	var err error
	s.Config.Headers, err = unmasked(s.Config, was.Config, func() (map[string]string, error) {
		return openHeaders(ctx, k.sealer, was)
	})
	if err != nil {
		return catalog.InventorySource{}, err
	}
	return sealHeaders(ctx, k.sealer, s)
}

func (k *Sources) Delete(ctx context.Context, id string, revision int64) error {
	s, err := k.reach(ctx, access.Manage, id)
	if err != nil {
		return err
	}
	err = k.Unit.Do(ctx, func(ctx context.Context) error {
		if err := k.permissions.Usage.Name(ctx, id, nil); err != nil {
			return err
		}
		if err := k.store.DeleteSource(ctx, id, revision); err != nil {
			return err
		}
		return k.Recorder.Record(ctx, object.Entry(audit.SourceDelete, s.Record,
			object.Detail{}.Set("inventory_id", s.InventoryID)))
	})
	if err == nil {
		k.Log.InfoContext(ctx, "deleted", "kind", kind, "id", id, "by", object.Author(ctx))
	}
	return err
}

func (k *Sources) Refresh(ctx context.Context, id string) (catalog.InventorySource, error) {
	if _, err := k.reach(ctx, access.Use, id); err != nil {
		return catalog.InventorySource{}, err
	}
	if err := k.refresher.refreshForRequest(ctx, id); err != nil {
		return catalog.InventorySource{}, err
	}
	s, err := k.store.SourceByID(ctx, id)
	if err != nil {
		return catalog.InventorySource{}, err
	}
	return k.shown(ctx, s)
}
