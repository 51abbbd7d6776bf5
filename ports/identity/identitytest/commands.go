package identitytest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
)

// draw chooses a command. The model determines its expected result at the time of its execution.
func (w *machine) draw(rt *rapid.T, m *model) step {
	type command struct {
		name string
		draw func(*rapid.T, *model) step
	}
	grant, put := command{"grant", w.drawGrant}, command{"put", w.drawPut}
	join, orgPut := command{"join", w.drawJoin}, command{"org put", w.drawOrgPut}
	commands := []command{ // earlier commands are drawn more often
		grant, grant, {"remove", w.drawRemove}, grant, join, {"ungrant", w.drawUngrant}, orgPut,
		{"user gone", w.drawUserGone}, put,
		{"team gone", w.drawTeamGone}, grant, {"org gone", w.drawOrgGone}, join, {"leave", w.drawLeave},
		{"org leave", w.drawOrgLeave}, orgPut,
	}
	c := commands[rapid.IntRange(0, len(commands)-1).Draw(rt, "command")]
	rt.Log(c.name)
	return c.draw(rt, m)
}

func pick(rt *rapid.T, what string, from ...string) string {
	return rapid.SampledFrom(from).Draw(rt, what)
}

func (w *machine) drawGrant(rt *rapid.T, m *model) step {
	g := w.grant(identity.UserSubject(pick(rt, "user", w.userIDs...)), pick(rt, "object", append(w.objectIDs, w.queue)...),
		access.Level(pick(rt, "level", "read", "use", "manage")))
	_, subjectID, _ := identity.SubjectID(g.Subject)
	known, code := m.users[subjectID], identity.UserNotFound
	if rapid.Bool().Draw(rt, "to a team") {
		subjectID = pick(rt, "team", w.teamIDs...)
		g.Subject = identity.TeamSubject(subjectID)
		_, known = m.teams[subjectID]
		code = identity.TeamNotFound
	}
	object, there := m.objects[g.Object]
	s := step{}
	if !known {
		s.want = append(s.want, code)
	}
	if (!there || object.gone) && g.Object != w.queue {
		s.want = append(s.want, identity.ObjectNotFound)
	}
	carried, twice := false, false
	for _, have := range m.grants {
		carried = carried || have.Object == g.Object
		twice = twice || have.Object == g.Object && have.Subject == g.Subject && have.Level == g.Level
	}
	if twice && len(s.want) == 0 {
		s.want = append(s.want, identity.GrantExists)
	}
	s.run = func(ctx context.Context) error {
		first, err := w.Grants.InsertGrant(ctx, g)
		// If the restriction outlived the last grant, the result of first is not specified.
		if err == nil && first == carried && carried == object.restricted {
			return fmt.Errorf("first is %t on an object that carried a grant: %t", first, carried)
		}
		return err
	}
	s.apply = func(m *model) {
		m.grants = append(m.grants, g)
		m.objects[g.Object] = modelObject{org: object.org, restricted: true}
	}
	return s
}

func (w *machine) drawUngrant(rt *rapid.T, m *model) step {
	var g identity.Grant
	var want []fault.Code
	if visible := m.visible(); len(visible) > 0 {
		g = rapid.SampledFrom(visible).Draw(rt, "grant")
	} else if g.ID = "grt_none"; len(m.grants) > 0 {
		g = m.grants[0]
	}
	if len(m.visible()) == 0 {
		want = []fault.Code{identity.GrantNotFound}
	}
	return step{
		want: want,
		run:  func(ctx context.Context) error { return w.Grants.DeleteGrant(ctx, g.ID) },
		apply: func(m *model) {
			m.grants = slices.DeleteFunc(m.grants, func(have identity.Grant) bool { return have.ID == g.ID })
			o := m.objects[g.Object]
			o.restricted = slices.ContainsFunc(m.grants, func(have identity.Grant) bool { return have.Object == g.Object })
			m.objects[g.Object] = o
		},
	}
}

func (w *machine) drawPut(rt *rapid.T, m *model) step {
	o := identity.Object{Org: pick(rt, "organization", append([]string{""}, w.orgIDs...)...)}
	there := slices.DeleteFunc(slices.Clone(w.objectIDs), func(id string) bool { return m.objects[id].gone })
	if len(there) == 0 {
		there = []string{w.id("prj_")}
	}
	o.ID = pick(rt, "object", there...)
	s := step{
		run: func(ctx context.Context) error { return w.Objects.PutObject(ctx, o) },
		apply: func(m *model) {
			m.objects[o.ID] = modelObject{org: o.Org, restricted: m.objects[o.ID].restricted}
			if !slices.Contains(w.objectIDs, o.ID) {
				w.objectIDs = append(w.objectIDs, o.ID)
			}
		},
	}
	if _, known := m.orgs[o.Org]; o.Org != "" && !known {
		s.want = []fault.Code{identity.OrgNotFound}
	}
	return s
}

