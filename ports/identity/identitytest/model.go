package identitytest

import (
	"context"
	"errors"
	"maps"
	"slices"

	"pgregory.net/rapid"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
)

// modelObject is an object of a model.
type modelObject struct {
	org              string
	restricted, gone bool
}

// model is a store of rights in plain Go.
type model struct {
	users   map[string]bool
	teams   map[string]map[string]bool
	orgs    map[string]map[string]identity.OrgRole
	objects map[string]modelObject
	grants  []identity.Grant // including hidden ones
}

func (m *model) clone() *model {
	c := &model{
		users: maps.Clone(m.users), objects: maps.Clone(m.objects), grants: slices.Clone(m.grants),
		teams: map[string]map[string]bool{}, orgs: map[string]map[string]identity.OrgRole{},
	}
	for id, members := range m.teams {
		c.teams[id] = maps.Clone(members)
	}
	for id, members := range m.orgs {
		c.orgs[id] = maps.Clone(members)
	}
	return c
}

// state is the expected result of LoadRights.
func (m *model) state() state {
	s := state{Objects: map[string]identity.ObjectRights{}, Users: map[string]identity.UserRights{}}
	for id, o := range m.objects {
		rights := identity.ObjectRights{Object: id, Org: o.org, Restricted: o.restricted}
		for _, g := range m.grants {
			if g.Object == id {
				rights.Grants = append(rights.Grants, identity.SubjectLevel{Subject: g.Subject, Level: g.Level})
			}
		}
		s.putObject(rights)
	}
	for id := range m.users {
		rights := identity.UserRights{UserID: id}
		for team, members := range m.teams {
			if members[id] {
				rights.Teams = append(rights.Teams, team)
			}
		}
		for org, members := range m.orgs {
			if members[id] == identity.OrgAdmin {
				rights.Admin = append(rights.Admin, org)
			}
		}
		s.putUser(rights)
	}
	return s
}

// readable is the expected result of Readable.
func (m *model) readable(kind string, s access.Scope) []string {
	var out []string
	for id, o := range m.objects {
		if o.gone || identity.KindOf(id) != kind {
			continue
		}
		granted := slices.ContainsFunc(m.grants, func(g identity.Grant) bool {
			return g.Object == id && slices.Contains(s.Subjects, g.Subject)
		})
		own := o.org != "" && slices.Contains(s.Orgs, o.org)
		if s.All || granted || own || !o.restricted && !s.Strict {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// visible returns the grants that can be listed and deleted.
func (m *model) visible() []identity.Grant {
	return slices.DeleteFunc(slices.Clone(m.grants), func(g identity.Grant) bool { return m.objects[g.Object].gone })
}

func (m *model) dropSubject(subject string) {
	m.grants = slices.DeleteFunc(m.grants, func(g identity.Grant) bool { return g.Subject == subject })
}

// step is one command: its effect on a store, its expected result, and its effect on a model.
type step struct {
	run   func(ctx context.Context) error
	want  []fault.Code // empty: no error
	apply func(m *model)
}

func (s step) fits(err error) bool {
	if len(s.want) == 0 {
		return err == nil
	}
	return slices.ContainsFunc(s.want, func(c fault.Code) bool { return c.Is(err) })
}

// machine is a store, its model and the names that commands use.
type machine struct {
	*env
	now                                 *model
	userIDs, teamIDs, orgIDs, objectIDs []string
	queue                               string
}

// newMachine creates a few accounts, teams, organizations and objects that no earlier machine used.
func (e *env) newMachine(t tb) *machine {
	w := &machine{env: e, now: (&model{}).clone(), queue: access.Queue(e.id("q"))}
	w.now.users, w.now.objects = map[string]bool{}, map[string]modelObject{}
	var accounts []identity.Account
	for range 3 {
		accounts = append(accounts, e.account())
		w.teamIDs, w.orgIDs = append(w.teamIDs, e.id(ids.Team)), append(w.orgIDs, e.id(ids.Org))
	}
	for i, a := range accounts {
		w.userIDs = append(w.userIDs, a.ID)
		w.now.users[a.ID] = true
		w.now.teams[w.teamIDs[i]], w.now.orgs[w.orgIDs[i]] = map[string]bool{}, map[string]identity.OrgRole{}
	}
	w.objectIDs = []string{e.id(ids.Project), e.id(ids.Template), e.id(ids.Project), e.id(ids.Template), e.id(ids.Project)}
	for i, id := range w.objectIDs[1:] { // one is not registered yet
		w.now.objects[id] = modelObject{org: append(w.orgIDs, "")[i]}
	}
	w.must(t, func(ctx context.Context) error {
		for i, a := range accounts {
			err := errors.Join(e.Accounts.InsertAccount(ctx, a, ""),
				e.Teams.InsertTeam(ctx, identity.Team{ID: w.teamIDs[i], Name: w.teamIDs[i], CreatedAt: epoch}),
				e.Orgs.InsertOrg(ctx, identity.Org{ID: w.orgIDs[i], Name: w.orgIDs[i], CreatedAt: epoch}))
			if err != nil {
				return err
			}
		}
		for id, o := range w.now.objects {
			if err := e.Objects.PutObject(ctx, identity.Object{ID: id, Org: o.org}); err != nil {
				return err
			}
		}
		return nil
	})
	return w
}

// unit runs a few commands in one unit, which fails if the last of them does, or at random.
func (w *machine) unit(rt *rapid.T) {
	draft := w.now.clone()
	var steps []step
	for range rapid.IntRange(1, 4).Draw(rt, "commands of a unit") {
		s := w.draw(rt, draft)
		steps = append(steps, s)
		if len(s.want) > 0 {
			break
		}
		s.apply(draft)
	}
	giveUp := rapid.IntRange(0, 15).Draw(rt, "give up") == 15
	done := 0
	err := w.do(rt, func(ctx context.Context) error {
		for i, s := range steps {
			done = i
			if err := s.run(ctx); err != nil {
				return err
			}
		}
		if giveUp {
			return errAbandoned
		}
		return nil
	})
	last := steps[len(steps)-1]
	switch {
	case len(last.want) == 0 && giveUp:
		if !errors.Is(err, errAbandoned) {
			rt.Fatalf("command %d: %v", done, err)
		}
	case done != len(steps)-1 || !last.fits(err):
		rt.Fatalf("command %d of %d: %v, want %v", done, len(steps), err, last.want)
	case err == nil:
		w.now = draft
	}
}

// clean removes the objects before the next machine.
func (w *machine) clean(t tb) {
	w.must(t, func(ctx context.Context) error {
		for _, id := range w.objectIDs {
			if err := w.Objects.RemoveObject(ctx, id); err != nil {
				return err
			}
		}
		return nil
	})
}
