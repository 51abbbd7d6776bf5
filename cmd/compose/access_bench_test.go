package compose_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/writ-automation/writ/adapters/casbin"
	sqlidentity "github.com/writ-automation/writ/adapters/sqlstore/identity"
	"github.com/writ-automation/writ/adapters/sqlstore/migrations"
	"github.com/writ-automation/writ/platform/db"
	"github.com/writ-automation/writ/platform/db/dbtest"
	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
)

const benchObjects = 100_000

func benchObject(i int) string { return fmt.Sprintf("tpl_%026d", i*7919%benchObjects) }

func benchUser(i int) string { return fmt.Sprintf("usr_%026d", i) }

// seedAccess fills a database with 100,000 templates, 1,000 accounts, 200 teams and 100 organizations. Each template of
// the first half has two grants, one of an account and one of a team, and every tenth template belongs to an
// organization. Each account is in ten teams and is the admin of one organization.
func seedAccess(b *testing.B, d *db.DB) {
	b.Helper()
	const epoch = "2026-05-01T12:00:00.000000Z"
	rows := map[string][][]any{}
	add := func(into string, values ...any) { rows[into] = append(rows[into], values) }
	const (
		users   = "users (id, username, role, created_at, updated_at)"
		teams   = "teams (id, name, created_at, created_by)"
		orgs    = "orgs (id, name, created_at, created_by)"
		inTeams = "team_members (team_id, user_id, added_at)"
		inOrgs  = "org_members (org_id, user_id, role, added_at)"
		objects = "access_objects (id, kind, org_id, restricted, gone)"
		grants  = "grants (id, subject, object, level, created_at, created_by, hidden)"
	)
	team := func(i int) string { return fmt.Sprintf("team_%026d", i%200) }
	org := func(i int) string { return fmt.Sprintf("org_%026d", i%100) }
	for i := range 200 {
		add(teams, team(i), team(i), epoch, "x")
	}
	for i := range 100 {
		add(orgs, org(i), org(i), epoch, "x")
	}
	for i := range 1000 {
		add(users, benchUser(i), benchUser(i), "operator", epoch, epoch)
		for n := range 10 {
			add(inTeams, team(i+n), benchUser(i), epoch)
		}
		add(inOrgs, org(i), benchUser(i), "admin", epoch)
	}
	for i := range benchObjects {
		var of any
		if i%10 == 0 {
			of = org(i / 10)
		}
		add(objects, benchObject(i), identity.KindTemplate, of, i < benchObjects/2, false)
		if i < benchObjects/2 {
			add(grants, fmt.Sprintf("grt_a%025d", i), identity.UserSubject(benchUser(i%1000)), benchObject(i), "use", epoch,
				"x", false)
			add(grants, fmt.Sprintf("grt_b%025d", i), identity.TeamSubject(team(i/1000)), benchObject(i), "read", epoch,
				"x", false)
		}
	}
	for _, into := range []string{users, teams, orgs, inTeams, inOrgs, objects, grants} {
		row := "(?" + strings.Repeat(", ?", len(rows[into][0])-1) + ")"
		for some := range slices.Chunk(rows[into], 1000) {
			execute(b, d, "INSERT INTO "+into+" VALUES "+row+strings.Repeat(", "+row, len(some)-1), slices.Concat(some...)...)
		}
	}
	execute(b, d, "ANALYZE")
}

func execute(b *testing.B, d *db.DB, query string, args ...any) {
	b.Helper()
	err := d.Do(b.Context(), func(ctx context.Context) error {
		q, err := d.Write(ctx)
		if err == nil {
			_, err = q.ExecContext(ctx, query, args...)
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkAccess measures decisions and lists at 100,000 objects and 100,000 grants through the real store: the first
// decision, which loads all rights; later ones; one that finds a change; and pages of a list with their total.
func BenchmarkAccess(b *testing.B) {
	for _, engine := range dbtest.Engines() {
		b.Run(string(engine), func(b *testing.B) {
			d := dbtest.Open(b, engine, migrations.FS)
			seedAccess(b, d)
			benchDecisions(b, d)
			benchLists(b, d)
		})
	}
}

func benchCaller(b *testing.B, s *sqlidentity.Store) identity.Principal {
	b.Helper()
	c, err := s.Caller(b.Context(), benchUser(7), "")
	if err != nil {
		b.Fatal(err)
	}
	return identity.Principal{User: c.User, Version: c.Version}
}

func benchDecisions(b *testing.B, d *db.DB) {
	s := sqlidentity.New(d)
	ask := func(a identity.Authorizer, p identity.Principal, act, object string, want bool) {
		err := a.Authorize(b.Context(), p, identity.Need{Kind: identity.KindTemplate, Act: act, Object: object})
		if want != (err == nil) || err != nil && !identity.NotAllowed.Is(err) {
			b.Fatal(err)
		}
	}
	var a identity.Authorizer
	p := benchCaller(b, s)
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			var err error
			if a, err = casbin.New(casbin.Config{}, s); err != nil {
				b.Fatal(err)
			}
			ask(a, p, "use", benchObject(1007), true)
		}
	})
	b.Run("allowed", func(b *testing.B) {
		for b.Loop() {
			ask(a, p, "use", benchObject(1007), true)
		}
	})
	b.Run("denied", func(b *testing.B) {
		for b.Loop() {
			ask(a, p, "manage", benchObject(1008), false)
		}
	})
	b.Run("scope", func(b *testing.B) {
		for b.Loop() {
			if _, err := a.Scope(b.Context(), p); err != nil {
				b.Fatal(err)
			}
		}
	})
	n := 0
	b.Run("after a change", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			n++
			g := identity.Grant{ID: fmt.Sprintf("grt_c%025d", n), Subject: identity.UserSubject(benchUser(7)),
				Object: access.Queue(fmt.Sprint(n)), Level: access.Use, CreatedAt: epoch(), CreatedBy: "x"}
			err := d.Do(b.Context(), func(ctx context.Context) error {
				_, err := s.InsertGrant(ctx, g)
				return err
			})
			if err != nil {
				b.Fatal(err)
			}
			p = benchCaller(b, s)
			b.StartTimer()
			ask(a, p, "use", benchObject(1007), true)
		}
	})
}

func benchLists(b *testing.B, d *db.DB) {
	s := sqlidentity.New(d)
	p := benchCaller(b, s)
	for _, strict := range []bool{false, true} {
		a, err := casbin.New(casbin.Config{Strict: strict}, s)
		if err != nil {
			b.Fatal(err)
		}
		scope, err := a.Scope(b.Context(), p)
		if err != nil {
			b.Fatal(err)
		}
		_, total, err := s.Readable(b.Context(), identity.KindTemplate, scope, page.Window{Limit: 1})
		if err != nil || total == 0 {
			b.Fatal(total, err)
		}
		for name, w := range map[string]page.Window{"first page": {Limit: 100},
			"last page": {Limit: 100, Offset: total - 100}} {
			b.Run(fmt.Sprintf("%s of %d, strict %v", name, total, strict), func(b *testing.B) {
				for b.Loop() {
					if found, n, err := s.Readable(b.Context(), identity.KindTemplate, scope, w); err != nil || len(found) != 100 ||
						n != total {
						b.Fatal(len(found), n, err)
					}
				}
			})
		}
	}
}
