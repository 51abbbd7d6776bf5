package db_test

import (
	"context"
	"embed"
	"errors"
	"io/fs"
	"testing"
	"time"

	"github.com/uptrace/bun"
	"go.uber.org/goleak"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/fault"
)

//go:embed testdata/migrations
var files embed.FS

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func migrations(t testing.TB) fs.FS {
	t.Helper()
	sub, err := fs.Sub(files, "testdata/migrations")
	if err != nil {
		t.Fatal(err)
	}
	return sub
}

// note is a row of the test's table.
type note struct {
	bun.BaseModel `bun:"table:notes"`

	ID   string    `bun:"id,pk"`
	Body string    `bun:"body"`
	N    int       `bun:"n"`
	At   db.Time   `bun:"at"`
	Made time.Time `bun:"made,nullzero"`
}

func insert(ctx context.Context, d *db.DB, n note) error {
	w, err := d.Write(ctx)
	if err != nil {
		return err
	}
	_, err = w.NewInsert().Model(&n).Exec(ctx)
	return db.Translate(err)
}

func mustInsert(t testing.TB, d *db.DB, n note) {
	t.Helper()
	if err := d.Do(t.Context(), func(ctx context.Context) error { return insert(ctx, d, n) }); err != nil {
		t.Fatalf("insert %s: %v", n.ID, err)
	}
}

// ids returns the ids of all notes, in order.
func ids(t testing.TB, d *db.DB) []string {
	t.Helper()
	found := []string{}
	err := d.Read(t.Context()).NewSelect().Model((*note)(nil)).Column("id").Order("id").Scan(t.Context(), &found)
	if err != nil {
		t.Fatalf("list notes: %v", err)
	}
	return found
}

func each(t *testing.T, fn func(t *testing.T, d *db.DB)) {
	t.Helper()
	t.Parallel()
	dbtest.EachEngine(t, migrations(t), fn)
}

func wantKind(t testing.TB, err error, kind fault.Kind) {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != kind {
		t.Errorf("the error is %v (%v), want a fault of kind %v", err, fault.KindOf(err), kind)
	}
}
