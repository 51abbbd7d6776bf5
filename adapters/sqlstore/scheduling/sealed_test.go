package scheduling_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	sqlscheduling "github.com/writ-automation/writ/adapters/sqlstore/scheduling"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/scheduling"
	"github.com/writ-automation/writ/ports/secrets/secretstest"
)

func TestSealedStores(t *testing.T) {
	t.Parallel()
	secretstest.RunSealedStore(t, func(t *testing.T, fn func(*testing.T, secretstest.SealedStoreUnderTest)) {
		dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
			s := sqlscheduling.New(d)
			held := s.SealedStores()
			if len(held) != 1 {
				t.Fatalf("there are %d holders", len(held))
			}
			n := 0
			fn(t, secretstest.SealedStoreUnderTest{
				Unit: d, Store: held[0], Name: "triggers",
				Put: func(ctx context.Context, text []byte) (string, error) {
					n++
					id := fmt.Sprintf("trg_%026d", n)
					return id, s.InsertTrigger(ctx, trigger(id, text))
				},
				Record: func(key string) string { return key },
				State: func(ctx context.Context, key string) (any, error) {
					is, err := s.TriggerByID(ctx, key)
					is.Sealed = nil
					return is, err
				},
				Remove: func(ctx context.Context, key string) error { return s.DeleteTrigger(ctx, key, 0) },
			})
		})
	})
}

func trigger(id string, sealed []byte) scheduling.StoredTrigger {
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	return scheduling.StoredTrigger{
		Trigger: scheduling.Trigger{
			Record: scheduling.Record{Record: object.Record{ID: id, Name: "name of " + id, CreatedBy: "usr_1", CreatedAt: at,
				UpdatedAt: at, Revision: 1}, Owner: "usr_1"},
			TemplateID: "tpl_1", RequireSignature: true,
		},
		TokenHash: sha256.Sum256([]byte(id)), Sealed: sealed,
	}
}
