package identity

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
)

// The owner is locked, so that it exists when the unit commits. Errors: Conflict for an id or a hash that exists.
func (s *Store) InsertToken(ctx context.Context, t identity.Token, hash [32]byte) error {
	q := s.d.InUnit(ctx)
	if _, ok, err := s.lockUser(ctx, q, t.UserID); err != nil || !ok {
		return db.OrMissing(ok, err, noAccount("user_id", t.UserID))
	}
	if err := s.hold(ctx, q, t.ParentID); err != nil {
		return err
	}
	t.Kind = cmp.Or(t.Kind, identity.APIToken)
	row := token{tokenColumns: tokenColumns(t), Hash: hash[:]}
	n, err := db.Modify(ctx, insertNew(q.NewInsert().Model(&row)))
	if err == nil && n == 0 {
		return &fault.Error{Kind: fault.Conflict, Message: "the token exists"}
	}
	return err
}

// lockUser locks the account of an id, or of a query of one, until the unit ends. Units that make or end its tokens
// exclude each other by this.
func (s *Store) lockUser(ctx context.Context, q bun.IDB, of any) (id string, ok bool, err error) {
	var row user
	ok, err = db.First(ctx, q.NewSelect().Model(&row).Column("id").Where("u.id = (?)", of).Apply(s.dialect.Lock))
	return row.ID, ok, db.Wrap(err, "lock an account")
}

// hold keeps a token until the unit ends. An empty id names none.
func (s *Store) hold(ctx context.Context, q bun.IDB, id string) error {
	if id == "" {
		return nil
	}
	var row token
	ok, err := db.First(ctx, q.NewSelect().Model(&row).Column("id").Where("t.id = ?", id).Apply(s.dialect.LockShare))
	return db.OrMissing(ok, db.Wrap(err, "read the parent of a token"), noToken(id))
}

func (s *Store) TokenByID(ctx context.Context, id string) (identity.Token, error) {
	var row token
	ok, err := db.First(ctx, selectTokens(s.d.Read(ctx), &row).Where("t.id = ?", id))
	return identity.Token(row.tokenColumns), db.OrMissing(ok, db.Wrap(err, "read a token"), noToken(id))
}

// selectTokens starts a query of tokens with the names of their accounts.
func selectTokens(q bun.IDB, rows any) *bun.SelectQuery {
	return q.NewSelect().Model(rows).ExcludeColumn("hash").ColumnExpr("u.username").
		Join("JOIN users AS u ON u.id = t.user_id")
}

func noToken(id string) error { return identity.TokenNotFound.New("no token %q", id) }

// They are sorted by creation.
func (s *Store) ListTokens(ctx context.Context, w page.Window) ([]identity.Token, int, error) {
	q, rows := s.d.Read(ctx), []token(nil)
	err := selectTokens(q, &rows).OrderExpr("t.created_at, t.id").Apply(db.Window(w)).Scan(ctx)
	if err != nil {
		return nil, 0, db.Wrap(err, "list tokens")
	}
	out := db.Convert(rows, func(r token) identity.Token { return identity.Token(r.tokenColumns) })
	n, err := db.Total(ctx, q.NewSelect().Model((*token)(nil)))
	return out, n, err
}

func (s *Store) DeleteToken(ctx context.Context, id string) (others int, err error) {
	q := s.d.InUnit(ctx)
	owner, ok, err := s.lockUser(ctx, q, q.NewSelect().Model((*token)(nil)).Column("user_id").Where("t.id = ?", id))
	if err := db.OrMissing(ok, err, noToken(id)); err != nil {
		return 0, err
	}
	made := q.NewSelect().Model((*token)(nil)).Column("id", "kind").Where("t.user_id = ?", owner).
		Join("JOIN ended AS e ON e.kind = 'api' AND t.parent_id = e.id")
	ended := q.NewSelect().Model((*token)(nil)).Column("id", "kind").Where("t.id = ?", id).Union(made)
	n, err := db.Modify(ctx, q.NewDelete().WithRecursive("ended", ended).Model((*token)(nil)).
		Where("t.id IN (?)", q.NewSelect().TableExpr("ended").Column("id")))
	return max(int(n)-1, 0), db.OrMissing(n > 0, err, noToken(id))
}

func (s *Store) DeleteTokens(
	ctx context.Context, userID string, set identity.TokenSet, but string,
) (out identity.Ended, err error) {
	q := s.d.InUnit(ctx)
	if _, _, err := s.lockUser(ctx, q, userID); err != nil {
		return out, err
	}
	remove := func(where string, args ...any) (int, error) {
		n, err := db.Modify(ctx, q.NewDelete().Model((*token)(nil)).Where("t.user_id = ?", userID).Where(where, args...))
		return int(n), err
	}
	if out.Sessions, err = remove("t.kind = 'session' AND t.id <> ?", but); err != nil {
		return out, err
	}
	switch set {
	case identity.OwnTokens:
		out.Tokens, err = remove("t.kind = 'api' AND t.created_by = t.user_id")
	case identity.AllTokens:
		out.Tokens, err = remove("t.kind = 'api'")
	}
	return out, err
}

// The oldest are deleted first; sessions that another unit has locked are skipped.
func (s *Store) PurgeTokens(ctx context.Context, t time.Time, limit int) (int, error) {
	q := s.d.InUnit(ctx)
	old := q.NewSelect().Model((*token)(nil)).Column("id").Where("t.kind = 'session' AND t.expires_at < ?", db.At(t)).
		OrderExpr("t.expires_at, t.id").Apply(db.AtMost(limit), s.dialect.LockSkip)
	n, err := db.Modify(ctx, q.NewDelete().Model((*token)(nil)).Where("id IN (?)", old))
	return int(n), err
}

// Times never decrease, and missing tokens are skipped. Rows are written in one order everywhere, so that two servers
// do not deadlock.
func (s *Store) TouchTokens(ctx context.Context, lastUsed map[string]time.Time) error {
	for _, id := range slices.Sorted(maps.Keys(lastUsed)) {
		at := db.At(lastUsed[id])
		_, err := db.Modify(ctx, s.d.InUnit(ctx).NewUpdate().Model((*token)(nil)).Set("last_used_at = ?", at).
			Where("t.id = ? AND (t.last_used_at IS NULL OR t.last_used_at < ?)", id, at))
		if err != nil {
			return err
		}
	}
	return nil
}
