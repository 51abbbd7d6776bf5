package identity

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	"github.com/writ-automation/writ/adapters/sqlstore/visible"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
)

// chaos stores objects of two kinds in every state, with grants to eight subjects.
func chaos(t *testing.T, s *Store, r *rand.Rand) {
	t.Helper()
	var orgs, objects, grants [][]any
	for i := range 4 {
		orgs = append(orgs, []any{fmt.Sprint("org_", i), fmt.Sprint("org ", i), "2025-01-01T00:00:00.000000Z", "x"})
	}
	for i := range 300 {
		id, kind, org := template(i), identity.KindTemplate, any(nil)
		switch {
		case i%3 == 0:
			id, kind = access.Queue(fmt.Sprint("q", i)), identity.KindQueue
		case r.IntN(2) == 0:
			org = fmt.Sprint("org_", r.IntN(4))
		}
		restricted, gone := r.IntN(2) == 0, r.IntN(5) == 0
		objects = append(objects, []any{id, kind, org, restricted, gone})
		if !restricted {
			continue
		}
		for subject := range 8 {
			for _, level := range []access.Level{access.Read, access.Use, access.Manage} {
				if r.IntN(12) == 0 {
					grants = append(grants, []any{fmt.Sprint("grt_", len(grants)), fmt.Sprint("team:", subject), id, string(level),
						"2025-01-01T00:00:00.000000Z", "x", gone})
				}
			}
		}
	}
	err := s.d.Do(t.Context(), func(ctx context.Context) error {
		q, err := s.d.Write(ctx)
		if err != nil {
			return err
		}
		if err := insert(ctx, q, "orgs (id, name, created_at, created_by)", orgs); err != nil {
			return err
		}
		if err := insert(ctx, q, "access_objects (id, kind, org_id, restricted, gone)", objects); err != nil {
			return err
		}
		return insert(ctx, q, "grants (id, subject, object, level, created_at, created_by, hidden)", grants)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// anyScope returns a random scope; some of its subjects and organizations are duplicates or do not exist.
func anyScope(r *rand.Rand) access.Scope {
	s := access.Scope{All: r.IntN(10) == 0, Strict: r.IntN(2) == 0}
	subjects, orgs := r.IntN(4), r.IntN(3)
	if r.IntN(8) == 0 {
		subjects, orgs = maxBranches+5, maxBranches+5
	}
	for i := range subjects {
		s.Subjects = append(s.Subjects, fmt.Sprint("team:", r.IntN(10)+i/10*10))
	}
	for i := range orgs {
		s.Orgs = append(s.Orgs, fmt.Sprint("org_", r.IntN(5)+i/10*10))
	}
	return s
}

// TestReadableIsWhatIsVisible compares pages and totals with the condition of all other lists.
func TestReadableIsWhatIsVisible(t *testing.T) {
	t.Parallel()
	dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
		s, r := New(d), rand.New(rand.NewPCG(7, 11))
		chaos(t, s, r)
		seen := make(map[int]bool)
		for range 150 {
			sc, kind := anyScope(r), []string{identity.KindTemplate, identity.KindQueue, identity.KindProject,
				"run"}[r.IntN(8)%4]
			where, args := visible.Where(sc, "o.id")
			want, err := db.Query[string](t.Context(), d.Read(t.Context()),
				"SELECT o.id FROM access_objects AS o WHERE o.kind = ? AND NOT o.gone AND "+where+" ORDER BY o.id",
				append([]any{kind}, args...)...)
			if err != nil {
				t.Fatal(err)
			}
			w := page.Window{Offset: r.IntN(2) * r.IntN(120), Limit: r.IntN(60)}
			if r.IntN(4) == 0 {
				w.Offset += deep
			}
			got, total, err := s.Readable(t.Context(), kind, sc, w)
			if err != nil {
				t.Fatalf("%+v: %v", sc, err)
			}
			from := min(w.Offset, len(want))
			rest := want[from:min(from+w.Rows(), len(want))]
			if diff := cmp.Diff(rest, got, cmpopts.EquateEmpty()); diff != "" || total != len(want) {
				t.Fatalf("%s for %+v from %+v: %d of %d, want %d (-want +got):\n%s", kind, sc, w, len(got), total, len(want), diff)
			}
			seen[total] = true
		}
		if len(seen) < 20 {
			t.Errorf("only the totals %v came up", seen)
		}
	})
}
