package identity_test

import (
	"context"
	"strings"
	"testing"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/actor"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/page"
)

func TestTeams(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		u, other, root := b.account("ann", identity.Viewer), b.account("bob", identity.Operator),
			b.account("root", identity.Admin)
		team, err := b.Teams.Create(b.as(root.User, ""), "  ops ")
		if err != nil || team.Name != "ops" || team.CreatedBy != root.ID {
			t.Fatalf("%+v %v", team, err)
		}
		badNames(t, func(name string) error { _, err := b.Teams.Create(t.Context(), name); return err })
		if got, err := b.Teams.Get(t.Context(), team.ID); err != nil || got != team {
			t.Errorf("%+v %v", got, err)
		}
		if list, n, err := b.Teams.List(t.Context(), page.Window{}); err != nil || n != 2 || list[1] != team {
			t.Errorf("%+v %v", list, err)
		}
		for range 2 { // again is no change
			if m, err := b.Teams.AddMember(t.Context(), team.ID, u.ID); err != nil || m.UserID != u.ID || m.Username != "ann" ||
				m.Role != "" {
				t.Errorf("%+v %v", m, err)
			}
		}
		if _, err := b.Teams.AddMember(t.Context(), team.ID, "usr_none"); !identity.UserNotFound.Is(err) ||
			field(err) != "user_id" {
			t.Errorf("nobody: %v", err)
		}
		if _, err := b.Teams.AddMember(t.Context(), "team_none", u.ID); !identity.TeamNotFound.Is(err) {
			t.Errorf("to nothing: %v", err)
		}
		whoReads(t, b, u.User, other.User, root.User, func(ctx context.Context) (int, error) {
			_, n, err := b.Teams.Members(ctx, team.ID, page.Window{})
			return n, err
		})
		if _, _, err := b.Teams.Members(b.as(other.User, ""), "team_none", page.Window{}); !identity.TeamNotFound.Is(err) {
			t.Errorf("members of nothing: %v", err)
		}
		if err := b.Teams.RemoveMember(t.Context(), "team_none", u.ID); !identity.TeamNotFound.Is(err) {
			t.Errorf("out of nothing: %v", err)
		}
		if err := b.Teams.RemoveMember(t.Context(), team.ID, other.ID); !identity.MemberNotFound.Is(err) {
			t.Errorf("no member: %v", err)
		}
		if err := b.Teams.RemoveMember(t.Context(), team.ID, u.ID); err != nil {
			t.Error(err)
		}
		if err := b.Teams.Delete(t.Context(), team.ID); err != nil {
			t.Error(err)
		}
		if err := b.Teams.Delete(t.Context(), team.ID); !identity.TeamNotFound.Is(err) {
			t.Errorf("deleted twice: %v", err)
		}
		if b.log.count("team created", team.ID, root.ID) != 1 || b.log.count("team deleted", team.ID) != 1 ||
			b.log.count("member added", team.ID, u.ID) != 2 || b.log.count("member removed", team.ID, u.ID) != 1 {
			t.Errorf("the log tells:\n%s", b.log)
		}
	})
}