func (w *machine) drawRemove(rt *rapid.T, _ *model) step {
	id := pick(rt, "object", w.objectIDs...)
	return step{
		run: func(ctx context.Context) error { return w.Objects.RemoveObject(ctx, id) },
		apply: func(m *model) {
			if o, there := m.objects[id]; there {
				o.gone = true
				m.objects[id] = o
			}
		},
	}
}

func (w *machine) drawJoin(rt *rapid.T, m *model) step {
	team, user := pick(rt, "team", w.teamIDs...), pick(rt, "user", w.userIDs...)
	s := step{
		run:   func(ctx context.Context) error { _, err := w.Teams.AddTeamMember(ctx, team, user, epoch); return err },
		apply: func(m *model) { m.teams[team][user] = true },
	}
	if m.teams[team] == nil {
		s.want = append(s.want, identity.TeamNotFound)
	}
	if !m.users[user] {
		s.want = append(s.want, identity.UserNotFound)
	}
	return s
}

func (w *machine) drawLeave(rt *rapid.T, m *model) step {
	team, user := pick(rt, "team", w.teamIDs...), pick(rt, "user", w.userIDs...)
	s := step{
		run:   func(ctx context.Context) error { return w.Teams.RemoveTeamMember(ctx, team, user) },
		apply: func(m *model) { delete(m.teams[team], user) },
	}
	if !m.teams[team][user] {
		s.want = []fault.Code{identity.MemberNotFound}
	}
	return s
}

func (w *machine) drawOrgPut(rt *rapid.T, m *model) step {
	org, user := pick(rt, "organization", w.orgIDs...), pick(rt, "user", w.userIDs...)
	role := identity.OrgRole(pick(rt, "role", "member", "admin"))
	s := step{
		run: func(ctx context.Context) error {
			_, err := w.Orgs.PutOrgMember(ctx, org, user, role, epoch)
			return err
		},
		apply: func(m *model) { m.orgs[org][user] = role },
	}
	if m.orgs[org] == nil {
		s.want = append(s.want, identity.OrgNotFound)
	}
	if !m.users[user] {
		s.want = append(s.want, identity.UserNotFound)
	}
	return s
}

func (w *machine) drawOrgLeave(rt *rapid.T, m *model) step {
	org, user := pick(rt, "organization", w.orgIDs...), pick(rt, "user", w.userIDs...)
	s := step{
		run:   func(ctx context.Context) error { return w.Orgs.RemoveOrgMember(ctx, org, user) },
		apply: func(m *model) { delete(m.orgs[org], user) },
	}
	if m.orgs[org][user] == "" {
		s.want = []fault.Code{identity.MemberNotFound}
	}
	return s
}

func (w *machine) drawUserGone(rt *rapid.T, m *model) step {
	id := pick(rt, "user", w.userIDs...)
	s := step{
		run: func(ctx context.Context) error { return w.Accounts.DeleteAccount(ctx, id) },
		apply: func(m *model) {
			delete(m.users, id)
			m.dropSubject(identity.UserSubject(id))
			for _, members := range m.teams {
				delete(members, id)
			}
			for _, members := range m.orgs {
				delete(members, id)
			}
		},
	}
	if !m.users[id] {
		s.want = []fault.Code{identity.UserNotFound}
	}
	return s
}

func (w *machine) drawTeamGone(rt *rapid.T, m *model) step {
	id := pick(rt, "team", w.teamIDs...)
	s := step{
		run:   func(ctx context.Context) error { return w.Teams.DeleteTeam(ctx, id) },
		apply: func(m *model) { delete(m.teams, id); m.dropSubject(identity.TeamSubject(id)) },
	}
	if m.teams[id] == nil {
		s.want = []fault.Code{identity.TeamNotFound}
	}
	return s
}

func (w *machine) drawOrgGone(rt *rapid.T, m *model) step {
	id := pick(rt, "organization", w.orgIDs...)
	s := step{apply: func(m *model) {
		delete(m.orgs, id)
		for name, o := range m.objects {
			if o.org == id {
				o.org = ""
				m.objects[name] = o
			}
		}
	}}
	objects := 0
	for _, o := range m.objects {
		if o.org == id && !o.gone {
			objects++
		}
	}
	if m.orgs[id] == nil {
		s.want = []fault.Code{identity.OrgNotFound}
	} else if objects > 0 {
		s.want = []fault.Code{identity.OrgInUse}
	}
	s.run = func(ctx context.Context) error {
		err := w.Orgs.DeleteOrg(ctx, id)
		var f *fault.Error
		if identity.OrgInUse.Is(err) && errors.As(err, &f) && fmt.Sprint(f.Detail["objects"]) != fmt.Sprint(objects) {
			return fmt.Errorf("the fault tells %v, want %d objects", f.Detail, objects)
		}
		return err
	}
	return s
}
