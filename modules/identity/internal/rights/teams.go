package rights

import (
	"context"
	"slices"

	"github.com/writ-automation/writ/modules/identity/internal/kernel"
	"github.com/writ-automation/writ/ports/object"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/page"
)

// Teams implements identity.Teams.
type Teams struct {
	kernel.Kernel
	store identity.TeamStore
}

var _ identity.Teams = (*Teams)(nil)

// NewTeams makes a Teams over a store.
func NewTeams(k kernel.Kernel, s identity.TeamStore) *Teams { return &Teams{Kernel: k, store: s} }

func (t *Teams) Create(ctx context.Context, name string) (identity.Team, error) {
	name, err := object.Name(name)
	if err != nil {
		return identity.Team{}, err
	}
	made := identity.Team{ID: t.IDs.New(ids.Team), Name: name, CreatedAt: t.Clock.Now(), CreatedBy: object.Author(ctx)}
	err = t.Unit.Do(ctx, func(ctx context.Context) error {
		if err := t.store.InsertTeam(ctx, made); err != nil {
			return err
		}
		return t.Recorder.Record(ctx, audit.Entry{Action: audit.TeamCreate, Object: teamObject(made),
			Detail: map[string]any{"members": 0}})
	})
	if err != nil {
		return identity.Team{}, nameTaken(err)
	}
	t.Log.InfoContext(ctx, "team created", "team", made.ID, "by", made.CreatedBy)
	return made, nil
}

func (t *Teams) Get(ctx context.Context, id string) (identity.Team, error) {
	return t.store.TeamByID(ctx, id)
}

func (t *Teams) List(ctx context.Context, w page.Window) ([]identity.Team, int, error) {
	return t.store.ListTeams(ctx, w)
}

func (t *Teams) Delete(ctx context.Context, id string) error {
	err := t.Unit.Do(ctx, func(ctx context.Context) error {
		was, err := t.store.TeamByID(ctx, id)
		if err != nil {
			return err
		}
		_, members, err := t.store.TeamMembers(ctx, id, page.Window{Limit: 1})
		if err != nil {
			return err
		}
		if err := t.store.DeleteTeam(ctx, id); err != nil {
			return err
		}
		return t.Recorder.Record(ctx, audit.Entry{
			Action: audit.TeamDelete, Object: teamObject(was), Detail: map[string]any{"members": members},
		})
	})
	if err == nil {
		t.Log.InfoContext(ctx, "team deleted", "team", id, "by", object.Author(ctx))
	}
	return err
}

func (t *Teams) AddMember(ctx context.Context, id, userID string) (identity.Member, error) {
	at := t.Clock.Now()
	var m identity.Member
	err := t.Unit.Do(ctx, func(ctx context.Context) (err error) {
		if m, err = t.store.AddTeamMember(ctx, id, userID, at); err != nil {
			return err
		}
		team, err := t.store.TeamByID(ctx, id)
		if err != nil {
			return err
		}
		return t.Recorder.Record(ctx, audit.Entry{
			Action: audit.TeamMemberAdd, Object: teamObject(team), Detail: map[string]any{"user_id": userID},
		})
	})
	if err != nil {
		return identity.Member{}, noUser(err)
	}
	t.Log.InfoContext(ctx, "member added", "team", id, "account", userID, "by", object.Author(ctx))
	return m, nil
}

func (t *Teams) Members(ctx context.Context, id string, w page.Window) ([]identity.Member, int, error) {
	if _, err := t.store.TeamByID(ctx, id); err != nil {
		return nil, 0, err
	}
	err := mayRead(ctx, func(userID string) (bool, error) {
		list, err := t.store.TeamsOf(ctx, userID)
		return slices.ContainsFunc(list, func(x identity.Team) bool { return x.ID == id }), err
	})
	if err != nil {
		return nil, 0, err
	}
	return t.store.TeamMembers(ctx, id, w)
}

func (t *Teams) RemoveMember(ctx context.Context, id, userID string) error {
	err := t.Unit.Do(ctx, func(ctx context.Context) error {
		was, err := t.store.TeamByID(ctx, id)
		if err != nil {
			return err
		}
		if err := t.store.RemoveTeamMember(ctx, id, userID); err != nil {
			return err
		}
		return t.Recorder.Record(ctx, audit.Entry{
			Action: audit.TeamMemberDrop, Object: teamObject(was), Detail: map[string]any{"user_id": userID},
		})
	})
	if err == nil {
		t.Log.InfoContext(ctx, "member removed", "team", id, "account", userID, "by", object.Author(ctx))
	}
	return err
}

func teamObject(t identity.Team) audit.Object {
	return audit.Object{Kind: "team", ID: t.ID, Name: t.Name}
}