func TestOrgs(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		u, other, root := b.account("ann", identity.Viewer), b.account("bob", identity.Operator),
			b.account("root", identity.Admin)
		org, err := b.Orgs.Create(b.as(root.User, ""), " acme")
		if err != nil || org.Name != "acme" || org.CreatedBy != root.ID {
			t.Fatalf("%+v %v", org, err)
		}
		badNames(t, func(name string) error { _, err := b.Orgs.Create(t.Context(), name); return err })
		for _, r := range []identity.OrgRole{identity.OrgMember, identity.OrgAdmin} {
			if m, err := b.Orgs.PutMember(t.Context(), org.ID, u.ID, r); err != nil || m.Role != r || m.Username != "ann" {
				t.Errorf("%+v %v", m, err)
			}
		}
		for _, r := range []identity.OrgRole{"", "owner"} {
			if _, err := b.Orgs.PutMember(t.Context(), org.ID, u.ID, r); !invalid(err) || field(err) != "role" {
				t.Errorf("role %q: %v", r, err)
			}
		}
		_, err = b.Orgs.PutMember(t.Context(), org.ID, "usr_none", identity.OrgAdmin)
		if !identity.UserNotFound.Is(err) || field(err) != "user_id" {
			t.Errorf("nobody: %v", err)
		}
		whoReads(t, b, u.User, other.User, root.User, func(ctx context.Context) (int, error) {
			_, n, err := b.Orgs.Members(ctx, org.ID, page.Window{})
			return n, err
		})
		object := identity.Object{ID: b.params.IDs.New(ids.Template), Org: org.ID}
		if err := b.Objects.Put(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		if err := b.Orgs.Delete(t.Context(), org.ID); !identity.OrgInUse.Is(err) {
			t.Errorf("in use: %v", err)
		}
		if err := b.Objects.Remove(t.Context(), object.ID); err != nil {
			t.Fatal(err)
		}
		if err := b.Orgs.RemoveMember(t.Context(), org.ID, other.ID); !identity.MemberNotFound.Is(err) {
			t.Errorf("no member: %v", err)
		}
		if err := b.Orgs.RemoveMember(t.Context(), "org_none", u.ID); !identity.OrgNotFound.Is(err) {
			t.Errorf("out of nothing: %v", err)
		}
		if err := b.Orgs.Delete(t.Context(), org.ID); err != nil {
			t.Errorf("after its last object: %v", err)
		}
		if _, err := b.Orgs.Get(t.Context(), org.ID); !identity.OrgNotFound.Is(err) {
			t.Errorf("after its end: %v", err)
		}
		if err := b.Objects.Put(t.Context(), object); !identity.OrgNotFound.Is(err) || field(err) != "org_id" {
			t.Errorf("an object of nothing: %v", err)
		}
		if err := b.Objects.Put(t.Context(), identity.Object{ID: "run_x"}); err == nil {
			t.Error("a run carries grants")
		}
		if err := b.Objects.Put(t.Context(), identity.Object{ID: "queue:q", Org: org.ID}); err == nil ||
			identity.OrgNotFound.Is(err) {
			t.Errorf("a queue in an organization: %v", err)
		}
		if b.log.count("organization created", org.ID, root.ID) != 1 || b.log.count("organization deleted", org.ID) != 1 ||
			b.log.count("member added", org.ID, u.ID, "role=admin") != 1 {
			t.Errorf("the log tells:\n%s", b.log)
		}
	})
}

