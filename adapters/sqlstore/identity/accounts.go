package identity

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
)

const accountColumns = "id, username, role, created_at, full_name, email, phone, title, links, notes, password_hash <> '', updated_at, revision"

func nameTaken(username string) error {
	return naming("username", identity.NameTaken.New("the user name %q is taken", username))
}

func noUser(id string) error { return identity.UserNotFound.New("no user %q", id) }

// noAccount is noUser where a request names the account.
func noAccount(location, id string) error {
	return naming(location, identity.UserNotFound.New("no user %q", id))
}

func hasUser(ctx context.Context, q bun.IDB, id string) (bool, error) {
	return exists(ctx, q, "SELECT 1 FROM users WHERE id = ?", id)
}

// InsertAccount implements identity.AccountStore. An id that exists is NameTaken as well.
func (s *Store) InsertAccount(ctx context.Context, a identity.Account, hash string) error {
	q, err := s.d.Write(ctx)
	if err == nil && a.Role == identity.Admin {
		err = s.lock(ctx, q)
	}
	if err != nil {
		return err
	}
	links, err := writeLinks(a.Profile.Links)
	if err != nil {
		return err
	}
	p := a.Profile
	n, err := exec(ctx, q, "INSERT INTO users (id, username, role, created_at, password_hash, full_name, email, phone, "+
		"title, links, notes, updated_at, revision) "+
		"VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
		a.ID, a.Username, string(a.Role), db.At(a.CreatedAt), hash, p.FullName, p.Email, p.Phone, p.Title, links, p.Notes,
		db.At(a.UpdatedAt), max(a.Revision, 1))
	switch {
	case err != nil:
		return fmt.Errorf("store an account: %w", err)
	case n == 0:
		return nameTaken(a.Username)
	}
	return insertIdentities(ctx, q, a.ID, a.Identities)
}

// insertIdentities stores outside identities in their order; one that comes twice is stored once.
func insertIdentities(ctx context.Context, q bun.IDB, userID string, links []identity.Link) error {
	seen := make(map[identity.Link]bool, len(links))
	for i, l := range links {
		if seen[l] {
			continue
		}
		seen[l] = true
		n, err := exec(ctx, q, "INSERT INTO user_links (protocol, issuer, subject, user_id, position) "+
			"VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", string(l.Protocol), l.Issuer, l.Subject, userID, i)
		if err != nil {
			return fmt.Errorf("store an outside identity: %w", err)
		}
		if n == 0 {
			return naming("identities", identity.LinkTaken.New("another account has this outside identity"))
		}
	}
	return nil
}

// AccountByID implements identity.AccountStore.
func (s *Store) AccountByID(ctx context.Context, id string) (identity.Account, error) {
	q := s.d.Read(ctx)
	a, ok, err := db.One(ctx, q, scanAccount, "SELECT "+accountColumns+" FROM users WHERE id = ?", id)
	switch {
	case err != nil:
		return identity.Account{}, fmt.Errorf("read an account: %w", err)
	case !ok:
		return identity.Account{}, noUser(id)
	}
	found := []identity.Account{a}
	err = addIdentities(ctx, q, found, "user_id = ?", id)
	return found[0], err
}

// ListAccounts implements identity.AccountStore. They are in the order of their names.
func (s *Store) ListAccounts(ctx context.Context, w page.Window) ([]identity.Account, int, error) {
	q := s.d.Read(ctx)
	found, err := db.All(ctx, q, scanAccount, "SELECT "+accountColumns+" FROM users ORDER BY username LIMIT ? OFFSET ?", w.Rows(), w.Offset)
	if err != nil {
		return nil, 0, fmt.Errorf("list accounts: %w", err)
	}
	if len(found) > 0 {
		err = addIdentities(ctx, q, found, "user_id IN (SELECT id FROM users WHERE username >= ? AND username <= ?)",
			found[0].Username, found[len(found)-1].Username)
		if err != nil {
			return nil, 0, err
		}
	}
	n, err := s.CountAccounts(ctx)
	return found, n, err
}

// addIdentities reads the outside identities of accounts.
func addIdentities(ctx context.Context, q bun.IDB, found []identity.Account, condition string, args ...any) error {
	type owned struct {
		identity.Link
		owner string
	}
	links, err := db.All(ctx, q, func(r db.Row) (l owned, err error) { return l, r.Scan(&l.owner, &l.Protocol, &l.Issuer, &l.Subject) },
		"SELECT user_id, protocol, issuer, subject FROM user_links WHERE "+condition+" ORDER BY user_id, position", args...)
	if err != nil {
		return fmt.Errorf("read outside identities: %w", err)
	}
	at := make(map[string]int, len(found))
	for i, a := range found {
		at[a.ID] = i
	}
	for _, l := range links {
		if i, ok := at[l.owner]; ok {
			found[i].Identities = append(found[i].Identities, l.Link)
		}
	}
	return nil
}

