package secretstest

import (
	"context"
	"fmt"
	"testing"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/catalog"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/object"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/secrets"
)

// orgCases returns the cases for objects that may belong to an organization.
func orgCases() map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
		"an unknown organization":  unknownOrg,
		"names in organizations":   namesInOrgs,
		"one name in two of them":  orgOrder,
		"a race in one of them":    orgRace,
		"what a scope shows":       scopes,
		"what a deleted one named": deletedOwner,
	}
}

func credentialCases() map[string]func(*testing.T, *env) {
	return map[string]func(*testing.T, *env){
		"filters":             filters,
		"windows of a filter": filteredPages,
	}
}

func unknownOrg(t *testing.T, e *env) {
	s := credentials(e)
	is := add(t, e, s)
	v := s.plain(e.record(s.prefix, ""))
	v.Org = "org_none"
	e.refused(t, identity.OrgNotFound, func(ctx context.Context) error { return s.insert(ctx, v) })
	moved := is
	moved.Org = "org_none"
	e.refused(t, identity.OrgNotFound, func(ctx context.Context) error {
		_, err := s.update(ctx, moved, 0)
		return err
	})
	same(t, "what is there", []secrets.Credential{is}, all(t, s, ""))
}

func namesInOrgs(t *testing.T, e *env) {
	s, a, b := credentials(e), e.addOrg(t), e.addOrg(t)
	var stored []secrets.Credential
	for _, org := range []string{"", a, b} {
		stored = append(stored, add(t, e, s, named("n"), inOrg(org)), add(t, e, s, named("N"), inOrg(org)))
	}
	for _, v := range stored {
		again := s.plain(e.record(s.prefix, v.Name))
		again.Org = v.Org
		e.refused(t, catalog.NameTaken, func(ctx context.Context) error { return s.insert(ctx, again) })
	}
	for _, to := range []func(*object.Record){named("N"), inOrg(a), inOrg(b)} {
		next := stored[0]
		to(&next.Record)
		e.refused(t, catalog.NameTaken, func(ctx context.Context) error {
			_, err := s.update(ctx, next, 1)
			return err
		})
	}
	same(t, "after refusals", stored[0], get(t, s, stored[0].ID))
	e.must(t, func(ctx context.Context) error { return s.remove(ctx, stored[2].ID, 1) })
	moved := stored[0]
	moved.Org = a
	e.must(t, func(ctx context.Context) (err error) {
		moved, err = s.update(ctx, moved, 1)
		return err
	})
	same(t, "moved", [2]string{a, "n"}, [2]string{moved.Org, moved.Name})
}

func orgRace(t *testing.T, e *env) {
	s, org := credentials(e), e.addOrg(t)
	won := e.wins(t, crowd, catalog.NameTaken, func(ctx context.Context, _ int) error {
		v := s.plain(e.record(s.prefix, "n"))
		v.Org = org
		return s.insert(ctx, v)
	})
	same(t, "winners", 1, won)
}

// orgOrder checks that objects with the same name are sorted by id.
func orgOrder(t *testing.T, e *env) {
	s, a, b := credentials(e), e.addOrg(t), e.addOrg(t)
	want := []secrets.Credential{add(t, e, s, named("n"), inOrg(b)), add(t, e, s, named("n")),
		add(t, e, s, named("n"), inOrg(a))}
	same(t, "order", want, all(t, s, ""))
}

// visible lists the credentials that match a filter and that a scope may read.
func (e *env) visible(t *testing.T, sc access.Scope, f secrets.Filter) []secrets.Credential {
	t.Helper()
	list, n, err := e.Credentials.ListCredentials(t.Context(), sc, f, page.Window{})
	noError(t, err)
	same(t, "total", len(list), n)
	return list
}

func scopes(t *testing.T, e *env) {
	s := credentials(e)
	u, v := e.addTeam(t), e.addTeam(t)
	mine, theirs := e.addOrg(t), e.addOrg(t)
	object := func(org string, subjects ...string) string {
		id := add(t, e, s, inOrg(org)).ID
		e.know(t, id, org)
		for _, subject := range subjects {
			e.grant(t, subject, id)
		}
		return id
	}
	open, openMine := object(""), object(mine)
	granted, other := object("", u), object("", v)
	closedMine, closedTheirs := object(mine, v), object(theirs, v)
	everything := []string{open, openMine, granted, other, closedMine, closedTheirs}
	for _, c := range []struct {
		name  string
		scope access.Scope
		want  []string
	}{
		{"everything", access.Everything(), everything},
		{"everything, whatever else it says", access.Scope{All: true, Strict: true, Subjects: []string{u}}, everything},
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
		{"all subjects", access.Scope{Subjects: []string{u, v, u}}, everything},
		{"all subjects, strict", access.Scope{Subjects: []string{u, v}, Strict: true},
			[]string{granted, other, closedMine, closedTheirs}},
		{"nobody's", access.Scope{Subjects: []string{"", "%"}, Orgs: []string{"", "org_none"}}, []string{open, openMine}},
	} {
		same(t, c.name, c.want, idsOf(s, e.visible(t, c.scope, secrets.Filter{})))
		same(t, c.name+", by kind", c.want, idsOf(s, e.visible(t, c.scope, secrets.Filter{Kind: secrets.Token})))
		for from := range len(c.want) + 1 {
			w := page.Window{Offset: from, Limit: 2}
			list, n, err := e.Credentials.ListCredentials(t.Context(), c.scope, secrets.Filter{}, w)
			noError(t, err)
			same(t, c.name+", a window", cut(c.want, w), idsOf(s, list))
			same(t, c.name+", total", len(c.want), n)
		}
	}
	same(t, "with a filter", []string{closedMine},
		idsOf(s, e.visible(t, access.Scope{Subjects: []string{v}, Strict: true}, secrets.Filter{Org: mine})))
}

