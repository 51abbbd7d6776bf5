package identity_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/writ-automation/writ/ports/access"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/page"
)

const (
	tokenMembers = `"id":"known","kind":"api","name":"ci","user_id":"` + userID +
		`","username":"alex","created_at":"2026-01-05T08:30:00.123456Z","created_by":"usr_admin"`
	accountJSON = `{"id":"known","username":"alex","role":"operator","has_password":true,"full_name":"Alex","email":"a@example.com","phone":"1",
		"title":"t","links":["https://x.test"],"notes":"n","identities":[{"protocol":"saml","issuer":"https://id.test","subject":"s"}],
		"created_at":"2026-01-05T08:30:00.123456Z","updated_at":"2026-01-05T08:30:00.123456Z"}`
	groupJSON  = `{"id":"known","name":"web","created_at":"2026-01-05T08:30:00.123456Z","created_by":"usr_admin"}`
	grantInner = `"id":"known","subject":"user:` + userID +
		`","object":"queue:web","level":"use","created_at":"2026-01-05T08:30:00.123456Z","created_by":"usr_admin"`
)

func TestTokens(t *testing.T) {
	t.Parallel()
	f := setup(t)
	minted := `{` + tokenMembers + `,"expires_at":"2036-01-05T20:30:00Z","token":"` + secret + `"}`
	f.Call("POST", "/v1/tokens", "viewer", `{"name":"ci","user_id":"usr_2","expires_in":3600}`).Is(201, minted).
		Has("Location", "/v1/tokens/known").Has("ETag", `"1"`)
	f.wasAsked(identity.NewToken{Name: "ci", UserID: "usr_2", TTL: time.Hour})
	f.fake.never = true
	f.Call("POST", "/v1/tokens", "viewer", `{"name":"ci"}`).Is(201, `{`+tokenMembers+`,"token":"`+secret+`"}`)
	f.wasAsked(identity.NewToken{Name: "ci"})
	f.Call("POST", "/v1/tokens", "viewer", `{"name":"ci","expires_in":3153600000}`)
	f.wasAsked(identity.NewToken{Name: "ci", TTL: 3153600000 * time.Second})
	f.Call("POST", "/v1/tokens", "viewer", `{"name":"ci","scopes":["read","launch"],"networks":["192.0.2.0/24"]}`).
		Is(201, `{`+tokenMembers+`,"scopes":["read","launch"],"networks":["192.0.2.0/24"],"parent_id":"tok_1","token":"`+
			secret+`"}`)
	f.wasAsked(identity.NewToken{Name: "ci", Scopes: identity.Scopes{"read", "launch"},
		Networks: []string{"192.0.2.0/24"}})
	for body, where := range map[string]string{
		`{}`: "name", `{"name":7}`: "name", `{"name":"a","expires_in":0}`: "expires_in",
		`{"name":"a","expires_in":-1}`:         "expires_in",
		`{"name":"a","expires_in":3153600001}`: "expires_in", `{"name":"a","expires_in":1.5}`: "expires_in",
		`{"name":"a","ttl":1}`: "ttl", `{"name":"a","scopes":[]}`: "scopes", `{"name":"a","scopes":"read"}`: "scopes",
		`{"name":"a","scopes":["root"]}`: "scopes[0]", `{"name":"a","scopes":["read",1]}`: "scopes[1]",
		`{"name":"a","scopes":["read","read","read","read","read"]}`: "scopes", `{"name":"a","networks":[]}`: "networks",
		`{"name":"a","networks":[{}]}`: "networks[0]", `{"name":"a","parent_id":"tok_1"}`: "parent_id",
	} {
		if got := f.Call("POST", "/v1/tokens", "viewer", body).Problem(400, "invalid"); !slices.Equal(got, []string{where}) {
			t.Errorf("%s: %v", body, got)
		}
	}
	list := f.Call("GET", "/v1/tokens?limit=5000&offset=2", "admin", "").
		Is(200, `{"tokens":[{`+tokenMembers+`}],"count":1,"total":7,"limit":1000}`)
	f.wasAsked(page.Window{Offset: 2, Limit: 1000})
	one := f.Call("GET", "/v1/tokens/known", "admin", "").Is(200, `{`+tokenMembers+`}`).Has("ETag", `"1"`)
	if strings.Contains(list.Body+one.Body, secret) {
		t.Error("a secret is shown again")
	}
	f.Call("GET", "/v1/tokens/other", "admin", "").Problem(404, "token_not_found")
	f.Call("DELETE", "/v1/tokens/known", "admin", "").Is(204, "")
	f.wasAsked("known", "deleted")
	f.Call("DELETE", "/v1/tokens/other", "admin", "").Problem(404, "token_not_found")
	f.Call("PUT", "/v1/tokens/known", "admin", "{}").Has("Allow", "GET, HEAD, DELETE").Problem(405, "method_not_allowed")
}

