package objecttest

import (
	"testing"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

// Scope is a scope with the objects that it shows.
type Scope struct {
	Name  string
	Scope access.Scope
	Want  []string
}

// Scopes returns scopes for six objects, in their order: one that carries no grant, one of the organization mine that
// carries none, one granted to u, one granted to v, and one of mine and one of theirs that are granted to v.
func Scopes(u, v, mine, theirs string, six []string) []Scope {
	open, openMine, granted, other, closedMine, closedTheirs := six[0], six[1], six[2], six[3], six[4], six[5]
	return []Scope{
		{"everything", access.Everything(), six},
		{"everything, whatever else it says", access.Scope{All: true, Strict: true, Subjects: []string{u}}, six},
		{"the zero scope", access.Scope{}, []string{open, openMine}},
		{"strict", access.Scope{Strict: true}, nil},
		{"a subject", access.Scope{Subjects: []string{u}}, []string{open, openMine, granted}},
		{"a subject, strict", access.Scope{Subjects: []string{u}, Strict: true}, []string{granted}},
		{"an organization", access.Scope{Orgs: []string{mine}}, []string{open, openMine, closedMine}},
		{"an organization, strict", access.Scope{Orgs: []string{mine}, Strict: true}, []string{openMine, closedMine}},
		{"both", access.Scope{Subjects: []string{u}, Orgs: []string{theirs}},
			[]string{open, openMine, granted, closedTheirs}},
		{"both, strict", access.Scope{Subjects: []string{u}, Orgs: []string{theirs}, Strict: true},
			[]string{granted, closedTheirs}},
		{"all subjects", access.Scope{Subjects: []string{u, v, u}}, six},
		{"all subjects, strict", access.Scope{Subjects: []string{u, v}, Strict: true},
			[]string{granted, other, closedMine, closedTheirs}},
		{"nobody's", access.Scope{Subjects: []string{"", "%", "user:none"}, Orgs: []string{"", "org_none"}},
			[]string{open, openMine}},
		{"nobody's, strict", access.Scope{Subjects: []string{""}, Orgs: []string{""}, Strict: true}, nil},
	}
}

func scopes[T any](t *testing.T, e *Env, s Store[T]) {
	u, v := e.AddTeam(t), e.AddTeam(t)
	mine, theirs := e.AddOrg(t), e.AddOrg(t)
	object := func(org string, subjects ...string) string {
		is := s.Add(t, e, InOrg(org))
		id := s.Record(&is).ID
		e.Know(t, id, org)
		for _, subject := range subjects {
			e.Grant(t, subject, id)
		}
		return id
	}
	six := []string{object(""), object(mine), object("", u), object("", v), object(mine, v), object(theirs, v)}
	for _, c := range Scopes(u, v, mine, theirs, six) {
		txtest.Same(t, c.Name, c.Want, s.IDs(s.Visible(t, c.Scope, catalog.Filter{})))
		for from := range len(c.Want) + 1 {
			w := page.Window{Offset: from, Limit: 2}
			list, n, err := s.List(t.Context(), c.Scope, catalog.Filter{}, w)
			txtest.NoError(t, err)
			txtest.Same(t, c.Name+", a window", Cut(c.Want, w), s.IDs(list))
			txtest.Same(t, c.Name+", total", len(c.Want), n)
		}
	}
	txtest.Same(t, "with a filter", six[4:5],
		s.IDs(s.Visible(t, access.Scope{Subjects: []string{v}, Strict: true}, catalog.Filter{Org: mine})))
}
