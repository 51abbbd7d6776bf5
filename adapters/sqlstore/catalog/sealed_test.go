package catalog_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	sqlcatalog "github.com/writ-automation/writ/adapters/sqlstore/catalog"
	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/secrets/secretstest"
)

func TestSealedStores(t *testing.T) {
	t.Parallel()
	secretstest.RunSealedStore(t, func(t *testing.T, fn func(*testing.T, secretstest.SealedStoreUnderTest)) {
		dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
			s := sqlcatalog.New(d)
			held := s.SealedStores()
			if len(held) != 2 {
				t.Fatalf("there are %d holders", len(held))
			}
			n := 0
			fn(t, secretstest.SealedStoreUnderTest{
				Unit: d, Store: held[0], Name: "inventory sources",
				Put: func(ctx context.Context, text []byte) (string, error) {
					n += 2 // a source without sealed values is not listed
					if err := s.InsertSource(ctx, sealedSource(n-1, nil)); err != nil {
						return "", err
					}
					v := sealedSource(n, text)
					return v.ID, s.InsertSource(ctx, v)
				},
				Record: catalog.SourceRecord,
				State: func(ctx context.Context, key string) (any, error) {
					is, err := s.SourceByID(ctx, key)
					is.Sealed = nil
					return is, err
				},
				Remove: func(ctx context.Context, key string) error { return s.DeleteSource(ctx, key, 0) },
			})
		})
	})
}

// TestSealedSecretsOfRefreshes runs the same suite over what masks the results of refreshes.
func TestSealedSecretsOfRefreshes(t *testing.T) {
	t.Parallel()
	secretstest.RunSealedStore(t, func(t *testing.T, fn func(*testing.T, secretstest.SealedStoreUnderTest)) {
		dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
			s := sqlcatalog.New(d)
			n := 0
			fn(t, secretstest.SealedStoreUnderTest{
				Unit: d, Store: s.SealedStores()[1], Name: "secrets of refreshes",
				Put: func(ctx context.Context, text []byte) (string, error) {
					n++
					v := sealedSource(n, nil)
					if err := s.InsertSource(ctx, v); err != nil {
						return "", err
					}
					if _, err := s.AskRefresh(ctx, v.ID, v.Revision, "default"); err != nil {
						return "", err
					}
					r, ok, err := s.ClaimRefresh(ctx, catalog.RefreshClaim{Worker: "w", Queues: []string{"default"}, TTL: time.Minute})
					if err != nil || !ok || r.SourceID != v.ID {
						return "", fmt.Errorf("claimed %+v, %t: %w", r, ok, err)
					}
					return v.ID, s.KeepRefreshSecrets(ctx, r.RefreshLease, text)
				},
				Record: catalog.RefreshRecord,
				State:  func(ctx context.Context, key string) (any, error) { return s.RefreshState(ctx, key, 1) },
				Remove: func(ctx context.Context, key string) error { return s.DeleteSource(ctx, key, 0) },
			})
		})
	})
}

func sealedSource(n int, sealed []byte) catalog.InventorySource {
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	id := fmt.Sprintf("src_%026d", n)
	return catalog.InventorySource{
		Record: object.Record{ID: id, Name: "name of " + id, CreatedBy: "usr_1", CreatedAt: at, UpdatedAt: at, Revision: 3},
		Kind:   catalog.HTTPSource, InventoryID: "inv_1", Sealed: sealed,
		Config: catalog.SourceConfig{URL: "https://x.example/", Headers: map[string]string{"A": "***"}},
	}
}
