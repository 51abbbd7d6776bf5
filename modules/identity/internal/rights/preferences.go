package rights

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/writ-automation/writ/modules/identity/internal/kernel"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/identity"
)

// TeamPreferences implements identity.TeamPreferences.
type TeamPreferences struct {
	teams *Teams
	store identity.PreferenceStore
}

var _ identity.TeamPreferences = (*TeamPreferences)(nil)

// NewTeamPreferences makes the preferences of teams over a store.
func NewTeamPreferences(t *Teams, s identity.PreferenceStore) *TeamPreferences {
	return &TeamPreferences{teams: t, store: s}
}

func (p *TeamPreferences) Preferences(ctx context.Context, teamID string) (identity.Preferences, error) {
	if _, err := p.team(ctx, teamID); err != nil {
		return identity.Preferences{}, err
	}
	return p.store.TeamPreferencesOf(ctx, teamID)
}

// team returns a team whose members the caller may read.
func (p *TeamPreferences) team(ctx context.Context, id string) (identity.Team, error) {
	t, err := p.teams.Get(ctx, id)
	if err != nil {
		return identity.Team{}, err
	}
	return t, p.teams.mayRead(ctx, id)
}

// SavePreferences records that the preferences changed, without their content.
func (p *TeamPreferences) SavePreferences(
	ctx context.Context, teamID string, document json.RawMessage, revision int64,
) (out identity.Preferences, err error) {
	if out.Document, err = kernel.Preferences(document); err != nil {
		return identity.Preferences{}, err
	}
	err = p.teams.Unit.Do(ctx, func(ctx context.Context) error {
		t, err := p.team(ctx, teamID)
		if err != nil {
			return err
		}
		if out.Revision, err = p.store.SaveTeamPreferences(ctx, teamID, out.Document, revision); err != nil {
			return err
		}
		return p.teams.record(ctx, audit.TeamPreferences, t, map[string]any{"bytes": len(out.Document)})
	})
	if err != nil {
		return identity.Preferences{}, fmt.Errorf("save the preferences of a team: %w", err)
	}
	return out, nil
}

func (p *TeamPreferences) Shared(ctx context.Context) ([]identity.SharedPreferences, error) {
	c, known := identity.From(ctx)
	if !known || c.User.ID == "" {
		return nil, nil
	}
	return p.store.SharedWith(ctx, c.User.ID)
}
