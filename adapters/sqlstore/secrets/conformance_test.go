package secrets_test

import (
	"context"
	"testing"
	"time"

	sqlidentity "github.com/writ-automation/writ/adapters/sqlstore/identity"
	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	sqlruns "github.com/writ-automation/writ/adapters/sqlstore/runs"
	sqlsecrets "github.com/writ-automation/writ/adapters/sqlstore/secrets"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/secrets/secretstest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	secretstest.Run(t, func(t *testing.T, fn func(*testing.T, secretstest.Stores)) {
		dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
			s, rights, r := sqlsecrets.New(d), sqlidentity.New(d), sqlruns.New(d)
			held := s.SealedStores()
			fn(t, secretstest.Stores{
				Unit: d, Credentials: s, Types: s, Leases: s, SealedCredentials: held[0], SealedLeases: held[1], Age: older(d),
				Runs: r, Queue: r, Orgs: rights, Teams: rights, Grants: rights, Objects: rights,
			})
		})
	})
}

// older moves all times of a lease back.
func older(d *db.DB) func(ctx context.Context, lease string, by time.Duration) error {
	return func(ctx context.Context, lease string, by time.Duration) error {
		return d.Do(ctx, func(ctx context.Context) error {
			q, err := d.Write(ctx)
			if err != nil {
				return err
			}
			var created, due db.Time
			if err := q.QueryRowContext(ctx, "SELECT created_at, due_at FROM secret_leases WHERE id = ?", lease).
				Scan(&created, &due); err != nil {
				return err
			}
			_, err = q.ExecContext(ctx, "UPDATE secret_leases SET created_at = ?, due_at = ? WHERE id = ?",
				db.At(created.Add(-by)), db.At(due.Add(-by)), lease)
			return err
		})
	}
}
