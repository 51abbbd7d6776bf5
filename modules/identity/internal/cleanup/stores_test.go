package cleanup_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	sqlidentity "github.com/writ-automation/writ/adapters/sqlstore/identity"
	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	"github.com/writ-automation/writ/modules/identity/internal/cleanup"
	"github.com/writ-automation/writ/platform/clock"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
)

// TestPassOverStores drops ended sessions and all sign-ins that took too long, and nothing else.
func TestPassOverStores(t *testing.T) {
	t.Parallel()
	dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
		s, c := sqlidentity.New(d), clock.New()
		now := c.Now()
		const ended = 20
		add := func(ctx context.Context, kind identity.TokenKind, name string, expires time.Time) error {
			made := identity.Token{ID: "tok_" + name, Kind: kind, Name: name, UserID: "usr_1", CreatedAt: now,
				ExpiresAt: expires}
			return s.InsertToken(ctx, made, sha256.Sum256([]byte(name)))
		}
		err := d.Do(t.Context(), func(ctx context.Context) error {
			u := identity.User{ID: "usr_1", Username: "ann", Role: identity.Viewer, CreatedAt: now}
			if err := s.InsertAccount(ctx, identity.Account{User: u, UpdatedAt: now, Revision: 1}, ""); err != nil {
				return err
			}
			for i := range ended {
				if err := add(ctx, identity.SessionToken, fmt.Sprint("ended", i), now.Add(-25*time.Hour)); err != nil {
					return err
				}
			}
			if err := add(ctx, identity.SessionToken, "recent", now.Add(-23*time.Hour)); err != nil {
				return err
			}
			return add(ctx, identity.APIToken, "program", now.Add(-25*time.Hour))
		})
		if err != nil {
			t.Fatal(err)
		}
		begun := func(ctx context.Context) error {
			for i := range 2100 {
				if err := s.SaveHandshake(ctx, sha256.Sum256([]byte(fmt.Sprint(i))), "oidc", nil, -time.Second); err != nil {
					return err
				}
			}
			return s.SaveHandshake(ctx, [32]byte{1}, "oidc", nil, time.Hour)
		}
		if err := d.Do(t.Context(), begun); err != nil {
			t.Fatal(err)
		}
		u := cleanup.New(s, s, s, d, c)
		for range 2 {
			if err := u.Pass(t.Context()); err != nil {
				t.Fatal(err)
			}
			list, n, err := s.ListTokens(t.Context(), page.Window{})
			if err != nil || n != 2 {
				t.Fatalf("%d tokens are left: %+v %v", n, list, err)
			}
		}
		left := 0
		err = d.Do(t.Context(), func(ctx context.Context) (err error) {
			if left, err = s.PurgeHandshakes(ctx, 1); err != nil {
				return err
			}
			_, err = s.TakeHandshake(ctx, [32]byte{1}, "oidc")
			return err
		})
		if err != nil || left != 0 {
			t.Errorf("%d expired handshakes are left; the one under way: %v", left, err)
		}
	})
}
