package db_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
)

func TestTimesComeBackAsTheyWere(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		east := time.FixedZone("east", 5*3600+1800)
		at := time.Date(2024, 4, 7, 1, 45, 0, 123_456_789, east)
		mustInsert(t, d, note{ID: "a", At: db.At(at), Made: at})
		mustInsert(t, d, note{ID: "b"})
		var got []note
		if err := d.Read(t.Context()).NewSelect().Model(&got).Order("id").Scan(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := time.Date(2024, 4, 6, 20, 15, 0, 123_456_000, time.UTC)
		for name, stored := range map[string]time.Time{"At": got[0].At.Time, "Made": got[0].Made} {
			if diff := cmp.Diff(want, stored); diff != "" || stored.Location() != time.UTC {
				t.Errorf("%s is in %v: %s", name, stored.Location(), diff)
			}
		}
		if !got[1].At.IsZero() || !got[1].Made.IsZero() {
			t.Errorf("NULL came back as %v and %v", got[1].At, got[1].Made)
		}
		var n int
		err := d.Read(t.Context()).NewRaw("SELECT count(*) FROM notes WHERE at IS NULL AND made IS NULL").
			Scan(t.Context(), &n)
		if err != nil || n != 1 {
			t.Errorf("%d rows hold NULL: %v", n, err)
		}
		err = d.Read(t.Context()).NewRaw("SELECT count(*) FROM notes WHERE at = ? AND made = ? AND at > ?", at, db.At(at),
			at.Add(-time.Microsecond)).Scan(t.Context(), &n)
		if err != nil || n != 1 {
			t.Errorf("%d rows equal the time: %v", n, err)
		}
	})
}

func TestTimesSortAsText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		gen := rapid.Custom(func(t *rapid.T) time.Time {
			zone := time.FixedZone("z", rapid.IntRange(-12, 14).Draw(t, "zone")*3600)
			return time.UnixMicro(rapid.Int64Range(0, 1<<52).Draw(t, "us")).In(zone)
		})
		x, y := db.At(gen.Draw(t, "x")), db.At(gen.Draw(t, "y"))
		vx, err := x.Value()
		if err != nil {
			t.Fatal(err)
		}
		vy, err := y.Value()
		if err != nil {
			t.Fatal(err)
		}
		if sx, sy := vx.(string), vy.(string); strings.Compare(sx, sy) != x.Compare(y.Time) {
			t.Errorf("%s and %s", sx, sy)
		}
		var back db.Time
		if err := back.Scan(vx); err != nil || !back.Equal(x.Time) {
			t.Errorf("%v came back as %v: %v", x, back, err)
		}
	})
}

func TestLeasesExpireByTheLeaseClock(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		lease := d.Dialect()
		set := func(id string, ttl time.Duration) {
			err := d.Do(t.Context(), func(ctx context.Context) error {
				w, err := d.Write(ctx)
				if err != nil {
					return err
				}
				_, err = w.NewRaw("INSERT INTO notes (id, at) VALUES (?, ?)", id, lease.LeaseNow().Add(ttl)).Exec(ctx)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		set("over", -time.Millisecond)
		set("held", time.Hour)
		var over []string
		err := d.Read(t.Context()).NewRaw("SELECT id FROM notes WHERE at <= ?", lease.LeaseNow()).Scan(t.Context(), &over)
		if err != nil || !slices.Equal(over, []string{"over"}) {
			t.Errorf("expired are %v: %v", over, err)
		}
	})
}

func TestLockingClauses(t *testing.T) {
	each(t, func(t *testing.T, d *db.DB) {
		mustInsert(t, d, note{ID: "a"})
		claim := func(ctx context.Context) []string {
			got := []string{}
			q := d.Read(ctx).NewSelect().Model((*note)(nil)).Column("id").Apply(d.Dialect().LockSkip)
			if err := q.Scan(ctx, &got); err != nil {
				t.Error(err)
			}
			return got
		}
		err := d.Do(t.Context(), func(ctx context.Context) error {
			if got := claim(ctx); len(got) != 1 {
				t.Errorf("claimed %v", got)
			}
			if d.Engine() == db.Postgres { // outside of the unit, on another connection
				if got := claim(t.Context()); len(got) != 0 {
					t.Errorf("claimed the held row %v", got)
				}
			}
			var n int
			return d.Read(ctx).NewRaw("SELECT n FROM notes WHERE id = 'a'"+d.Dialect().ForUpdate()).Scan(ctx, &n)
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkFresh(b *testing.B) {
	for _, engine := range dbtest.Engines() {
		b.Run(string(engine), func(b *testing.B) {
			dbtest.Open(b, engine, migrations(b))
			for b.Loop() {
				dbtest.Open(b, engine, migrations(b))
			}
		})
	}
}
