package identity

import (
	"context"
	"encoding/json"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/identity"
)

type preferences struct {
	bun.BaseModel `bun:"table:user_preferences,alias:p"`
	UserID        string `bun:",pk"`
	Document      string
	Revision      int64
}

func (s *Store) PreferencesOf(ctx context.Context, userID string) (identity.Preferences, error) {
	row := preferences{Document: "{}", Revision: identity.FirstRevision}
	_, err := db.First(ctx, s.d.Read(ctx).NewSelect().Model(&row).Where("p.user_id = ?", userID))
	return identity.Preferences{Document: json.RawMessage(row.Document), Revision: row.Revision},
		db.Wrap(err, "read preferences")
}

// The account is locked, so that of two saves for the same revision one wins.
func (s *Store) SavePreferences(
	ctx context.Context, userID string, document json.RawMessage, revision int64,
) (int64, error) {
	q := s.d.InUnit(ctx)
	if _, ok, err := s.lockUser(ctx, q, userID); err != nil || !ok {
		return 0, db.OrMissing(ok, err, noUser(userID))
	}
	stored, err := s.PreferencesOf(ctx, userID)
	switch {
	case err != nil:
		return 0, err
	case revision != 0 && revision != stored.Revision:
		return 0, identity.RevisionChanged.New("the preferences were changed since they were read")
	}
	row := preferences{UserID: userID, Document: string(document), Revision: stored.Revision + 1}
	_, err = db.Modify(ctx, q.NewInsert().Model(&row).On("CONFLICT (user_id) DO UPDATE").
		Set("document = EXCLUDED.document, revision = EXCLUDED.revision").Returning("NULL"))
	return row.Revision, db.Wrap(err, "save preferences")
}
