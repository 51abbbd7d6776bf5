package oidc_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/writ-automation/writ/adapters/sso/oidc"
	"github.com/writ-automation/writ/ports/fault"
)

// TestNames covers the user name, and ignores an unverified address.
func TestNames(t *testing.T) {
	t.Parallel()
	d := open(t)
	for name, c := range map[string]struct {
		user        object
		name, email string
	}{
		"preferred":              {object{"preferred_username": "ada", "email": "a@x", "email_verified": true}, "ada", "a@x"},
		"verified address":       {object{"email": "a@x", "email_verified": true}, "a@x", "a@x"},
		"verified as a text":     {object{"email": "a@x", "email_verified": "true"}, "a@x", "a@x"},
		"unverified address":     {object{"email": "admin@x", "email_verified": false}, "s-2", ""},
		"unverified as a text":   {object{"email": "admin@x", "email_verified": "false"}, "s-2", ""},
		"address without a mark": {object{"email": "admin@x"}, "s-2", ""},
		"unverified, preferred":  {object{"preferred_username": "ada", "email": "admin@x"}, "ada", ""},
		"white space":            {object{"preferred_username": " \t", "email": " ", "email_verified": true}, "s-2", ""},
		"no texts":               {object{"preferred_username": 7, "name": []int{1}}, "s-2", ""},
		"mark in another case":   {object{"email": "admin@x", "EMAIL_VERIFIED": true}, "s-2", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.user["sub"] = "s-2"
			s := newSite(t, d, func(i *idp) { i.user = c.user }, nil)
			e, err := s.signIn(t)
			if err != nil || e.Username != c.name || e.Email != c.email || e.Link.Subject != "s-2" || e.FullName != "" {
				t.Errorf("%+v %v", e, err)
			}
		})
	}
}

// TestGroups reads each form of the claim.
func TestGroups(t *testing.T) {
	t.Parallel()
	d := open(t)
	for name, c := range map[string]struct {
		claim  string
		groups object // of the ID token
		info   object // of the userinfo endpoint
		want   []string
		asked  int
	}{
		"not configured": {"", object{"groups": []string{"a"}}, nil, nil, 0},
		"list":           {"groups", object{"groups": []string{"a", "b"}}, nil, []string{"a", "b"}, 0},
		"text":           {"groups", object{"groups": "a b"}, nil, []string{"a b"}, 0},
		"empty list": {"groups", object{"groups": []string{}}, object{"sub": "s-1", "groups": []string{"x"}},
			[]string{}, 0},
		"path": {"realm_access.roles", object{"realm_access": object{"roles": []string{"a"}}}, nil,
			[]string{"a"}, 0},
		"name with dots":    {"https://x.y/groups", object{"https://x.y/groups": []string{"a"}}, nil, []string{"a"}, 0},
		"name before path":  {"a.b", object{"a.b": "name", "a": object{"b": "path"}}, nil, []string{"name"}, 0},
		"of userinfo":       {"groups", object{}, object{"sub": "s-1", "groups": []string{"u"}}, []string{"u"}, 1},
		"null, of userinfo": {"groups", object{"groups": nil}, object{"sub": "s-1", "groups": "u"}, []string{"u"}, 1},
		"path of userinfo":  {"a.b", object{"a": "x"}, object{"sub": "s-1", "a": object{"b": "u"}}, []string{"u"}, 1},
		"nowhere":           {"groups", object{"Groups": []string{"a"}}, object{"sub": "s-1"}, nil, 1},
		"overage not wanted": {"", object{"_claim_names": object{"groups": "src1"},
			"_claim_sources": object{"src1": object{}}}, nil, nil, 0},
		"overage of another": {"groups", object{"_claim_names": object{"x": "src1"},
			"_claim_sources": object{"src1": object{}}}, nil, nil, 1},
		"mark of no other":    {"roles", object{"hasgroups": true, "roles": "a"}, nil, []string{"a"}, 0},
		"listed although has": {"groups", object{"hasgroups": true, "groups": "a"}, nil, []string{"a"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, d, func(i *idp) {
				i.info, i.payload = c.info, func(o object) {
					for k, v := range c.groups {
						o[k] = v
					}
				}
			}, func(cfg *oidc.Config) { cfg.GroupsClaim = c.claim })
			e, err := s.signIn(t)
			if err != nil || !cmp.Equal(e.Groups, c.want) || s.idp.asked("/userinfo") != c.asked {
				t.Errorf("%q %v, userinfo asked %d times", e.Groups, err, s.idp.asked("/userinfo"))
			}
		})
	}
}