func TestCreateUser(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.Call("POST", "/v1/users", "admin",
		`{"username":"alex","role":"operator","password":"`+good+`","full_name":"Alex","email":"e","phone":"p",
		"title":"t","links":["https://x.test"],"notes":"n","identities":[{"protocol":"oidc","issuer":"i","subject":"s"}]}`).
		Is(201, accountJSON).Has("Location", "/v1/users/known").Has("ETag", `"3"`)
	f.wasAsked(identity.NewAccount{
		Username: "alex", Role: identity.Operator, Password: good,
		Identities: []identity.Link{{Protocol: identity.OIDC, Issuer: "i", Subject: "s"}},
		Profile: identity.Profile{FullName: "Alex", Email: "e", Phone: "p", Title: "t", Links: []string{"https://x.test"},
			Notes: "n"},
	})
	f.Call("POST", "/v1/users", "admin", `{"username":"alex","role":"viewer"}`).Is(201, accountJSON)
	if d := cmp.Diff([]any{identity.NewAccount{Username: "alex", Role: identity.Viewer}}, f.fake.last(),
		cmpopts.EquateEmpty()); d != "" {
		t.Error(d)
	}
	long := strings.Repeat("ä", 321)
	for body, where := range map[string]string{
		`{"role":"viewer"}`: "username", `{"username":"a"}`: "role", `{"username":"a","role":"root"}`: "role",
		`{"username":"a","role":"viewer","password":""}`:                                   "password",
		`{"username":"a","role":"viewer","password":"elevenchars"}`:                        "password",
		`{"username":"a","role":"viewer","full_name":"` + long + `"}`:                      "full_name",
		`{"username":"a","role":"viewer","links":["1","2","3","4","5","6","7","8","9"]}`:   "links",
		`{"username":"a","role":"viewer","links":"x"}`:                                     "links",
		`{"username":"a","role":"viewer","notes":"` + strings.Repeat("x", 2001) + `"}`:     "notes",
		`{"username":"a","role":"viewer","profile":{}}`:                                    "profile",
		`{"username":"a","role":"viewer","identities":[{"protocol":"oidc","issuer":"i"}]}`: "identities[0].subject",
		`{"username":"a","role":"viewer","identities":[{"issuer":"i","subject":"s"}]}`:     "identities[0].protocol",
		`{"username":"a","role":"viewer","identities":[` +
			`{"protocol":"ldap","issuer":"i","subject":"s"}]}`: "identities[0].protocol",
		`{"username":"a","role":"viewer","identities":[` +
			`{"protocol":"","issuer":"i","subject":"s"}]}`: "identities[0].protocol",
		`{"username":"a","role":"viewer","id":"x"}`:    "id",
		`{"username":"a","role":"viewer","Email":"x"}`: "Email",
	} {
		if got := f.Call("POST", "/v1/users", "admin", body).Problem(400, "invalid"); !slices.Equal(got, []string{where}) {
			t.Errorf("%.80s: %v", body, got)
		}
	}
	f.Call("POST", "/v1/users", "admin", `{"username":"a","role":"viewer","full_name":"`+long[:len(long)-2]+`"}`).
		Is(201, accountJSON)
	f.fake.answer(identity.NameTaken.New("the name is taken"))
	f.Call("POST", "/v1/users", "admin", `{"username":"alex","role":"viewer"}`).Problem(409, "name_taken")
}

