package rights

import (
	"context"
	"slices"

	"github.com/writ-automation/writ/modules/identity/internal/kernel"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
)

// groups are teams or organizations. A group is handled as a Team; an Org has the same fields.
type groups struct {
	kernel.Kernel
	kind, noun             string // in entries and in messages
	prefix                 ids.Prefix
	made, deleted, dropped audit.Action

	insert  func(ctx context.Context, g identity.Team) error
	byID    func(ctx context.Context, id string) (identity.Team, error)
	remove  func(ctx context.Context, id string) error
	members func(ctx context.Context, id string, w page.Window) ([]identity.Member, int, error)
	drop    func(ctx context.Context, id, userID string) error
	// of returns the ids of an account's groups.
	of func(ctx context.Context, userID string) ([]string, error)
}

func (g *groups) create(ctx context.Context, name string) (identity.Team, error) {
	name, err := object.Name(name)
	if err != nil {
		return identity.Team{}, err
	}
	made := identity.Team{ID: g.IDs.New(g.prefix), Name: name, CreatedAt: g.Clock.Now(), CreatedBy: object.Author(ctx)}
	err = g.Unit.Do(ctx, func(ctx context.Context) error {
		if err := g.insert(ctx, made); err != nil {
			return err
		}
		return g.record(ctx, g.made, made, map[string]any{"members": 0})
	})
	if err != nil {
		return identity.Team{}, kernel.Naming(err, identity.NameTaken, "name", "the name is taken")
	}
	g.Log.InfoContext(ctx, g.noun+" created", g.kind, made.ID, "by", made.CreatedBy)
	return made, nil
}

func (g *groups) record(ctx context.Context, a audit.Action, of identity.Team, detail map[string]any) error {
	return g.Recorder.Record(ctx, audit.Entry{
		Action: a, Object: audit.Object{Kind: g.kind, ID: of.ID, Name: of.Name}, Detail: detail,
	})
}

func (g *groups) Delete(ctx context.Context, id string) error {
	err := g.Unit.Do(ctx, func(ctx context.Context) error {
		was, err := g.byID(ctx, id)
		if err != nil {
			return err
		}
		_, members, err := g.members(ctx, id, page.Window{Limit: 1})
		if err != nil {
			return err
		}
		if err := g.remove(ctx, id); err != nil {
			return err
		}
		return g.record(ctx, g.deleted, was, map[string]any{"members": members})
	})
	if err == nil {
		g.Log.InfoContext(ctx, g.noun+" deleted", g.kind, id, "by", object.Author(ctx))
	}
	return err
}

// put stores a member in a unit of work with its entry. The role is empty for a team.
func (g *groups) put(
	ctx context.Context, a audit.Action, id, userID string, r identity.OrgRole,
	store func(ctx context.Context) (identity.Member, error),
) (identity.Member, error) {
	var m identity.Member
	detail, attrs := map[string]any{"user_id": userID}, []any{g.kind, id, "account", userID}
	if r != "" {
		detail["role"], attrs = string(r), append(attrs, "role", r)
	}
	err := g.Unit.Do(ctx, func(ctx context.Context) (err error) {
		if m, err = store(ctx); err != nil {
			return err
		}
		of, err := g.byID(ctx, id)
		if err != nil {
			return err
		}
		return g.record(ctx, a, of, detail)
	})
	if err != nil {
		return identity.Member{}, kernel.Naming(err, identity.UserNotFound, "user_id", "no such account")
	}
	g.Log.InfoContext(ctx, "member added", append(attrs, "by", object.Author(ctx))...)
	return m, nil
}

func (g *groups) Members(ctx context.Context, id string, w page.Window) ([]identity.Member, int, error) {
	if _, err := g.byID(ctx, id); err != nil {
		return nil, 0, err
	}
	if err := g.mayRead(ctx, id); err != nil {
		return nil, 0, err
	}
	return g.members(ctx, id, w)
}

// mayRead returns NotAllowed unless the caller is an admin, a member or the application itself.
func (g *groups) mayRead(ctx context.Context, id string) error {
	p, known := identity.From(ctx)
	switch {
	case !known && actor.From(ctx).Type == actor.System, known && p.User.Role == identity.Admin:
		return nil
	case known && p.User.ID != "":
		if list, err := g.of(ctx, p.User.ID); err != nil || slices.Contains(list, id) {
			return err
		}
	}
	return identity.NotAllowed.New("members are shown to members and to admins")
}

func (g *groups) RemoveMember(ctx context.Context, id, userID string) error {
	err := g.Unit.Do(ctx, func(ctx context.Context) error {
		was, err := g.byID(ctx, id)
		if err != nil {
			return err
		}
		if err := g.drop(ctx, id, userID); err != nil {
			return err
		}
		return g.record(ctx, g.dropped, was, map[string]any{"user_id": userID})
	})
	if err == nil {
		g.Log.InfoContext(ctx, "member removed", g.kind, id, "account", userID, "by", object.Author(ctx))
	}
	return err
}
