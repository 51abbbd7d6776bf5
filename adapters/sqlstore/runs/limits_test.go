package runs

import (
	"context"
	"testing"

	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/tx"
)

// TestNewLimitsHoldNobodyUp: while a unit creates limited objects, such as an import, other units go on to read limits
// and to change those of other objects. Only Postgres has units beside each other.
func TestNewLimitsHoldNobodyUp(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, db.Postgres, migrations.FS)
	s := New(d)
	const made, other runs.SlotKey = "template:tpl_0000000000000000000000000a", "template:tpl_0000000000000000000000000b"
	err := d.Do(tx.Alone(t.Context()), func(ctx context.Context) error {
		if err := s.AddLimit(ctx, made, 1); err != nil {
			return err
		}
		return d.Do(t.Context(), func(ctx context.Context) error {
			_, err := s.PutLimit(ctx, other, 2)
			return err
		})
	})
	got, read := s.Limits(t.Context(), made, other)
	if err != nil || read != nil || got[made] != 1 || got[other] != 2 {
		t.Errorf("%v %v, %v", got, err, read)
	}
}
