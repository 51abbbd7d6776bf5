package rights

import (
	"context"

	"github.com/writ-automation/writ/modules/identity/internal/kernel"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/page"
)

// Orgs implements identity.Orgs.
type Orgs struct {
	groups
	store identity.OrgStore
}

var _ identity.Orgs = (*Orgs)(nil)

// NewOrgs makes an Orgs over a store.
func NewOrgs(k kernel.Kernel, s identity.OrgStore) *Orgs {
	return &Orgs{store: s, groups: groups{
		Kernel: k, kind: "org", noun: "organization", prefix: ids.Org,
		made: audit.OrgCreate, deleted: audit.OrgDelete, dropped: audit.OrgMemberDrop,
		insert: func(ctx context.Context, g identity.Team) error { return s.InsertOrg(ctx, identity.Org(g)) },
		byID: func(ctx context.Context, id string) (identity.Team, error) {
			o, err := s.OrgByID(ctx, id)
			return identity.Team(o), err
		},
		remove: s.DeleteOrg, members: s.OrgMembers, drop: s.RemoveOrgMember,
		of: func(ctx context.Context, userID string) (list []string, err error) {
			orgs, err := s.OrgsOf(ctx, userID)
			for _, o := range orgs {
				list = append(list, o.ID)
			}
			return list, err
		},
	}}
}

func (o *Orgs) Create(ctx context.Context, name string) (identity.Org, error) {
	made, err := o.create(ctx, name)
	return identity.Org(made), err
}

func (o *Orgs) Get(ctx context.Context, id string) (identity.Org, error) {
	return o.store.OrgByID(ctx, id)
}

func (o *Orgs) List(ctx context.Context, w page.Window) ([]identity.Org, int, error) {
	return o.store.ListOrgs(ctx, w)
}

// PutMember returns an Invalid fault for an unknown role.
func (o *Orgs) PutMember(ctx context.Context, id, userID string, r identity.OrgRole) (identity.Member, error) {
	if !r.Valid() {
		return identity.Member{}, fault.BadField("role", "expected %s or %s", identity.OrgMember, identity.OrgAdmin)
	}
	at := o.Clock.Now()
	return o.put(ctx, audit.OrgMemberSet, id, userID, r, func(ctx context.Context) (identity.Member, error) {
		return o.store.PutOrgMember(ctx, id, userID, r, at)
	})
}
