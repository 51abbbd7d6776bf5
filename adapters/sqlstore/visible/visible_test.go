package visible_test

import (
	"context"
	"strings"
	"testing"

	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	"github.com/writ-automation/writ/adapters/sqlstore/visible"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/access"
)

// objects are named after their state: open, closed or strange (not stored), then the organization, then the grantee.
var objects = []string{"strange", "open", "open_a", "open_b", "closed", "closed_a", "closed_b", "closed_to_ann",
	"closed_a_to_bob", "closed_to_both", "gone_to_ann"}

func seed(ctx context.Context, d *db.DB) error {
	q, err := d.Write(ctx)
	if err != nil {
		return err
	}
	const at = "'2025-01-01T00:00:00Z'"
	for _, query := range []string{
		"INSERT INTO orgs (id, name, created_at, created_by) VALUES ('org_a', 'a', " + at + ", ''), ('org_b', 'b', " + at +
			", '')",
		"INSERT INTO access_objects (id, kind, org_id, restricted, gone) VALUES ('open', 'project', NULL, FALSE, FALSE), " +
			"('open_a', 'project', 'org_a', FALSE, FALSE), ('open_b', 'project', 'org_b', FALSE, FALSE), ('closed', " +
			"'project', NULL, TRUE, FALSE), ('closed_a', 'project', 'org_a', TRUE, FALSE), ('closed_b', 'project', 'org_b', " +
			"TRUE, FALSE), ('closed_to_ann', 'project', NULL, TRUE, FALSE), ('closed_a_to_bob', 'project', 'org_a', TRUE, " +
			"FALSE), ('closed_to_both', 'project', NULL, TRUE, FALSE), ('gone_to_ann', 'project', NULL, TRUE, TRUE)",
		"INSERT INTO grants (id, subject, object, level, created_at, created_by, hidden) VALUES " +
			"('1', 'user:ann', 'closed_to_ann', 'read', " + at +
			", '', FALSE), ('2', 'team:bob', 'closed_a_to_bob', 'manage', " + at + ", '', FALSE), " +
			"('3', 'user:ann', 'closed_to_both', 'use', " + at + ", '', FALSE), ('4', 'team:bob', 'closed_to_both', 'use', " +
			at + ", '', FALSE), " +
			"('5', 'user:ann', 'closed_to_both', 'read', " + at + ", '', FALSE), ('6', 'user:ann', 'gone_to_ann', 'read', " +
			at + ", '', TRUE)",
	} {
		if _, err := q.ExecContext(ctx, query); err != nil {
			return err
		}
	}
	return nil
}

// TestWhere tests every object by its name in a column of another table. The arguments around the condition prove
// that the order of its own is right.
func TestWhere(t *testing.T) {
	t.Parallel()
	ann, bob, a, b := "user:ann", "team:bob", "org_a", "org_b"
	cases := []struct {
		scope access.Scope
		want  string
	}{
		{access.Everything(), strings.Join(objects, " ")},
		{access.Scope{All: true, Strict: true, Subjects: []string{ann}}, strings.Join(objects, " ")},
		{access.Scope{}, "strange open open_a open_b"},
		{access.Scope{Strict: true}, ""},
		{access.Scope{Subjects: []string{ann}}, "strange open open_a open_b closed_to_ann closed_to_both gone_to_ann"},
		{access.Scope{Subjects: []string{ann}, Strict: true}, "closed_to_ann closed_to_both gone_to_ann"},
		{access.Scope{Subjects: []string{ann, bob}},
			"strange open open_a open_b closed_to_ann closed_a_to_bob closed_to_both gone_to_ann"},
		{access.Scope{Subjects: []string{"ann", "user:%", "' OR 1 = 1 --"}, Strict: true}, ""},
		{access.Scope{Orgs: []string{a}}, "strange open open_a open_b closed_a closed_a_to_bob"},
		{access.Scope{Orgs: []string{a}, Strict: true}, "open_a closed_a closed_a_to_bob"},
		{access.Scope{Orgs: []string{a, b}}, "strange open open_a open_b closed_a closed_b closed_a_to_bob"},
		{access.Scope{Orgs: []string{b, a}, Strict: true}, "open_a open_b closed_a closed_b closed_a_to_bob"},
		{access.Scope{Subjects: []string{ann}, Orgs: []string{b}},
			"strange open open_a open_b closed_b closed_to_ann closed_to_both gone_to_ann"},
		{access.Scope{Subjects: []string{bob}, Orgs: []string{b}, Strict: true},
			"open_b closed_b closed_a_to_bob closed_to_both"},
		{access.Scope{Subjects: []string{a, b}, Orgs: []string{ann, bob}, Strict: true}, ""},
	}
	dbtest.EachEngine(t, migrations.FS, func(t *testing.T, d *db.DB) {
		if err := d.Do(t.Context(), func(ctx context.Context) error { return seed(ctx, d) }); err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			where, args := visible.Where(c.scope, "x.object")
			through(t, d, "Where", c.scope, c.want, where, args)
			where, args = visible.Those(c.scope, "project", "x.object")
			through(t, d, "Those", c.scope, c.want, where, args)
		}
	})
}

// through checks for every object whether the condition holds.
func through(t *testing.T, d *db.DB, name string, scope access.Scope, want, where string, args []any) {
	t.Helper()
	var got []string
	for _, object := range objects {
		n := 0
		err := d.Read(t.Context()).QueryRowContext(t.Context(),
			"SELECT count(*) FROM (SELECT CAST(? AS TEXT) AS object) AS x WHERE 1 = ? AND "+where+" AND 2 = ?",
			append(append([]any{object, 1}, args...), 2)...).Scan(&n)
		if err != nil {
			t.Fatalf("%s of %+v: %v", name, scope, err)
		}
		if n == 1 {
			got = append(got, object)
		}
	}
	if s := strings.Join(got, " "); s != want {
		t.Errorf("%s of %+v lets through\n\t%s, want\n\t%s", name, scope, s, want)
	}
}
