package rights

import (
	"context"
	"slices"

	"github.com/writ-automation/writ/modules/identity/internal/kernel"
	"github.com/writ-automation/writ/ports/object"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/page"
)

// Orgs implements identity.Orgs.
type Orgs struct {
	kernel.Kernel
	store identity.OrgStore
}

var _ identity.Orgs = (*Orgs)(nil)

// NewOrgs makes an Orgs over a store.
func NewOrgs(k kernel.Kernel, s identity.OrgStore) *Orgs { return &Orgs{Kernel: k, store: s} }

func (o *Orgs) Create(ctx context.Context, name string) (identity.Org, error) {
	name, err := object.Name(name)
	if err != nil {
		return identity.Org{}, err
	}
	made := identity.Org{ID: o.IDs.New(ids.Org), Name: name, CreatedAt: o.Clock.Now(), CreatedBy: object.Author(ctx)}
	err = o.Unit.Do(ctx, func(ctx context.Context) error {
		if err := o.store.InsertOrg(ctx, made); err != nil {
			return err
		}
		return o.Recorder.Record(ctx, audit.Entry{Action: audit.OrgCreate, Object: orgObject(made),
			Detail: map[string]any{"members": 0}})
	})
	if err != nil {
		return identity.Org{}, nameTaken(err)
	}
	o.Log.InfoContext(ctx, "organization created", "org", made.ID, "by", made.CreatedBy)
	return made, nil
}

func (o *Orgs) Get(ctx context.Context, id string) (identity.Org, error) {
	return o.store.OrgByID(ctx, id)
}

func (o *Orgs) List(ctx context.Context, w page.Window) ([]identity.Org, int, error) {
	return o.store.ListOrgs(ctx, w)
}

func (o *Orgs) Delete(ctx context.Context, id string) error {
	err := o.Unit.Do(ctx, func(ctx context.Context) error {
		was, err := o.store.OrgByID(ctx, id)
		if err != nil {
			return err
		}
		_, members, err := o.store.OrgMembers(ctx, id, page.Window{Limit: 1})
		if err != nil {
			return err
		}
		if err := o.store.DeleteOrg(ctx, id); err != nil {
			return err
		}
		return o.Recorder.Record(ctx, audit.Entry{
			Action: audit.OrgDelete, Object: orgObject(was), Detail: map[string]any{"members": members},
		})
	})
	if err == nil {
		o.Log.InfoContext(ctx, "organization deleted", "org", id, "by", object.Author(ctx))
	}
	return err
}

// PutMember returns an Invalid fault for an unknown role.
func (o *Orgs) PutMember(ctx context.Context, id, userID string, r identity.OrgRole) (identity.Member, error) {
	if !r.Valid() {
		return identity.Member{}, fault.BadField("role", "expected %s or %s", identity.OrgMember, identity.OrgAdmin)
	}
	at := o.Clock.Now()
	var m identity.Member
	err := o.Unit.Do(ctx, func(ctx context.Context) (err error) {
		if m, err = o.store.PutOrgMember(ctx, id, userID, r, at); err != nil {
			return err
		}
		org, err := o.store.OrgByID(ctx, id)
		if err != nil {
			return err
		}
		return o.Recorder.Record(ctx, audit.Entry{
			Action: audit.OrgMemberSet, Object: orgObject(org), Detail: map[string]any{"user_id": userID, "role": string(r)},
		})
	})
	if err != nil {
		return identity.Member{}, noUser(err)
	}
	o.Log.InfoContext(ctx, "member added", "org", id, "account", userID, "role", r, "by", object.Author(ctx))
	return m, nil
}

func (o *Orgs) Members(ctx context.Context, id string, w page.Window) ([]identity.Member, int, error) {
	if _, err := o.store.OrgByID(ctx, id); err != nil {
		return nil, 0, err
	}
	err := mayRead(ctx, func(userID string) (bool, error) {
		list, err := o.store.OrgsOf(ctx, userID)
		return slices.ContainsFunc(list, func(x identity.Membership) bool { return x.ID == id }), err
	})
	if err != nil {
		return nil, 0, err
	}
	return o.store.OrgMembers(ctx, id, w)
}

func (o *Orgs) RemoveMember(ctx context.Context, id, userID string) error {
	err := o.Unit.Do(ctx, func(ctx context.Context) error {
		was, err := o.store.OrgByID(ctx, id)
		if err != nil {
			return err
		}
		if err := o.store.RemoveOrgMember(ctx, id, userID); err != nil {
			return err
		}
		return o.Recorder.Record(ctx, audit.Entry{
			Action: audit.OrgMemberDrop, Object: orgObject(was), Detail: map[string]any{"user_id": userID},
		})
	})
	if err == nil {
		o.Log.InfoContext(ctx, "member removed", "org", id, "account", userID, "by", object.Author(ctx))
	}
	return err
}

func orgObject(o identity.Org) audit.Object { return audit.Object{Kind: "org", ID: o.ID, Name: o.Name} }