// deletedOwner checks that a new credential with the id of a deleted one gets neither its secrets nor its references.
func deletedOwner(t *testing.T, e *env) {
	s := credentials(e)
	v := s.plain(e.record(s.prefix, ""))
	e.must(t, func(ctx context.Context) error { return e.Credentials.InsertCredential(ctx, v, bytesOf(1, 100)) })
	e.must(t, func(ctx context.Context) error { return s.remove(ctx, v.ID, 0) })
	_, _, err := e.Credentials.SealedByID(t.Context(), v.ID)
	wantFault(t, err, secrets.CredentialNotFound)
	e.must(t, func(ctx context.Context) error { return s.insert(ctx, v) })
	_, sealed, err := e.Credentials.SealedByID(t.Context(), v.ID)
	noError(t, err)
	same(t, "sealed", []byte(nil), sealed)
}

func filters(t *testing.T, e *env) {
	s, a := credentials(e), e.addOrg(t)
	custom := func(v *secrets.Credential, of string) { v.Kind, v.TypeID = secrets.Custom, of }
	store := func(name, org string, edit func(*secrets.Credential)) secrets.Credential {
		v := s.plain(e.record(ids.Credential, name))
		v.Org = org
		edit(&v)
		e.must(t, func(ctx context.Context) error { return s.insert(ctx, v) })
		return v
	}
	token := store("n", "", func(*secrets.Credential) {})
	ssh := store("n", a, func(v *secrets.Credential) { v.Kind = secrets.SSHKey })
	one := store("o", a, func(v *secrets.Credential) { custom(v, "cty_1") })
	two := store("p%", "", func(v *secrets.Credential) { custom(v, "cty_2") })
	for _, c := range []struct {
		f    secrets.Filter
		want []secrets.Credential
	}{
		{secrets.Filter{}, []secrets.Credential{token, ssh, one, two}},
		{secrets.Filter{Name: "n"}, []secrets.Credential{token, ssh}},
		{secrets.Filter{Name: "p%"}, []secrets.Credential{two}},
		{secrets.Filter{Org: a}, []secrets.Credential{ssh, one}},
		{secrets.Filter{Kind: secrets.Token}, []secrets.Credential{token}},
		{secrets.Filter{Kind: secrets.Custom}, []secrets.Credential{one, two}},
		{secrets.Filter{TypeID: "cty_1"}, []secrets.Credential{one}},
		{secrets.Filter{Kind: secrets.Custom, Org: a}, []secrets.Credential{one}},
		{secrets.Filter{Name: "n", Org: a, Kind: secrets.SSHKey}, []secrets.Credential{ssh}},
		{secrets.Filter{Kind: secrets.Token, TypeID: "cty_1"}, nil},
		{secrets.Filter{Kind: "tok%"}, nil},
		{secrets.Filter{Kind: odd}, nil},
		{secrets.Filter{TypeID: "cty__"}, nil},
		{secrets.Filter{TypeID: odd}, nil},
		{secrets.Filter{Name: "' OR 1 = 1 --"}, nil},
		{secrets.Filter{Org: "org_none"}, nil},
	} {
		for _, sc := range []access.Scope{access.Everything(), {}, {Subjects: []string{"team:x"}, Orgs: []string{a}}} {
			same(t, fmt.Sprintf("%+v for %+v", c.f, sc), c.want, e.visible(t, sc, c.f))
		}
		same(t, fmt.Sprintf("%+v for nobody", c.f), []secrets.Credential{}, e.visible(t, access.Scope{Strict: true}, c.f))
	}
}

func filteredPages(t *testing.T, e *env) {
	s := credentials(e)
	var want []secrets.Credential
	for i := range 2 * rows {
		v := s.plain(e.record(ids.Credential, fmt.Sprintf("%02d", i)))
		if v.Kind, v.TypeID = secrets.Custom, "cty_1"; i%2 == 0 {
			v.TypeID = "cty_2"
		} else {
			want = append(want, v)
		}
		e.must(t, func(ctx context.Context) error { return s.insert(ctx, v) })
	}
	for _, w := range windows() {
		got, n, err := e.Credentials.ListCredentials(t.Context(), access.Scope{},
			secrets.Filter{Kind: secrets.Custom, TypeID: "cty_1"}, w)
		noError(t, err)
		same(t, fmt.Sprintf("%+v", w), cut(want, w), got)
		same(t, fmt.Sprintf("total, %+v", w), len(want), n)
	}
}
