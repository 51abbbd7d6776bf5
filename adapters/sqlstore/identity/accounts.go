package identity

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
)

// accountRow returns the row of an account with its password's hash.
func accountRow(a identity.Account, hash string) *user {
	if len(a.Profile.Links) == 0 {
		a.Profile.Links = nil
	}
	return &user{
		userColumns: userColumns(a.User), profileColumns: profileColumns(a.Profile), PasswordHash: hash,
		ConfirmedAt: a.ConfirmedAt, UpdatedAt: a.UpdatedAt, Revision: max(a.Revision, 1),
	}
}

func (u *user) account() identity.Account {
	a := identity.Account{
		User: identity.User(u.userColumns), Profile: identity.Profile(u.profileColumns), HasPassword: u.HasPassword,
		ConfirmedAt: u.ConfirmedAt, UpdatedAt: u.UpdatedAt, Revision: u.Revision,
	}
	if a.UpdatedAt.IsZero() {
		a.UpdatedAt = a.CreatedAt
	}
	return a
}

// selectAccounts starts a query of accounts that does not read the hashes of their passwords.
func selectAccounts(q bun.IDB, rows any) *bun.SelectQuery {
	return q.NewSelect().Model(rows).ExcludeColumn("password_hash").ColumnExpr("u.password_hash <> '' AS has_password")
}

func nameTaken(username string) error {
	return naming("username", identity.NameTaken.New("the user name %q is taken", username))
}

func noUser(id string) error { return identity.UserNotFound.New("no user %q", id) }

// noAccount returns noUser with the field of the request that names the account.
func noAccount(location, id string) error {
	return naming(location, identity.UserNotFound.New("no user %q", id))
}

func hasUser(ctx context.Context, q bun.IDB, id string) (bool, error) {
	ok, err := q.NewSelect().Model((*user)(nil)).Where("u.id = ?", id).Exists(ctx)
	return ok, db.Translate(err)
}

// Errors: NameTaken also for an id that exists.
func (s *Store) InsertAccount(ctx context.Context, a identity.Account, hash string) error {
	q, err := s.d.Write(ctx)
	if err == nil && a.Role == identity.Admin {
		err = s.lock(ctx, q)
	}
	if err != nil {
		return err
	}
	n, err := db.Modify(ctx, insertNew(q.NewInsert().Model(accountRow(a, hash))))
	switch {
	case err != nil:
		return fmt.Errorf("store an account: %w", err)
	case n == 0:
		return nameTaken(a.Username)
	}
	return insertIdentities(ctx, q, a.ID, a.Identities)
}

// insertIdentities stores outside identities in their order and skips duplicates.
func insertIdentities(ctx context.Context, q bun.IDB, userID string, links []identity.Link) error {
	seen := make(map[identity.Link]bool, len(links))
	for i, l := range links {
		if seen[l] {
			continue
		}
		seen[l] = true
		row := userLink{linkColumns: linkColumns(l), UserID: userID, Position: i}
		n, err := db.Modify(ctx, insertNew(q.NewInsert().Model(&row)))
		if err != nil {
			return fmt.Errorf("store an outside identity: %w", err)
		}
		if n == 0 {
			return naming("identities", identity.LinkTaken.New("another account has this outside identity"))
		}
	}
	return nil
}

func (s *Store) AccountByID(ctx context.Context, id string) (identity.Account, error) {
	q, row := s.d.Read(ctx), user{}
	ok, err := db.First(ctx, selectAccounts(q, &row).Where("u.id = ?", id))
	switch {
	case err != nil:
		return identity.Account{}, fmt.Errorf("read an account: %w", err)
	case !ok:
		return identity.Account{}, noUser(id)
	}
	found := []identity.Account{row.account()}
	err = addIdentities(ctx, q, found)
	return found[0], err
}

// They are sorted by name.
func (s *Store) ListAccounts(ctx context.Context, w page.Window) ([]identity.Account, int, error) {
	q, rows := s.d.Read(ctx), []user(nil)
	if err := selectAccounts(q, &rows).OrderExpr("u.username").Apply(db.Window(w)).Scan(ctx); err != nil {
		return nil, 0, db.Wrap(err, "list accounts")
	}
	var found []identity.Account
	for i := range rows {
		found = append(found, rows[i].account())
	}
	if err := addIdentities(ctx, q, found); err != nil {
		return nil, 0, err
	}
	n, err := s.CountAccounts(ctx)
	return found, n, err
}

// addIdentities reads the outside identities of accounts, which are sorted by name.
func addIdentities(ctx context.Context, q bun.IDB, found []identity.Account) error {
	if len(found) == 0 {
		return nil
	}
	owners := q.NewSelect().Model((*user)(nil)).Column("id").
		Where("u.username >= ? AND u.username <= ?", found[0].Username, found[len(found)-1].Username)
	var links []userLink
	err := q.NewSelect().Model(&links).Where("l.user_id IN (?)", owners).OrderExpr("l.user_id, l.position").Scan(ctx)
	if err != nil {
		return db.Wrap(err, "read outside identities")
	}
	at := make(map[string]int, len(found))
	for i, a := range found {
		at[a.ID] = i
	}
	for _, l := range links {
		if i, ok := at[l.UserID]; ok {
			found[i].Identities = append(found[i].Identities, identity.Link(l.linkColumns))
		}
	}
	return nil
}