func TestUsers(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.Call("GET", "/v1/users/known", "admin", "").Is(200, accountJSON).Has("ETag", `"3"`)
	f.Call("GET", "/v1/users/other", "admin", "").Problem(404, "user_not_found")
	f.Call("GET", "/v1/users?limit=3", "admin", "").Is(200, `{"users":[`+accountJSON+`],"count":1,"total":7,"limit":3}`)
	f.wasAsked(page.Window{Limit: 3})
	f.Call("GET", "/v1/users?limit=three", "admin", "").Problem(400, "invalid")
	f.Call("GET", "/v1/users?role=admin", "admin", "").Problem(400, "invalid")

	f.Call("PUT", "/v1/users/known", "admin", `{"full_name":"Alex"}`).Is(200, accountJSON).Has("ETag", `"3"`).
		Has("Location", "")
	f.wasAsked("known", int64(0), identity.AccountChange{Profile: identity.Profile{FullName: "Alex"}})
	name, role, password, none := "b", identity.Admin, identity.Password(good), []identity.Link{}
	f.Call("PUT", "/v1/users/known", "admin", `{"username":"b","role":"admin","password":"`+good+`","identities":[]}`,
		"If-Match", `"3"`).Is(200, accountJSON)
	f.wasAsked("known", int64(3), identity.AccountChange{Username: &name, Role: &role, Password: &password,
		Identities: &none})
	f.Call("PUT", "/v1/users/known", "admin",
		`{"username":null,"role":null,"password":null,"identities":null,"email":null,"links":null}`).Is(200, accountJSON)
	f.wasAsked("known", int64(0), identity.AccountChange{})
	for body, where := range map[string]string{
		`{"role":"root"}`: "role", `{"password":"short"}`: "password", `{"has_password":7}`: "has_password",
	} {
		if got := f.Call("PUT", "/v1/users/known", "admin", body).
			Problem(400, "invalid"); !slices.Equal(got, []string{where}) {
			t.Errorf("%s: %v", body, got)
		}
	}
	f.Call("PUT", "/v1/users/known", "admin", "").Problem(400, "invalid")
	f.fake.answer(identity.LastAdmin.New("the last admin stays one"))
	f.Call("PUT", "/v1/users/known", "admin", `{"role":"viewer"}`).Problem(409, "last_admin")
	f.Call("DELETE", "/v1/users/known", "admin", "").Problem(409, "last_admin")
}

func TestPutTakesWhatGetReturned(t *testing.T) {
	t.Parallel()
	setup(t).PutsBack()
}

