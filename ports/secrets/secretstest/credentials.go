package secretstest

import (
	"context"
	"fmt"
	"testing"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/object/objecttest"
	"github.com/writ-automation/writ/ports/page"
	"github.com/writ-automation/writ/ports/secrets"
	"github.com/writ-automation/writ/ports/tx/txtest"
)

func credentialCases() txtest.Cases[*env] {
	return txtest.Cases[*env]{
		"what a deleted one named": deletedOwner,
		"filters of credentials":   filters,
		"windows of a filter":      filteredPages,
	}
}

// visible lists the credentials that match a filter and that a scope may read.
func (e *env) visible(t *testing.T, sc access.Scope, f secrets.Filter) []secrets.Credential {
	t.Helper()
	list, n, err := e.Credentials.ListCredentials(t.Context(), sc, f, page.Window{})
	txtest.NoError(t, err)
	txtest.Same(t, "total", len(list), n)
	return list
}

// deletedOwner checks that a new credential with the id of a deleted one gets neither its secrets nor its references.
func deletedOwner(t *testing.T, e *env) {
	s := credentials(e)
	v := s.Plain(e.Record(s.Prefix, ""))
	e.Must(t, func(ctx context.Context) error { return e.Credentials.InsertCredential(ctx, v, bytesOf(1, 100)) })
	e.Must(t, func(ctx context.Context) error { return s.Remove(ctx, v.ID, 0) })
	_, _, err := e.Credentials.SealedByID(t.Context(), v.ID)
	txtest.WantFault(t, err, secrets.CredentialNotFound)
	e.Must(t, func(ctx context.Context) error { return s.Insert(ctx, v) })
	_, sealed, err := e.Credentials.SealedByID(t.Context(), v.ID)
	txtest.NoError(t, err)
	txtest.Same(t, "sealed", []byte(nil), sealed)
}

func filters(t *testing.T, e *env) {
	s, a := credentials(e), e.AddOrg(t)
	custom := func(v *secrets.Credential, of string) { v.Kind, v.TypeID = secrets.Custom, of }
	store := func(name, org string, edit func(*secrets.Credential)) secrets.Credential {
		v := s.Plain(e.Record(ids.Credential, name))
		v.Org = org
		edit(&v)
		e.Must(t, func(ctx context.Context) error { return s.Insert(ctx, v) })
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
		{secrets.Filter{Names: []string{"n", "o"}}, []secrets.Credential{token, ssh, one}},
		{secrets.Filter{Names: []string{"n", "o"}, Kind: secrets.Custom}, []secrets.Credential{one}},
		{secrets.Filter{Names: []string{odd, "' OR 1 = 1 --"}}, nil},
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
			txtest.Same(t, fmt.Sprintf("%+v for %+v", c.f, sc), c.want, e.visible(t, sc, c.f))
		}
		txtest.Same(t, fmt.Sprintf("%+v for nobody", c.f), []secrets.Credential{},
			e.visible(t, access.Scope{Strict: true}, c.f))
	}
}

func filteredPages(t *testing.T, e *env) {
	s := credentials(e)
	var want []secrets.Credential
	for i := range 14 {
		v := s.Plain(e.Record(ids.Credential, fmt.Sprintf("%02d", i)))
		if v.Kind, v.TypeID = secrets.Custom, "cty_1"; i%2 == 0 {
			v.TypeID = "cty_2"
		} else {
			want = append(want, v)
		}
		e.Must(t, func(ctx context.Context) error { return s.Insert(ctx, v) })
	}
	for _, w := range objecttest.Windows() {
		got, n, err := e.Credentials.ListCredentials(t.Context(), access.Scope{},
			secrets.Filter{Kind: secrets.Custom, TypeID: "cty_1"}, w)
		txtest.NoError(t, err)
		txtest.Same(t, fmt.Sprintf("%+v", w), objecttest.Cut(want, w), got)
		txtest.Same(t, fmt.Sprintf("total, %+v", w), len(want), n)
	}
}