// badNames expects the name of the only group to be taken, and others to be refused.
func badNames(t *testing.T, create func(name string) error) {
	t.Helper()
	for _, bad := range []string{"", "  ", "a\nb", "a\x00b", strings.Repeat("é", 201), "\xff"} {
		if err := create(bad); !invalid(err) || field(err) != "name" {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for _, taken := range []string{"ops", "acme"} {
		if err := create(taken); err != nil && (!identity.NameTaken.Is(err) || field(err) != "name") {
			t.Errorf("taken: %v", err)
		} else if err := create(taken); !identity.NameTaken.Is(err) || field(err) != "name" {
			t.Errorf("taken: %v", err)
		}
	}
}

// whoReads expects the one member to be shown to itself, to admins and to the application, and to nobody else.
func whoReads(t *testing.T, b *bundle, member, other, admin identity.User, read func(context.Context) (int, error)) {
	t.Helper()
	for name, c := range map[string]struct {
		ctx     context.Context
		visible bool
	}{
		"member": {b.as(member, ""), true}, "other": {b.as(other, ""), false}, "admin": {b.as(admin, ""), true},
		"application": {t.Context(), true}, "anonymous": {b.from("192.0.2.1"), false},
		"worker":     {actor.With(t.Context(), actor.Actor{Type: actor.Worker, ID: "wkr_1"}), false},
		"no account": {identity.With(t.Context(), identity.Principal{}), false},
	} {
		n, err := read(c.ctx)
		if c.visible && (err != nil || n != 1) || !c.visible && (!identity.NotAllowed.Is(err) || n != 0) {
			t.Errorf("%s reads %d members, %v", name, n, err)
		}
	}
}

func TestGrants(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bundle) {
		u := b.account("ann", identity.Viewer)
		team, err := b.Teams.Create(t.Context(), "ops")
		if err != nil {
			t.Fatal(err)
		}
		object := b.params.IDs.New(ids.Project)
		if err := b.Objects.Put(t.Context(), identity.Object{ID: object}); err != nil {
			t.Fatal(err)
		}
		me, us := identity.UserSubject(u.ID), identity.TeamSubject(team.ID)
		g, first, err := b.Grants.Create(b.as(u.User, ""), me, object, access.Use)
		if err != nil || !first || g.CreatedBy != u.ID {
			t.Fatalf("%+v %v %v", g, first, err)
		}
		if _, first, err = b.Grants.Create(t.Context(), us, object, access.Manage); err != nil || first {
			t.Errorf("the second: %v %v", first, err)
		}
		if _, first, err = b.Grants.Create(t.Context(), us, "queue:eu/prod-1:a", access.Read); err != nil || !first {
			t.Errorf("a queue: %v %v", first, err)
		}
		for name, c := range map[string]struct {
			subject, object string
			level           access.Level
			is              func(error) bool
			field           string
		}{
			"again":         {me, object, access.Use, identity.GrantExists.Is, ""},
			"no form":       {u.ID, object, access.Use, invalid, "subject"},
			"org":           {"org:org_1", object, access.Use, invalid, "subject"},
			"empty":         {"user:", object, access.Use, invalid, "subject"},
			"NUL":           {"user:\x00", object, access.Use, invalid, "subject"},
			"no user":       {"user:usr_none", object, access.Use, identity.UserNotFound.Is, "subject"},
			"no team":       {"team:team_none", object, access.Use, identity.TeamNotFound.Is, "subject"},
			"a run":         {me, "run_1", access.Use, invalid, "object"},
			"nothing":       {me, "", access.Use, invalid, "object"},
			"no queue":      {me, "queue:", access.Use, invalid, "object"},
			"bad queue":     {me, "queue:a b", access.Use, invalid, "object"},
			"long queue":    {me, "queue:" + strings.Repeat("q", 101), access.Use, invalid, "object"},
			"long object":   {me, "prj_" + strings.Repeat("q", 500), access.Use, invalid, "object"},
			"no object":     {me, "prj_none", access.Use, identity.ObjectNotFound.Is, "object"},
			"no level":      {me, object, "", invalid, "level"},
			"another level": {me, object, "admin", invalid, "level"},
		} {
			_, _, err := b.Grants.Create(t.Context(), c.subject, c.object, c.level)
			if !c.is(err) || c.field != "" && field(err) != c.field {
				t.Errorf("%s: %v naming %q", name, err, field(err))
			}
		}
		if list, n, err := b.Grants.List(t.Context(), identity.GrantFilter{Object: object}, page.Window{}); err != nil ||
			n != 2 || list[0] != g {
			t.Errorf("%+v %v", list, err)
		}
		if err := b.Objects.Remove(t.Context(), object); err != nil {
			t.Error(err)
		}
		if _, err := b.Grants.Get(t.Context(), g.ID); !identity.GrantNotFound.Is(err) {
			t.Errorf("of an object that is gone: %v", err)
		}
		if err := b.Grants.Delete(t.Context(), "grt_none"); !identity.GrantNotFound.Is(err) {
			t.Errorf("deleting nothing: %v", err)
		}
		other, _, err := b.Grants.Create(t.Context(), me, "queue:q", access.Read)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Grants.Delete(t.Context(), other.ID); err != nil {
			t.Error(err)
		}
		if b.log.count("grant created", g.ID, me, object, u.ID) != 1 || b.log.count("grant deleted", other.ID) != 1 ||
			b.log.count("grant deleted") != 1 {
			t.Errorf("the log tells:\n%s", b.log)
		}
	})
}