// UpdateAccount implements identity.AccountStore. Whether somebody becomes an admin, or is one no longer, is decided
// under the lock that LockAdmins takes.
func (s *Store) UpdateAccount(ctx context.Context, a identity.Account) error {
	q, err := s.d.Write(ctx)
	if err != nil {
		return err
	}
	type stored struct {
		role     identity.Role
		revision int64
	}
	was, ok, err := db.One(ctx, q, func(r db.Row) (v stored, err error) { return v, r.Scan(&v.role, &v.revision) },
		"SELECT role, revision FROM users WHERE id = ?", a.ID)
	switch {
	case err != nil:
		return fmt.Errorf("read an account: %w", err)
	case !ok:
		return noUser(a.ID)
	case was.revision != a.Revision-1:
		return staleAccount(a.ID)
	case was.role != a.Role && (was.role == identity.Admin || a.Role == identity.Admin):
		if err := s.lock(ctx, q); err != nil {
			return err
		}
	}
	if err := replaceAccount(ctx, q, a); err != nil {
		return err
	}
	if _, err := exec(ctx, q, "DELETE FROM user_links WHERE user_id = ?", a.ID); err != nil {
		return fmt.Errorf("replace outside identities: %w", err)
	}
	return insertIdentities(ctx, q, a.ID, a.Identities)
}

func staleAccount(id string) error {
	return identity.RevisionChanged.New("the user %q was changed meanwhile", id)
}

func replaceAccount(ctx context.Context, q bun.IDB, a identity.Account) error {
	taken, err := exists(ctx, q, "SELECT 1 FROM users WHERE username = ? AND id <> ?", a.Username, a.ID)
	if err != nil {
		return fmt.Errorf("look for a user name: %w", err)
	}
	if taken {
		return nameTaken(a.Username)
	}
	links, err := writeLinks(a.Profile.Links)
	if err != nil {
		return err
	}
	p := a.Profile
	n, err := exec(ctx, q, "UPDATE users SET username = ?, role = ?, full_name = ?, email = ?, phone = ?, title = ?, links = ?, notes = ?, "+
		"updated_at = ?, revision = ? WHERE id = ? AND revision = ?", a.Username, string(a.Role), p.FullName, p.Email, p.Phone, p.Title,
		links, p.Notes, db.At(a.UpdatedAt), a.Revision, a.ID, a.Revision-1)
	switch {
	case db.IsUnique(err): // another unit took the name since it was looked for
		return nameTaken(a.Username)
	case err != nil:
		return fmt.Errorf("change an account: %w", err)
	case n == 0:
		return staleAccount(a.ID)
	}
	return nil
}

// SetPassword implements identity.AccountStore.
func (s *Store) SetPassword(ctx context.Context, userID, hash string, at time.Time, same bool) error {
	q, err := s.d.Write(ctx)
	if err != nil {
		return err
	}
	set, args := "password_hash = ?, updated_at = ?, revision = revision + 1", []any{hash, db.At(at), userID}
	if same {
		set, args = "password_hash = ?", []any{hash, userID}
	}
	n, err := exec(ctx, q, "UPDATE users SET "+set+" WHERE id = ?", args...)
	if err == nil && n == 0 {
		return noUser(userID)
	}
	return err
}

// DeleteAccount implements identity.AccountStore. Tokens, memberships and identities go with the row.
func (s *Store) DeleteAccount(ctx context.Context, id string) error {
	q, err := s.writing(ctx)
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
	if err := dropSubject(ctx, q, identity.UserSubject(id), account(id)); err != nil {
		return err
	}
	if _, err := exec(ctx, q, "DELETE FROM users WHERE id = ?", id); err != nil {
		return fmt.Errorf("delete an account: %w", err)
	}
	return nil
}

// dropSubject deletes the grants of a subject, hidden ones too. Their objects stay restricted.
func dropSubject(ctx context.Context, q bun.IDB, subject string, touched change) error {
	err := changed(ctx, q, touched, objects("SELECT DISTINCT object AS name FROM grants WHERE subject = ?", subject))
	if err != nil {
		return err
	}
	if _, err := exec(ctx, q, "DELETE FROM grants WHERE subject = ?", subject); err != nil {
		return fmt.Errorf("delete the grants of a subject: %w", err)
	}
	return nil
}

// LockAdmins implements identity.AccountStore. The lock is that of the rights, so that an account which is not an admin
// yet is held too.
func (s *Store) LockAdmins(ctx context.Context) ([]string, error) {
	q, err := s.writing(ctx)
	if err != nil {
		return nil, err
	}
	return db.All(ctx, q, text, "SELECT id FROM users WHERE role = 'admin' ORDER BY id")
}

// CountAccounts implements identity.AccountStore.
func (s *Store) CountAccounts(ctx context.Context) (int, error) {
	return count(ctx, s.d.Read(ctx), "SELECT count(*) FROM users")
}

func scanAccount(r db.Row) (a identity.Account, err error) {
	var created, updated db.Time
	var links string
	p := &a.Profile
	if err := r.Scan(&a.ID, &a.Username, &a.Role, &created, &p.FullName, &p.Email, &p.Phone, &p.Title, &links, &p.Notes,
		&a.HasPassword, &updated, &a.Revision); err != nil {
		return identity.Account{}, err
	}
	a.CreatedAt, a.UpdatedAt = created.Time, updated.Time
	if updated.IsZero() {
		a.UpdatedAt = a.CreatedAt
	}
	if links != "" {
		err = json.Unmarshal([]byte(links), &p.Links)
	}
	return a, err
}

// writeLinks makes the column of a profile's links, empty for none.
func writeLinks(links []string) (string, error) {
	if len(links) == 0 {
		return "", nil
	}
	b, err := json.Marshal(links)
	return string(b), err
}