func TestPreconditions(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for _, path := range []string{"/v1/teams/", "/v1/orgs/"} {
		kind := strings.TrimSuffix(strings.TrimPrefix(path, "/v1/"), "s/")
		for _, header := range []string{`"1"`, "*"} {
			f.Call("DELETE", path+"known/members/"+userID, "admin", "", "If-Match", header).Is(204, "")
			f.wasAsked("known", userID, "removed")
		}
		for _, header := range []string{`"2"`, `W/"1"`, "1", `"1", "9"`} {
			f.Call("DELETE", path+"known/members/"+userID, "admin", "", "If-Match", header).Problem(412, "precondition_failed")
			f.wasAsked("known")
			f.Call("DELETE", path+"other/members/"+userID, "admin", "", "If-Match", header).Problem(404, kind+"_not_found")
		}
	}
	for _, c := range []struct {
		path, missing, fits string
		body                string // a PUT if set, otherwise a DELETE
	}{
		{"/v1/users/", "user_not_found", `"3"`, `{"title":"t"}`}, {"/v1/users/", "user_not_found", `"3"`, ""},
		{"/v1/tokens/", "token_not_found", `"1"`, ""}, {"/v1/teams/", "team_not_found", `"1"`, ""},
		{"/v1/orgs/", "org_not_found", `"1"`, ""}, {"/v1/grants/", "grant_not_found", `"1"`, ""},
	} {
		method, done := "DELETE", 204
		if c.body != "" {
			method, done = "PUT", 200
		}
		for _, header := range []string{c.fits, "*"} {
			if a := f.Call(method, c.path+"known", "admin", c.body, "If-Match", header); a.Status != done {
				t.Errorf("%s %s with %s: %d %s", method, c.path, header, a.Status, a.Body)
			}
		}
		for _, header := range []string{`"2"`, "W/" + c.fits, strings.Trim(c.fits, `"`), c.fits + `, "9"`, `"abc"`} {
			f.Call(method, c.path+"known", "admin", c.body, "If-Match", header).Problem(412, "precondition_failed")
			f.Call(method, c.path+"other", "admin", c.body, "If-Match", header).Problem(404, c.missing)
		}
		// Without a matching revision nothing was deleted.
		f.Call(method, c.path+"known", "admin", c.body, "If-Match", `"2"`)
		if c.path != "/v1/users/" && slices.Contains(f.fake.last(), any("deleted")) {
			t.Errorf("%s: deleted against the precondition", c.path)
		}
	}
}

