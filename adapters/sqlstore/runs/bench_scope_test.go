package runs

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/writ-automation/writ/adapters/sqlstore/visible/scopes"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/runs"
)

// spread distributes the runs over that many queues, including the default one.
func spread(queues int) func(int, *runs.Run) {
	return func(i int, r *runs.Run) {
		r.Spec.Queue = queueOf(i / 13 % queues)
		r.Objects = []string{access.Queue(r.Spec.Queue)}
	}
}

func queueOf(n int) string {
	if n == 0 {
		return runs.DefaultQueue
	}
	return fmt.Sprintf("q%03d", n)
}

// hide restricts the objects. Repeated, it changes nothing.
func hide(b *testing.B, s *Store, objects ...string) {
	b.Helper()
	err := s.d.Do(b.Context(), func(ctx context.Context) error {
		q, err := s.d.Write(ctx)
		if err != nil {
			return err
		}
		for _, o := range objects {
			if _, err := db.Exec(ctx, q,
				"INSERT INTO access_objects (id, kind, restricted, gone) VALUES (?, 'queue', TRUE, FALSE) "+
					"ON CONFLICT (id) DO NOTHING", o); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}

// narrowed measures the pages of a reader who may not read everything.
func narrowed(b *testing.B, s *Store, names ...string) {
	for _, reader := range []struct {
		name  string
		scope access.Scope
	}{{"All", access.Everything()}, {"scoped", access.Scope{Subjects: []string{"user:usr_1", "team:team_1"}}}} {
		all := listings(size(b))
		for _, name := range names {
			b.Run(reader.name+" "+name, func(b *testing.B) {
				f := all[name]
				f.Limit, f.Scope = 200, reader.scope
				measure(b, func() { list(b, s, f) })
			})
			b.Run(reader.name+" "+name+" deep cursor", func(b *testing.B) {
				f := all[name]
				f.Limit, f.Scope, f.SkipTotal, f.Offset = 200, reader.scope, true, size(b)/200
				f.Cursor, f.Offset = list(b, s, f).NextCursor, 0
				measure(b, func() { list(b, s, f) })
			})
		}
	}
}

var askedOften = []string{"all", "oldest", "status", "label", "q common", "actor"}

// BenchmarkListHidingLittle lists for a reader from whom one of ten queues is hidden.
func BenchmarkListHidingLittle(b *testing.B) {
	s := open(b, "spread10", size(b), 100, spread(10))
	hide(b, s, access.Queue("q003"))
	narrowed(b, s, askedOften...)
}

// BenchmarkListShowingLittle lists for a reader to whom one of a hundred queues is shown.
func BenchmarkListShowingLittle(b *testing.B) {
	s := open(b, "spread100", size(b), 100, spread(100))
	for q := range 100 {
		if q != 42 {
			hide(b, s, access.Queue(queueOf(q)))
		}
	}
	narrowed(b, s, askedOften...)
}

// BenchmarkListManyScopes lists for a reader from whom one of 5,000 sets of objects is hidden.
func BenchmarkListManyScopes(b *testing.B) {
	s := open(b, "scopes5000", size(b), 100, func(i int, r *runs.Run) {
		k := i * 7 % 5000
		r.Objects = []string{fmt.Sprintf("tpl_%04d", k), fmt.Sprintf("prj_%03d", k%100), fmt.Sprintf("inv_%03d", k%300),
			scopes.DefaultObject}
		slices.Sort(r.Objects)
	})
	hide(b, s, "tpl_0077")
	narrowed(b, s, "all", "status")
}