// Changes to and from the role admin take the lock of LockAdmins.
func (s *Store) UpdateAccount(ctx context.Context, a identity.Account) error {
	q := s.d.InUnit(ctx)
	var was user
	ok, err := db.First(ctx, q.NewSelect().Model(&was).Column("role", "revision").Where("u.id = ?", a.ID))
	switch {
	case err != nil:
		return fmt.Errorf("read an account: %w", err)
	case !ok:
		return noUser(a.ID)
	case was.Revision != a.Revision-1:
		return staleAccount(a.ID)
	case was.Role != a.Role && (was.Role == identity.Admin || a.Role == identity.Admin):
		if err := s.lock(ctx, q); err != nil {
			return err
		}
	}
	if err := replaceAccount(ctx, q, a); err != nil {
		return err
	}
	if _, err := db.Modify(ctx, q.NewDelete().Model((*userLink)(nil)).Where("l.user_id = ?", a.ID)); err != nil {
		return fmt.Errorf("replace outside identities: %w", err)
	}
	return insertIdentities(ctx, q, a.ID, a.Identities)
}

func staleAccount(id string) error {
	return identity.RevisionChanged.New("the user %q was changed meanwhile", id)
}

func replaceAccount(ctx context.Context, q bun.IDB, a identity.Account) error {
	taken, err := q.NewSelect().Model((*user)(nil)).Where("u.username = ? AND u.id <> ?", a.Username, a.ID).Exists(ctx)
	if err != nil {
		return db.Wrap(err, "look for a user name")
	}
	if taken {
		return nameTaken(a.Username)
	}
	n, err := db.Modify(ctx, q.NewUpdate().Model(accountRow(a, "")).WherePK().Where("u.revision = ?", a.Revision-1))
	switch {
	case db.IsUnique(err): // another unit took the name after the check
		return nameTaken(a.Username)
	case err != nil:
		return fmt.Errorf("change an account: %w", err)
	case n == 0:
		return staleAccount(a.ID)
	}
	return nil
}

func (s *Store) SetPassword(ctx context.Context, userID, hash string, at time.Time, same bool) error {
	q := s.d.InUnit(ctx).NewUpdate().Model((*user)(nil)).Set("password_hash = ?", hash).Where("u.id = ?", userID)
	if !same {
		q.Set("updated_at = ?, revision = revision + 1", db.At(at))
	}
	n, err := db.Modify(ctx, q)
	if err == nil && n == 0 {
		return noUser(userID)
	}
	return err
}

func (s *Store) ConfirmAccount(ctx context.Context, userID string, at time.Time) error {
	n, err := db.Modify(ctx, s.d.InUnit(ctx).NewUpdate().Model((*user)(nil)).Set("confirmed_at = ?", db.At(at)).
		Where("u.id = ?", userID))
	return db.OrMissing(n > 0, err, noUser(userID))
}

// Tokens, memberships and identities are deleted with the row.
func (s *Store) DeleteAccount(ctx context.Context, id string) error {
	q, err := s.lockRights(ctx)
	if err != nil {
		return err
	}
	ok, err := hasUser(ctx, q, id)
	if err == nil && !ok {
		return noUser(id)
	}
	if err != nil {
		return fmt.Errorf("delete an account: %w", err)
	}
	if err := dropSubject(ctx, q, identity.UserSubject(id), ofAccount(id)); err != nil {
		return err
	}
	_, err = db.Modify(ctx, q.NewDelete().Model((*user)(nil)).Where("u.id = ?", id))
	return db.Wrap(err, "delete an account")
}

// dropSubject deletes the grants of a subject, including hidden ones. Their objects stay restricted.
func dropSubject(ctx context.Context, q bun.IDB, subject string, touched change) error {
	granted := q.NewSelect().Model((*grant)(nil)).ColumnExpr("DISTINCT g.object AS name").Where("g.subject = ?", subject)
	if err := recordChange(ctx, q, touched, change{kind: changedObject, names: granted}); err != nil {
		return err
	}
	_, err := db.Modify(ctx, q.NewDelete().Model((*grant)(nil)).Where("g.subject = ?", subject))
	return db.Wrap(err, "delete the grants of a subject")
}

// The lock is that of the rights, so it also covers accounts that are not admins yet.
func (s *Store) LockAdmins(ctx context.Context) ([]string, error) {
	q, err := s.lockRights(ctx)
	if err != nil {
		return nil, err
	}
	var ids []string
	err = q.NewSelect().Model((*user)(nil)).Column("id").Where("u.role = 'admin'").OrderExpr("u.id").Scan(ctx, &ids)
	return ids, db.Translate(err)
}

func (s *Store) CountAccounts(ctx context.Context) (int, error) {
	return db.Total(ctx, s.d.Read(ctx).NewSelect().Model((*user)(nil)))
}