// TestGroupDefects: groups determine roles, so an invalid claim prevents the sign-in.
func TestGroupDefects(t *testing.T) {
	t.Parallel()
	d := open(t)
	overage := object{"_claim_names": object{"groups": "src1"},
		"_claim_sources": object{"src1": object{"endpoint": "http://127.0.0.1:1/x"}}}
	for name, c := range map[string]struct {
		groups, info object
		cause        string
	}{
		"a number":             {object{"groups": 7}, nil, "neither a text nor a list"},
		"an object":            {object{"groups": object{"a": "b"}}, nil, "neither a text nor a list"},
		"a list of objects":    {object{"groups": []object{{"name": "a"}}}, nil, "something that is no text"},
		"overage":              {overage, nil, "(overage)"},
		"overage by a mark":    {object{"hasgroups": true}, nil, "(overage)"},
		"overage of userinfo":  {object{}, object{"sub": "s-1", "_claim_names": object{"groups": "src1"}}, "(overage)"},
		"userinfo of another":  {object{}, object{"sub": "s-9", "groups": "admins"}, "the userinfo is about another subject"},
		"userinfo of nobody":   {object{}, object{"groups": "admins"}, "the userinfo is about another subject"},
		"subject another case": {object{}, object{"Sub": "s-1", "groups": "admins"}, "the userinfo is about another subject"},
		"number of userinfo":   {object{}, object{"sub": "s-1", "groups": 7}, "neither a text nor a list"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, d, func(i *idp) {
				i.info, i.payload = c.info, func(o object) {
					for k, v := range c.groups {
						o[k] = v
					}
				}
			}, func(cfg *oidc.Config) { cfg.GroupsClaim = "groups" })
			e, err := s.signIn(t)
			s.wantRefused(t, e, err, fault.Unauthenticated, c.cause)
		})
	}
}

// TestUserInfoForms covers answers that are no JSON object, and claims that only userinfo contains.
func TestUserInfoForms(t *testing.T) {
	t.Parallel()
	d := open(t)
	for media, c := range map[string]struct{ body, cause string }{
		"application/json; a": {`[]`, "something other than a JSON object"},
		"application/json":    {`{"sub":`, "something other than a JSON object"},
		"application/jwt":     {`a.b.c`, "something other than JSON"},
		"text/html":           {`<html>`, "something other than JSON"},
	} {
		s := newSite(t, d, func(i *idp) {
			i.instead = at("/userinfo", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", media)
				_, _ = fmt.Fprint(w, c.body)
			})
		}, func(cfg *oidc.Config) { cfg.GroupsClaim = "groups" })
		e, err := s.signIn(t)
		s.wantRefused(t, e, err, fault.Unauthenticated, c.cause)
	}
	s := newSite(t, d, func(i *idp) {
		i.info, i.user = i.user, object{"sub": "s-1"}
	}, nil)
	if e, err := s.signIn(t); err != nil || e.Username != "ada" || e.Email != "ada@example.com" || e.FullName != "Ada L" ||
		e.Link.Subject != "s-1" {
		t.Errorf("a token that names nobody: %+v %v", e, err)
	}
	s = newSite(t, d, func(i *idp) { i.user, i.document = object{"sub": "s-1"}, without("userinfo_endpoint") },
		func(cfg *oidc.Config) { cfg.GroupsClaim = "groups" })
	if e, err := s.signIn(t); err != nil || e.Username != "s-1" || e.Groups != nil || s.idp.asked("/userinfo") != 0 {
		t.Errorf("a provider without userinfo: %+v %v", e, err)
	}
}
