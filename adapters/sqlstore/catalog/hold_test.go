package catalog_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	sqlcatalog "github.com/writ-automation/writ/adapters/sqlstore/catalog"
	sqlidentity "github.com/writ-automation/writ/adapters/sqlstore/identity"
	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/object"
)

// TestThoseWhoNameOneObjectDoNotWait refers to an object in two concurrent units. A deletion waits for both.
func TestThoseWhoNameOneObjectDoNotWait(t *testing.T) {
	t.Parallel()
	const named, first, second = "inv_00000000000000000000000001", "tpl_00000000000000000000000001",
		"tpl_00000000000000000000000002"
	url := dbtest.Fresh(t, db.Postgres, migrations.FS)
	d, other := dbtest.Connect(t, db.Config{URL: url}), dbtest.Connect(t, db.Config{URL: url})
	s, rights := sqlcatalog.New(d), sqlidentity.New(d)
	err := d.Do(t.Context(), func(ctx context.Context) error { return rights.PutObject(ctx, identity.Object{ID: named}) })
	if err != nil {
		t.Fatal(err)
	}
	removed := make(chan error, 1)
	remove := func() {
		removed <- other.Do(t.Context(), func(ctx context.Context) error {
			if err := sqlidentity.New(other).RemoveObject(ctx, named); err != nil {
				return err
			}
			_, n, err := sqlcatalog.New(other).UsedBy(ctx, named, 1)
			if err == nil && n != 0 {
				err = object.InUse.New("%d objects", n)
			}
			return err
		})
	}
	err = d.Do(t.Context(), func(ctx context.Context) error {
		if err := s.Name(ctx, first, []string{named}); err != nil {
			return err
		}
		limit, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		err := other.Do(limit, func(ctx context.Context) error {
			return sqlcatalog.New(other).Name(ctx, second, []string{named})
		})
		if err != nil {
			return err
		}
		go remove()
		select {
		case err := <-removed:
			return fmt.Errorf("the removal did not wait and ended with: %v", err)
		case <-time.After(100 * time.Millisecond):
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-removed; !object.InUse.Is(err) {
		t.Errorf("the removal ended with %v", err)
	}
	if uses, n, err := s.UsedBy(t.Context(), named, 5); err != nil || n != 2 || uses[0].ID != first ||
		uses[1].ID != second {
		t.Errorf("%v of %d, %v", uses, n, err)
	}
}

// TestAnObjectOfAnotherKindIsNotNamed stores an object with another kind than that of its id, which cannot be found by
// its id.
func TestAnObjectOfAnotherKindIsNotNamed(t *testing.T) {
	t.Parallel()
	dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
		const named = "inv_00000000000000000000000001"
		err := d.Do(t.Context(), func(ctx context.Context) error {
			q, err := d.Write(ctx)
			if err != nil {
				return err
			}
			_, err = q.ExecContext(ctx,
				"INSERT INTO access_objects (id, kind, restricted, gone) VALUES (?, 'project', FALSE, FALSE)", named)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		s := sqlcatalog.New(d)
		err = d.Do(t.Context(), func(ctx context.Context) error {
			return s.Name(ctx, "tpl_00000000000000000000000001", []string{named})
		})
		if !catalog.ObjectNotFound.Is(err) {
			t.Errorf("naming it ended with %v", err)
		}
	})
}
