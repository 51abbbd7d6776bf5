package identity

import (
	"context"
	"encoding/json"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/identity"
)

// preferenceColumns are those of both tables of preferences.
type preferenceColumns struct {
	Document string
	Revision int64
}

type userPreferences struct {
	bun.BaseModel `bun:"table:user_preferences,alias:p"`
	UserID        string `bun:",pk"`
	preferenceColumns
}

type teamPreferences struct {
	bun.BaseModel `bun:"table:team_preferences,alias:p"`
	TeamID        string `bun:",pk"`
	preferenceColumns
}

// sharedRow is a team of an account with its preferences.
type sharedRow struct {
	ID, Name string
	preferenceColumns
}

func (c *preferenceColumns) preferences() identity.Preferences {
	return identity.Preferences{Document: json.RawMessage(c.Document), Revision: c.Revision}
}

// unsaved are the preferences of who never saved any.
func unsaved() preferenceColumns {
	return preferenceColumns{Document: "{}", Revision: identity.FirstRevision}
}

func (s *Store) PreferencesOf(ctx context.Context, userID string) (identity.Preferences, error) {
	row := userPreferences{preferenceColumns: unsaved()}
	_, err := db.First(ctx, s.d.Read(ctx).NewSelect().Model(&row).Where("p.user_id = ?", userID))
	return row.preferences(), db.Wrap(err, "read preferences")
}

func (s *Store) TeamPreferencesOf(ctx context.Context, teamID string) (identity.Preferences, error) {
	row := teamPreferences{preferenceColumns: unsaved()}
	_, err := db.First(ctx, s.d.Read(ctx).NewSelect().Model(&row).Where("p.team_id = ?", teamID))
	return row.preferences(), db.Wrap(err, "read the preferences of a team")
}

func (s *Store) SharedWith(ctx context.Context, userID string) ([]identity.SharedPreferences, error) {
	var rows []sharedRow
	none := unsaved()
	err := s.d.Read(ctx).NewSelect().TableExpr("team_members AS m").Join("JOIN teams AS t ON t.id = m.team_id").
		Join("LEFT JOIN team_preferences AS p ON p.team_id = m.team_id").ColumnExpr("t.id, t.name").
		ColumnExpr("COALESCE(p.document, ?) AS document, COALESCE(p.revision, ?) AS revision", none.Document, none.Revision).
		Where("m.user_id = ?", userID).OrderExpr("t.name").Scan(ctx, &rows)
	out := make([]identity.SharedPreferences, len(rows))
	for i := range rows {
		out[i] = identity.SharedPreferences{
			Team: identity.Team{ID: rows[i].ID, Name: rows[i].Name}, Preferences: rows[i].preferences(),
		}
	}
	return out, db.Wrap(err, "read the preferences of an account's teams")
}

// The account is locked, so that of two saves for the same revision one wins.
func (s *Store) SavePreferences(
	ctx context.Context, userID string, document json.RawMessage, revision int64,
) (int64, error) {
	q := s.d.InUnit(ctx)
	if _, ok, err := s.lockUser(ctx, q, userID); err != nil || !ok {
		return 0, db.OrMissing(ok, err, noUser(userID))
	}
	next, err := following(ctx, document, revision, userID, s.PreferencesOf)
	if err != nil {
		return 0, err
	}
	return next.Revision, savePreferences(ctx, q, &userPreferences{UserID: userID, preferenceColumns: next}, "user_id")
}

// The team is locked, as an account is.
func (s *Store) SaveTeamPreferences(
	ctx context.Context, teamID string, document json.RawMessage, revision int64,
) (int64, error) {
	q := s.d.InUnit(ctx)
	var row group
	ok, err := db.First(ctx, teamGroups.find(q, &row).Column("id").Where("id = ?", teamID).Apply(s.dialect.Lock))
	if err != nil || !ok {
		return 0, db.OrMissing(ok, db.Wrap(err, "lock a team"), teamGroups.none(teamID))
	}
	next, err := following(ctx, document, revision, teamID, s.TeamPreferencesOf)
	if err != nil {
		return 0, err
	}
	return next.Revision, savePreferences(ctx, q, &teamPreferences{TeamID: teamID, preferenceColumns: next}, "team_id")
}

// following returns what a save for a revision stores.
func following(
	ctx context.Context, document json.RawMessage, revision int64, id string,
	read func(context.Context, string) (identity.Preferences, error),
) (preferenceColumns, error) {
	stored, err := read(ctx, id)
	if err == nil && revision != 0 && revision != stored.Revision {
		err = identity.RevisionChanged.New("the preferences were changed since they were read")
	}
	return preferenceColumns{Document: string(document), Revision: stored.Revision + 1}, err
}

func savePreferences(ctx context.Context, q bun.IDB, row any, key string) error {
	_, err := db.Modify(ctx, q.NewInsert().Model(row).On("CONFLICT (?) DO UPDATE", bun.Ident(key)).
		Set("document = EXCLUDED.document, revision = EXCLUDED.revision").Returning("NULL"))
	return db.Wrap(err, "save preferences")
}