func TestGroups(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for _, path := range []string{"/v1/teams", "/v1/orgs"} {
		kind := strings.TrimSuffix(strings.TrimPrefix(path, "/v1/"), "s")
		f.Call("POST", path, "admin", `{"name":"web"}`).Is(201, groupJSON).Has("Location", path+"/known").Has("ETag", `"1"`)
		f.wasAsked("web")
		for _, body := range []string{`{}`, `{"name":""}`, `{"name":"` + strings.Repeat("ä", 201) + `"}`} {
			f.Call("POST", path, "admin", body).Problem(400, "invalid")
		}
		f.Call("POST", path, "admin", `{"name":"web","id":"x"}`).Problem(400, "invalid")
		f.Call("GET", path+"/known", "viewer", "").Is(200, groupJSON).Has("ETag", `"1"`)
		f.Call("GET", path+"/other", "viewer", "").Problem(404, kind+"_not_found")
		f.Call("DELETE", path+"/known", "admin", "").Is(204, "")
		f.wasAsked("known", "deleted")
		f.Call("DELETE", path+"/known/members/"+userID, "admin", "").Is(204, "")
		f.wasAsked("known", userID, "removed")
		f.Call("DELETE", path+"/other/members/"+userID, "admin", "").Problem(404, kind+"_not_found")
		f.Call("GET", path+"/other/members", "viewer", "").Problem(404, kind+"_not_found")
		f.Call("PATCH", path+"/known", "admin", "{}").Problem(405, "method_not_allowed")
		f.Call("GET", path+"/known/members/"+userID, "admin", "").Has("Allow", "DELETE").Problem(405, "method_not_allowed")
		f.Call("GET", path+"/known/nothing", "admin", "").Problem(404, "not_found")
	}
	f.Call("GET", "/v1/teams?limit=2&offset=1", "viewer", "").
		Is(200, `{"teams":[`+groupJSON+`],"count":1,"total":7,"limit":2}`)
	f.wasAsked(page.Window{Offset: 1, Limit: 2})
	f.Call("GET", "/v1/orgs", "viewer", "").Is(200, `{"orgs":[],"count":0,"total":0,"limit":1000}`)

	member := `{"user_id":"` + userID + `","username":"alex","added_at":"2026-01-05T08:30:00.123456Z"`
	f.Call("POST", "/v1/teams/known/members", "admin", `{"user_id":"`+userID+`"}`).Is(201, member+`}`).
		Has("Location", "/v1/teams/known/members").Has("ETag", `"1"`)
	f.wasAsked("known", userID)
	f.Call("POST", "/v1/teams/known/members", "admin", `{"user_id":"`+userID+`","role":"admin"}`).Problem(400, "invalid")
	f.Call("GET", "/v1/teams/known/members", "admin", "").
		Is(200, `{"members":[`+member+`}],"count":1,"total":7,"limit":1000}`)
	f.Call("GET", "/v1/teams/known/members?limit=1", "viewer", "").
		Is(200, `{"members":[`+member+`}],"count":1,"total":7,"limit":1}`)
	f.wasAsked("known", page.Window{Limit: 1})
	f.Call("POST", "/v1/orgs/known/members", "admin", `{"user_id":"`+userID+`","role":"admin"}`).
		Is(201, member+`,"role":"admin"}`).
		Has("Location", "/v1/orgs/known/members").Has("ETag", `"1"`)
	f.wasAsked("known", userID, identity.OrgAdmin)
	f.Call("POST", "/v1/orgs/known/members", "admin", `{"user_id":"`+userID+`"}`).Problem(400, "invalid")
	f.Call("POST", "/v1/orgs/known/members", "admin", `{"user_id":"`+userID+`","role":"owner"}`).Problem(400, "invalid")
	f.Call("GET", "/v1/orgs/known/members", "viewer", "").
		Is(200, `{"members":[`+member+`,"role":"member"}],"count":1,"total":7,"limit":1000}`)

	f.fake.answer(identity.OrgInUse.New("objects belong to it").With("objects", 2))
	if a := f.Call("DELETE", "/v1/orgs/known", "admin", ""); !strings.Contains(a.Body, `"objects":2`) {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	f.fake.answer(identity.NotAllowed.New("members are for members"))
	f.Call("GET", "/v1/teams/known/members", "viewer", "").Problem(403, "forbidden")
}

func TestGrants(t *testing.T) {
	t.Parallel()
	f := setup(t)
	body := `{"subject":"user:u","object":"queue:web","level":"use"}`
	f.Call("POST", "/v1/grants", "admin", body).Is(201, `{`+grantInner+`,"warnings":[]}`).
		Has("Location", "/v1/grants/known").Has("ETag", `"1"`)
	f.wasAsked("user:u", "queue:web", access.Use)
	f.fake.first = true
	a := f.Call("POST", "/v1/grants", "admin", body)
	if a.Status != 201 || !strings.Contains(a.Body, `"warnings":[{"code":"object_restricted","message":"the object `) {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	for body, where := range map[string]string{
		`{"object":"o","level":"use"}`: "subject", `{"subject":"s","level":"use"}`: "object",
		`{"subject":"s","object":"o"}`:               "level",
		`{"subject":"s","object":"o","level":"own"}`: "level", `{"subject":"s","object":"o","level":""}`: "level",
	} {
		if got := f.Call("POST", "/v1/grants", "admin", body).Problem(400, "invalid"); !slices.Equal(got, []string{where}) {
			t.Errorf("%s: %v", body, got)
		}
	}
	f.Call("GET", "/v1/grants?subject=team:t&object=prj_1&limit=9", "admin", "").
		Is(200, `{"grants":[{`+grantInner+`}],"count":1,"total":7,"limit":9}`)
	f.wasAsked(identity.GrantFilter{Subject: "team:t", Object: "prj_1"}, page.Window{Limit: 9})
	f.Call("GET", "/v1/grants?level=use", "admin", "").Problem(400, "invalid")
	f.Call("GET", "/v1/grants/known", "admin", "").Is(200, `{`+grantInner+`}`).Has("ETag", `"1"`)
	f.Call("GET", "/v1/grants/other", "admin", "").Problem(404, "grant_not_found")
	f.Call("DELETE", "/v1/grants/known", "admin", "").Is(204, "")
	f.wasAsked("known", "deleted")
	f.Call("PUT", "/v1/grants/known", "admin", body).Problem(405, "method_not_allowed")
	f.fake.answer(identity.GrantExists.New("the grant exists"))
	f.Call("POST", "/v1/grants", "admin", body).Problem(409, "grant_exists")
}
