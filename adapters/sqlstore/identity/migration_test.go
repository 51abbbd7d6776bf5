package identity_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	sqlidentity "github.com/writ-automation/writ/adapters/sqlstore/identity"
	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
)

// TestAnOlderDatabaseKeepsItsAccounts migrates a database of the older schema with an account and a token.
func TestAnOlderDatabaseKeepsItsAccounts(t *testing.T) {
	t.Parallel()
	dbtest.EachEngine(t, dbtest.Before(t, migrations.FS, "0005"), func(t *testing.T, d *db.DB) {
		at := time.Date(2025, 3, 4, 5, 6, 7, 891011000, time.UTC)
		hash := [32]byte{1, 0, 255}
		err := d.Do(t.Context(), func(ctx context.Context) error {
			q, err := d.Write(ctx)
			if err != nil {
				return err
			}
			if _, err := q.ExecContext(ctx,
				"INSERT INTO users (id, username, role, created_at) VALUES ('usr_1', 'admin', 'admin', ?)", db.At(at)); err != nil {
				return err
			}
			_, err = q.ExecContext(ctx,
				"INSERT INTO tokens (id, name, user_id, hash, created_at, created_by) VALUES ('tok_1', 'first', 'usr_1', ?, ?, "+
					"'usr_1')",
				hash[:], db.At(at))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Migrate(t.Context(), migrations.FS); err != nil {
			t.Fatal(err)
		}
		s := sqlidentity.New(d)
		user := identity.User{ID: "usr_1", Username: "admin", Role: identity.Admin, CreatedAt: at}
		accounts, n, err := s.ListAccounts(t.Context(), page.Window{})
		if diff := cmp.Diff([]identity.Account{{User: user, UpdatedAt: at, Revision: 1}}, accounts); diff != "" || n != 1 ||
			err != nil {
			t.Errorf("%d accounts, %v (-want +got):\n%s", n, err, diff)
		}
		b, err := s.TokenByHash(t.Context(), hash)
		want := identity.Bearer{User: user, Token: identity.Token{ID: "tok_1", Kind: identity.APIToken, Name: "first",
			UserID: "usr_1", Username: "admin", CreatedAt: at, CreatedBy: "usr_1", SignedInAt: at}}
		if diff := cmp.Diff(want, b); diff != "" || err != nil {
			t.Errorf("the token: %v (-want +got):\n%s", err, diff)
		}
		changed := accounts[0]
		changed.Revision, changed.Username = 2, "root"
		if err := d.Do(t.Context(), func(ctx context.Context) error { return s.UpdateAccount(ctx, changed) }); err != nil {
			t.Errorf("change an account of before: %v", err)
		}
		if _, _, err := s.UserByName(t.Context(), "root"); err != nil {
			t.Error(err)
		}
	})
}
